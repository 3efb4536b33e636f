"""ChemProt: abstracts, entities, relations and gold standard in four tables in one folder.

    chemprot_training_abstracts.tsv       pmid⇥title⇥abstract
    chemprot_training_entities.tsv        pmid⇥T1⇥CHEMICAL⇥start⇥end⇥text
    chemprot_training_relations.tsv       pmid⇥CPR:4⇥Y ⇥INHIBITOR⇥Arg1:T1⇥Arg2:T9
    chemprot_training_gold_standard.tsv   pmid⇥CPR:4⇥Arg1:T1⇥Arg2:T9

Read it from the abstracts file: the others are found by its name (in the test set `_gs` follows the kind, except for the gold
standard). The other three give no documents of their own. Tab-separated, no quoting. Offsets count over title, one
character, abstract; the text has a space there.

Each line of relations is a `Relation` between span ids, with `evaluated`, `fine` (the fine type) and `gold` (whether the gold standard has it) in
`extra`. The same group and arguments may occur twice with different fine types: the official scorer counts the distinct
(type, arguments) with `gold`. The entity files are not sorted, so the rows of the other tables are looked up by PMID while the abstracts are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from biomux.document import Argument, Document, Passage, Relation, Span
from biomux.errors import FormatError
from biomux.formats._delimited import rows
from biomux.formats._fields import build
from biomux.formats._format import Feature, Format, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "spans", "overlaps", "span ids", "relations"})
WIDTHS = {"abstracts": 3, "entities": 6, "relations": 6, "gold_standard": 4}

_NAME = re.compile(r"(?P<stem>.*)(?P<kind>abstracts|entities|relations|gold_standard)(?P<end>(?:_gs)?\.tsv)")


@dataclass(frozen=True, slots=True)
class _Beside:
    """The rows of the other tables, by PMID, each preceded by its line number."""

    entities: Source
    rows: dict[str, dict[str, list[list[str]]]] = field(
        default_factory=lambda: {kind: {} for kind in WIDTHS if kind != "abstracts"}
    )

    def of(self, kind: str, pmid: str) -> list[list[str]]:
        return self.rows[kind].get(pmid, [])

    def without_abstract(self, pmids: set[str]) -> list[str]:
        return list(dict.fromkeys(pmid for table in self.rows.values() for pmid in table if pmid not in pmids))


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per abstract."""
    match = _NAME.fullmatch(source.plain_name)
    kind = match["kind"] if match else "abstracts"
    if kind != "abstracts":
        _companion(source, "abstracts", needed=True)
        return
    beside = _beside(source, on_error)
    pmids: set[str] = set()
    for line, row in _table(source, "abstracts", on_error):
        where = f"{source.name}:{line}"
        try:
            document = _document(row, beside, pmids, where)
        except FormatError as error:
            on_error(error)
            continue
        yield document
    for pmid in beside.without_abstract(pmids):
        on_error(
            FormatError(
                "BX113",
                f"there are entities or relations for {pmid!r}, but no abstract",
                where=source.name,
                hint="check that the files belong together",
            )
        )


def _companion(source: Source, kind: str, *, needed: bool) -> Source | None:
    match = _NAME.fullmatch(source.plain_name)
    names = []
    if match:
        names = [match["stem"] + kind + end for end in dict.fromkeys((match["end"], ".tsv", "_gs.tsv"))]
    for name in names:
        if (companion := source.companion(name)) is not None:
            return companion
    if needed:
        raise FormatError(
            "BX119",
            f"there is no table of {kind} beside it",
            where=source.name,
            hint=f"put {' or '.join(names[:2]) or 'it'} into the same folder, and keep the names",
        )
    return None


def _table(source: Source, kind: str, on_error: Callable[[FormatError], None]) -> Iterator[tuple[int, list[str]]]:
    for line, row in rows(source, delimiter="\t"):
        if len(row) != WIDTHS[kind]:
            on_error(
                FormatError(
                    "BX116",
                    f"a row of {kind} must have {WIDTHS[kind]} columns, got {len(row)}",
                    where=f"{source.name}:{line}",
                    hint="check its tabs",
                )
            )
            continue
        yield line, row


