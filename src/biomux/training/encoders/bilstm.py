"""Paper E's network: word vectors and a character BiLSTM, then BiLSTMs that all data sets share.

It reads words. A word that the tokenizer had to split (see `word_tokenizer`) is joined again here: all its characters are read,
its word vector is that of [UNK], and each of its tokens gets the word's state. [CLS] and [SEP] are words too. `segments` are not
read: [SEP] is between two parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from biomux.recipes import schema
from biomux.training.encoders import packed_sequences, word_tokenizer, word_vector_files
from biomux.training.encoders.encoder import BuiltEncoder
from biomux.training.encoders.tokenizer import SPECIALS
from biomux.training.encoders.transformer import specials
from biomux.training.encoders.word_starts import word_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class BiLSTM(nn.Module):
    """The network.

    | size | of what |
    |---|---|
    | vocabulary | tokens |
    | own | word vectors learned from scratch: special tokens, [UNK], words that the file of vectors does not have |
    | given | word vectors from a file; they are not trained if `frozen` |
    | word_width | a word vector |
    | alphabet, longest | characters; how many of a word are read |
    | character_width, character_hidden | a character's vector; the character BiLSTM's state, each way |
    | hidden, depth | the shared BiLSTMs' state, each way; how many there are |
    """

    rows: Tensor
    spelling: Tensor
    sizes: Tensor
    continues: Tensor

    def __init__(
        self,
        *,
        vocabulary: int,
        own: int,
        given: int,
        alphabet: int,
        word_width: int = 100,
        longest: int = 40,
        character_width: int = 30,
        character_hidden: int = 50,
        hidden: int = 150,
        layers: int = 1,
        frozen: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        # What a token is, by its index: the row of its word vector, its characters, how many, whether it continues a word.
        self.register_buffer("rows", torch.full((vocabulary,), word_tokenizer.UNKNOWN))
        self.register_buffer("spelling", torch.zeros((vocabulary, longest), dtype=torch.int32))
        self.register_buffer("sizes", torch.ones(vocabulary, dtype=torch.int32))
        self.register_buffer("continues", torch.zeros(vocabulary, dtype=torch.bool))
        self.own = nn.Embedding(own, word_width)
        table = torch.zeros((given, word_width))
        if frozen or not given:
            self.register_buffer("given", table)
        else:
            self.given: Tensor = nn.Parameter(table)
        self.characters = nn.Embedding(alphabet, character_width)
        self.speller = nn.LSTM(character_width, character_hidden, bidirectional=True, batch_first=True)
        first = word_width + 2 * character_hidden
        self.layer = nn.ModuleList(
            nn.LSTM(2 * hidden if depth else first, hidden, bidirectional=True, batch_first=True)
            for depth in range(layers)
        )
        self.dropout = nn.Dropout(dropout)

    @property
    def width(self) -> int:
        """The size of a token's vector: both directions side by side."""
        return 2 * int(self.settings["hidden"])

    @property
    def depth(self) -> int:
        """How many shared BiLSTMs there are beside the first."""
        return len(self.layer) - 1

    def describe(self) -> dict[str, Any]:
        """What the encoder is, as plain data; the tokens and their spelling are in the state dict."""
        return {"kind": "bilstm", **self.settings}

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        return self.layers(ids, mask, segments)[-1]

    def layers(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """The states of every shared BiLSTM."""
        real = mask.bool()
        begins = word_starts(ids, real, self.continues)
        word = begins.flatten().cumsum(0).reshape(ids.shape) - 1
        flat = self._words(ids[real], word[real], ids[begins])
        sizes = begins.sum(dim=1)
        states = []
        for layer in self.layer:
            flat = packed_sequences.states(layer, self.dropout(flat), sizes)
            states.append(flat[word.clamp(min=0)] * real[..., None])
        return tuple(states)

    def _words(self, ids: Tensor, word: Tensor, firsts: Tensor) -> Tensor:
        """Word vector and characters of each word; `ids` are all tokens, `word` says whose they are."""
        several = torch.bincount(word, minlength=len(firsts)) > 1
        rows = torch.where(several, word_tokenizer.UNKNOWN, self.rows[firsts])
        if len(self.given):
            from_file = rows >= self.own.num_embeddings
            file_vectors = functional.embedding((rows - self.own.num_embeddings).clamp(min=0), self.given)
            vectors = torch.where(
                from_file[:, None], file_vectors, self.own(rows.clamp(max=self.own.num_embeddings - 1))
            )
        else:
            vectors = self.own(rows)
        # A word that occurs many times in a batch is spelled once.
        once, index = torch.unique(firsts[~several], return_inverse=True)
        spelling, sizes = self.spelling[once], self.sizes[once]
        where = torch.empty_like(firsts)
        where[~several] = index
        if bool(several.any()):
            where[several] = torch.arange(int(several.sum()), device=ids.device) + len(once)
            joined_spelling, joined_sizes = self._joined(ids[several[word]], word[several[word]])
            spelling, sizes = torch.cat([spelling, joined_spelling]), torch.cat([sizes, joined_sizes])
        spelling = spelling[:, : int(sizes.max())]
        spelled = packed_sequences.last(self.speller, self.dropout(self.characters(spelling.long())), sizes)
        return torch.cat([vectors, spelled[where]], dim=1)

    def _joined(self, ids: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        """The characters of words of several tokens, and how many there are."""
        longest = self.spelling.shape[1]
        _, word, tokens = torch.unique_consecutive(word, return_inverse=True, return_counts=True)
        sizes = self.sizes[ids].long()
        characters_before = sizes.cumsum(0) - sizes
        starts = characters_before[tokens.cumsum(0) - tokens]
        places = torch.arange(longest, device=ids.device)
        target = (characters_before - starts[word])[:, None] + places
        good = (places < sizes[:, None]) & (target < longest)
        joined = self.spelling.new_zeros((len(tokens), longest))
        joined[word[:, None].expand_as(target)[good], target[good]] = self.spelling[ids][good]
        lengths = torch.zeros_like(tokens).index_add(0, word, sizes).clamp(max=longest)
        return joined, lengths.to(self.sizes.dtype)


def make(settings: schema.EncoderSettings, texts: Iterable[str]) -> BuiltEncoder:
    """The encoder for texts, with the tokenizer of their words.

    A word of the texts gets a vector if the file has one, or if it occurs at least `minimum` times; others are spelled, which is how
    the vector of [UNK] is learned. The file's first `most` words are kept too, for future texts.
    """
    chosen = settings.bilstm or schema.BiLSTMSettings()
    counts = word_tokenizer.split(texts, lower=chosen.case == "lower")
    vectors = word_vector_files.Vectors((), np.zeros((0, chosen.word_width), dtype=np.float32), 0)
    if chosen.vectors is not None:
        word_forms = {form for word in counts for form in (word, word.lower())}
        vectors = word_vector_files.read(chosen.vectors, wanted=word_forms, most=chosen.most)
    vocabulary, rows, own_rows = _vocabulary(counts, vectors.words, case=chosen.case, minimum=chosen.minimum)
    tokenizer = word_tokenizer.tokenizer(
        vocabulary, lower=chosen.case == "lower", alphabet={character for word in counts for character in word}
    )
    tokens = word_tokenizer.tokens_of(tokenizer)
    alphabet = sorted(
        {character for token in tokens[len(SPECIALS) :] for character in token.removeprefix(word_tokenizer.CONTINUES)}
    )
    encoder = BiLSTM(
        vocabulary=len(tokens),
        own=own_rows,
        given=len(vectors.words),
        alphabet=1 + len(SPECIALS) + len(alphabet),
        word_width=vectors.width,
        longest=chosen.longest,
        character_width=chosen.character_width,
        character_hidden=chosen.character_hidden,
        hidden=chosen.hidden,
        layers=settings.layers or 1,
        frozen=chosen.frozen,
        dropout=settings.dropout,
    )
    _fill(encoder, tokens, rows, alphabet)
    with torch.no_grad():
        if len(vectors.words):
            table = torch.from_numpy(vectors.table)
            encoder.given.copy_(table)
            nn.init.normal_(encoder.own.weight, std=float(table.std()) if len(table) > 1 else 0.1)
            encoder.own.weight[word_tokenizer.UNKNOWN] = table.mean(dim=0)
        else:
            nn.init.normal_(encoder.own.weight, std=vectors.width**-0.5)
    return BuiltEncoder(encoder, tokenizer, specials(tokenizer))


def build(described: dict[str, Any]) -> BiLSTM:
    """The encoder of a description; its weights and tables come with the state dict."""
    return BiLSTM(**{name: value for name, value in described.items() if name != "kind"})


def _vocabulary(
    counts: dict[str, int], file_words: Sequence[str], *, case: str, minimum: int
) -> tuple[list[str], dict[str, int], int]:
    """The words that become tokens, the row of each one's vector, and how many rows are not from the file."""
    place = {word: index for index, word in enumerate(file_words)}

    def key(word: str) -> str | None:
        forms = (word.lower(), word) if case == "characters" else (word, word.lower())
        return next((form for form in forms if form in place), None)

    fold = str.lower if case == "characters" else str
    frequent: dict[str, int] = {}
    for word, count in counts.items():
        frequent[fold(word)] = frequent.get(fold(word), 0) + count
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    kept_words = [word for word in ordered if key(word) is not None or frequent[fold(word)] >= minimum]
    own_words = {fold(word): None for word in kept_words if key(word) is None}
    own_rows = {word: len(SPECIALS) + index for index, word in enumerate(own_words)}
    first = len(SPECIALS) + len(own_words)
    whole_words = [word for word in file_words if list(word_tokenizer.split([word], lower=case == "lower")) == [word]]
    if case == "characters":
        # "Aspirin" begins a sentence sooner or later, though the file has only "aspirin". Not every capital maps back to its letter: "µ" becomes another one.
        whole_words = [
            form for word in whole_words for form in (word, word.capitalize()) if form == word or form.lower() == word
        ]
    rows = {}
    for word in dict.fromkeys((*kept_words, *whole_words)):
        vector_word = key(word)
        rows[word] = own_rows[fold(word)] if vector_word is None else first + place[vector_word]
    return list(rows), rows, first


def _fill(encoder: BiLSTM, tokens: Sequence[str], rows: dict[str, int], alphabet: Sequence[str]) -> None:
    """Write what tokens are into the encoder's tables."""
    characters = {character: 1 + len(SPECIALS) + index for index, character in enumerate(alphabet)}
    longest = encoder.spelling.shape[1]
    row, size = np.full(len(tokens), word_tokenizer.UNKNOWN, dtype=np.int64), np.ones(len(tokens), dtype=np.int32)
    spelling, continues = np.zeros((len(tokens), longest), dtype=np.int32), np.zeros(len(tokens), dtype=np.bool_)
    row[: len(SPECIALS)] = np.arange(len(SPECIALS))
    spelling[: len(SPECIALS), 0] = np.arange(len(SPECIALS)) + 1
    for index, token in enumerate(tokens[len(SPECIALS) :], len(SPECIALS)):
        inner = token.startswith(word_tokenizer.CONTINUES)
        spelled = [characters[character] for character in token.removeprefix(word_tokenizer.CONTINUES)[:longest]]
        spelling[index, : len(spelled)] = spelled
        size[index], continues[index] = len(spelled), inner
        if not inner:
            row[index] = rows.get(token, word_tokenizer.UNKNOWN)
    for buffer, table in (
        (encoder.rows, row),
        (encoder.sizes, size),
        (encoder.spelling, spelling),
        (encoder.continues, continues),
    ):
        buffer.copy_(torch.from_numpy(table))
