"""Plain text, strict UTF-8: a file is a document, or each of its lines or paragraphs is.

Every character of a file is kept, including line breaks, except a byte-order mark at its start. UTF-16 and UTF-32 are refused, with or without a mark. Output is a folder with
one file per document, named by the document's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.document import Document
from biomux.errors import FormatError, UsageError
from biomux.formats._delimited import raw_lines
from biomux.formats._file_names import name_for
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._source import MAX_LINE, decode
from biomux.formats._wide_encoding import refuse_wide, wide_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from biomux.formats._source import Source

BOM = b"\xef\xbb\xbf"
HOLDS: frozenset[Feature] = frozenset()


def sniff(name: str, head: bytes) -> bool:
    """By its name: any content may be text."""
    del head
    return name.endswith((".txt", ".text"))


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    by: Literal["file", "line", "paragraph"] = "file",
) -> Iterator[Document]:
    """One document per file, named by the file's stem; or one per line or paragraph that is not blank.

    Lines are named `<stem>:<line number>`, paragraphs `<stem>:<number of the first line>`. Line breaks within a
    paragraph are kept, the last one is not.
    """
    if by == "file":
        return _file(source)
    if by == "line":
        return _lines(source, on_error)
    if by == "paragraph":
        return _paragraphs(source, on_error)
    raise UsageError("BX001", f"by must be file, line or paragraph, got {by!r}")


def write_folder(documents: Iterable[Document], folder: Path, *, on_loss: Callable[[Loss], None]) -> None:
    """One file per document; an id that cannot be a file name is changed, and reported."""
    used_names: set[str] = set()
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        name = name_for(document.id, taken=used_names, on_loss=on_loss)
        (folder / f"{name}.txt").write_bytes(_encoded(document))


def _file(source: Source) -> Iterator[Document]:
    with source.open() as stream:
        raw = stream.read(MAX_LINE + 1)
    if len(raw) > MAX_LINE:
        raise FormatError(
            "BX121",
            f"the file is longer than {MAX_LINE:,} bytes, too long for one document",
            where=source.name,
            hint="read it with --from lines or -O by=paragraph, or split it",
        )
    refuse_wide(raw, source.name)
    yield Document(source.stem, decode(raw.removeprefix(BOM), source.name))


def _lines(source: Source, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
    for number, line in raw_lines(source, on_error=on_error):
        if line.strip():
            yield Document(f"{source.stem}:{number}", line.removesuffix("\n").removesuffix("\r"))


def _paragraphs(source: Source, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
    first, paragraph = 0, ""
    for number, line in raw_lines(source, on_error=on_error):
        if line.strip():
            first = first if paragraph else number
            paragraph += line
        elif paragraph:
            yield Document(f"{source.stem}:{first}", paragraph.removesuffix("\n").removesuffix("\r"))
            paragraph = ""
        if len(paragraph) > MAX_LINE:
            raise FormatError(
                "BX121",
                f"the paragraph is longer than {MAX_LINE:,} characters",
                where=f"{source.name}:{first}",
                hint="read it with --from lines",
            )
    if paragraph:
        yield Document(f"{source.stem}:{first}", paragraph.removesuffix("\n").removesuffix("\r"))


def _encoded(document: Document) -> bytes:
    """The bytes of the text; with a byte-order mark if the text begins with one, since readers drop the first, or if it looks like UTF-16."""
    try:
        raw = document.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(
            "BX120",
            f"character {error.start} is half of a surrogate pair, which UTF-8 cannot represent",
            where=f"document {document.id!r}",
            hint="repair the text",
        ) from None
    return BOM + raw if raw.startswith(BOM) or wide_encoding(raw) else raw


FORMAT = Format(
    name="text",
    title="plain text",
    suffixes=(".txt",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    files=("*.txt",),
    write_folder=write_folder,
)
