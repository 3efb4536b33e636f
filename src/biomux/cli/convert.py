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
from biomux.cli.options import From, Id, OnError, Options, Overwrite, Text, complete_format, read_as
from biomux.cli.ui.display import note, progress
from biomux.cli.ui.loss_tally import Deletions, Losses, Skips, stop_at
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
            help="Files, folders, quoted globs, zip or tar archives, or - for standard input; then a file, a folder, or - for standard output.",
        ),
    ],
    from_: From = None,
    text: Text = None,
    id: Id = None,
    option: Options = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="TARGET", help="The target; then all that stands alone is a source."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            "--format",
            metavar="FORMAT",
            help="Format of the target; else by its suffix.",
            autocompletion=complete_format,
        ),
    ] = None,
    on_error: Annotated[
        OnError,
        typer.Option(
            "--on-error",
            help="At a malformed record, or one that the target cannot hold: stop, or skip it and say so at the end.",
        ),
    ] = OnError.stop,
    skipped: Annotated[
        Path | None,
        typer.Option(
            "--skipped", metavar="FILE", help="Write every skipped record's error, and withdrawn PMIDs, to this file."
        ),
    ] = None,
    lost: Annotated[
        Path | None,
        typer.Option("--lost", metavar="FILE", help="Write all that the target format cannot hold to this file."),
    ] = None,
    strict_loss: Annotated[
        bool,
        typer.Option("--strict-loss", help="Fail, and write nothing, if the target format cannot hold everything."),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Convert documents from one format to another.

    Formats are recognised by name and content and stated; see biomux formats for their names. Gzip is transparent both ways:
    a target that ends in .gz is compressed.

    Several files go into one target file. If TARGET is a folder (it exists, or its name ends in /), each source file gets a
    file of its own there, under the same relative path; a source that was gzipped stays so, and one without any document gets
    none. Formats of several files (see biomux formats) make TARGET a new folder.

    Of a folder, a readme or licence beside data is left out, and told. PMIDs that a MEDLINE file withdraws are counted and told.
    What the target format cannot hold is counted and told, one by one in --lost FILE. A target appears only when it is whole: an interrupted or failed
    conversion leaves nothing behind. One that already exists is replaced only with --overwrite. The exit code is 0 when done (also if records were skipped as asked) and 2 on an error.

    Examples:

        biomux convert corpus.tsv corpus.jsonl
        biomux convert 'corpus/*.tsv' all.jsonl.gz --on-error skip
        biomux convert genes.tsv genes.jsonl -O type=gene
        biomux convert papers.csv papers.pubtator --text title,abstract --id pmid
        biomux convert tagged.jsonl entities.tsv
        biomux convert abstracts/ out/ --from medline --to pubtator
        zcat corpus.xml.gz | biomux convert - - --to jsonl | head -3
    """
    if skipped and on_error is OnError.stop:
        raise UsageError("BX001", "--skipped needs --on-error skip", hint="add it, or leave --skipped out")
    sources, goal = (paths, output) if output is not None else (paths[:-1], paths[-1])
    if not sources:
        raise UsageError(
            "BX001", "missing arguments: SOURCE and TARGET are required", hint="see 'biomux convert --help'"
        )
    if sources.count("-") > 1:
        raise UsageError("BX001", "standard input can be read only once", hint="name - once")
    chosen = _target_format(goal, to)
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
    by_format = ", ".join(f"{count:,} {_files(count)} as {name}" for name, count in reading.formats.items())
    spans = reading.spans - losses.spans
    note(f"read {by_format or 'nothing'}; wrote {reading.count:,} documents with {spans:,} spans as {chosen.name}")
    if reading.repaired:
        note(
            f"answers that did not stand at their stated place, and were found beside it: {reading.repaired:,} "
            "(-O repair=false refuses them)"
        )
    deletions.report(skipped)
    losses.report()
    if skips:
        skips.report(skipped)


def _target_format(goal: str, to: str | None) -> Format:
    if to is None and (goal == "-" or _is_folder(goal)):
        raise UsageError("BX001", f"the format of {goal!r} cannot be told from its name", hint="name it with --to")
    try:
        chosen = formats.to_write(formats.get(to)) if to else formats.guess_target(Path(goal))
    except UsageError as error:
        if to or "=" not in goal:
            raise
        hint = f"options of formats are given with -O {goal}"
        raise UsageError(error.code, error.message, hint=hint) from None
    if chosen.write is None and goal == "-":
        raise UsageError(
            "BX120", f"format {chosen.name!r} is a folder of files", hint="name a new folder as the target"
        )
    return chosen


def _all_into_one(
    wheres: list[str], goal: str, chosen: Format, reading: CountingReader, losses: Losses, *, overwrite: bool
) -> None:
    def documents() -> Iterator[Document]:
        for _, source, found in reading.sources(wheres):
            if goal != "-" and Path(goal).is_file() and Path(source.name).exists() and Path(goal).samefile(source.name):
                raise UsageError("BX001", "the target is one of the sources", where=goal, hint="name another target")
            yield from reading.documents(source, found)

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
    for where, source, found in reading.sources(wheres):
        try:
            path = folder / _relative(where, source, found, chosen)
        except FormatError as error:
            reading.on_error(error)
            continue
        if path in taken:
            raise UsageError(
                "BX001",
                f"{taken[path]!r} and {source.name!r} would both become {str(path)!r}",
                hint="convert them into different folders",
            )
        documents = reading.documents(source, found)
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
        note(f"{empty:,} {_files(empty)} held no documents and got no target")


def _relative(where: str, source: Source, found: Format, chosen: Format) -> Path:
    """Where in the target folder a source's file goes: its path below what was asked for, with the target's suffix."""
    if where == "-":
        return Path("stdin" + chosen.suffixes[0])
    outer, _, member = source.name.partition("!")
    path = Path(outer).relative_to(_root(where)).as_posix()
    if member:
        if ".." in PurePosixPath(member).parts or PurePosixPath(member).is_absolute():
            raise FormatError(
                "BX113", "the name of an archive's member leads elsewhere", where=source.name, hint="unpack it by hand"
            )
        path = f"{path.removesuffix('.gz').rpartition('.')[0]}/{member}"
    packed = ".gz" if path.endswith(".gz") else ""
    path = path.removesuffix(".gz")
    suffix = max((s for s in found.suffixes if path.endswith(s)), key=len, default=PurePosixPath(path).suffix)
    return Path(path.removesuffix(suffix) + chosen.suffixes[0] + packed)


def _root(where: str) -> Path:
    """The folder that a path's or a glob's files are named from."""
    path = Path(where)
    if path.is_dir():
        return path
    while path.parent != path and (path.is_file() or glob.has_magic(str(path))):
        path = path.parent
    return path


def _files(count: int) -> str:
    return "file" if count == 1 else "files"


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
    """All bytes to be read, or None where that cannot be known beforehand."""
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
