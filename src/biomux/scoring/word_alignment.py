"""Spans widened to words, and a word's label copied to its tokens.

conlleval sees words and one tag for each; it cannot see where inside a word a mention ends. Widening both sides to whole words and comparing
strictly gives its counts, for spans that do not overlap each other. Those that do, it could not write down; here they simply stay.

Paper C copies a word's tag to all its tokens and lets seqeval read the tokens. A copied B begins a new chunk, so a first word of
three tokens makes three chunks, two of one token and one that runs on to the end. Long first words count more; that is the figure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from biomux.document import Document, Range
    from biomux.scoring.span_matching import Key

WORD = re.compile(r"\w+|[^\w\s]")


def plain_words(text: str) -> list[Range]:
    """Runs of letters, digits and underscores, and every other visible character on its own: what BERT takes for words.

    >>> plain_words("IL-2 rose")
    [(0, 2), (2, 3), (3, 4), (5, 9)]
    """
    return [match.span() for match in WORD.finditer(text)]


def given_words(gold: Document, predicted: Document) -> Sequence[Range] | None:
    """The tokens that the source gives, gold's before the predictions'."""
    return predicted.tokens if gold.tokens is None else gold.tokens


def to_words(spans: Iterable[Key], words: Sequence[Range]) -> set[Key]:
    """Each span from the start of its first word to the end of its last; one that touches no word stays as it is.

    >>> sorted(to_words({(1, 2, "gene", ()), (1, 5, "gene", ())}, [(0, 4), (5, 9)]))
    [(0, 4, 'gene', ())]
    """
    starts, ends = [start for start, _ in words], [end for _, end in words]
    widened = set()
    for key in spans:
        if not key[3]:
            first, after = bisect_right(ends, key[0]), bisect_left(starts, key[1])
            if first < after:
                key = (starts[first], ends[after - 1], key[2], ())
        else:
            runs = touched(key[3], starts, ends)
            if runs:
                parts = tuple((starts[first], ends[after - 1]) for first, after in runs)
                key = (parts[0][0], parts[-1][1], key[2], parts if len(parts) > 1 else ())
        widened.add(key)
    return widened


def to_tokens(spans: Iterable[Key], words: Sequence[Range], tokens: Sequence[Range]) -> set[Key]:
    """The chunks that seqeval reads from tokens that carry their word's tag. Offsets are places of tokens, not characters.

    A span without any token (an unknown character that a tokenizer drops) stays, at negative offsets, so that it is still counted.

    >>> sorted(to_tokens({(0, 9, "gene", ())}, [(0, 4), (5, 9)], [(0, 2), (2, 4), (5, 9)]))
    [(0, 1, 'gene', ()), (1, 3, 'gene', ())]
    """
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    word_starts, word_ends = [start for start, _ in words], [end for _, end in words]
    chunks: set[Key] = set()
    for key in to_words(spans, words):
        runs = touched(key[3] or ((key[0], key[1]),), starts, ends)
        if not runs:
            chunks.add((-key[1] - 1, -key[0] - 1, key[2], ()))
            continue
        begin = runs[0][0]
        first_word = bisect_right(word_ends, key[0])
        if first_word < len(words) and word_starts[first_word] == key[0]:
            after = bisect_left(starts, word_ends[first_word])
            chunks.update((place, place + 1, key[2], ()) for place in range(begin, after - 1))
            begin = max(begin, after - 1)
        parts = ((begin, runs[0][1]), *runs[1:])
        chunks.add((begin, parts[-1][1], key[2], parts if len(parts) > 1 else ()))
    return chunks


def touched(fragments: Iterable[Range], starts: Sequence[int], ends: Sequence[int]) -> list[Range]:
    """Runs of places of words (or tokens) that the fragments touch, first and after last; runs that meet are joined."""
    runs: list[Range] = []
    for start, end in fragments:
        first, after = bisect_right(ends, start), bisect_left(starts, end)
        if first >= after:
            continue
        if runs and first <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(after, runs[-1][1]))
        else:
            runs.append((first, after))
    return runs
