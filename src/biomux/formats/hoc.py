"""Hallmarks of cancer as BLURB writes it: one row per sentence, with several labels.

    labels⇥sentence⇥index
    0_0,1_0,2_0,3_0,4_1,5_0,6_0,7_0,8_1,9_0⇥The drug arrests cells .⇥20862378_s1

Tab-separated, no quoting (sentences may begin with a quote). Consecutive rows with the same PMID are one document: its sentences joined by a space,
each hallmark a label at the place of its sentence. A sentence without labels has none of the ten; the labels of the document are the
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
"""By their numbers in the files, which do not name them."""

_Row = tuple[str, tuple[str, ...]]


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per abstract."""
    current, sentences, where = "", list[_Row](), ""
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
        if pmid != current and sentences:
            yield _document(current, sentences, where)
            sentences = []
        current, where = pmid, where if sentences else place
        sentences.append(sentence)
    if sentences:
        yield _document(current, sentences, where)


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
        raise FormatError(
            "BX113", f"the index must look like 20862378_s1, got {index!r}", where=where, hint="write PMID_sN"
        )
    if not sentence:
        raise FormatError("BX113", "the sentence is empty", where=where, hint="remove the row")
    return pmid, (sentence, _hallmarks(flags, where))


def _hallmarks(flags: str, where: str) -> tuple[str, ...]:
    hallmarks = []
    for flag in flags.split(","):
        match = re.fullmatch(r"([0-9])_([01])", flag)
        if match is None:
            raise FormatError(
                "BX113", f"a label must look like 4_1, got {flag!r}", where=where, hint="write 0_0,1_0,…,9_1"
            )
        if match[2] == "1":
            hallmarks.append(HALLMARKS[int(match[1])])
    return tuple(hallmarks)


def _document(pmid: str, sentences: list[_Row], where: str) -> Document:
    text, ranges = join((sentence for sentence, _ in sentences), " ")
    labels = tuple(
        Label(name, start=start, end=end)
        for (_, names), (start, end) in zip(sentences, ranges, strict=True)
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
