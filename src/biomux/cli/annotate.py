"""`biomux annotate`: entities in texts and files."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biomux import formats
from biomux.cli.display import note, sentence
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from biomux.annotate.settings import Settings
    from biomux.annotate.tally import Tally
    from biomux.document import Document
    from biomux.errors import BiomuxError

TABLE = "tsv"
"""A table of mentions: beside the formats, since it does not hold the text."""

FAILED = 3
"""The exit code when all is done but some documents failed."""

SHOWN = 20
"""Failed documents that are told one by one."""


def _complete(incomplete: str) -> list[str]:
    return [name for name in [*formats.names(), TABLE] if name.startswith(incomplete)]


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="A text, or files, folders, quoted globs, zip or tar archives, or - for standard input.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="A file, or a folder (ends in /) that is filled with parts."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of the output, or tsv for a table of mentions; else by OUT's suffix.",
            autocompletion=_complete,
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FORMAT", help="Format of the inputs; else recognised.", autocompletion=_complete
        ),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Every INPUT is a text, whatever it looks like.")] = False,
    types: Annotated[
        str | None, typer.Option("--types", metavar="NAMES", help="Only these types: gene,chemical; else all.")
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option("--heads", metavar="NAMES", help="The types of these corpora's heads as they are: bc5cdr,jnlpba."),
    ] = None,
    bundle: Annotated[
        str | None, typer.Option("--bundle", metavar="BUNDLE", help="A bundle's folder or name; else the one included.")
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold", metavar="SCORE", help="Leave out what scores less: 0.5, or gene=0.7; may be repeated."
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option("--precision", metavar="SHARE", help="Take the thresholds that were this precise in tests: 0.95."),
    ] = None,
    resolve: Annotated[
        bool,
        typer.Option("--resolve", help="No overlaps: the surest entity first, then the longer, then the leftmost."),
    ] = False,
    abbreviations: Annotated[
        bool, typer.Option("--abbreviations", help="Give the type of a long form to its abbreviation in the document.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A document of which a character was not read fails.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Text with entities in brackets, without colours.")] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", min=1, help="Threads of each process; else all cores.")
    ] = None,
) -> None:
    """Find genes, chemicals, diseases and more in texts and files.

    INPUT is a text if it has a blank in it and no file has that name; files may be of any format that biomux formats lists, and are
    recognised.

    Without OUT a terminal shows the text in colours with a label below each entity; a pipe gets Biomux JSON lines, one document a
    line. --plain gives text with entities in brackets, and --format tsv a table of entities, in both.

    A document that fails is told, and the rest goes on. The exit code is 0 when all is done, 3 if a document failed, and 2 on an error that
    ended the run.

    Examples:

        biomux annotate "Aspirin inhibits COX-2 in mice."
        biomux annotate abstracts/ --types gene,disease -o entities.jsonl
        zcat abstracts.xml.gz | biomux annotate - --format tsv | cut -f 5
    """
    from biomux.annotate.settings import Settings

    settings = Settings(
        bundle=bundle,
        types=_names(types),
        heads=_names(heads),
        threshold=_thresholds(threshold),
        precision=precision,
        resolve=resolve,
        abbreviations=abbreviations,
        strict=strict,
    )
    way = "plain" if plain else format or ("terminal" if sys.stdout.isatty() else "jsonl")
    if _stream(inputs, settings, way=way, from_=from_, texts=text, threads=threads).failed:
        raise typer.Exit(FAILED)


def _names(listed: str | None) -> tuple[str, ...] | None:
    if listed is None:
        return None
    names = tuple(name.strip() for name in listed.split(",") if name.strip())
    if not names:
        raise UsageError("BX001", "a list of names is empty", hint="leave the option out, or name at least one")
    return names


def _thresholds(options: list[str] | None) -> dict[str, float] | None:
    """Thresholds by type; that of all others under "*"."""
    if not options:
        return None
    found: dict[str, float] = {}
    for part in ",".join(options).split(","):
        name, _, number = part.rpartition("=")
        try:
            found[name.strip() or "*"] = float(number)
        except ValueError:
            raise UsageError("BX001", f"{part!r} is no threshold", hint="write 0.5, or gene=0.7") from None
    return found


def _stream(
    arguments: list[str], settings: Settings, *, way: str, from_: str | None, texts: bool, threads: int | None
) -> Tally:
    """Annotate and show, document by document."""
    from biomux.annotate.inputs import Inputs
    from biomux.annotate.tally import Tally

    tally = Tally()
    failures = _Failures()
    inputs = Inputs(arguments, format=from_, texts=texts, on_error=failures)
    inputs.places()
    writer = _writer(way)
    annotator = settings.annotator(threads=threads, chunk=20_000 if way in ("terminal", "plain") else None)
    begun = time.perf_counter()

    def annotated() -> Iterator[Document]:
        for document in settings.annotate(annotator, inputs.documents(), on_error=lambda _, error: failures(error)):
            tally.add(document)
            yield document

    writer(annotated())
    sys.stdout.flush()
    tally.failed = failures.count
    tell(tally, time.perf_counter() - begun)
    return tally


def _writer(way: str):  # type: ignore[no-untyped-def]
    from biomux.cli import show

    shown = {"terminal": show.terminal, "plain": show.plain, TABLE: show.table}
    if way in shown:
        return shown[way]
    chosen = formats.get(way)
    if chosen.write is None:
        raise UsageError("BX120", f"format {way!r} is not written to a stream", hint="name a target with -o")
    return lambda documents: chosen.write(documents, sys.stdout.buffer, on_loss=formats.ignore)


class _Failures:
    """Tells the first documents and records that failed; counts all."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: BiomuxError) -> None:
        self.count += 1
        if self.count <= SHOWN:
            note(f"failed: {sentence(error)}")
        elif self.count == SHOWN + 1:
            note("failed: more, which are counted only")


def tell(tally: Tally, seconds: float) -> None:
    """The summary, on stderr."""
    rate = f", {tally.words / seconds:,.0f} words per second" if seconds > 0 and tally.words else ""
    total = sum(tally.entities.values())
    note(
        f"{_count(tally.documents, 'document')}, {_count(tally.words, 'word')}{rate}; "
        f"{tally.coverage:.2%} of the characters read".replace("100.00%", "all")
    )
    by_type = ", ".join(f"{name} {count:,}" for name, count in tally.entities.most_common())
    note(f"{_count(total, 'entity', 'entities')}" + (f": {by_type}" if total else ""))
    if tally.failed:
        note(f"failed: {_count(tally.failed, 'document')}")


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
