"""Another vocabulary for an encoder that has been trained with one already.

A token that the old vocabulary has keeps its vector; a new one starts from the mean of the vectors of the old tokens that spell
it. Trimming keeps the tokens that given texts use, and all single characters, so that every word can still be spelled.
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


def replace(tokenizer: Tokenizer, table: Tensor, tokens: Sequence[str]) -> tuple[Tokenizer, Tensor]:
    """A WordPiece tokenizer with another vocabulary, and its embedding table."""
    kept = [
        *SPECIALS,
        *(token for token in dict.fromkeys(tokens) if token not in SPECIALS and not token.startswith("[unused")),
    ]
    known = tokenizer.get_vocab()
    rows = table[[known.get(token, 0) for token in kept]]
    for row, token in enumerate(kept):
        if token not in known:
            rows[row] = _vector(tokenizer, table, token)
    return _with_vocabulary(tokenizer, kept), rows


def trim(tokenizer: Tokenizer, table: Tensor, texts: Iterable[str], *, minimum: int = 1) -> tuple[Tokenizer, Tensor]:
    """The same tokenizer with only the tokens that occur at least `minimum` times in the texts, and single characters."""
    # No token crosses a blank, so each string between blanks is split once, however often it comes.
    strings = Counter(string for text in texts for string in text.split(" "))
    counts: Counter[int] = Counter()
    for chunk in _chunks(strings):
        for string, encoding in zip(chunk, tokenizer.encode_batch(chunk, add_special_tokens=False), strict=True):
            for index in encoding.ids:
                counts[index] += strings[string]
    by_index = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    kept = [token for token, index in by_index if counts[index] >= minimum or len(token.removeprefix("##")) == 1]
    return replace(tokenizer, table, kept)


def shaped(
    tokenizer: Tokenizer, table: Tensor, settings: schema.VocabularySettings, texts: Iterable[str]
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
    """The old tokens that spell a word's continuation: the longest first, as WordPiece itself goes."""
    ids: list[int] = []
    while text:
        heads = ((size, tokenizer.token_to_id(f"##{text[:size]}")) for size in range(len(text), 0, -1))
        size, index = next((found for found in heads if found[1] is not None), (0, None))
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
