"""Hallmarks of cancer as BLURB writes it: a row a sentence, several labels each.

    labels⇥sentence⇥index
    0_0,1_0,2_0,3_0,4_1,5_0,6_0,7_0,8_1,9_0⇥The drug arrests cells .⇥20862378_s1

Tab-separated, no quoting (sentences may begin with a quote). Rows that follow each other with the same PMID are one document: its sentences joined by a blank,
each hallmark a label anchored to its sentence. A sentence without labels has none of the ten; the labels of the document are the
union of its sentences'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats._delimited import cell, rows
from biomux.formats._fields import build
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"sentences", "labels"})
HALLMARKS = (
    "Activating invasion and metastasis",
    "Avoiding immune destruction",
    "Cellular energetics",
    "Enabling replicative immortality",
    "Evading growth suppressors",
    "Genomic instability and mutation",
    "Inducing angiogenesis",
    "Resisting cell death",
    "Sustaining proliferative signaling",
    "Tumor promoting inflammation",
)
"""By their number in the files, which give no names."""

_Row = tuple[str, tuple[str, ...]]


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """A document an abstract."""
    current, kept, where = "", list[_Row](), ""
    columns: list[int] = []
    for line, row in rows(source, delimiter="\t"):
        place = f"{source.name}:{line}"
        if not columns:
            columns = _columns(row, place)
            continue
        try:
            pmid, sentence = _row(row, columns, place)
        except FormatError as error:
            on_error(error)
            continue
        if pmid != current and kept:
            yield _document(current, kept, where)
            kept = []
        current, where = pmid, where if kept else place
        kept.append(sentence)
    if kept:
        yield _document(current, kept, where)


def _columns(row: list[str], where: str) -> list[int]:
    for name in ("labels", "sentence", "index"):
        if name not in row:
            raise FormatError(
                "BX116", f"the header {row[:4]} has no {name!r}", where=where, hint="the first row names the columns"
            )
    return [row.index("labels"), row.index("sentence"), row.index("index")]


def _row(row: list[str], columns: list[int], where: str) -> tuple[str, _Row]:
    flags, sentence, index = (
        cell(row, column, name, where) for column, name in zip(columns, ("labels", "sentence", "index"), strict=True)
    )
    pmid, mark, number = index.rpartition("_s")
    if not mark or not number.isdecimal():
        raise FormatError("BX113", f"the index {index!r} is not like 20862378_s1", where=where, hint="write PMID_sN")
    if not sentence:
        raise FormatError("BX113", "the sentence is empty", where=where, hint="remove the row")
    return pmid, (sentence, _hallmarks(flags, where))


def _hallmarks(flags: str, where: str) -> tuple[str, ...]:
    found = []
    for flag in flags.split(","):
        match = re.fullmatch(r"([0-9])_([01])", flag)
        if match is None:
            raise FormatError("BX113", f"the label {flag!r} is not like 4_1", where=where, hint="write 0_0,1_0,…,9_1")
        if match[2] == "1":
            found.append(HALLMARKS[int(match[1])])
    return tuple(found)


def _document(pmid: str, kept: list[_Row], where: str) -> Document:
    text, ranges = join((sentence for sentence, _ in kept), " ")
    labels = tuple(
        Label(name, start=start, end=end)
        for (_, names), (start, end) in zip(kept, ranges, strict=True)
        for name in names
    )
    return build(where, pmid, text, sentences=tuple(ranges), labels=labels)


def _sniff(_: str, head: bytes) -> bool:
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b"\r").split(b"\t")
    return {b"labels", b"sentence", b"index"} <= set(first)


FORMAT = Format(
    name="hoc",
    title="hallmarks of cancer, TSV (BLURB)",
    suffixes=(".hoc.tsv",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
