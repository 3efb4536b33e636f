"""A job from beginning to end: inputs are cut into parts, parts are annotated, and what is whole takes its place.

A run that was stopped, in whatever way, goes on when the same is asked for again, and ends with the same bytes.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from biomux import formats
from biomux.annotate import input_stretches, job, resume, store
from biomux.annotate.cutting import Reached, cut_inputs
from biomux.annotate.inputs import is_text
from biomux.annotate.part_work import PartWork, done, write
from biomux.annotate.parts import CHARACTERS, Failures
from biomux.annotate.tally import JobTally
from biomux.annotate.workers import annotate_parts
from biomux.engine.threads import usable_cores
from biomux.errors import AnnotateError, FormatError, UsageError
from biomux.formats import Loss, folder_target, of_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.annotate.input_stretches import ShareDone
    from biomux.annotate.inputs import Inputs, InputStretch
    from biomux.annotate.job import Goal
    from biomux.annotate.on_ray import OnRay
    from biomux.annotate.part_work import Done
    from biomux.annotate.parts import Part
    from biomux.annotate.settings import AnnotateSettings
    from biomux.document import Document


@dataclass(frozen=True, slots=True)
class PartReady:
    """A part is there. `reached`: stored bytes of all parts that are. `fresh`: it was made by this run and not by an earlier one."""

    done: Done
    reached: int
    fresh: bool


def settled(
    settings: AnnotateSettings, goal: Goal, *, restart: bool = False, overwrite: bool = False
) -> AnnotateSettings:
    """The settings with the runtime by name: of the run that is to be resumed, else as asked for."""
    begun = None if restart or (overwrite and goal.manifest.is_file()) else resume.begun_with(goal)
    named = settings.runtime != "auto"
    same_runtime = settings if named or begun is None else replace(settings, runtime=begun)
    if begun is not None and goal.manifest.is_file():
        return same_runtime  # it is whole, so none will be run
    if named or begun is None:
        return settings.settled()
    try:
        return same_runtime.settled()
    except UsageError as error:
        raise UsageError(
            error.code,
            f"cannot resume a run that was started with {begun}: {error.message}",
            where=str(goal.path),
            hint=f"{error.hint}, or start over with --restart",
        ) from None


def run(
    inputs: Inputs,
    goal: Goal,
    settings: AnnotateSettings,
    *,
    workers: int = 1,
    cluster: OnRay | None = None,
    threads: int | None = None,
    part_size: int = CHARACTERS,
    restart: bool = False,
    overwrite: bool = False,
    listen: Callable[[PartReady], None] = lambda _: None,
    on_read: Callable[[float, int], None] = lambda _stored, _characters: None,
    on_loss: Callable[[Loss], None] = formats.ignore,
) -> JobTally:
    """Annotate the inputs into the goal. `threads` are those of each worker: by default all workers together take all cores.

    The work is done by `workers`, processes of this machine, or on a `cluster`: the output is the same, and one resumes what the other began.
    `on_read` is told on the way, within a part too, about how many stored bytes have been annotated, and how many characters this run has read.
    """
    failures = Failures()
    inputs.on_error = failures
    _must_be_apart(inputs, goal)
    if goal.path.exists() and not goal.path.is_file() and not goal.path.is_dir():
        raise UsageError(
            "BX002",
            "cannot write there: it is not a regular file",
            where=str(goal.path),
            hint="leave out -o, and redirect the output",
        )
    if str(goal.path).startswith("memory://") and (workers > 1 or cluster):
        raise UsageError(
            "BX001",
            "cannot write to memory:// from several processes: it exists in one process only",
            hint="use one worker, or another URL",
        )
    process_threads = threads or (cluster.threads if cluster else max(1, usable_cores() // workers))
    found_stretches = inputs.stretches()
    settings = settled(settings, goal, restart=restart, overwrite=overwrite)
    described = job.describe(inputs, settings, goal, part_size=part_size, stretches=len(found_stretches))
    with resume.opened(goal, described, restart=restart, overwrite=overwrite) as needed:
        if not needed:
            try:
                return JobTally.of_json(resume.noted(goal.manifest, "tally")["tally"])
            except (TypeError, KeyError):
                raise resume.damaged(goal.manifest) from None
        work = PartWork(
            folder=str(goal.path if goal.parts else goal.work),
            notes=str(goal.work),
            settings=settings,
            format=goal.format if goal.parts else "jsonl",
            suffix=goal.suffix if goal.parts else ".jsonl",
            threads=process_threads,
            goal=goal.format,
        )
        made: dict[tuple[int, int], Done] = {}

        def take(finished: Done, reached: int, *, fresh: bool) -> None:
            made[finished.place] = finished
            listen(PartReady(finished, reached, fresh))

        if cluster is not None and found_stretches:
            _annotate_shares(inputs, found_stretches, work, cluster, take, part_size=part_size)
        else:
            reached = Reached(on_read)

            def on_known(stretch: InputStretch, known: ShareDone) -> None:
                stored = reached.skip(stretch.size)
                for part, _ in known.parts:
                    take(part, stored, fresh=False)

            parts = cut_inputs(inputs, found_stretches, failures, work, part_size=part_size, on_known=on_known)

            def missing() -> Iterator[Part]:
                for part in parts:
                    reached.cut(part)
                    finished = done(part, work)
                    if finished is None:
                        yield part
                    elif finished.of != part.sha256:
                        raise _changed(part, goal)
                    else:
                        take(finished, reached.done(part), fresh=False)

            annotate = partial(annotate_parts, workers=workers) if cluster is None else cluster.annotate_parts
            for part, finished in annotate(missing(), work, on_read=reached.read):
                take(finished, reached.done(part), fresh=True)
        return _finish([made[place] for place in sorted(made)], goal, described, on_loss)


def _annotate_shares(
    inputs: Inputs,
    cut: list[InputStretch],
    work: PartWork,
    cluster: OnRay,
    take: Callable[..., None],
    *,
    part_size: int,
) -> None:
    """Annotate stretches on a cluster, which reads them too."""
    tasks = (share for stretch in cut for share in input_stretches.shares(stretch, inputs.reads, part_size=part_size))
    missing: dict[int, int] = {}
    reached = 0.0
    for share, result in cluster.annotate_shares(tasks, work):
        stretch = share.stretch
        if stretch.index not in missing:
            missing[stretch.index] = result.number
            inputs.add(result.read)
        missing[stretch.index] -= len(result.parts)
        reached += stretch.size / share.of
        for part, fresh in result.parts:
            take(part, round(reached), fresh=fresh)
    if len(missing) != len(cut) or any(missing.values()):
        raise AssertionError(f"parts are missing: {missing}")


def _finish(whole: list[Done], goal: Goal, described: dict[str, object], on_loss: Callable[[Loss], None]) -> JobTally:
    tally = sum((part.tally for part in whole), JobTally())
    for part in whole:
        for feature, (count, document, detail) in part.losses.items():
            on_loss(Loss(document, feature, count, detail))
    _write_errors(whole, goal)
    if goal.parts:
        listed = [
            {"file": part.file, "size": part.size, "sha256": part.sha256, "documents": part.tally.documents}
            for part in whole
        ]
    else:
        listed = []
        try:
            _join([goal.work / part.file for part in whole], goal, on_loss)
        except FormatError as error:
            way_out = f"all is annotated and kept: biomux convert '{goal.work}/part-*.jsonl' TARGET writes it elsewhere"
            hint = f"{error.hint}; {way_out}" if error.hint else way_out
            raise FormatError(error.code, error.message, where=error.where, hint=hint) from None
    resume.finish(goal, described, tally=tally.to_json(), parts=listed)
    return tally


def _join(files: list[Path], goal: Goal, on_loss: Callable[[Loss], None]) -> None:
    """One file of all parts, made in the work folder and moved from there to its place."""

    def documents() -> Iterator[Document]:
        for file in files:
            yield from formats.read_source(of_bytes(str(file), file.read_bytes()), format="jsonl")

    if formats.get(goal.format).write is None:
        writer = formats.get(goal.format).write_folder
        assert writer is not None
        with folder_target(goal.path, overwrite=True, ours=formats.get(goal.format).files) as folder:
            writer(documents(), folder, on_loss=on_loss)
            resume.finishing(goal, folder)
        return
    joined = goal.work / "whole" / goal.path.name
    store.make_folder(joined.parent, parents=False)
    with store.target(joined) as stream:
        if goal.format == "jsonl":
            for file in files:
                with file.open("rb") as part:
                    shutil.copyfileobj(part, stream, 1 << 20)
        else:
            write(documents(), stream, format=goal.format, on_loss=on_loss)
    resume.finishing(goal, joined)
    store.move(joined, goal.path)


def _write_errors(whole: list[Done], goal: Goal) -> None:
    """Every failure on a line of its own; no file where there is none."""
    if not any(part.failures for part in whole):
        goal.errors.unlink(missing_ok=True)
        return
    with store.target(goal.errors) as stream:
        for part in whole:
            for failure in part.failures:
                stream.write(json.dumps(failure).encode() + b"\n")


def _must_be_apart(inputs: Inputs, goal: Goal) -> None:
    """What is written must not be read: neither now nor when the run goes on."""
    ours = goal.path.resolve()
    for argument in inputs.arguments if goal.parts and not inputs.texts else ():
        if not is_text(argument) and Path(argument).is_dir() and Path(argument).resolve() in (ours, *ours.parents):
            raise UsageError(
                "BX001",
                "the output must not lie inside an input folder",
                where=argument,
                hint="choose a folder outside of it",
            )
    for path in inputs.places() or ():
        resolved = path.resolve()
        if resolved == ours or (goal.parts and ours in resolved.parents):
            raise UsageError(
                "BX001", "cannot write to a file that is also an input", where=str(path), hint="choose another name"
            )


def _changed(part: Part, goal: Goal) -> AnnotateError:
    return AnnotateError(
        "BX605",
        f"{part.name} of the stopped run was made from other documents",
        where=str(goal.path),
        hint="give the same inputs to resume it, choose another name, or start over with --restart",
    )
