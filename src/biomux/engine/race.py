"""Two sessions of one graph: is the other one faster here, and does it say the same?

Both run the same batches in turn, the smallest shape first, and the quickest run of each counts: what else the machine does only makes runs slower.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.engine import at_once
from biomux.engine.packing import pack
from biomux.engine.texts import TEXTS
from biomux.text import pieces as text_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.engine.packing import Batch, Specials
    from biomux.engine.session import Session

SHAPES = ((1, 32), (16, 32), (8, 128))
"""Windows and pieces of each: one sentence, a batch of sentences, a batch of long windows."""

FASTER = 1.1
"""Times as fast as the reference that a session must be to be taken instead."""

CLOSE = 0.2
"""How far below the best tag's logit that of another tag may lie to be as good an answer. Int8 roundings that fall to the other side move logits by up to
a quarter; where that changed a tag on the first bundle (15 of 118,116 answers), the two lay within 0.15."""

SECONDS = 3.0
"""About how long the runs take in all; opening a second session comes on top."""

TURNS = 10
"""The most runs of each session at one shape."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many times as fast the other session is, each shape counting alike, and how many of its tags are not as good as the reference's."""

    speed: float
    answers: int
    differing: int

    @property
    def won(self) -> bool:
        """Whether the other session should be taken."""
        return self.speed >= FASTER and not self.differing


def race(
    reference: Session,
    other: Session,
    batches: Sequence[Batch],
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Compare two sessions as they are used: of a batch of several windows as many copies at once as they allow. It ends with the first batch that they answer differently, and leaves out shapes that would take too long."""
    begun = clock()
    logs: list[float] = []
    answers = differing = 0
    a_piece = 0.0
    for place, batch in enumerate(batches):
        # Two runs that do not count and four that do.
        if logs and clock() - begun + 6 * a_piece * batch.ids.size > seconds:
            break
        copies = [batch] * (getattr(reference, "at_once", 1) if len(batch.ids) > 1 else 1)
        expected, found = reference.run(batch), other.run(batch)
        answers += len(batch.first) * len(expected)
        differing += sum(differs(expected[head], found[head]) for head in expected)
        if differing:
            break
        ends = begun + seconds * (place + 1) / len(batches)
        best = [math.inf, math.inf]
        turn = 0
        while turn < 2 or (turn < TURNS and clock() < ends):
            for which, session in enumerate((reference, other)):
                started = clock()
                deque(at_once.run(session, copies), maxlen=0)
                best[which] = max(1e-9, min(best[which], clock() - started))
            turn += 1
        logs.append(math.log(best[0] / best[1]))
        a_piece = max(a_piece, max(best) / batch.ids.size)
    return Outcome(math.exp(sum(logs) / len(logs)) if logs else 0.0, answers, differing)


def differs(expected: NDArray[np.float32], found: NDArray[np.float32]) -> int:
    """How many rows have a best tag that is not as good by what was expected.

    >>> expected = np.array([[0.0, 5.0], [1.0, 1.05]], dtype=np.float32)
    >>> differs(expected, np.array([[0.0, 4.0], [1.1, 1.0]], dtype=np.float32))
    0
    >>> differs(expected, np.array([[4.0, 0.0], [1.1, 1.0]], dtype=np.float32))
    1
    """
    if not len(expected):
        return 0
    said = np.take_along_axis(expected, found.argmax(axis=1)[:, None], axis=1)[:, 0]
    return int((expected.max(axis=1) - said > CLOSE).sum())


def batches(tokenizer: Tokenizer, specials: Specials, *, limit: int) -> list[Batch]:
    """A batch of each shape, of real words; windows no longer than the encoder's limit."""
    text = " ".join(TEXTS * 2)
    whole = text_pieces.split(tokenizer, text, [(0, len(text))])[0]
    made: list[Batch] = []
    for rows, length in SHAPES:
        size = min(length - 2, limit)
        starts = [7 * row % max(1, len(whole) - size) for row in range(rows)]
        windows = [whole.window(start, start + size) for start in starts]
        made += pack(windows, specials=specials, budget=rows * length)
    return made
