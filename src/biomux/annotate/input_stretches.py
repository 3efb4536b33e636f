"""Inputs of many files are read where they are annotated: a stretch of files, or a share of its parts, is a task of its own.

What a stretch was cut into is noted when it has been read to its end. A run that resumes reads only stretches of which a part is missing.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.annotate import store
from biomux.annotate.inputs import InputReader
from biomux.annotate.part_work import annotate_part, done
from biomux.annotate.parts import Failures, Part, cut
from biomux.formats import ReadAs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from biomux.annotate.inputs import InputStretch
    from biomux.annotate.part_work import Done, PartWork

PARTS = 4
"""Parts that one task makes, about: enough that reading a file once for every task costs little beside annotating it."""


@dataclass(frozen=True, slots=True)
class Share:
    """Every `of`-th part of a stretch, from part `number` on; plain values only. `format` and `options` are how its files are read."""

    stretch: InputStretch
    number: int
    of: int
    part_size: int
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"stretch-{self.stretch.index:05d}, share {self.number + 1} of {self.of}"


@dataclass(frozen=True, slots=True)
class ShareDone:
    """The parts of a share, each with whether it was made now; how many parts the whole stretch has; and what there is to say about its files."""

    parts: tuple[tuple[Done, bool], ...]
    number: int
    read: dict[str, Any]


def shares(stretch: InputStretch, reads: ReadAs, *, part_size: int) -> list[Share]:
    """The tasks of a stretch. How many there are changes the schedule and no byte."""
    packed = any(place.path.endswith(".gz") for place in stretch.places)
    parts = stretch.size * (4 if packed else 1) / part_size
    of = max(1, math.ceil(parts / PARTS))
    return [Share(stretch, number, of, part_size, reads.format, dict(reads.options)) for number in range(of)]


def annotate_share(share: Share, work: PartWork) -> ShareDone:
    """Read a stretch and annotate a share of its parts, unless that has been done."""
    stretch = share.stretch
    if (earlier := known(stretch, work, number=share.number, of=share.of)) is not None:
        return earlier
    reader, failures = InputReader(reads=ReadAs(share.format, share.options)), Failures()
    made: list[tuple[Done, bool]] = []
    number = 0
    for part in parts(stretch, reader, failures, part_size=share.part_size):
        number += 1
        if part.index % share.of == share.number:
            before = done(part, work)
            made.append((annotate_part(part, work), before is None or before.of != part.sha256))
    note(stretch, work, number=number, read=reader.summary())
    return ShareDone(tuple(made), number, reader.summary())


def parts(stretch: InputStretch, reader: InputReader, failures: Failures, *, part_size: int) -> Iterator[Part]:
    """The parts of a stretch."""
    reader.on_error = failures
    failures.extend(stretch.failures)
    return cut(reader.stretch(stretch), failures, characters=part_size, stretch=stretch.index)


def known(stretch: InputStretch, work: PartWork, *, number: int = 0, of: int = 1) -> ShareDone | None:
    """A share of a stretch that needs not be read again: it is noted how many parts it has, and they are there."""
    try:
        noted = json.loads(_note(stretch, work).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    parts = [done(Part(index, b"", stretch=stretch.index), work) for index in range(number, noted["parts"], of)]
    if any(part is None for part in parts):
        return None
    return ShareDone(tuple((part, False) for part in parts if part is not None), noted["parts"], noted["read"])


def note(stretch: InputStretch, work: PartWork, *, number: int, read: dict[str, Any]) -> None:
    """Note that a stretch has been read to its end."""
    with store.target(_note(stretch, work)) as stream:
        stream.write(json.dumps({"parts": number, "read": read}).encode() + b"\n")


def _note(stretch: InputStretch, work: PartWork) -> Any:
    return store.place(work.notes) / f"stretch-{stretch.index:05d}.json"
