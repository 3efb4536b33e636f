"""The unit of work: one part of the input becomes one part of the output.

`annotate_part` is a plain function of plain values. It may run in this process, in another, or on another machine that sees the same folder; it
may run twice, also at the same time: the bytes are the same, and a file appears under its name only when it is whole.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

from biomux import formats
from biomux.annotate import store
from biomux.annotate.parts import Failures
from biomux.annotate.tally import JobTally
from biomux.formats import of_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from biomux.annotate.parts import Failure, Part
    from biomux.annotate.settings import AnnotateSettings
    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.formats import Loss


@dataclass(frozen=True, slots=True)
class PartWork:
    """Where parts go and how: the files to `folder`, the notes on each to `notes`, both paths or URLs; `suffix` ends in `.gz` for compressed parts.

    `goal` is the format that the documents will have in the end: one that it cannot hold fails here, where it fails alone.
    """

    folder: str
    notes: str
    settings: AnnotateSettings
    format: str = "jsonl"
    suffix: str = ".jsonl"
    threads: int | None = None
    goal: str = "jsonl"


@dataclass(frozen=True, slots=True)
class Done:
    """A part that is made: what of, its file, and what it counts. `losses` are those of its format: feature → number, document, detail."""

    index: int
    of: str
    file: str
    size: int
    sha256: str
    tally: JobTally
    failures: tuple[Failure, ...]
    losses: dict[str, tuple[int, str, str]]
    stretch: int | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands among all parts: its stretch, and where in that."""
        return self.stretch or 0, self.index


def annotate_part(part: Part, work: PartWork, *, on_read: Callable[[int], None] | None = None) -> Done:
    """Annotate a part and write it, unless that has been done. `on_read` is told how many more characters have been read."""
    earlier = done(part, work)
    if earlier is not None and earlier.of == part.sha256:
        return earlier
    failures, tally, losses = Failures(), JobTally(), _Losses()
    read = formats.read_source(of_bytes(part.name, part.documents), format="jsonl", on_error=failures)
    annotator = replace(_annotator(work.settings, work.threads), on_read=on_read)
    annotated = _fitting(list(work.settings.annotate(annotator, read, on_error=failures.add)), work.goal, failures)
    too_far_apart = annotator.too_far_apart(work.settings.query)
    for document in annotated:
        tally.add(document, too_far_apart=too_far_apart)
    failed = (*part.failures, *failures.take())
    tally.failed = len(failed)
    path = store.place(work.folder) / f"{part.name}{work.suffix}"
    with store.target(path) as stream:
        write(annotated, stream, format=work.format, on_loss=losses)
    content = path.read_bytes()
    made = Done(
        part.index,
        part.sha256,
        path.name,
        len(content),
        hashlib.sha256(content).hexdigest(),
        tally,
        failed,
        losses.sums,
        part.stretch,
    )
    with store.target(_note(part, work)) as stream:
        stream.write(json.dumps(asdict(made) | {"tally": tally.to_json()}).encode() + b"\n")
    return made


def done(part: Part, work: PartWork) -> Done | None:
    """The part as it was made before, if its file is there and whole. Its `of` tells whether it was made of the same documents."""
    try:
        value = json.loads(_note(part, work).read_bytes())
        if (store.place(work.folder) / value["file"]).stat().st_size != value["size"]:
            return None
    except (FileNotFoundError, ValueError):
        return None
    value["tally"] = JobTally.of_json(value["tally"])
    value["failures"] = tuple(value["failures"])
    value["losses"] = {feature: tuple(loss) for feature, loss in value["losses"].items()}
    return Done(**value)


def write(documents: Iterable[Document], stream: BinaryIO, *, format: str, on_loss: Callable[[Loss], None]) -> None:
    """Write documents in a format of one file."""
    writer = formats.get(format).write
    assert writer is not None
    writer(documents, stream, on_loss=on_loss)


def _fitting(documents: list[Document], goal: str, failures: Failures) -> list[Document]:
    """The documents that a format can hold."""
    chosen = formats.get(goal)
    if goal == "jsonl" or formats.refusal(documents, chosen) is None:
        return documents
    fitting = []
    for document in documents:
        if error := formats.refusal([document], chosen):
            failures.add(document, error)
        else:
            fitting.append(document)
    return fitting


def _note(part: Part, work: PartWork) -> Path:
    return store.place(work.notes) / f"{part.name}.json"


@lru_cache(maxsize=1)
def _annotator(settings: AnnotateSettings, threads: int | None) -> Annotator:
    """Loaded once in a process."""
    return settings.annotator(threads=threads)


class _Losses:
    """An `on_loss` that sums by feature, with the first as an example."""

    def __init__(self) -> None:
        self.sums: dict[str, tuple[int, str, str]] = {}

    def __call__(self, loss: Loss) -> None:
        count, document, detail = self.sums.get(loss.feature, (0, loss.document, loss.detail))
        self.sums[loss.feature] = count + loss.count, document, detail
