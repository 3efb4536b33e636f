"""Another vocabulary for an encoder that has been trained with one already.

A piece that the old vocabulary has keeps its vector; a new one starts from the mean of the vectors of the old pieces that spell
it. Trimming keeps the pieces that given texts use, and all single characters, so that every word can still be spelled.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from biomux.formats import lines, sources
from biomux.training.encoders.tokenizer import SPECIALS, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch import Tensor

    from biomux.recipes import schema


def replace(tokenizer: Tokenizer, table: Tensor, pieces: Sequence[str]) -> tuple[Tokenizer, Tensor]:
    """A WordPiece tokenizer with another vocabulary, and its embedding table."""
    kept = [
        *SPECIALS,
        *(piece for piece in dict.fromkeys(pieces) if piece not in SPECIALS and not piece.startswith("[unused")),
    ]
    known = tokenizer.get_vocab()
    rows = table[[known.get(piece, 0) for piece in kept]]
    for row, piece in enumerate(kept):
        if piece not in known:
            rows[row] = _vector(tokenizer, table, piece)
    return _with_vocabulary(tokenizer, kept), rows


def trim(tokenizer: Tokenizer, table: Tensor, texts: Iterable[str], *, minimum: int = 1) -> tuple[Tokenizer, Tensor]:
    """The same tokenizer with only the pieces that occur at least `minimum` times in the texts, and single characters."""
    # No piece crosses a blank, so each string between blanks is split once, however often it comes.
    strings = Counter(string for text in texts for string in text.split(" "))
    counts: Counter[int] = Counter()
    for chunk in _chunks(strings):
        for string, encoding in zip(chunk, tokenizer.encode_batch(chunk, add_special_tokens=False), strict=True):
            for index in encoding.ids:
                counts[index] += strings[string]
    by_index = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    kept = [piece for piece, index in by_index if counts[index] >= minimum or len(piece.removeprefix("##")) == 1]
    return replace(tokenizer, table, kept)


def shaped(
    tokenizer: Tokenizer, table: Tensor, settings: schema.Vocabulary, texts: Iterable[str]
) -> tuple[Tokenizer, Tensor]:
    """Tokenizer and embedding table with the vocabulary that a recipe asks for."""
    if settings.kind == "keep":
        return tokenizer, table
    if settings.kind == "file":
        tokenizer, table = replace(tokenizer, table, tokens_of(settings.file or ""))
    return trim(tokenizer, table, (*texts, *lines_of(settings.texts)), minimum=settings.minimum)


def lines_of(files: Iterable[str]) -> Iterator[str]:
    """The documents of plain-text files, one a line, gzipped or not."""
    for file in files:
        for source in sources(file):
            for _, line in lines(source):
                yield line


def _vector(tokenizer: Tokenizer, table: Tensor, piece: str) -> Tensor:
    index = tokenizer.token_to_id(piece)
    if index is not None:
        return table[index]
    inner = piece.startswith("##")
    ids = tokenizer.encode(f"a{piece[2:]}" if inner else piece, add_special_tokens=False).ids
    if inner:
        ids = _continuation(tokenizer, piece[2:]) or ids
    return table[ids].mean(dim=0) if ids else table[tokenizer.token_to_id("[UNK]")]


def _continuation(tokenizer: Tokenizer, text: str) -> list[int]:
    """The old pieces that spell a word's continuation: the longest first, as WordPiece itself goes."""
    ids: list[int] = []
    while text:
        heads = ((size, tokenizer.token_to_id(f"##{text[:size]}")) for size in range(len(text), 0, -1))
        size, index = next((found for found in heads if found[1] is not None), (0, None))
        if index is None:
            return []
        ids.append(index)
        text = text[size:]
    return ids


def _with_vocabulary(tokenizer: Tokenizer, pieces: Sequence[str]) -> Tokenizer:
    description = json.loads(tokenizer.to_str())
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
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
