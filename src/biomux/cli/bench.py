"""`biomux bench`: how fast a bundle is on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biomux.cli.ui.display import note, table
from biomux.cli.ui.options import Runtime, Threads
from biomux.errors import UsageError

if TYPE_CHECKING:
    from biomux.document import Document


def command(
    bundle: Annotated[
        str | None,
        typer.Argument(metavar="BUNDLE", help="Folder or name of a bundle. Default: the one that comes with Biomux."),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option("--text", metavar="FILE", help="Documents to measure on. Default: built-in sample sentences."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", metavar="N", min=0.1, help="Approximate time to spend on measuring latency and speed."
        ),
    ] = 20.0,
    threads: Threads = None,
    starts: Annotated[
        int,
        typer.Option(
            "--starts", metavar="N", min=1, help="Number of processes to start when measuring the cold start."
        ),
    ] = 5,
    runtime: Runtime = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Measure how fast a bundle is on this machine.

    Reports words per second, the latency of one text, cold start, memory, and size on disk. Measure on an otherwise idle machine: the
    report includes the load at the start.

    Examples:

        biomux bench
        biomux bench my-bundle/ --text abstracts.jsonl --seconds 60 --json > bench.json
    """
    from biomux.annotate import bench
    from biomux.engine import load

    folder = load.find(bundle)
    documents, described = _documents(text)
    report = bench.measure(
        folder,
        documents,
        text=described,
        seconds=seconds,
        threads=threads,
        starts=starts,
        runtime=runtime,
        tell=lambda what: note(f"measuring: {what}"),
    )
    if json:
        import orjson

        sys.stdout.write(orjson.dumps(report.to_json(), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        table(("", ""), report.rows())


def _documents(path: Path | None) -> tuple[list[Document], str]:
    if path is None:
        from biomux.annotate import bench

        return bench.sample(), "sentences of our own"
    from biomux import formats

    documents = [document for document in formats.read(path) if document.text.strip()]
    if not documents:
        raise UsageError(
            "BX001", "cannot measure: the file has no text", where=str(path), hint="name a file with documents"
        )
    return documents, path.name
