"""Formats: documents to bytes and back, streaming, gzip transparent.

>>> from biomux import formats
>>> for document in formats.read("corpus.tsv.gz"):        # doctest: +SKIP
...     print(document.id, len(document.spans))
>>> formats.write(documents, "corpus.bioc.xml")           # doctest: +SKIP
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from biomux.errors import FormatError, UsageError, did_you_mean
from biomux.formats._format import Feature, Format, Loss, LossTally, LossWarning, features, ignore, report_losses, stop
from biomux.formats._read_as import ReadAs, option_pairs
from biomux.formats._source import (
    GZIP_MAGIC,
    Source,
    files,
    folder_target,
    is_archive,
    lines,
    must_be_new,
    of_bytes,
    of_path,
    of_source,
    position,
    sources,
    stored_size,
    target,
)
from biomux.formats._unique_stems import UniqueStems
from biomux.formats._walk import ignore_unread, named_files
from biomux.formats._wide_encoding import wide_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from importlib.metadata import EntryPoint

    from biomux.document import Document
    from biomux.formats._walk import Unread

__all__ = [
    "FORMATS",
    "Feature",
    "Format",
    "Loss",
    "LossTally",
    "LossWarning",
    "ReadAs",
    "Source",
    "UniqueStems",
    "features",
    "files",
    "folder_target",
    "get",
    "guess",
    "guess_target",
    "ignore",
    "ignore_unread",
    "is_archive",
    "lines",
    "must_be_new",
    "named_files",
    "names",
    "of_bytes",
    "of_path",
    "of_source",
    "option_pairs",
    "position",
    "read",
    "read_source",
    "refusal",
    "report_losses",
    "sources",
    "stop",
    "stored_size",
    "target",
    "to_write",
    "write",
]

FORMATS: dict[str, str] = {
    "jsonl": "biomux.formats.jsonl",
    "labelstudio": "biomux.formats.labelstudio",
    "doccano": "biomux.formats.doccano",
    "prodigy": "biomux.formats.prodigy",
    "medline": "biomux.formats.medline",
    "nbib": "biomux.formats.nbib",
    "jats": "biomux.formats.jats",
    "parquet": "biomux.formats.parquet",
    "elucidata": "biomux.formats.elucidata",
    "chemprot": "biomux.formats.chemprot",
    "ddi": "biomux.formats.ddi",
    "rqe": "biomux.formats.rqe",
    "squad": "biomux.formats.squad",
    "bioasq": "biomux.formats.bioasq",
    "pubmedqa": "biomux.formats.pubmedqa",
    "nli4ct": "biomux.formats.nli4ct",
    "claims": "biomux.formats.claims",
    "hoc": "biomux.formats.hoc",
    "rct": "biomux.formats.rct",
    "relations": "biomux.formats.relation_table",
    "labels": "biomux.formats.label_table",
    "relation-tsv": "biomux.formats.relation_tsv",
    "pairs": "biomux.formats.pairs",
    "pairs-tsv": "biomux.formats.pairs_tsv",
    "pairs-csv": "biomux.formats.pairs_csv",
    "csv": "biomux.formats.csv_table",
    "tsv": "biomux.formats.tsv_table",
    "bioc-xml": "biomux.formats.bioc_xml",
    "bioc-json": "biomux.formats.bioc_json",
    "brat": "biomux.formats.brat",
    "conll": "biomux.formats.conll",
    "pubtator": "biomux.formats.pubtator",
    "html": "biomux.formats.html",
    "json": "biomux.formats.json_records",
    "lines": "biomux.formats.text_lines",
    "text": "biomux.formats.text",
}
"""Name → module. Asked in this order when a format is to be recognised: narrow ones stand before wide ones."""

NO_RECORD = (b"", b"[]", b"{}")
"""What a file of no documents may be: nothing in it tells the format."""
ZIP_MAGIC = b"PK\x03\x04"
FOREIGN = (
    (
        rb"PK\x03\x04",
        "a zip or office file",
        "save a spreadsheet as CSV and a document as text; if it is an archive, give it a name that ends in .zip",
    ),
    (rb"%PDF-", "a PDF", "extract its text first, for instance with pdftotext, or take the article's XML"),
    (rb"(?:\xef\xbb\xbf)?\s*TY  - ", "RIS", "export the references as MEDLINE (.nbib) or CSV instead"),
    (rb"(?:\xef\xbb\xbf)?\s*@\w+\s*\{", "BibTeX", "export the references as MEDLINE (.nbib) or CSV instead"),
)
"""First bytes of files that people have and Biomux does not read, what they are, and what to do."""
COMMON = (".tsv", ".csv", ".txt", ".json", ".jsonl", ".xml")
"""Suffixes of many formats: alone they do not tell one."""


def names() -> list[str]:
    """Every format's name: those of the table, then those that other packages bring (entry points `biomux.formats`)."""
    return [*FORMATS, *sorted(set(_outside()) - set(FORMATS))]


