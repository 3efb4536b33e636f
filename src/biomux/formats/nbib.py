"""MEDLINE text, as saved by PubMed's "Save" and "Send to: Citation manager" (`.nbib`).

    PMID- 12345
    TI  - A title that continues
          in lines that begin with spaces.
    AB  - The abstract.

A citation is a document named by its PMID. Title (TI, for books BTI) and abstract (AB) are passages, joined by a line feed; continuation lines are joined by a space. Journal
(JT, else TA), year (DP), DOI (LID, AID) and PMC id (PMC) are metadata. Not read: all other fields, such as other abstracts (OAB), authors and MeSH headings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.document import Document, Passage
from biomux.errors import FormatError
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join
from biomux.formats._source import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "metadata"})

_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*PMID- ?\d+ *\r?(?:\n(?:[A-Z]{2,4} *- |\s*$)|$)")
_FIELD = re.compile(r"([A-Z]{1,4}) {0,3}- ?(.*)")
_TEXTS = (("TI", "title"), ("BTI", "title"), ("AB", "abstract"))
_YEAR = re.compile(r"\d{4}")
_Fields = list[tuple[str, str]]


def sniff(name: str, head: bytes) -> bool:
    """By a PMID field at the beginning."""
    del name
    return _START.match(head) is not None


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per citation, which begins after an empty line or with a PMID."""
    for number, fields in _citations(source):
        try:
            document = _document(fields, f"{source.name}:{number}")
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _citations(source: Source) -> Iterator[tuple[int, _Fields]]:
    """The fields of each citation, with the number of its first line."""
    first, fields = 0, _Fields()
    for number, line in lines(source):
        match = _FIELD.fullmatch(line) if line[4:5] == "-" else None
        if fields and (not line.strip() or (match is not None and match[1] == "PMID")):
            yield first, fields
            fields = []
        if not line.strip():
            continue
        if not fields:
            first = number
        if match is not None:
            fields.append((match[1], match[2]))
        elif fields and line[:1] == " ":
            fields[-1] = fields[-1][0], f"{fields[-1][1]} {line.strip()}".lstrip()
        else:
            fields.append(("", line))
    if fields:
        yield first, fields


def _document(fields: _Fields, where: str) -> Document:
    values: dict[str, str] = {}
    for tag, value in fields:
        if not tag:
            hint = "write a tag of up to four letters in four columns, then '- ' and the value"
            raise FormatError("BX113", f"{value[:60]!r} is not a field", where=where, hint=hint)
        values.setdefault(tag, value.strip())
    name = values.get("PMID", "")
    if not name:
        raise FormatError("BX116", "the citation has no PMID", where=where, hint="add a line 'PMID- ' and the number")
    parts = [(kind, values[tag]) for tag, kind in _TEXTS if values.get(tag)]
    text, ranges = join((part for _, part in parts), "\n")
    passages = tuple(Passage(start, end, kind) for (start, end), (kind, _) in zip(ranges, parts, strict=True))
    return Document(name, text, passages=passages, metadata=_metadata(values, fields))


def _metadata(values: dict[str, str], fields: _Fields) -> dict[str, str]:
    year = _YEAR.match(values.get("DP", ""))
    dois = [value for tag, value in fields if tag in ("LID", "AID") and value.rstrip().endswith("[doi]")]
    stated = {
        "journal": values.get("JT") or values.get("TA"),
        "year": year[0] if year else None,
        "doi": dois[0].strip().removesuffix("[doi]").strip() if dois else None,
        "pmc": values.get("PMC"),
    }
    return {key: value for key, value in stated.items() if value}


FORMAT = Format(
    name="nbib",
    title="MEDLINE text (PubMed's .nbib)",
    suffixes=(".nbib",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
)
