"""`biomux annotate`: entities in texts and files."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from biomux import formats
from biomux.cli.options import (
    AsText,
    From,
    Id,
    Model,
    OnError,
    Options,
    Overwrite,
    Restart,
    Runtime,
    Skipping,
    Text,
    Threshold,
    complete_format,
    names,
    read_as,
    thresholds,
)
from biomux.cli.ui.display import note, progress, sentence
from biomux.cli.ui.loss_tally import Losses, stop_at
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.annotate.inputs import Inputs
    from biomux.annotate.job import Goal
    from biomux.annotate.on_ray import OnRay
    from biomux.annotate.settings import Settings
    from biomux.annotate.tally import JobTally
    from biomux.document import Document
    from biomux.engine.query import Query
    from biomux.errors import BiomuxError

FAILED = 3
"""The exit code when all is done but some documents failed."""

SHOWN = 20
"""Failed documents that are told one by one."""


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="A text, or files, folders, quoted globs, zip or tar archives, or - for standard input.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="File to write, or a folder (ending in /) for the output in parts."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "--to",
            metavar="FORMAT",
            help="Output format; tsv is a table of entities, html a page to read. Recognised by OUT's suffix if not given.",
            autocompletion=complete_format,
        ),
    ] = None,
    from_: From = None,
    text: Text = None,
    id: Id = None,
    option: Options = None,
    as_text: AsText = False,
    types: Annotated[
        str | None,
        typer.Option(
            "--types", metavar="NAMES", help="Entity types to find, for instance gene,chemical. Default: all."
        ),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(
            "--heads",
            metavar="NAMES",
            help="Use these heads, with their corpora's own types, for instance bc5cdr,jnlpba.",
        ),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            "--tasks",
            metavar="NAMES",
            help="What to find: entities, relations, classes, or names of heads, for instance relations,classes. Default: all that the model has; with --heads, entities.",
        ),
    ] = None,
    keep_entities: Annotated[
        bool,
        typer.Option(
            "--keep-entities",
            help="Keep the entities of the input, and find relations between them instead of new ones.",
        ),
    ] = False,
    model: Model = None,
    threshold: Threshold = None,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            metavar="SHARE",
            help="Use the thresholds that reached this precision on development data, for instance 0.95.",
        ),
    ] = None,
    resolve: Annotated[
        bool,
        typer.Option(
            "--resolve", help="Remove overlaps: prefer specific types to general ones, then the higher score."
        ),
    ] = False,
    abbreviations: Annotated[
        bool,
        typer.Option(
            "--abbreviations", help="Tag an abbreviation like the long form it is defined by in the same document."
        ),
    ] = False,
    consistent: Annotated[
        bool | None,
        typer.Option(
            "--consistent/--no-consistent",
            help="Make all occurrences of a name in a document agree, by vote. On by default for plain types, unless --threshold 0 or --precision is given.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail a document if any of its characters was not read.")
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Show the text with entities in brackets, without colours.")
    ] = False,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Number of worker processes; needs -o.")
    ] = 1,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="Threads per process, at most one per core. Default: the cores divided among the processes.",
        ),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="WHERE",
            help="Where to work: local, ray (a Ray cluster of this machine, or the one that RAY_ADDRESS names), or ray://HOST:10001. Needs -o.",
        ),
    ] = "local",
    cpus_per_task: Annotated[
        int, typer.Option("--cpus-per-task", metavar="N", min=1, help="CPUs, and threads, of each task on Ray.")
    ] = 1,
    in_flight: Annotated[
        int | None,
        typer.Option(
            "--in-flight", metavar="N", min=1, help="Tasks given to Ray at a time. Default: two for each that can run."
        ),
    ] = None,
    retries: Annotated[
        int,
        typer.Option("--retries", metavar="N", min=0, help="How often a task that was lost on Ray is given out again."),
    ] = 3,
    runtime: Runtime = "auto",
    part_size: Annotated[
        int,
        typer.Option(
            "--part-size",
            metavar="N",
            min=1,
            help="Characters of text per part. A stopped run loses at most one part per worker.",
        ),
    ] = 1_000_000,
    on_error: Skipping = OnError.skip,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the parts (when OUT is a folder).")] = False,
    restart: Restart = False,
    overwrite: Overwrite = False,
) -> None:
    """Find genes, chemicals, diseases and more in texts and files.

    INPUT is read as a text if it contains a space and no file has that name. Files can be in any format that biomux formats lists; the
    format is recognised. A .txt file is one document; with --from lines, each of its lines is one. For tables and JSON whose columns or
    keys are not called text, title, abstract or id, name them with --text and --id.

    Without -o, a terminal shows the text in colour with a label under each entity, and a pipe gets Biomux JSON lines, one document per
    line. --plain (text with entities in brackets) and --format tsv (a table of entities) work for both.

    With -o, the work is done in parts, by as many processes as --workers says. To resume a run that was stopped or killed, repeat the
    command: the result is the same to the byte. If OUT is a folder, the parts stay there. Repeating a finished command does nothing; any
    other OUT that already exists is replaced only with --overwrite. OUT can also be a URL such as s3://bucket/out/.

    With --on ray the same parts are made on a Ray cluster (pip install 'biomux[ray]'), which must see INPUT and OUT under the same
    paths. A run that was stopped on Ray can be resumed without it, and the other way round.

    A document or file that cannot be read, or that the output format cannot hold, is reported (with -o also in OUT.errors.jsonl) and the
    rest continues, unless you give --on-error stop. The exit code is 0 if everything was annotated, 3 if a document or file failed, and 2
    if an error ended the run.

    Examples:

        biomux annotate "Aspirin inhibits COX-2 in mice."
        biomux annotate abstracts/ --types gene,disease -o entities.jsonl
        biomux annotate 'pubmed/*.xml.gz' -o annotated/ --gzip --workers 4
        biomux annotate 'pubmed/*.xml.gz' -o s3://bucket/annotated/ --format parquet --on ray://head:10001
        biomux annotate papers.csv --text title,abstract --id pmid -o entities.tsv
        biomux annotate corpus.pubtator --heads bc5cdr --threshold 0.5 -o corpus.bioc.xml
        biomux annotate abstract.txt --format html -o abstract.html
        zcat abstracts.xml.gz | biomux annotate - --format tsv | cut -f 5
    """
    from biomux.annotate.inputs import Inputs
    from biomux.annotate.job import goal
    from biomux.annotate.settings import Settings
    from biomux.engine.query import Query

    reads = read_as(from_, text, id, option)
    query = Query(
        types=names(types),
        heads=names(heads),
        threshold=thresholds(threshold),
        precision=precision,
        resolve=resolve,
        abbreviations=abbreviations,
        consistent=consistent,
        tasks=names(tasks),
        keep_entities=keep_entities,
    )
    settings = Settings(bundle=model, query=query, strict=strict, runtime=runtime)
    if output is not None and output != "-":
        if plain:
            raise UsageError(
                "BX001", "cannot use --plain with -o: it is for output on the screen", hint="leave out one of them"
            )
        failed = job(
            Inputs(inputs, reads=reads, texts=as_text),
            settings,
            goal=goal(output, format, gzip=gzip, query=query),
            shape=(workers, threads, part_size),
            cluster=_cluster(on, cpus_per_task, in_flight, retries, workers=workers),
            begin=(restart, overwrite),
            on_error=on_error,
        )
    else:
        if workers > 1 or on != "local":
            asked = "--workers" if workers > 1 else "--on"
            raise UsageError("BX001", f"{asked} needs an output file or folder", hint="name one with -o")
        way = "plain" if plain else format or ("terminal" if sys.stdout.isatty() else "jsonl")
        found = Inputs(inputs, reads=reads, texts=as_text)
        failed = stream(found, settings, way=way, threads=threads, on_error=on_error)
    if failed:
        raise typer.Exit(FAILED)


def _cluster(on: str, cpus: int, in_flight: int | None, retries: int, *, workers: int) -> OnRay | None:
    """The cluster to work on; None for this machine's own processes."""
    if on == "local":
        if (cpus, in_flight, retries) != (1, None, 3):
            raise UsageError(
                "BX001", "--cpus-per-task, --in-flight and --retries are for a cluster", hint="add --on ray"
            )
        return None
    if on != "ray" and not on.startswith("ray://"):
        raise UsageError("BX001", f"--on must be local, ray or ray://HOST:PORT, got {on!r}")
    if workers > 1:
        raise UsageError(
            "BX001", "cannot use --workers with --on ray", hint="leave it out: all CPUs of the cluster work"
        )
    from biomux.annotate.on_ray import OnRay

    return OnRay(None if on == "ray" else on, cpus_per_task=cpus, in_flight=in_flight, retries=retries)


