"""A word-level encoder whose knowledge is in look-up tables: cheap to train, and cheap to run.

A word is its vector from a file, a row of a hashed table of words, the mean of the rows of its character n-grams, and a row
of its shape, side by side; a linear layer makes one vector of them. Residual windows follow (see `convolution`), and a BiLSTM if the
recipe asks for one. An unseen word has n-grams and a shape like any other.

A word's vector depends only on its characters: it is computed once for each distinct word of a batch. Tokens are those of
`word_tokenizer`. A word that it had to split is joined again here, and each of its tokens gets the word's state. [CLS] and
[SEP] are words too. `segments` are not read: [SEP] is between two parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from biomux.recipes import schema
from biomux.text.word_features import TableSizes, of_words, vector_row
from biomux.training.encoders import word_tokenizer, word_vector_files
from biomux.training.encoders.convolution import BLOCKS, Block
from biomux.training.encoders.encoder import BuiltEncoder
from biomux.training.encoders.recurrence import Recurrence
from biomux.training.encoders.transformer import specials
from biomux.training.encoders.word_starts import word_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.text.word_features import WordFeatures

REMEMBERED = 100_000
"""How many words outside the vocabulary are remembered; beyond that, all are forgotten."""

ALPHABET = "".join(filter(str.isalpha, map(chr, range(0xA1, 0x400))))
"""Latin and Greek letters, with which words may be spelled even if the texts lack them; a word with other unseen characters is [UNK]."""


class Lexical(nn.Module):
    """The network.

    | size | of what |
    |---|---|
    | vocabulary, letters | tokens; bytes of all their strings together |
    | vectors, vector_width | word vectors from a file; row 0 is for words that it lacks. They are not trained if `frozen` |
    | word_rows, gram_rows, shape_rows | rows of the hashed tables |
    | word_width, gram_width, shape_width | a row of each |
    | width, blocks, window | a word's vector; how many residual windows follow, and their neighbours on either side |
    | recurrent | whether a BiLSTM follows; both directions together have the same width |
    """

    strings: Tensor
    ends: Tensor
    vector_rows: Tensor

    def __init__(
        self,
        *,
        vocabulary: int,
        letters: int,
        vectors: int = 0,
        vector_width: int = 0,
        frozen: bool = True,
        word_rows: int = 32768,
        gram_rows: int = 65536,
        shape_rows: int = 512,
        word_width: int = 64,
        gram_width: int = 64,
        shape_width: int = 16,
        width: int = 192,
        blocks: int = BLOCKS,
        window: int = 1,
        recurrent: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        # The tokens' strings, one after the other in UTF-8, where each ends, and the row of its vector from the file.
        self.register_buffer("strings", torch.zeros(letters, dtype=torch.uint8))
        self.register_buffer("ends", torch.zeros(vocabulary, dtype=torch.int32))
        self.register_buffer("vector_rows", torch.zeros(vocabulary, dtype=torch.int32))
        table = torch.zeros((vectors, vector_width))
        if frozen or not vectors:
            self.register_buffer("vectors", table)
        else:
            self.vectors: Tensor = nn.Parameter(table)
        # A batch uses few rows: gradients are sparse, and the optimizer updates only these rows.
        self.words = nn.Embedding(word_rows, word_width, sparse=True)
        self.grams = nn.EmbeddingBag(gram_rows, gram_width, mode="mean", sparse=True)
        self.shapes = nn.Embedding(shape_rows, shape_width)
        for embedding, deviation in ((self.words, 0.1), (self.grams, 0.3), (self.shapes, 0.1)):
            nn.init.normal_(embedding.weight, std=deviation)
        self.mix = nn.Linear(vector_width * bool(vectors) + word_width + gram_width + shape_width, width)
        self.norm = nn.LayerNorm(width)
        self.layer = nn.ModuleList(Block(width, window, "gelu", dropout) for _ in range(blocks))
        self.recurrence = Recurrence(width) if recurrent else None
        self.dropout = nn.Dropout(dropout)
        self._lexicon: _Lexicon | None = None

    @property
    def width(self) -> int:
        """The size of a token's vector."""
        return int(self.settings["width"])

    @property
    def depth(self) -> int:
        """How many layers there are besides the words' own vectors."""
        return len(self.layer) + (self.recurrence is not None)

    def describe(self) -> dict[str, Any]:
        """What the encoder is, as plain data; the words that it knows are in the state dict."""
        return {"kind": "lexical", **self.settings}

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        return self.layers(ids, mask, segments)[-1]

    def layers(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """The words' own vectors, and the output of every layer."""
        real = mask.bool()
        continues = torch.from_numpy(self.lexicon.continues).to(ids.device)
        begins = word_starts(ids, real, continues)
        sizes = begins.sum(dim=1)
        word = (begins.cumsum(dim=1) - 1).clamp(min=0)
        in_row = torch.arange(int(sizes.max()), device=ids.device)[None, :] < sizes[:, None]
        types, flat = self._types(ids[real].cpu().numpy(), begins[real].cpu().numpy())
        hidden = types.new_zeros((*in_row.shape, types.shape[1]))
        hidden[in_row] = types[torch.from_numpy(flat).to(ids.device)]
        inside = in_row[..., None].to(hidden.dtype)
        hidden = self.dropout(hidden)
        states = [hidden]
        for layer in self.layer:
            states.append(layer(states[-1], inside))
        if self.recurrence is not None:
            states.append(self.recurrence(self.dropout(states[-1]), sizes) * inside)
        if word.shape == in_row.shape and bool((begins == real).all()):
            return tuple(states)
        index = word[..., None].expand(*word.shape, self.width)
        return tuple(layer.gather(1, index) * real[..., None] for layer in states)

    @property
    def lexicon(self) -> _Lexicon:
        """The words that the tokenizer knows, with their rows; made from the buffers when first asked for."""
        if self._lexicon is None:
            rows = TableSizes(*(int(self.settings[f"{name}_rows"]) for name in ("word", "gram", "shape")))
            tables = [table.cpu().numpy() for table in (self.strings, self.ends, self.vector_rows)]
            self._lexicon = _Lexicon(_strings(*tables[:2]), tables[2], rows)
        return self._lexicon

    def _load_from_state_dict(self, *arguments: Any, **options: Any) -> None:
        self._lexicon = None
        super()._load_from_state_dict(*arguments, **options)

    def _types(self, ids: NDArray[np.int64], begins: NDArray[np.bool_]) -> tuple[Tensor, NDArray[np.int64]]:
        """The vectors of the distinct words, and which of them each word is."""
        keys, index = np.unique(self.lexicon.keys(ids, begins), return_inverse=True)
        rows, features = self.lexicon.rows(keys)
        device = self.mix.weight.device
        words, shapes, grams, sizes, vectors = (
            torch.from_numpy(part).to(device)
            for part in (features.words, features.shapes, features.grams, features.sizes, rows)
        )
        parts = [self.words(words), self.grams(grams, sizes.cumsum(0) - sizes), self.shapes(shapes)]
        if len(self.vectors):
            parts.insert(0, functional.embedding(vectors, self.vectors))
        mixed: Tensor = self.norm(self.mix(self.dropout(torch.cat(parts, dim=1))))
        return mixed, index.reshape(-1)


class _Lexicon:
    """Tokens by their index; other words are numbered in order of appearance, after the vocabulary."""

    def __init__(self, tokens: Sequence[str], vector_rows: NDArray[np.int32], rows: TableSizes) -> None:
        self._tokens, self._sizes = tokens, rows
        self.continues = np.array([token.startswith(word_tokenizer.CONTINUES) and len(token) > 2 for token in tokens])
        self._letters = [
            token[2:] if inner else token for token, inner in zip(tokens, self.continues.tolist(), strict=True)
        ]
        self._known = {
            token: int(row)
            for token, row, inner in zip(tokens, vector_rows, self.continues, strict=True)
            if row and not inner
        }
        self._table = _Table(of_words(self._letters, rows), vector_rows.astype(np.int64))
        self._others: dict[str, int] = {}
        self._more: _Table | None = None

    def keys(self, ids: NDArray[np.int64], begins: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The number of each word; a word is a token that begins one and the tokens up to the next."""
        starts = np.flatnonzero(begins)
        sizes = np.diff(np.append(starts, len(ids)))
        keys = ids[starts].copy()
        several = np.flatnonzero((sizes > 1) | self.continues[keys])
        if not len(several):
            return keys
        words = [
            "".join(self._letters[token_id] for token_id in ids[start : start + size])
            for start, size in zip(starts[several], sizes[several], strict=True)
        ]
        keys[several] = self._numbers(words)
        return keys

    def _numbers(self, words: Sequence[str]) -> list[int]:
        if len(self._others) + len(words) > REMEMBERED:
            self._others, self._more = {}, None
        fresh = list(dict.fromkeys(word for word in words if word not in self._others))
        if fresh:
            vectors = np.array([vector_row(word, self._known) for word in fresh], dtype=np.int64)
            table = _Table(of_words(fresh, self._sizes), vectors)
            self._more = table if self._more is None else self._more.with_more(table)
            for word in fresh:
                self._others[word] = len(self._tokens) + len(self._others)
        return [self._others[word] for word in words]

    def rows(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], WordFeatures]:
        """The rows of numbered words, given in ascending order."""
        inside = int(np.searchsorted(keys, len(self._tokens)))
        table = self._table.take(keys[:inside])
        if inside < len(keys) and self._more is not None:
            table = table.with_more(self._more.take(keys[inside:] - len(self._tokens)))
        return table.vectors, table.features


class _Table:
    """The rows of words."""

    def __init__(self, features: WordFeatures, vectors: NDArray[np.int64]) -> None:
        self.features, self.vectors = features, vectors
        self._starts = np.cumsum(features.sizes) - features.sizes

    def take(self, index: NDArray[np.int64]) -> _Table:
        """Some of the words."""
        features, sizes = self.features, self.features.sizes[index]
        inner = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        grams = features.grams[np.repeat(self._starts[index], sizes) + inner]
        return _Table(type(features)(features.words[index], grams, sizes, features.shapes[index]), self.vectors[index])

    def with_more(self, other: _Table) -> _Table:
        """These words, then others."""
        mine, more = self.features, other.features
        joined = (
            np.concatenate([getattr(mine, name), getattr(more, name)]) for name in ("words", "grams", "sizes", "shapes")
        )
        return _Table(type(mine)(*joined), np.concatenate([self.vectors, other.vectors]))


def make(settings: schema.EncoderSettings, texts: Iterable[str]) -> BuiltEncoder:
    """The encoder for texts, with the tokenizer of their words and of the file's vectors."""
    chosen = settings.lexical or schema.LexicalSettings()
    counts = word_tokenizer.split(texts)
    vectors = word_vector_files.Vectors((), np.zeros((0, 0), dtype=np.float32), 0)
    if chosen.vectors is not None:
        word_forms = {form for word in counts for form in (word, word.lower())}
        vectors = word_vector_files.read(chosen.vectors, wanted=word_forms, most=chosen.most)
    rows = {word: index for index, word in enumerate(vectors.words, 1)}
    whole_words = [word for word in vectors.words if list(word_tokenizer.split([word])) == [word]]
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    tokenizer = word_tokenizer.tokenizer(dict.fromkeys((*ordered, *whole_words)), alphabet=ALPHABET)
    tokens = word_tokenizer.tokens_of(tokenizer)
    spelled = [token.encode() for token in tokens]
    encoder = Lexical(
        vocabulary=len(tokens),
        letters=sum(map(len, spelled)),
        vectors=len(vectors.words) + 1 if len(vectors.words) else 0,
        vector_width=vectors.width if len(vectors.words) else 0,
        blocks=settings.layers or BLOCKS,
        dropout=settings.dropout,
        **chosen.model_dump(exclude={"vectors", "most"}),
    )
    encoder.strings.copy_(torch.frombuffer(bytearray(b"".join(spelled)), dtype=torch.uint8))
    encoder.ends.copy_(torch.tensor(np.cumsum([len(string) for string in spelled])))
    encoder.vector_rows.copy_(torch.tensor([vector_row(token, rows) for token in tokens]))
    if len(vectors.words):
        with torch.no_grad():
            # All vectors on one scale, whatever the file's: the other parts begin at theirs.
            table = torch.from_numpy(vectors.table)
            encoder.vectors[1:] = table / table.square().mean().sqrt().clamp(min=1e-9)
    return BuiltEncoder(encoder, tokenizer, specials(tokenizer))


def build(described: dict[str, Any]) -> Lexical:
    """The encoder of a description; its weights, tables and words come with the state dict."""
    return Lexical(**{name: value for name, value in described.items() if name != "kind"})


def words_with_vectors(state: Mapping[str, NDArray[Any]]) -> tuple[tuple[str, ...], list[int]]:
    """The words whose vectors an encoder has from a file, and the row of each, from its state dict.

    A word that has its vector by its lower case is not one of them, nor is a row that no token has.
    """
    token_of_row: dict[int, str] = {}
    tokens = _strings(state["strings"], state["ends"])
    for token, row in zip(tokens, state["vector_rows"].tolist(), strict=True):
        if row and (row not in token_of_row or token == token.lower()):
            token_of_row[row] = token
    return tuple(token_of_row.values()), list(token_of_row)


def _strings(letters: NDArray[np.uint8], ends: NDArray[np.int32]) -> list[str]:
    content, stops = letters.tobytes(), ends.tolist()
    return [content[start:end].decode() for start, end in zip([0, *stops[:-1]], stops, strict=True)]
