"""What `biomux annotate`, `biomux pairs` and `biomux ask` have in common: annotating into parts or to the screen, failures, and the summary."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING

from biomux import formats
from biomux.cli.ui.display import note, progress, sentence
from biomux.cli.ui.loss_tally import Losses, stop_at
from biomux.cli.ui.options import OnError
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.annotate.inputs import Inputs
    from biomux.annotate.job import Goal
    from biomux.annotate.on_ray import OnRay
    from biomux.annotate.settings import AnnotateSettings
    from biomux.annotate.tally import JobTally
    from biomux.document import Document
    from biomux.engine.query import Query
    from biomux.errors import BiomuxError

FAILED = 3
"""The exit code when everything is done but some documents failed."""

SHOWN = 20
"""Failed documents that are reported one by one."""


def stream(
    inputs: Inputs,
    settings: AnnotateSettings,
    *,
    way: str,
    threads: int | None,
    on_error: OnError,
    terminal: Callable[[Iterable[Document]], None] | None = None,
) -> int:
    """Annotate and show, document by document. Returns how many failed. `terminal` draws documents where the usual drawing does not fit."""
    from biomux.annotate.tally import JobTally
    from biomux.engine.asked_tasks import finds_entities

    tally = JobTally()
    failures = FailureReport(on_error)
    inputs.on_error = failures
    inputs.places()
    losses = Losses(strict=False, at_once=False)
    writer = terminal if terminal and way == "terminal" else _writer(way, losses, settings.query)
    written = None if way in ("terminal", "plain") else formats.get(way)
    chunk = 20_000 if way in ("terminal", "plain") else None
    annotator = settings.annotator(threads=threads, chunk=chunk)
    annotated_documents = settings.annotate(annotator, inputs.documents(), on_error=lambda _, error: failures(error))
    query = settings.query
    if query.precision is not None and query.types is None:
        imprecise = annotator.imprecise(query.precision, heads=query.heads, tasks=query.tasks)
        _report_imprecise(imprecise, query.precision)
    too_far_apart = annotator.too_far_apart(query)
    begun = time.perf_counter()

    def annotated() -> Iterator[Document]:
        for document in annotated_documents:
            if written and (refused := formats.refusal([document], written)):
                failures(refused)
                continue
            tally.add(document, too_far_apart=too_far_apart)
            yield document

    writer(annotated())
    sys.stdout.flush()
    tally.failed = failures.count
    _report_losses(losses, settings)
    report_unread(inputs)
    report(
        tally,
        tally.words,
        time.perf_counter() - begun,
        entities=finds_entities(settings.query),
        by_type=way != "terminal",  # there the legend says it
        unwritten=losses.spans,
    )
    return tally.failed


def job(
    inputs: Inputs,
    settings: AnnotateSettings,
    *,
    goal: Goal,
    shape: tuple[int, int | None, int],
    begin: tuple[bool, bool],
    on_error: OnError,
    cluster: OnRay | None = None,
) -> int:
    """Annotate into a file or folder, in parts. Returns how many documents failed."""
    from biomux.annotate.parts import error_of
    from biomux.annotate.run import PartReady, run, settled
    from biomux.engine.asked_tasks import finds_entities
    from biomux.engine.threads import usable_cores

    workers, threads, part_size = shape
    restart, overwrite = begin
    if cluster is None:
        threads = threads or max(1, usable_cores() // workers)
    total = inputs.size()
    settings = settled(settings, goal, restart=restart, overwrite=overwrite)
    _report_imprecise(settings.left_out(), settings.query.precision or 0.0)
    losses = Losses(strict=False, at_once=False)
    failures = FailureReport(on_error)
    done_before = words = 0
    begun = time.perf_counter()
    with progress("annotating", total=total, unit="bytes" if total else "documents") as shown:

        def listen(step: PartReady) -> None:
            nonlocal done_before, words
            for failure in step.done.failures:
                failures(error_of(failure))
            reached = step.reached if total else shown.done + step.done.tally.documents
            if not step.fresh:
                done_before += 1
                shown.skip(reached)
                return
            words += step.done.tally.words
            shown.what = f"{words / (time.perf_counter() - begun):,.0f} words/s"
            shown.reach(max(reached, shown.done))

        def on_read(stored: float, characters: int) -> None:
            if total:
                shown.reach(max(stored, shown.done))
            else:
                shown.what = f"annotating, {characters:,} characters read"
                shown.reach(shown.done)

        try:
            tally = run(
                inputs,
                goal,
                settings,
                workers=workers,
                cluster=cluster,
                threads=threads,
                part_size=part_size,
                restart=restart,
                overwrite=overwrite,
                listen=listen,
                on_read=on_read,
                on_loss=losses,
            )
        except KeyboardInterrupt:
            note("to go on from here, repeat the command")
            raise
    seconds = time.perf_counter() - begun
    if done_before:
        note(f"resumed a stopped run: {count_of(done_before, 'part was', 'parts were')} already done")
    elif not words and tally.words:
        note("already finished: nothing to do")
    _report_losses(losses, settings)
    report_unread(inputs)
    report(tally, words, seconds, entities=finds_entities(settings.query), unwritten=losses.spans)
    if tally.failed:
        note(f"failures are listed in {goal.errors}")
    return tally.failed


def _writer(way: str, losses: Losses, query: Query) -> Callable[[Iterable[Document]], None]:
    from biomux.annotate.job import must_hold
    from biomux.cli.ui import show

    shown = {"terminal": show.terminal, "plain": show.plain}
    if way in shown:
        return shown[way]
    write = must_hold(formats.get(way), query).write
    if write is None:
        raise UsageError(
            "BX120",
            f"cannot write the format {way!r} to a pipe: it consists of several files",
            hint="name a folder with -o",
        )
    return lambda documents: write(documents, sys.stdout.buffer, on_loss=losses)


class FailureReport:
    """Reports the first documents and files that failed, and counts all; or stops at the first."""

    def __init__(self, on_error: OnError) -> None:
        self.count = 0
        self._stop = on_error is OnError.stop

    def __call__(self, error: BiomuxError) -> None:
        if self._stop:
            stop_at(error)
        self.count += 1
        if self.count <= SHOWN:
            note(f"failed: {sentence(error)}")
        elif self.count == SHOWN + 1:
            note("failed: more, not shown one by one")


def _report_losses(losses: Losses, settings: AnnotateSettings) -> None:
    losses.report()
    if "overlaps" in losses.counts and not settings.query.resolve:
        note("of overlapping entities only the longest were written, whatever their type; --resolve chooses by type")


def report_unread(inputs: Inputs) -> None:
    """What of the inputs was not read, and why."""
    if inputs.formats and (idle := inputs.reads.not_taken()):
        note(f"no format that was read has an option {idle!r}")
    if inputs.left_out:
        more = len(inputs.left_out) - SHOWN
        names = ", ".join(inputs.left_out[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        note(f"skipped {len(inputs.left_out):,} that describe the other files: {names}")
    if inputs.withdrawn:
        note(f"skipped {inputs.withdrawn:,} documents that the source has withdrawn")


def _report_imprecise(types: tuple[str, ...], precision: float) -> None:
    if types:
        note(f"left out, since they never reached a precision of {precision:g} on development data: {', '.join(types)}")


def report(
    tally: JobTally, words: int, seconds: float, *, entities: bool = True, by_type: bool = True, unwritten: int = 0
) -> None:
    """The summary, on stderr. `words` are those that took the `seconds`, `unwritten` the entities that the format cannot hold; `entities`: they were asked for."""
    rate = f", {words / seconds:,.0f} words per second" if seconds > 0 and words else ""
    note(f"{count_of(tally.documents, 'document')}, {count_of(tally.words, 'word')}{rate}{_read(tally)}")
    total = sum(tally.entities.values())
    if by_type if total else entities:
        listed = ", ".join(f"{name} {count:,}" for name, count in tally.entities.most_common())
        note(count_of(total, "entity", "entities") + (f": {listed}" if total else ""))
    for noun, counts in (("relation", tally.relations), ("label", tally.labels)):
        if counts:
            listed = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
            note(f"{count_of(counts.total(), noun)}: {listed}")
    if tally.too_far_apart:
        note(
            f"not tested for relations, since the entities are too far apart: {count_of(tally.too_far_apart, 'pair of entities', 'pairs of entities')}"
        )
    if tally.cut:
        note(f"longer than the model reads, so cut: {count_of(tally.cut, 'pair')}")
    if unwritten:
        note(f"written: {total - unwritten:,} of {count_of(total, 'entity', 'entities')}")
    if tally.failed:
        note(f"failed: {count_of(tally.failed, 'document or file', 'documents or files')}")


def _read(tally: JobTally) -> str:
    """How much was read of the documents that did not fail; nothing where there is nothing to read."""
    if not tally.characters:
        return ""
    share = "all" if tally.read == tally.characters else f"{math.floor(tally.coverage * 10_000) / 100:.2f}%"
    return f"; {share} of {'their' if tally.failed else 'the'} characters read"


def count_of(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
