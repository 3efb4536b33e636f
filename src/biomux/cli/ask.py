"""`biomux ask`: answers to a question from texts and files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from biomux.cli.ui.display import note, progress
from biomux.cli.ui.options import (
    AsText,
    From,
    Id,
    Model,
    OnError,
    Options,
    Overwrite,
    Runtime,
    Skipping,
    Text,
    TextsOrFiles,
    Threads,
    names,
    read_as,
)
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.annotate.inputs import Inputs
    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.questions import FoundAnswer
    from biomux.errors import BiomuxError

SUFFIXES = {".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl"}


def command(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in quotes.")],
    inputs: TextsOrFiles,
    n: Annotated[int, typer.Option("-n", "--number", metavar="N", min=1, help="Number of answers to show.")] = 5,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="OUT", help="File to write: .tsv, .csv or .jsonl.")
    ] = None,
    format: Annotated[
        Literal["tsv", "csv", "jsonl"] | None,
        typer.Option("--format", "--to", help="Output format. Recognised by OUT's suffix if not given."),
    ] = None,
    from_: From = None,
    text: Text = None,
    id: Id = None,
    option: Options = None,
    as_text: AsText = False,
    heads: Annotated[
        str | None,
        typer.Option("--heads", metavar="NAMES", help="Heads to use. Default: all that the model has for questions."),
    ] = None,
    model: Model = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", metavar="SCORE", help="Minimum score of an answer, for instance 0.5.")
    ] = None,
    threads: Threads = None,
    runtime: Runtime = "auto",
    on_error: Skipping = OnError.skip,
    overwrite: Overwrite = False,
) -> None:
    """Find answers to a question in texts and files.

    Needs a model with a head for questions. Each answer is a piece of a document: it is shown with its score, the sentence around it, the document and its place there, in characters. The best come first, whichever document
    they are from; -n says how many.

    INPUT is read as in biomux annotate. On a terminal answers are listed; a pipe gets JSON lines, and --format tsv or csv a table.

    Examples:

        biomux ask "Which gene is mutated?" abstracts/ --model runs/covid-qa
        biomux ask "What is the incubation period?" 'pmc/*.xml' -n 20 --model runs/covid-qa -o answers.tsv
        zcat abstracts.xml.gz | biomux ask "Which drug was given?" - --model runs/covid-qa --format tsv
    """
    from biomux.annotate.inputs import Inputs
    from biomux.cli.ui.annotation_output import FAILED, FailureReport, count_of, report_unread
    from biomux.formats import must_be_new

    way = _way(output, format)
    target = None if output in (None, "-") else Path(str(output))
    if target is not None:
        must_be_new(target, overwrite=overwrite)
    failures = FailureReport(on_error)
    read_inputs = Inputs(inputs, reads=read_as(from_, text, id, option), texts=as_text, on_error=failures)
    total = read_inputs.size()
    annotator = _annotator(model, threads, runtime)
    answers, read = _asked(annotator, question, read_inputs, n, names(heads), threshold, failures, total)
    _write(answers, way, target)
    report_unread(read_inputs)
    note(f"{count_of(len(answers), 'answer')} from {count_of(read, 'document')}")
    if failures.count:
        note(f"failed: {count_of(failures.count, 'document or file', 'documents or files')}")
        raise typer.Exit(FAILED)


def _way(output: str | None, format: str | None) -> str:
    if format is not None:
        return format
    if output is None or output == "-":
        return "terminal" if sys.stdout.isatty() else "jsonl"
    if Path(output).suffix not in SUFFIXES:
        raise UsageError(
            "BX110",
            f"cannot recognise the format of {output!r} by its suffix",
            hint=f"name it with --format: {', '.join(SUFFIXES.values())}",
        )
    return SUFFIXES[Path(output).suffix]


def _annotator(model: str | None, threads: int | None, runtime: str) -> Annotator:
    from biomux import load

    return load(model, threads=threads, runtime=runtime)


def _asked(
    annotator: Annotator,
    question: str,
    inputs: Inputs,
    n: int,
    heads: tuple[str, ...] | None,
    threshold: float | None,
    failures: Callable[[BiomuxError], None],
    total: int | None,
) -> tuple[list[FoundAnswer], int]:
    """The answers, and how many documents were read."""
    from biomux.engine import questions

    if cut := questions.unread(annotator, question):
        note(f"the question is longer than the model reads: its last {cut:,} tokens are left out")
    read = 0
    with progress("asking", total=total, unit="bytes" if total else "documents") as shown:

        def count(_: Document) -> None:
            nonlocal read
            read += 1
            shown.reach(inputs.done if total else read)

        answers = questions.find(
            annotator,
            question,
            inputs.documents(),
            n=n,
            heads=heads,
            threshold=threshold,
            on_error=lambda _, error: failures(error),
            on_document=count,
        )
    return answers, read


def _write(answers: list[FoundAnswer], way: str, target: Path | None) -> None:
    from biomux import formats
    from biomux.cli.ui import show_answers

    if way == "terminal":
        show_answers.terminal(answers)
    elif target is None:
        sys.stdout.buffer.write(show_answers.WRITTEN[way](answers))
        sys.stdout.flush()
    else:
        with formats.target(target) as stream:
            stream.write(show_answers.WRITTEN[way](answers))
