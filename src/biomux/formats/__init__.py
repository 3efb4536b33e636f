"""Formats: read and write documents as streams; gzip is handled automatically.

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
"""Name → module. Tried in this order to recognise a file: specific formats come before general ones."""

NO_RECORD = (b"", b"[]", b"{}")
"""Content of a file without documents, from which no format can be recognised."""
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
"""First bytes of common files that Biomux does not read, what they are, and what to do."""
LISTED = "`biomux formats` lists all formats"
COMMON = (".tsv", ".csv", ".txt", ".json", ".jsonl", ".xml")
"""Suffixes that many formats share: they are not enough to recognise one."""


def names() -> list[str]:
    """The names of all formats: those in the table, then those that other packages add (entry points `biomux.formats`)."""
    return [*FORMATS, *sorted(set(_outside()) - set(FORMATS))]


def get(name: str) -> Format:
    """The format of that name. A format of another package cannot replace one in the table."""
    if name in FORMATS:
        format_: Format = import_module(FORMATS[name]).FORMAT
        return format_
    if name in _outside():
        return _load(_outside()[name])
    raise UsageError("BX110", f"unknown format {name!r}", hint=did_you_mean(name, sorted(names()), otherwise=LISTED))


@cache
def _outside() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="biomux.formats")}


def _load(entry: EntryPoint) -> Format:
    """An entry point's format; any error in loading it is reported as that package's."""
    try:
        loaded = entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(
            "BX110",
            f"cannot load the format {entry.name!r}: {reason}",
            where=entry.value,
            hint="fix or uninstall that package",
        ) from error
    if not isinstance(loaded, Format):
        raise UsageError(
            "BX110", f"format {entry.name!r} is not a Format", where=entry.value, hint="fix or uninstall that package"
        )
    return loaded


def guess(source: Source) -> Format:
    """The format of a source, by its name and first bytes; by its name alone if these hold no record or no format recognises them.

    So a file with a specific suffix (`.conll`) that is malformed at its beginning is still read, and its reader says which line is wrong.
    """
    head = source.head()
    by_name = _by_suffix(source.plain_name)
    if by_name and head.strip() in NO_RECORD:
        return by_name
    for name in names():
        candidate = get(name)
        if candidate.sniff(source.plain_name, head):
            return candidate
    if by_name and not (wide_encoding(head) or head.startswith((GZIP_MAGIC, ZIP_MAGIC))):
        return by_name
    raise _unknown(source, head)


def _unknown(source: Source, head: bytes) -> FormatError:
    """The error for a file that is not recognised, with the reason if the first bytes show it."""
    message, hint = "cannot recognise the format", f"name the format with --from ({LISTED})"
    if not head:
        message, hint = f"{message}: the file is empty", "download or write it again, or leave it out"
    elif head.strip() in NO_RECORD:
        message = f"{message}: it has no records"
    elif wide := wide_encoding(head):
        message, hint = f"{message}: it is {wide}", "convert it to UTF-8 first, for instance with iconv"
    elif head.startswith(GZIP_MAGIC):
        message, hint = f"{message}: it is gzipped twice", "unpack it once"
    elif foreign := next((kind for start, *kind in FOREIGN if re.match(start, head)), None):
        message, hint = f"{message}: it is {foreign[0]}", foreign[1]
    elif fields := _field_names(source.plain_name, head):
        message, hint = f"{message}: {fields[0]}", f"{fields[1]}, or {hint}"
    return FormatError("BX110", message, where=source.name, hint=hint)


def _field_names(name: str, head: bytes) -> tuple[str, str] | None:
    """The columns or keys of a table or JSON without a known name for the text, and what to do."""
    from biomux.formats import _columns as columns
    from biomux.formats import _table_read as table_read
    from biomux.formats import entity_table, json_records

    if keys := list(json_records.keys(head)):
        return (
            f"its objects have the keys {columns.listed(keys)}",
            "name those of the text and the id with --text and --id",
        )
    if not name.lower().endswith((".csv", ".tsv", ".tab")):
        return None
    header = table_read.header_of(head)
    if tuple(header) == entity_table.COLUMNS:
        return "it is a table of entities, without their texts", "use a format that has both, such as jsonl"
    return f"it has the columns {columns.listed(header)}", "name those of the text and the id with --text and --id"


def guess_target(path: Path) -> Format:
    """The format to write to a path, by the longest suffix that a format claims; a shared suffix counts only for formats that can be written."""
    name = path.name.removesuffix(".gz")
    claims = [(suffix, claimant) for suffix, claimant in _claims(name) if suffix not in COMMON or claimant.writable]
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
    """The suffixes that a file's name ends in, with their formats."""
    return [(suffix, format_) for format_ in map(get, names()) for suffix in format_.suffixes if name.endswith(suffix)]


def _by_suffix(name: str) -> Format | None:
    """The format with the longest suffix of the name that is not shared by many formats."""
    specific = [claim for claim in _claims(name) if claim[0] not in COMMON]
    return max(specific, key=lambda claim: len(claim[0]))[1] if specific else None


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

    Without `format`, each file's format is recognised. `options` are those of the format's reader (docs/reference/formats.md).
    The first malformed record raises FormatError, and a folder or link that cannot be read raises UnreadableError. To continue with the next record or file instead, give an `on_error`
    that returns, for instance `errors.append` of a list.
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

    The file appears under its name only when it is complete. What the format cannot hold is passed to `on_loss`; without one, a
    LossWarning sums it up at the end. Give the `append` of a list to collect all losses, or `formats.ignore` to ignore them. "jsonl" and
    "parquet" hold everything.
    """
    path = Path(path)
    tally = LossTally()
    _write(documents, path, format, on_loss or tally)
    if tally.counts:
        warnings.warn(f"{path} does not hold: {'; '.join(tally.lines())}", LossWarning, stacklevel=2)


def refusal(documents: Sequence[Document], format: Format) -> FormatError | None:
    """The error if a format cannot hold these documents; tried by writing them to memory or a temporary folder."""
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
