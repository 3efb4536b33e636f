"""`biomux annotate`: entities in texts and files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from biomux.cli.ui.options import (
    AsText,
    From,
    Id,
    Model,
    OnError,
    Options,
    OutputInParts,
    Overwrite,
    Restart,
    Runtime,
    Skipping,
    Text,
    TextsOrFiles,
    ThreadsPerWorker,
    Threshold,
    Workers,
    complete_format,
    names,
    read_as,
    thresholds,
)
from biomux.errors import UsageError

if TYPE_CHECKING:
    from biomux.annotate.on_ray import OnRay


def command(
    inputs: TextsOrFiles,
    output: OutputInParts = None,
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
            "--abbreviations", help="Tag an abbreviation like its long form, where the same document defines it."
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
    workers: Workers = 1,
    threads: ThreadsPerWorker = None,
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
        typer.Option("--retries", metavar="N", min=0, help="How many times a task that was lost on Ray is retried."),
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
    from biomux.annotate.settings import AnnotateSettings
    from biomux.cli.ui.annotation_output import FAILED, job, stream
    from biomux.engine.query import Query

    reads = read_as(from_, text, id, option)
    query = Query(
        types=names(types, "types"),
        heads=names(heads),
        threshold=thresholds(threshold),
        precision=precision,
        resolve=resolve,
        abbreviations=abbreviations,
        consistent=consistent,
        tasks=names(tasks, "tasks"),
        keep_entities=keep_entities,
    )
    settings = AnnotateSettings(bundle=model, query=query, strict=strict, runtime=runtime)
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
        needs_output = {
            "--workers": workers > 1,
            "--on": on != "local",
            "--gzip": gzip,
            "--restart": restart,
            "--overwrite": overwrite,
        }
        if without := [option for option, given in needs_output.items() if given]:
            raise UsageError("BX001", f"{without[0]} needs an output file or folder", hint="name one with -o")
        way = "plain" if plain else format or ("terminal" if sys.stdout.isatty() else "jsonl")
        read_inputs = Inputs(inputs, reads=reads, texts=as_text)
        failed = stream(read_inputs, settings, way=way, threads=threads, on_error=on_error)
    if failed:
        raise typer.Exit(FAILED)


def _cluster(on: str, cpus: int, in_flight: int | None, retries: int, *, workers: int) -> OnRay | None:
    """The cluster to work on; None for this machine's own processes."""
    if on == "local":
        if (cpus, in_flight, retries) != (1, None, 3):
            raise UsageError(
                "BX001",
                "cannot use --cpus-per-task, --in-flight or --retries without --on ray",
                hint="add --on ray, or leave them out",
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
