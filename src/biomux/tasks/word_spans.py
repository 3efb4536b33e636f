"""The entities of a batch: of all its rows and of all heads together.

Numpy costs as much for ten numbers as for a thousand, and a batch has twenty rows and as many heads. So what each head says about each row is one tag
sequence of many, and all of them are decoded at once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biomux.document import Span
from biomux.tasks.best_tags import faults, repaired
from biomux.tasks.softmax import softmax
from biomux.text.brackets import balanced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from biomux.document import Range
    from biomux.tasks.tagging import Tagging
    from biomux.text.tokens import Tokens

    Floats = NDArray[np.float32]
    Whole = NDArray[np.intp]

WordSpan = tuple[int, int, str, float]
"""The first word of an entity, the one after its last, its type and score."""

ByRow = dict[int, list[WordSpan]]
"""The entities of each row of a batch, as ranges of its words; rows without any are left out."""


class Mention(NamedTuple):
    """What a head found, with the names that a span has for it. Heads find far more than is given out, and a span takes four times as long to make."""

    start: int
    end: int
    type: str
    score: float
    head: str


Found = Span | Mention


def decoded(taggers: Sequence[Tagging], logits: Sequence[Floats], words: NDArray[np.int64]) -> list[ByRow]:
    """The entities that each tagger finds.

    `logits` of a tagger has the words of all rows, one row after the other; `words` says how many each row has.
    """
    found: list[ByRow] = [{} for _ in taggers]
    for scheme in {tagger.scheme for tagger in taggers}:
        places = [place for place, tagger in enumerate(taggers) if tagger.scheme == scheme]
        types = [taggers[place].types for place in places]
        by_tagger = _decoded(types, [logits[place] for place in places], words, scheme)
        for place, by_row in zip(places, by_tagger, strict=True):
            found[place] = by_row
    return found


def _decoded(
    types: Sequence[Sequence[str]], logits: Sequence[Floats], words: NDArray[np.int64], scheme: str
) -> list[ByRow]:
    tags: Whole = np.concatenate([rows.argmax(axis=1) for rows in logits])
    every = np.tile(words, len(types))
    ends = np.cumsum(every)
    # The blocks of labels are the same for heads of few and of many types, so the table of the most holds for all.
    most = max(rows.shape[1] for rows in logits)
    for sequence, places in faults(tags, every, labels=most, scheme=scheme).items():
        tagger, end = sequence // len(words), int(ends[sequence])
        own = slice(end - int(every[sequence]), end)
        before = tagger * len(logits[0])
        chances = softmax(logits[tagger][own.start - before : own.stop - before])
        tags[own] = repaired(tags[own], places, chances, scheme)
    tagged = np.flatnonzero(tags)
    return ranges(types, tags, tagged, _chances(logits, tags, tagged), words, scheme)


def _chances(logits: Sequence[Floats], tags: Whole, tagged: Whole) -> Floats:
    """The probabilities of the tags of words that have one other than O: `tagged`, tagger after tagger."""
    size = len(logits[0])
    chances = np.empty(len(tagged), dtype=np.float32)
    bounds = np.searchsorted(tagged, np.arange(len(logits) + 1) * size).tolist()
    same_width: dict[int, list[int]] = {}
    for tagger, rows in enumerate(logits):
        if bounds[tagger] < bounds[tagger + 1]:
            same_width.setdefault(rows.shape[1], []).append(tagger)
    for taggers in same_width.values():
        places = np.concatenate([np.arange(bounds[tagger], bounds[tagger + 1]) for tagger in taggers])
        chosen = [logits[tagger][tagged[bounds[tagger] : bounds[tagger + 1]] - tagger * size] for tagger in taggers]
        chances[places] = softmax(np.concatenate(chosen))[np.arange(len(places)), tags[tagged[places]]]
    return chances


def ranges(
    types: Sequence[Sequence[str]],
    tags: Whole,
    tagged: Whole,
    scores: Floats,
    words: NDArray[np.int64],
    scheme: str,
) -> list[ByRow]:
    """The entities of valid tag sequences, for the types of each tagger. `scores` are those of the words that have a tag other than O: `tagged`."""
    found: list[ByRow] = [{} for _ in types]
    if not len(tagged):
        return found
    stride = 2 if scheme == "bio" else 4
    labels = tags[tagged]
    # Labels count up in blocks of `stride` a type, so the remainder tells the prefix: B leaves 1, and S, the last of a block of four, leaves 0.
    opens = labels % stride == 1
    if stride == 4:
        opens |= labels % stride == 0
    first = np.flatnonzero(opens)  # a valid sequence has no word inside an entity that none opens
    # The weakest tag decides: one doubtful word makes the whole mention doubtful.
    least = np.minimum.reduceat(scores, first)
    begins = tagged[first]
    lengths = np.tile(words, len(types))
    ends = np.cumsum(lengths)
    sequences = np.searchsorted(ends, begins, side="right")
    begins = begins - (ends - lengths)[sequences]
    stops = begins + np.diff(np.append(first, len(tagged)))
    names = np.array([name for own in types for name in own], dtype=object)
    offsets = np.cumsum([0, *map(len, types)])[sequences // len(words)]
    typed = names[offsets + (labels[first] - 1) // stride]
    entities = list(zip(begins.tolist(), stops.tolist(), typed.tolist(), least.tolist(), strict=True))
    bounds = [0, *(np.flatnonzero(np.diff(sequences)) + 1).tolist(), len(entities)]
    for begin, end in pairwise(bounds):
        tagger, row = divmod(int(sequences[begin]), len(words))
        found[tagger][row] = entities[begin:end]
    return found


def placed(
    text: str, tokens: Tokens, part: Range | None, found: Iterable[tuple[str, Sequence[WordSpan]]]
) -> list[Mention]:
    """What heads found in a row, by their names, as entities of the text. In a row that reads more than its part, those that begin in the part."""
    starts, ends = tokens.starts.tolist(), tokens.ends.tolist()
    places: dict[tuple[int, int], Range | None] = {}  # heads mostly find the same ones
    mentions: list[Mention] = []
    for head, entities in found:
        for begin, end, type_, score in entities:
            if (begin, end) not in places:
                places[begin, end] = balanced(text, starts[begin], ends[end - 1])
            place = places[begin, end]
            if place is not None:
                mentions.append(Mention(place[0], place[1], type_, score, head))
    # Neighbouring stretches both read the margin between them: only the one in whose core a mention begins may report it.
    if part is None or (starts[0] >= part[0] and ends[-1] <= part[1]):
        return mentions
    return [mention for mention in mentions if part[0] <= mention.start < part[1]]
