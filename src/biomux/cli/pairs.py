"""`biomux pairs`: similarity and inference of pairs of texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from biomux.cli.ui.options import (
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
    ThreadsPerWorker,
    Workers,
    names,
    read_as,
    thresholds,
)
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.document import Document

FORMATS = {"tsv": "pairs-tsv", "csv": "pairs-csv", "jsonl": "jsonl", "parquet": "parquet"}
"""What --format accepts, and the format of pairs that it means."""


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Tables or JSON with two texts per row, or - for standard input; or two texts in quotes.",
        ),
    ],
    output: OutputInParts = None,
    format: Annotated[
        Literal["tsv", "csv", "jsonl", "parquet"] | None,
        typer.Option("--format", "--to", help="Output format. Recognised by OUT's suffix if not given."),
    ] = None,
    from_: From = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text", metavar="NAME", help="Column or key with the first text. Recognised by name if not given."
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", metavar="NAME", help="Column or key with the second text. Recognised by name if not given."
        ),
    ] = None,
    id: Id = None,
    option: Options = None,
    heads: Annotated[
        str | None,
        typer.Option("--heads", metavar="NAMES", help="Heads to use. Default: all that the model has for pairs."),
    ] = None,
    model: Model = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="SCORE",
            help="Minimum score of a class, for all (0.5) or for one (entailment=0.7). Repeatable. Default: the model's own.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail a pair if it is longer than the model reads.")] = False,
    workers: Workers = 1,
    threads: ThreadsPerWorker = None,
    runtime: Runtime = "auto",
    on_error: Skipping = OnError.skip,
    restart: Restart = False,
    overwrite: Overwrite = False,
) -> None:
    """Compare pairs of texts: similarity and inference.

    Needs a model with heads for pairs. FILE is a table (TSV, CSV) or JSON lines with two texts per row, recognised by the names of their columns or keys: text and pair, sentence1 and
    sentence2, premise and hypothesis, question1 and question2, evidence and claim. Name others with --text and --pair; where a table has no header, by number: --text 1 --pair 2.

    Each input row gives one output row: a table (-o FILE.tsv or .csv) has the columns of the input and, for each head, its class or number, and its score; JSON lines have them as labels.
    Without -o, a terminal shows each pair with the answers below it, and a pipe gets JSON lines.

    Both texts are read together. If a pair is longer than the model reads, the end of the longer text is cut; that is reported, and with --strict it is an error. Files, workers, resuming and exit codes are as in
    biomux annotate.

    Examples:

        biomux pairs sentences.tsv --model runs/biosses -o similar.tsv
        biomux pairs claims.csv --text abstract --pair claim --model runs/scifact -o checked.csv
        biomux pairs "Aspirin lowers fever." "Fever falls with aspirin." --model runs/biosses
        cat pairs.jsonl | biomux pairs - --model runs/mednli --format tsv | cut -f 1,4
    """
    from biomux.annotate.job import goal
    from biomux.annotate.pair_inputs import PairInputs, PairReadAs
    from biomux.annotate.settings import AnnotateSettings
    from biomux.cli.ui.annotation_output import FAILED, job, stream
    from biomux.engine.asked_tasks import PAIRS, of_group
    from biomux.engine.query import Query

    reads = PairReadAs.of(read_as(from_, None, id, option), text=text, pair=pair)
    read_inputs = PairInputs(inputs, reads=reads)
    query = Query(tasks=of_group(PAIRS, names(heads)), threshold=thresholds(threshold))
    settings = AnnotateSettings(bundle=model, query=query, strict=strict, runtime=runtime)
    if output is not None and output != "-":
        failed = job(
            read_inputs,
            settings,
            goal=goal(output, _format(output, format), query=query),
            shape=(workers, threads, 1_000_000),
            begin=(restart, overwrite),
            on_error=on_error,
        )
    else:
        if workers > 1:
            raise UsageError("BX001", "--workers needs an output file or folder", hint="name one with -o")
        way = FORMATS[format] if format else "terminal" if sys.stdout.isatty() else "jsonl"
        failed = stream(read_inputs, settings, way=way, threads=threads, on_error=on_error, terminal=_terminal)
    if failed:
        raise typer.Exit(FAILED)


def _format(output: str, format: str | None) -> str:
    """The format of a target: the one that is named, or by its suffix; JSON lines in a folder."""
    if format is not None:
        return FORMATS[format]
    if output.endswith("/") or Path(output).is_dir():
        return "jsonl"
    suffix = output.removesuffix(".gz").rpartition(".")[2]
    if suffix not in FORMATS:
        raise UsageError(
            "BX110",
            f"cannot recognise the format of {output!r} by its suffix",
            hint=f"name it with --format: {', '.join(FORMATS)}",
        )
    return FORMATS[suffix]


def _terminal(documents: Iterable[Document]) -> None:
    """Each pair with its id above and the answers below."""
    from rich.console import Console
    from rich.text import Text

    from biomux.cli.ui import render, render_answers
    from biomux.cli.ui.display import sentence

    console = Console(highlight=False, soft_wrap=True)
    width = max(console.width, 10)
    for document in documents:
        console.print(Text(sentence(document.id), style="bold"))
        for text in (document.text, document.pair or ""):
            for start, end in render.wrapped(text, width):
                console.print(Text(render.visible(text[start:end])))
        console.print(render_answers.coloured(document, width=width))
