"""A new vocabulary for an encoder that was trained with another.

A token that the old vocabulary has keeps its vector; a new one starts from the mean of the vectors of the old tokens that spell
it or, if word vectors are given, of the old tokens that are nearest to it there. Trimming keeps the tokens that occur in the texts, and all
single characters, so that every word can still be spelled. A trained vocabulary holds what WordPiece finds common in the texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, trainers

from biomux.errors import RecipeError
from biomux.formats import lines, sources
from biomux.training.encoders import word_vector_files
from biomux.training.encoders.tokenizer import SPECIALS, tokenizer_of, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from biomux.recipes import schema

NEAREST = 5
"""How many old tokens a new one starts from if word vectors are given."""
LETTERS = 1000
"""Characters that a trained vocabulary can spell with; rarer ones are unknown to it."""
AT_ONCE = 1024
"""How many new tokens are compared with the old ones at a time."""


def saved(
    settings: schema.EncoderSettings, sample: Sequence[str], encoder: Any, tokenizer: Tokenizer
) -> dict[str, Any] | None:
    """What a recipe's vocabulary saves: rows of the embedding table, and tokens of a sample of the text; None if it is the encoder's own."""
    if settings.vocabulary.kind == "keep" or not settings.name or settings.kind not in ("transformer", "shaped"):
        return None
    old = tokenizer_of(settings.name, lower_case=settings.lower_case)
    lengths = [
        sum(len(encoding.ids) for encoding in vocabulary.encode_batch_fast(list(sample), add_special_tokens=False))
        for vocabulary in (old, tokenizer)
    ]
    sizes = [vocabulary.get_vocab_size() for vocabulary in (old, tokenizer)]
    width = encoder.body.get_input_embeddings().weight.shape[1]
    return {
        "tokens_before": sizes[0],
        "tokens_after": sizes[1],
        "parameters_saved": (sizes[0] - sizes[1]) * width,
        "parameters": sum(parameter.numel() for parameter in encoder.parameters()),
        "sample_before": lengths[0],
        "sample_after": lengths[1],
    }


def replace(
    tokenizer: Tokenizer, table: Tensor, tokens: Sequence[str], *, vectors: str | None = None
) -> tuple[Tokenizer, Tensor]:
    """A WordPiece tokenizer with another vocabulary, and its embedding table."""
    new_tokens = [
        *SPECIALS,
        *(token for token in dict.fromkeys(tokens) if token not in SPECIALS and not token.startswith("[unused")),
    ]
    return _with_vocabulary(tokenizer, new_tokens), rows(tokenizer, table, new_tokens, vectors=vectors)


def rows(tokenizer: Tokenizer, table: Tensor, tokens: Sequence[str], *, vectors: str | None = None) -> Tensor:
    """The vectors that these tokens start from: a row of the old table, the mean of the rows that spell one, or of the nearest in the file of word `vectors`."""
    old_ids = tokenizer.get_vocab()
    new_rows = table[[old_ids.get(token, 0) for token in tokens]]
    new = [token for token in tokens if token not in old_ids]
    near = _nearest(new, old_ids, vectors) if vectors is not None else {}
    for row, token in enumerate(tokens):
        if token in near:
            new_rows[row] = table[[old_ids[neighbour] for neighbour in near[token]]].mean(dim=0)
        elif token not in old_ids:
            new_rows[row] = _vector(tokenizer, table, token)
    return new_rows


def _nearest(new: Sequence[str], vocabulary: Iterable[str], file: str) -> dict[str, list[str]]:
    """For each new token that is a word with a vector: the old tokens with the most similar vectors, by cosine."""
    old = {token for token in vocabulary if not token.startswith(("##", "["))}
    vectors = word_vector_files.read(file, wanted=old | set(new))
    table = torch.from_numpy(np.asarray(vectors.table))
    table = table / table.norm(dim=1, keepdim=True).clamp(min=1e-12)
    places = {word: place for place, word in enumerate(vectors.words)}
    partners = [word for word in vectors.words if word in old]
    if not partners:
        return {}
    words = [token for token in new if token in places]
    theirs = table[[places[word] for word in partners]].T
    near: dict[str, list[str]] = {}
    for begin in range(0, len(words), AT_ONCE):
        chunk = words[begin : begin + AT_ONCE]
        best = (table[[places[word] for word in chunk]] @ theirs).topk(min(NEAREST, len(partners)), dim=1).indices
        near |= {word: [partners[place] for place in row] for word, row in zip(chunk, best.tolist(), strict=True)}
    return near


def in_order(tokenizer: Tokenizer) -> list[str]:
    """The tokens of a tokenizer, by their numbers."""
    return [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]


def learn(tokenizer: Tokenizer, texts: Iterable[str], *, size: int) -> list[str]:
    """The tokens of a WordPiece vocabulary of about `size`, trained on texts that are split and normalised as the tokenizer does. Texts are read twice.

    The same texts give the same tokens, in the same order.
    """
    description = json.loads(tokenizer.to_str())
    if description["model"]["type"] != "WordPiece":
        raise RecipeError(
            "BX306",
            f"only a WordPiece vocabulary can be trained, got {description['model']['type']}",
            where="model → encoder → vocabulary",
            hint="set vocabulary.kind to keep or trim",
        )
    fresh = Tokenizer(models.WordPiece(unk_token=SPECIALS[1], max_input_chars_per_word=100))
    fresh.normalizer, fresh.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    letters = _alphabet(tokenizer, texts)
    # Letters are numbered here: the trainer would number them in the random order of its tables, and ties are broken by these numbers.
    inner = [f"##{letter}" for letter in letters if len(tokenizer.pre_tokenizer.pre_tokenize_str(f"a{letter}")) == 1]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SPECIALS, *letters, *inner],
        limit_alphabet=len(letters),
        show_progress=False,
    )
    fresh.train_from_iterator(texts, trainer)
    return in_order(fresh)


def _alphabet(tokenizer: Tokenizer, texts: Iterable[str]) -> list[str]:
    """The most common characters of normalised texts, without blanks."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text)
    common = sorted(
        (character for character in counts if not character.isspace()),
        key=lambda character: (-counts[character], character),
    )
    return sorted(common[:LETTERS])


