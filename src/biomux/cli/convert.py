"""`biomux convert`: documents from one format to another."""

from __future__ import annotations

import glob
import os
import sys
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from biomux import formats
from biomux.cli.ui.display import note, progress
from biomux.cli.ui.loss_tally import Deletions, Losses, Skips, stop_at
from biomux.cli.ui.options import From, Id, OnError, Options, Overwrite, Text, complete_format, read_as
from biomux.cli.ui.reading import CountingReader
from biomux.errors import FormatError, UsageError
from biomux.formats import files, folder_target, ignore_unread, is_archive, stored_size, target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from biomux.document import Document
    from biomux.formats import Format, Source


def command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE... TARGET",
            help="One or more files, folders, quoted globs, zip or tar archives, or - for standard input; then the file or folder to write, or - for standard output.",
        ),
    ],
    from_: From = None,
    text: Text = None,
    id: Id = None,
    option: Options = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="TARGET", help="The target, instead of the last argument."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            "--format",
            metavar="FORMAT",
            help="Output format. Recognised by the target's suffix if not given.",
            autocompletion=complete_format,
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--rename",
            metavar="OLD=NEW,...",
            help="Give types and classes other names, for instance gene=Gene. Repeatable.",
        ),
    ] = None,
    on_error: Annotated[
        OnError,
        typer.Option(
            "--on-error",
            help="What to do with a record that is malformed or that the target format cannot hold: stop, or skip it and report it at the end.",
        ),
    ] = OnError.stop,
    skipped: Annotated[
        Path | None,
        typer.Option(
            "--skipped",
            metavar="FILE",
            help="Log the error of every skipped record, and withdrawn PMIDs, to this file.",
        ),
    ] = None,
    lost: Annotated[
        Path | None,
        typer.Option("--lost", metavar="FILE", help="Log everything that the target format cannot hold to this file."),
    ] = None,
    strict_loss: Annotated[
        bool,
        typer.Option("--strict-loss", help="Fail, and write nothing, if the target format cannot hold everything."),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Convert documents from one format to another.

    The input format is recognised by name and content, and reported; biomux formats lists all formats. Gzipped files are read as they
    are, and a target whose name ends in .gz is compressed.

    Several sources are joined into one target file. If TARGET is a folder (it exists, or its name ends in /), each source file is
    converted to a file there, under the same relative path; gzipped sources give gzipped files, and sources without documents give none.
    For formats that consist of several files (see biomux formats), TARGET is a new folder.

    Readme and licence files in a folder are left out and reported. So are PMIDs that a MEDLINE file withdraws, and whatever the target
    format cannot hold; --lost lists the latter one by one. The target appears only when it is complete: a conversion that fails or is
    interrupted leaves nothing behind. An existing target is replaced only with --overwrite. The exit code is 0 on success (also if records
    were skipped because you asked for it) and 2 on an error.

    Examples:

        biomux convert corpus.tsv corpus.jsonl
        biomux convert 'corpus/*.tsv' all.jsonl.gz --on-error skip
        biomux convert genes.tsv genes.jsonl -O type=gene
        biomux convert papers.csv papers.pubtator --text title,abstract --id pmid
        biomux convert tagged.jsonl entities.tsv
        biomux convert tagged.jsonl tagged.pubtator --rename gene=Gene,disease=Disease
        biomux convert abstracts/ out/ --from medline --to pubtator
        zcat corpus.xml.gz | biomux convert - - --to jsonl | head -3
    """
    if skipped and on_error is OnError.stop:
        raise UsageError(
            "BX001", "cannot use --skipped without --on-error skip", hint="add --on-error skip, or leave out --skipped"
        )
    sources, goal = (paths, output) if output is not None else (paths[:-1], paths[-1])
    if not sources:
        raise UsageError(
            "BX001", "missing arguments: SOURCE and TARGET are required", hint="see 'biomux convert --help'"
        )
    if sources.count("-") > 1:
        raise UsageError("BX001", "standard input can be read only once", hint="give - only once")
    chosen = _target_format(goal, to)
    renamed = _renamed(rename)
    with ExitStack() as stack:
        log = stack.enter_context(target(skipped, overwrite=overwrite)) if skipped else None
        skips = Skips(log) if on_error is OnError.skip else None
        deletions = Deletions(log)
        total = _stored_bytes(sources)
        shown = stack.enter_context(progress("converting", total=total, unit="bytes" if total else "documents"))
        reading = CountingReader(
            reads=read_as(from_, text, id, option),
            goal=chosen,
            on_error=skips or stop_at,
            shown=shown,
            skipping=skips is not None,
            on_deleted=deletions,
            renamed=renamed,
            unused=set(renamed),
        )
        losses = Losses(
            strict=strict_loss,
            at_once=goal == "-",
            log=stack.enter_context(target(lost, overwrite=overwrite)) if lost else None,
        )
        if goal != "-" and chosen.write and _is_folder(goal):
            _each_its_own(sources, Path(goal), chosen, reading, losses, overwrite=overwrite)
        else:
            _all_into_one(sources, goal, chosen, reading, losses, overwrite=overwrite)
    by_format = ", ".join(f"{_counted(count, 'file')} as {name}" for name, count in reading.formats.items())
    spans = reading.spans - losses.spans
    note(
        f"read {by_format or 'nothing'}; wrote {_counted(reading.count, 'document')} with {_counted(spans, 'span')} as {chosen.name}"
    )
    if reading.repaired:
        note(
            f"answers whose offsets were wrong and were corrected: {reading.repaired:,} (-O repair=false rejects them)"
        )
    if reading.unused:
        note(f"--rename: no type or class is called {', '.join(map(repr, sorted(reading.unused)))}")
    deletions.report(skipped)
    losses.report()
    if skips:
        skips.report(skipped)


def _renamed(options: list[str] | None) -> dict[str, str]:
    """Old names of types, and new ones."""
    made: dict[str, str] = {}
    for part in ",".join(options or ()).split(","):
        old, equals, new = (piece.strip() for piece in part.partition("="))
        if part.strip() and not (old and equals and new):
            raise UsageError("BX001", f"--rename needs an old and a new name, got {part!r}", hint="write OLD=NEW")
        if made.get(old, new) != new:
            raise UsageError(
                "BX001", f"--rename gives {old!r} two names, {made[old]!r} and {new!r}", hint="give it one"
            )
        if part.strip():
            made[old] = new
    return made


def _target_format(goal: str, to: str | None) -> Format:
    if to is None and (goal == "-" or _is_folder(goal)):
        raise UsageError(
            "BX001", f"cannot recognise the format to write from the name {goal!r}", hint="name it with --to"
        )
    try:
        chosen = formats.to_write(formats.get(to)) if to else formats.guess_target(Path(goal))
    except UsageError as error:
        if to or "=" not in goal:
            raise
        hint = f"if this is an option of a format, write -O {goal}"
        raise UsageError(error.code, error.message, hint=hint) from None
    if chosen.write is None and goal == "-":
        raise UsageError(
            "BX120",
            f"cannot write the format {chosen.name!r} to standard output: it consists of several files",
            hint="name a new folder as the target",
        )
    return chosen


def _all_into_one(
    wheres: list[str], goal: str, chosen: Format, reading: CountingReader, losses: Losses, *, overwrite: bool
) -> None:
    def documents() -> Iterator[Document]:
        for _, source, source_format in reading.sources(wheres):
            if goal != "-" and Path(goal).is_file() and Path(source.name).exists() and Path(goal).samefile(source.name):
                raise UsageError(
                    "BX001", "cannot write to a file that is also a source", where=goal, hint="name another target"
                )
            yield from reading.documents(source, source_format)

    if chosen.write is None:
        assert chosen.write_folder is not None
        with folder_target(Path(goal), overwrite=overwrite, ours=chosen.files) as folder, _refusals(reading):
            chosen.write_folder(documents(), folder, on_loss=losses)
            losses.must_be_none()
    else:
        with _stdout() if goal == "-" else target(Path(goal), overwrite=overwrite) as stream, _refusals(reading):
            chosen.write(documents(), stream, on_loss=losses)
            losses.must_be_none()


def _each_its_own(
    wheres: list[str], folder: Path, chosen: Format, reading: CountingReader, losses: Losses, *, overwrite: bool
) -> None:
    assert chosen.write is not None
    taken: dict[Path, str] = {}
    empty = 0
    for where, source, source_format in reading.sources(wheres):
        try:
            path = folder / _relative(where, source, source_format, chosen)
        except FormatError as error:
            reading.on_error(error)
            continue
        if path in taken:
            raise UsageError(
                "BX001",
                f"{taken[path]!r} and {source.name!r} would both become {str(path)!r}",
                hint="convert them into different folders",
            )
        documents = reading.documents(source, source_format)
        first = next(documents, None)
        if first is None:
            empty += 1
            continue
        taken[path] = source.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with target(path, overwrite=overwrite) as stream, _refusals(reading):
            chosen.write(chain([first], documents), stream, on_loss=losses)
            losses.must_be_none()
    if empty:
        note(f"{_counted(empty, 'file')} without documents: nothing was written for them")


def _relative(where: str, source: Source, source_format: Format, chosen: Format) -> Path:
    """Where in the target folder a source's file goes: its path below what was asked for, with the target's suffix."""
    if where == "-":
        return Path("stdin" + chosen.suffixes[0])
    outer, _, member = source.name.partition("!")
    path = Path(outer).relative_to(_root(where)).as_posix()
    if member:
        if ".." in PurePosixPath(member).parts or PurePosixPath(member).is_absolute():
            raise FormatError(
                "BX113",
                "cannot convert a member of an archive whose name leads out of the target folder",
                where=source.name,
                hint="unpack it by hand",
            )
        path = f"{path.removesuffix('.gz').rpartition('.')[0]}/{member}"
    packed = ".gz" if path.endswith(".gz") else ""
    path = path.removesuffix(".gz")
    suffix = max((s for s in source_format.suffixes if path.endswith(s)), key=len, default=PurePosixPath(path).suffix)
    return Path(path.removesuffix(suffix) + chosen.suffixes[0] + packed)


def _root(where: str) -> Path:
    """The folder that a path's or a glob's files are named from."""
    path = Path(where)
    if path.is_dir():
        return path
    while path.parent != path and (path.is_file() or glob.has_magic(str(path))):
        path = path.parent
    return path


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@contextmanager
def _refusals(reading: CountingReader) -> Iterator[None]:
    """A document that the target cannot hold at all could have been skipped: say so."""
    try:
        yield
    except FormatError as error:
        if error.code == "BX120" and not reading.skipping:
            stop_at(error)
        raise


def _is_folder(goal: str) -> bool:
    return goal.endswith(("/", os.sep)) or Path(goal).is_dir()


def _stored_bytes(wheres: Iterable[str]) -> int | None:
    """The number of bytes to read, or None if it is not known in advance."""
    total = 0
    for where in wheres:
        if where == "-":
            return None
        for path in files(where, on_unread=ignore_unread):
            if is_archive(path) or not path.is_file():
                return None
            total += stored_size(path)
    return total


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
