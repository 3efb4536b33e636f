"""Short sentences made from a tagger's own training data: a mention, or a word that is never one, in a frame such as "We studied {}."

Corpora consist of sentences from papers, in which much besides a name says what it is. Titles, tables and users' own first tries do
not: there the name itself has to be enough. Frames use each name as often as any other, however often the corpus has it, and words
from outside show that not everything in a frame is a mention.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from biomux.document import Document, Span
from biomux.text import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FRAMES = (
    "{}",
    "{}.",
    "We studied {}.",
    "Effects of {}",
    "{} was measured twice.",
    "Here we describe {} in detail.",
    "Little is known about {}.",
    "{} and its regulation",
    "Analysis of {} by several methods",
    "Use of {}: a review",
    "The two differed in {}.",
    "{} (Figure 1)",
)
LONGEST = 60
"""Characters of the longest mention that is put into a frame."""
RARE = 20
"""A word that occurs more often is likely to be grammar, not a thing that could be taken for a mention."""
SHORTEST = 4
"""Characters of the shortest word from outside."""
OUTSIDE = 0.5
"""How many frames have a word from outside, for each with a mention."""


def made(documents: Sequence[Document], share: float, *, seed: int) -> list[Document]:
    """Frames for a share of the number of mentions, and half as many with words from outside."""
    chance = random.Random(seed)
    mentions = sorted({(document.mention(span), span.type) for document, span in _short_spans(documents)})
    outside = _outside(documents)
    number = round(share * sum(len(document.spans) for document in documents))
    chosen: list[tuple[str, str | None]] = [chance.choice(mentions) for _ in range(number if mentions else 0)]
    chosen += [(chance.choice(outside), None) for _ in range(round(OUTSIDE * number) if outside else 0)]
    chance.shuffle(chosen)
    return [_framed(f"frame:{at}", text, type_, chance.choice(FRAMES)) for at, (text, type_) in enumerate(chosen)]


def _short_spans(documents: Sequence[Document]) -> Iterator[tuple[Document, Span]]:
    for document in documents:
        for span in document.spans:
            if not span.fragments and span.end - span.start <= LONGEST:
                yield document, span


def _outside(documents: Sequence[Document]) -> list[str]:
    """Rare words that are in no mention, in the order of the alphabet."""
    numbers: Counter[str] = Counter()
    inside: set[str] = set()
    for document in documents:
        text = document.text
        numbers.update(text[start:end] for start, end in words.split(text))
        for span in document.spans:
            mention = document.mention(span)
            inside.update(mention[start:end].lower() for start, end in words.split(mention))
    return sorted(
        word
        for word, number in numbers.items()
        if number <= RARE and len(word) >= SHORTEST and word.isalpha() and word.lower() not in inside
    )


def _framed(id_: str, name: str, type_: str | None, frame: str) -> Document:
    at = frame.index("{}")
    spans = () if type_ is None else (Span(at, at + len(name), type_),)
    return Document(id_, frame.replace("{}", name), spans=spans)