class _Chained:
    """Texts one after the other; can be iterated repeatedly."""

    def __init__(self, *parts: Iterable[str]) -> None:
        self._parts = [list(part) if isinstance(part, Iterator) else part for part in parts]

    def __iter__(self) -> Iterator[str]:
        return chain(*self._parts)


class _Lines:
    def __init__(self, files: Sequence[str]) -> None:
        self._files = files

    def __iter__(self) -> Iterator[str]:
        return lines_of(self._files)


def trim(tokenizer: Tokenizer, table: Tensor, texts: Iterable[str], *, minimum: int = 1) -> tuple[Tokenizer, Tensor]:
    """The same tokenizer with only the tokens that occur at least `minimum` times in the texts, and single characters."""
    # No token crosses a blank, so each string between blanks is split once, however often it occurs.
    strings = Counter(string for text in texts for string in text.split(" "))
    counts: Counter[int] = Counter()
    for chunk in _chunks(strings):
        for string, encoding in zip(chunk, tokenizer.encode_batch(chunk, add_special_tokens=False), strict=True):
            for index in encoding.ids:
                counts[index] += strings[string]
    by_index = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    kept_tokens = [token for token, index in by_index if counts[index] >= minimum or len(token.removeprefix("##")) == 1]
    return replace(tokenizer, table, kept_tokens)


def shaped(
    tokenizer: Tokenizer, table: Tensor, settings: schema.VocabularySettings, texts: Iterable[str]
) -> tuple[Tokenizer, Tensor]:
    """Tokenizer and embedding table with the vocabulary that a recipe asks for."""
    if settings.kind == "keep":
        return tokenizer, table
    if settings.kind == "train":
        tokens = learn(tokenizer, _Chained(texts, _Lines(settings.texts)), size=settings.size)
        return replace(tokenizer, table, tokens, vectors=settings.vectors)
    every = chain(texts, lines_of(settings.texts))
    if settings.kind == "file":
        tokenizer, table = replace(tokenizer, table, tokens_of(settings.file or ""), vectors=settings.vectors)
    return trim(tokenizer, table, every, minimum=settings.minimum) if settings.minimum else (tokenizer, table)


def lines_of(files: Iterable[str]) -> Iterator[str]:
    """The documents of plain-text files, one per line, gzipped or not."""
    for file in files:
        for source in sources(file):
            for _, line in lines(source):
                yield line


def _vector(tokenizer: Tokenizer, table: Tensor, token: str) -> Tensor:
    index = tokenizer.token_to_id(token)
    if index is not None:
        return table[index]
    inner = token.startswith("##")
    ids = tokenizer.encode(f"a{token[2:]}" if inner else token, add_special_tokens=False).ids
    if inner:
        ids = _continuation(tokenizer, token[2:]) or ids
    return table[ids].mean(dim=0) if ids else table[tokenizer.token_to_id("[UNK]")]


def _continuation(tokenizer: Tokenizer, text: str) -> list[int]:
    """The old tokens that spell a word's continuation: the longest first, as in WordPiece itself."""
    ids: list[int] = []
    while text:
        heads = ((size, tokenizer.token_to_id(f"##{text[:size]}")) for size in range(len(text), 0, -1))
        size, index = next((candidate for candidate in heads if candidate[1] is not None), (0, None))
        if index is None:
            return []
        ids.append(index)
        text = text[size:]
    return ids


def _with_vocabulary(tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
    description = json.loads(tokenizer.to_str())
    vocabulary = {token: index for index, token in enumerate(tokens)}
    description["model"]["vocab"] = vocabulary
    description["added_tokens"] = [
        {**token, "id": vocabulary[token["content"]]}
        for token in description["added_tokens"]
        if token["content"] in vocabulary
    ]
    processor = description.get("post_processor") or {}
    for special in processor.get("special_tokens", {}).values():
        special["ids"] = [vocabulary[token] for token in special["tokens"]]
    return Tokenizer.from_str(json.dumps(description))


def _chunks(texts: Iterable[str], size: int = 1000) -> Iterable[list[str]]:
    chunk: list[str] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