def get(name: str) -> Format:
    """The format of that name. A format from outside cannot take the name of one in the table."""
    if name in FORMATS:
        found: Format = import_module(FORMATS[name]).FORMAT
        return found
    if name in _outside():
        return _load(_outside()[name])
    raise UsageError("BX110", f"unknown format {name!r}", hint=did_you_mean(name, sorted(names())))


@cache
def _outside() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="biomux.formats")}


def _load(entry: EntryPoint) -> Format:
    """An entry point's format: whatever goes wrong in a package that is not ours is told as its fault."""
    try:
        found = entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(
            "BX110",
            f"cannot load the format {entry.name!r}: {reason}",
            where=entry.value,
            hint="fix or uninstall that package",
        ) from error
    if not isinstance(found, Format):
        raise UsageError(
            "BX110", f"format {entry.name!r} is not a Format", where=entry.value, hint="fix or uninstall that package"
        )
    return found


def guess(source: Source) -> Format:
    """The format of a source, by its name and first bytes; where these hold no record, or tell no format, by its name alone.

    So a file with a suffix of its own (`.conll`) that is malformed at its beginning is read as what it is called, and its reader says which line is wrong.
    """
    head = source.head()
    named = _by_suffix(source.plain_name)
    if named and head.strip() in NO_RECORD:
        return named
    for name in names():
        candidate = get(name)
        if candidate.sniff(source.plain_name, head):
            return candidate
    if named and not (wide_encoding(head) or head.startswith((GZIP_MAGIC, ZIP_MAGIC))):
        return named
    raise _unknown(source, head)


def _unknown(source: Source, head: bytes) -> FormatError:
    """Why the format cannot be told, where the first bytes show it."""
    message, hint = (
        "cannot recognise the format",
        f"name it with --from: {', '.join(sorted(name for name in names() if get(name).readable))}",
    )
    if not head:
        message, hint = f"{message}: the file is empty", "download or write it again, or leave it out"
    elif head.strip() in NO_RECORD:
        message = f"{message}: there is no record in it"
    elif wide := wide_encoding(head):
        message, hint = f"{message}: it is {wide}", "convert it to UTF-8 first, for instance with iconv"
    elif head.startswith(GZIP_MAGIC):
        message, hint = f"{message}: it is gzipped twice", "unpack it once"
    elif foreign := next((found for start, *found in FOREIGN if re.match(start, head)), None):
        message, hint = f"{message}: it is {foreign[0]}", foreign[1]
    elif seen := _seen(source.plain_name, head):
        message, hint = f"{message}: {seen[0]}", f"{seen[1]}, or {hint}"
    return FormatError("BX110", message, where=source.name, hint=hint)


def _seen(name: str, head: bytes) -> tuple[str, str] | None:
    """What a table or JSON has in place of a text under a known name, and what to do."""
    from biomux.formats import _columns as columns
    from biomux.formats import _table_read as table_read
    from biomux.formats import entity_table, json_records

    if found := list(json_records.keys(head)):
        return (
            f"its objects have the keys {columns.listed(found)}",
            "name those with the text and the id: --text NAME --id NAME",
        )
    if not name.lower().endswith((".csv", ".tsv", ".tab")):
        return None
    header = table_read.header_of(head)
    if tuple(header) == entity_table.COLUMNS:
        return "it is a table of entities, without their texts", "use a format that has both, such as jsonl"
    return f"it has the columns {columns.listed(header)}", "name those with the text and the id: --text NAME --id NAME"