def stream(
    inputs: Inputs,
    settings: Settings,
    *,
    way: str,
    threads: int | None,
    on_error: OnError,
    terminal: Callable[[Iterable[Document]], None] | None = None,
) -> int:
    """Annotate and show, document by document. How many failed. `terminal` draws documents where the usual drawing does not fit."""
    from biomux.annotate.tally import JobTally
    from biomux.engine.asked_tasks import finds_entities

    tally = JobTally()
    failures = Failures(on_error)
    inputs.on_error = failures
    inputs.places()
    losses = Losses(strict=False, at_once=False)
    writer = terminal if terminal and way == "terminal" else _writer(way, losses, settings.query)
    written = None if way in ("terminal", "plain") else formats.get(way)
    chunk = 20_000 if way in ("terminal", "plain") else None
    annotator = settings.annotator(threads=threads, chunk=chunk)
    found = settings.annotate(annotator, inputs.documents(), on_error=lambda _, error: failures(error))
    query = settings.query
    if query.precision is not None and query.types is None:
        imprecise = annotator.imprecise(query.precision, heads=query.heads, tasks=query.tasks)
        _tell_imprecise(imprecise, query.precision)
    too_far_apart = annotator.too_far_apart(query)
    begun = time.perf_counter()

    def annotated() -> Iterator[Document]:
        for document in found:
            if written and (refused := formats.refusal([document], written)):
                failures(refused)
                continue
            tally.add(document, too_far_apart=too_far_apart)
            yield document

    writer(annotated())
    sys.stdout.flush()
    tally.failed = failures.count
    _tell_losses(losses, settings)
    tell_unread(inputs)
    tell(
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
    settings: Settings,
    *,
    goal: Goal,
    shape: tuple[int, int | None, int],
    begin: tuple[bool, bool],
    on_error: OnError,
    cluster: OnRay | None = None,
) -> int:
    """Annotate into a file or folder, in parts. How many documents failed."""
    from biomux.annotate.parts import error_of
    from biomux.annotate.run import Step, run, settled
    from biomux.engine.asked_tasks import finds_entities
    from biomux.engine.threads import usable_cores

    workers, threads, part_size = shape
    restart, overwrite = begin
    if cluster is None:
        threads = threads or max(1, usable_cores() // workers)
    total = inputs.size()
    settings = settled(settings, goal, restart=restart, overwrite=overwrite)
    _tell_imprecise(settings.left_out(), settings.query.precision or 0.0)
    losses = Losses(strict=False, at_once=False)
    failures = Failures(on_error)
    kept = words = 0
    begun = time.perf_counter()
    with progress("annotating", total=total, unit="bytes" if total else "documents") as shown:

        def listen(step: Step) -> None:
            nonlocal kept, words
            for failure in step.done.failures:
                failures(error_of(failure))
            reached = step.reached if total else shown.done + step.done.tally.documents
            if not step.fresh:
                kept += 1
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
    seconds = time.perf_counter() - begun
    if kept:
        note(f"resumed a stopped run: {count_of(kept, 'part was', 'parts were')} already done")
    elif not words and tally.words:
        note("already finished: nothing to do")
    _tell_losses(losses, settings)
    tell_unread(inputs)
    tell(tally, words, seconds, entities=finds_entities(settings.query), unwritten=losses.spans)
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


class Failures:
    """Tells the first documents and files that failed, and counts all; or stops at the first."""

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


def _tell_losses(losses: Losses, settings: Settings) -> None:
    losses.report()
    if "overlaps" in losses.counts and not settings.query.resolve:
        note("of entities that overlap the longest were written, whatever their type; --resolve chooses by type")


def tell_unread(inputs: Inputs) -> None:
    """What of the inputs was not read, and why."""
    if inputs.formats and (idle := inputs.reads.not_taken()):
        note(f"no format that was read has an option {idle!r}")
    if inputs.left_out:
        more = len(inputs.left_out) - SHOWN
        names = ", ".join(inputs.left_out[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        note(f"left out {len(inputs.left_out):,}, about the others: {names}")
    if inputs.withdrawn:
        note(f"withdrawn by the source, so not documents: {inputs.withdrawn:,}")


def _tell_imprecise(types: tuple[str, ...], precision: float) -> None:
    if types:
        note(f"left out, never {precision:g} precise on development data: {', '.join(types)}")


def tell(
    tally: JobTally, words: int, seconds: float, *, entities: bool = True, by_type: bool = True, unwritten: int = 0
) -> None:
    """The summary, on stderr. `words` are those that took the `seconds`, `unwritten` the entities that the format cannot hold; `entities`: they were asked for."""
    rate = f", {words / seconds:,.0f} words per second" if seconds > 0 and words else ""
    note(f"{count_of(tally.documents, 'document')}, {count_of(tally.words, 'word')}{rate}{_read(tally)}")
    total = sum(tally.entities.values())
    if by_type if total else entities:
        listed = ", ".join(f"{name} {count:,}" for name, count in tally.entities.most_common())
        note(count_of(total, "entity", "entities") + (f": {listed}" if total else ""))
    for what, counts in (("relation", tally.relations), ("label", tally.labels)):
        if counts:
            listed = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
            note(f"{count_of(counts.total(), what)}: {listed}")
    if tally.too_far_apart:
        note(
            f"too far apart for the relation heads, so not asked about: {count_of(tally.too_far_apart, 'pair of entities', 'pairs of entities')}"
        )
    if tally.cut:
        note(f"longer than the model reads, so not read to the end: {count_of(tally.cut, 'pair')}")
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