def _beside(source: Source, on_error: Callable[[FormatError], None]) -> _Beside:
    """Read the rows of the other tables, and check that each is well-formed."""
    entities = _companion(source, "entities", needed=True)
    assert entities is not None
    beside = _Beside(entities)
    for kind, rows_by_pmid in beside.rows.items():
        table = _companion(source, kind, needed=False)
        if table is None:
            continue
        for line, row in _table(table, kind, on_error):
            where = f"{table.name}:{line}"
            try:
                _span(row, where) if kind == "entities" else _arguments(row[-2:], where)
            except FormatError as error:
                on_error(error)
                continue
            rows_by_pmid.setdefault(row[0], []).append([str(line), *row])
    return beside


def _relations(pmid: str, beside: _Beside) -> tuple[Relation, ...]:
    """The relations of a document; those that occur only in the gold standard are last."""
    gold = dict.fromkeys((group, _arguments(cells, pmid)) for _, _, group, *cells in beside.of("gold_standard", pmid))
    relations = []
    listed = set()
    for _, _, group, evaluated, fine, *cells in beside.of("relations", pmid):
        key = (group, _arguments(cells, pmid))
        extra = {"evaluated": evaluated.strip() == "Y", "fine": fine, "gold": key in gold}
        listed.add(key)
        relations.append(Relation(*key, extra=extra))
    return (*relations, *(Relation(*key, extra={"gold": True}) for key in gold if key not in listed))


def _span(row: list[str], where: str) -> Span:
    if not (row[3].isdecimal() and row[4].isdecimal()):
        raise FormatError(
            "BX113",
            f"offsets must be whole numbers from 0, got {row[3]!r} and {row[4]!r}",
            where=where,
            hint="correct them",
        )
    return Span(int(row[3]), int(row[4]), row[2], id=row[1])


def _arguments(cells: list[str], where: str) -> tuple[Argument, ...]:
    arguments = []
    for text in cells:
        role, colon, target = text.partition(":")
        if not colon or not target:
            raise FormatError("BX113", f"{text!r} is not an argument", where=where, hint="write Arg1:T1")
        arguments.append(Argument(role, target))
    return tuple(arguments)


def _document(row: list[str], beside: _Beside, pmids: set[str], where: str) -> Document:
    pmid, title, abstract = row
    if pmid in pmids:
        raise FormatError("BX113", f"the abstract {pmid!r} occurs twice", where=where, hint="remove one")
    pmids.add(pmid)
    text = f"{title} {abstract}"
    rows = [(f"{beside.entities.name}:{line}", row) for line, *row in beside.of("entities", pmid)]
    entities = [(place, _span(row, place), row[5]) for place, row in rows]
    relations = _relations(pmid, beside)
    for place, span, mention in entities:
        if text[span.start : span.end] != mention:
            raise FormatError(
                "BX114" if span.end > len(text) else "BX115",
                f"entity {span.id} is {mention!r}, but the text at {span.start}..{span.end} is {text[span.start : span.end]!r}",
                where=f"{place} (document {pmid!r})",
                hint="offsets count characters over title, one character, abstract, end exclusive",
            )
    passages = (Passage(0, len(title), "title"), Passage(len(title) + 1, len(text), "abstract"))
    spans = tuple(span for _, span, _ in entities)
    return build(where, pmid, text, passages=passages, spans=spans, relations=relations)


def _sniff(name: str, head: bytes) -> bool:
    match = _NAME.fullmatch(name)
    if match is not None and not head:
        return True  # a table without rows, for instance if no document has relations
    return match is not None and head.partition(b"\n")[0].count(b"\t") + 1 == WIDTHS[match["kind"]]


FORMAT = Format(
    name="chemprot",
    title="ChemProt's tables",
    suffixes=(".chemprot",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