def guess_target(path: Path) -> Format:
    """The format to write to a path, by its suffix: the longest that a format claims; a common one only if it can be written."""
    name = path.name.removesuffix(".gz")
    claims = [(suffix, found) for suffix, found in _claims(name) if suffix not in COMMON or found.writable]
    if not claims:
        raise UsageError(
            "BX110", f"cannot recognise the format of {name!r} by its suffix", hint=f"name it with --to: {_written()}"
        )
    return to_write(max(claims, key=lambda claim: len(claim[0]))[1])


def to_write(chosen: Format) -> Format:
    """The format, if it can be written."""
    if not chosen.writable:
        raise UsageError(
            "BX120", f"cannot write the format {chosen.name!r}: it is read-only", hint=f"choose from: {_written()}"
        )
    return chosen


def _written() -> str:
    return ", ".join(sorted(name for name in names() if get(name).writable))


def _claims(name: str) -> list[tuple[str, Format]]:
    """The suffixes of formats that a file's name ends in."""
    return [(suffix, found) for found in map(get, names()) for suffix in found.suffixes if name.endswith(suffix)]


def _by_suffix(name: str) -> Format | None:
    """The format whose own suffix the name has, the longest if it has several."""
    own = [claim for claim in _claims(name) if claim[0] not in COMMON]
    return max(own, key=lambda claim: len(claim[0]))[1] if own else None


def read_source(
    source: Source,
    *,
    format: str | None = None,
    on_error: Callable[[FormatError], None] = stop,
    **options: Any,
) -> Iterator[Document]:
    """The documents of one source, lazily."""
    chosen = get(format) if format else guess(source)
    return chosen.read(source, on_error=on_error, **options)


def read(
    where: str | Path,
    *,
    format: str | None = None,
    on_error: Callable[[FormatError], None] = stop,
    **options: Any,
) -> Iterator[Document]:
    """The documents of a file, folder, glob, archive, or of standard input ("-"), lazily.

    Without `format` each file's format is recognised by itself. `options` are those of the format's own reader (docs/reference/formats.md).
    The first malformed record raises FormatError, a folder or link that cannot be read UnreadableError; give an `on_error` that returns
    (`errors.append`) to go on with the next.
    """
    stems = UniqueStems([where])
    for source in sources(where, on_unread=cast("Unread", on_error), unique_members=True):
        yield from read_source(stems.of(source), format=format, on_error=on_error, **options)


def write(
    documents: Iterable[Document],
    path: str | Path,
    *,
    format: str | None = None,
    on_loss: Callable[[Loss], None] | None = None,
) -> None:
    """Write documents to a file (gzipped if it ends in `.gz`) or, for formats of several files, a new folder.

    Nothing stands under the name until all is written. What the format cannot hold goes to `on_loss`; without one, a LossWarning sums
    it up when all is written. Give `losses.append` to have each, `formats.ignore` if you do not want to know. "jsonl" and "parquet"
    hold everything.
    """
    path = Path(path)
    tally = LossTally()
    _write(documents, path, format, on_loss or tally)
    if tally.counts:
        warnings.warn(f"{path} does not hold: {'; '.join(tally.lines())}", LossWarning, stacklevel=2)


def refusal(documents: Sequence[Document], format: Format) -> FormatError | None:
    """Why a format cannot hold documents, if it cannot: tried by writing them to nowhere."""
    try:
        if format.write is not None:
            format.write(documents, BytesIO(), on_loss=ignore)
        elif format.write_folder is not None:
            with TemporaryDirectory() as folder:
                format.write_folder(documents, Path(folder), on_loss=ignore)
    except FormatError as error:
        return error
    return None


def _write(documents: Iterable[Document], path: Path, format: str | None, on_loss: Callable[[Loss], None]) -> None:
    chosen = to_write(get(format)) if format else guess_target(path)
    if chosen.write is not None:
        with target(path) as stream:
            chosen.write(documents, stream, on_loss=on_loss)
    elif chosen.write_folder is not None:
        with folder_target(path) as folder:
            chosen.write_folder(documents, folder, on_loss=on_loss)
