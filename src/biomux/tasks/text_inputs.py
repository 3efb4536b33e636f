"""Texts, sentences and pairs of texts as inputs. What reads alike is equal, so that tasks can share what is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.tasks.examples import Cut, ModelInput
from biomux.text import sentences, stretches, words
from biomux.text import tokens as text_tokens
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.text.tokens import Tokens

AT_ONCE = 200_000
"""Characters that are split into tokens at once: the memory that a document takes does not grow with it."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Each sentence is an input; one that is longer than the limit is several windows. `longest` splits those of more words than that."""

    longest: int | None = None

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """The inputs, made as they are asked for. A sentence of more than `stretches.LONGEST` characters is read in stretches."""
        ranges = self.parts(document)
        counts["sentences"] += len(ranges)
        for first, group in _groups(list(stretches.of(ranges))):
            tokens_of_parts = text_tokens.split(
                tokenizer, document.text, [(stretch.start, stretch.end) for stretch in group]
            )
            for number, (stretch, tokens) in enumerate(zip(group, tokens_of_parts, strict=True), start=first):
                part = stretch.core_start, stretch.core_end
                made = cut_to_windows(tokens, part, number, limit=limit)
                counts["windows of long sentences"] += len(made) if len(made) > 1 else 0
                yield from made

    def parts(self, document: Document) -> tuple[Range, ...]:
        """The sentences, or what they are split into."""
        return sentence_ranges(document, self.longest)


@dataclass(frozen=True, slots=True)
class Texts:
    """Each document, or each of its passages, is an input; one that is longer than the limit is several windows."""

    passages: bool = False

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """The inputs of a document."""
        for number, part in enumerate(self.parts(document)):
            windows = windowed(tokenizer, document.text, part, number, limit=limit)
            counts["texts read in windows"] += len(windows) > 1
            yield from windows

    def parts(self, document: Document) -> list[Range]:
        """The passages that have text, where these are read and there are any; else the whole."""
        passages = (
            [(passage.start, passage.end) for passage in document.passages if passage.end > passage.start]
            if self.passages
            else []
        )
        return passages or [(0, len(document.text))]


@dataclass(frozen=True, slots=True)
class TextPair:
    """The document's text and its pair are one input; a document without a pair has none."""

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """The input, shortened to the limit one token at a time from the longer side."""
        joined = pair(document, tokenizer, limit=limit, counts=counts)
        if joined is not None:
            yield joined


def sentence_ranges(document: Document, longest: int | None = None) -> tuple[Range, ...]:
    """The document's sentences; those of more than `longest` words in parts of at most so many.

    >>> from biomux.document import Document
    >>> sentence_ranges(Document("1", "One two three four five."), 2)
    ((0, 7), (8, 18), (19, 24))
    """
    ranges_known = sentences.of(document)
    if longest is None:
        return ranges_known
    ranges: list[Range] = []
    for start, end in ranges_known:
        inner = words.split(document.text[start:end])
        if len(inner) <= longest:
            ranges.append((start, end))
            continue
        firsts = [start, *(start + inner[at][0] for at in range(longest, len(inner), longest))]
        for begin, next_begin in zip(firsts, [*firsts[1:], end], strict=True):
            ranges.append((begin, begin + len(document.text[begin:next_begin].rstrip())))
    return tuple(ranges)


def windowed(tokenizer: Tokenizer, text: str, part: Range, number: int, *, limit: int) -> list[ModelInput]:
    """A range of a text as an input, or as overlapping windows where it is longer than the limit; none where it has no token."""
    return cut_to_windows(text_tokens.split(tokenizer, text, [part])[0], part, number, limit=limit)


def cut_to_windows(tokens: Tokens, part: Range, number: int, *, limit: int) -> list[ModelInput]:
    """Tokens as an input, or as windows of at most the limit."""
    if len(tokens) <= limit:
        return [ModelInput(tokens, part=part, number=number)] if len(tokens) else []
    return [
        ModelInput(tokens.window(window.start, window.end), part=part, number=number, cut=Cut(tokens, window))
        for window in windows(len(tokens), limit=limit)
    ]


def stitched(
    inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
) -> tuple[Tokens, NDArray[np.float32]]:
    """The tokens of a sentence, and an output for each of its words: of several windows that of the window whose own the word is."""
    if inputs[0].cut is None:
        return inputs[0].tokens, outputs[0]
    rows_owned = [rows[window.cut.own] for window, rows in zip(inputs, outputs, strict=True) if window.cut is not None]
    return inputs[0].cut.whole, np.concatenate(rows_owned)


def _groups(stretches_found: Sequence[stretches.Stretch]) -> Iterator[tuple[int, Sequence[stretches.Stretch]]]:
    """Stretches in groups of about AT_ONCE characters, each with the number of its first."""
    begin = size = 0
    for place, stretch in enumerate(stretches_found):
        size += stretch.end - stretch.start
        if size >= AT_ONCE:
            yield begin, stretches_found[begin : place + 1]
            begin, size = place + 1, 0
    if begin < len(stretches_found):
        yield begin, stretches_found[begin:]


def pair(document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]) -> ModelInput | None:
    """The document's text and its pair as one input, shortened to the limit one token at a time from the longer side."""
    if document.pair is None:
        counts["documents without a pair"] += 1
        return None
    left = text_tokens.split(tokenizer, document.text, [(0, len(document.text))])[0]
    right = text_tokens.split(tokenizer, document.pair, [(0, len(document.pair))])[0]
    cut_to = shares(len(left), len(right), limit - 1)
    if cut_to != (len(left), len(right)):
        counts["pairs shortened"] += 1
        counts["tokens cut from pairs"] += len(left) + len(right) - sum(cut_to)
    return ModelInput(right.window(0, cut_to[1]), left.window(0, cut_to[0]), part=(0, len(document.text)))


def shares(left: int, right: int, room: int) -> tuple[int, int]:
    """How many tokens of each side stay when one token at a time is taken from the longer side, from the second if both are equal.

    >>> shares(10, 4, 8), shares(3, 4, 8), shares(9, 9, 5)
    ((4, 4), (3, 4), (3, 2))
    """
    while left + right > room:
        if left > right:
            left -= 1
        else:
            right -= 1
    return left, right
