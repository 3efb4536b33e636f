"""ChemProt: abstracts, entities, relations and gold standard in four tables beside each other.

    chemprot_training_abstracts.tsv       pmid⇥title⇥abstract
    chemprot_training_entities.tsv        pmid⇥T1⇥CHEMICAL⇥start⇥end⇥text
    chemprot_training_relations.tsv       pmid⇥CPR:4⇥Y ⇥INHIBITOR⇥Arg1:T1⇥Arg2:T9
    chemprot_training_gold_standard.tsv   pmid⇥CPR:4⇥Arg1:T1⇥Arg2:T9

Read it from the abstracts file: the others are found by its name (in the test set `_gs` follows the kind, except for the gold
standard). Of a folder the other three give no documents of their own. Tab-separated, no quoting. Offsets run over title, one
character, abstract; the text has a blank there.

Each line of relations is a `Relation` between span ids, with `evaluated`, `fine` (the fine type) and `gold` (whether the gold standard has it) in
`extra`. The same group and arguments may come twice with another fine type: what the official scorer counts are the distinct
(type, arguments) with `gold`. The entity files are in no order, so the rows of the other tables are looked up by PMID while the abstracts stream.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from biomux.document import Argument, Document, Passage, Relation, Span
from biomux.errors import FormatError
from biomux.formats.delimited import rows, tsv_line
from biomux.formats.fields import build
from biomux.formats.format import Feature, Format, Loss, report_losses, stop
from biomux.formats.shelf import Once, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from biomux.formats.source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "spans", "overlaps", "span ids", "relations"})
EVALUATED = frozenset({"CPR:3", "CPR:4", "CPR:5", "CPR:6", "CPR:9"})
"""The groups that the official scorer counts."""
WIDTHS = {"abstracts": 3, "entities": 6, "relations": 6, "gold_standard": 4}

_NAME = re.compile(r"(?P<stem>.*)(?P<kind>abstracts|entities|relations|gold_standard)(?P<end>(?:_gs)?\.tsv)")


@dataclass(frozen=True, slots=True)
class _Beside:
    """The rows of the other tables, by PMID; what no abstract asks for is left over. Of a row, the number of its line comes first."""

    entities: Source
    rows: dict[str, Shelf] = field(default_factory=lambda: {kind: Shelf() for kind in WIDTHS if kind != "abstracts"})

    def of(self, kind: str, pmid: str) -> list[list[str]]:
        return [row.split("\t") for row in self.rows[kind].get(pmid)]

    def left(self, seen: Once) -> list[str]:
        return list(dict.fromkeys(pmid for shelf in self.rows.values() for pmid in shelf if pmid not in seen))


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """A document an abstract."""
    match = _NAME.fullmatch(source.plain_name)
    kind = match["kind"] if match else "abstracts"
    if kind != "abstracts":
        _companion(source, "abstracts", needed=True)
        return
    beside = _beside(source, on_error)
    seen = Once()
    for line, row in _table(source, "abstracts", on_error):
        where = f"{source.name}:{line}"
        try:
            document = _document(row, beside, seen, where)
        except FormatError as error:
            on_error(error)
            continue
        yield document
    for pmid in beside.left(seen):
        on_error(
            FormatError(
                "BX113",
                f"entities or relations speak of {pmid!r}, which has no abstract",
                where=source.name,
                hint="check that the files belong together",
            )
        )


def write_folder(documents: Iterable[Document], folder: Path, *, on_loss: Callable[[Loss], None]) -> None:
    """The four tables `chemprot_*.tsv`. A document must have a title and an abstract with one character between them."""
    with (
        (folder / "chemprot_abstracts.tsv").open("wb") as abstracts,
        (folder / "chemprot_entities.tsv").open("wb") as entities,
        (folder / "chemprot_relations.tsv").open("wb") as relations,
        (folder / "chemprot_gold_standard.tsv").open("wb") as gold,
    ):
        written = Once()
        for document in documents:
            if document.id.startswith("\ufeff") or written.put(document.id) is not None:
                raise FormatError(
                    "BX120",
                    "a document with this id has been written, or the id begins with a byte-order mark",
                    where=f"document {document.id!r}",
                    hint="give each document an id of its own",
                )
            report_losses(document, HOLDS, on_loss)
            title, abstract = _title_and_abstract(document, on_loss)
            abstracts.write(tsv_line([document.id, title, abstract], document.id))
            for row in _entity_rows(document, f"{title} {abstract}", on_loss):
                entities.write(tsv_line(row, document.id))
            for row in (relation_rows := _relation_rows(document, on_loss)):
                relations.write(tsv_line(row, document.id))
            for row in _gold_rows(document, relation_rows):
                gold.write(tsv_line(row, document.id))


def _companion(source: Source, kind: str, *, needed: bool) -> Source | None:
    match = _NAME.fullmatch(source.plain_name)
    names = []
    if match:
        names = [match["stem"] + kind + end for end in dict.fromkeys((match["end"], ".tsv", "_gs.tsv"))]
    for name in names:
        if (found := source.companion(name)) is not None:
            return found
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
                    f"a row of {kind} has {WIDTHS[kind]} columns, not {len(row)}",
                    where=f"{source.name}:{line}",
                    hint="check its tabs",
                )
            )
            continue
        yield line, row


def _beside(source: Source, on_error: Callable[[FormatError], None]) -> _Beside:
    """Keeps the rows as they are, once each has been found to be well formed."""
    entities = _companion(source, "entities", needed=True)
    assert entities is not None
    beside = _Beside(entities)
    for kind, shelf in beside.rows.items():
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
            shelf.add(row[0], "\t".join([str(line), *row]))
    return beside


def _relations(pmid: str, beside: _Beside) -> tuple[Relation, ...]:
    """The relations of a document; those that only the gold standard has come last."""
    gold = dict.fromkeys((group, _arguments(cells, pmid)) for _, _, group, *cells in beside.of("gold_standard", pmid))
    found = []
    told = set()
    for _, _, group, evaluated, fine, *cells in beside.of("relations", pmid):
        key = (group, _arguments(cells, pmid))
        extra = {"evaluated": evaluated.strip() == "Y", "fine": fine, "gold": key in gold}
        told.add(key)
        found.append(Relation(*key, extra=extra))
    return (*found, *(Relation(*key, extra={"gold": True}) for key in gold if key not in told))


def _span(row: list[str], where: str) -> Span:
    if not (row[3].isdecimal() and row[4].isdecimal()):
        raise FormatError(
            "BX113", f"{row[3]!r} and {row[4]!r} are not offsets", where=where, hint="give whole numbers from 0"
        )
    return Span(int(row[3]), int(row[4]), row[2], id=row[1])


def _arguments(cells: list[str], where: str) -> tuple[Argument, ...]:
    found = []
    for text in cells:
        role, colon, target = text.partition(":")
        if not colon or not target:
            raise FormatError("BX113", f"{text!r} is not an argument", where=where, hint="write Arg1:T1")
        found.append(Argument(role, target))
    return tuple(found)


def _document(row: list[str], beside: _Beside, seen: Once, where: str) -> Document:
    pmid, title, abstract = row
    if seen.put(pmid) is not None:
        raise FormatError("BX113", f"there are two abstracts {pmid!r}", where=where, hint="remove one")
    text = f"{title} {abstract}"
    rows = [(f"{beside.entities.name}:{line}", row) for line, *row in beside.of("entities", pmid)]
    told = [(place, _span(row, place), row[5]) for place, row in rows]
    relations = _relations(pmid, beside)
    for place, span, mention in told:
        if text[span.start : span.end] != mention:
            raise FormatError(
                "BX114" if span.end > len(text) else "BX115",
                f"entity {span.id} is {mention!r}, but the text at {span.start}..{span.end} is {text[span.start : span.end]!r}",
                where=f"{place} (document {pmid!r})",
                hint="offsets count characters over title, one character, abstract, end exclusive",
            )
    passages = (Passage(0, len(title), "title"), Passage(len(title) + 1, len(text), "abstract"))
    spans = tuple(span for _, span, _ in told)
    return build(where, pmid, text, passages=passages, spans=spans, relations=relations)


def _title_and_abstract(document: Document, on_loss: Callable[[Loss], None]) -> tuple[str, str]:
    text, passages = document.text, document.passages
    fits = len(passages) == 2 and passages[0].start == 0 and passages[1].end == len(text)
    if not fits or passages[0].end + 1 != passages[1].start:
        raise FormatError(
            "BX120",
            "the text is not a title and an abstract with one character between them",
            where=f"document {document.id!r}",
            hint="give it those two passages, or write to jsonl",
        )
    if text[passages[0].end] != " ":
        on_loss(Loss(document.id, "text", detail="the character between title and abstract becomes a blank"))
    if [passage.kind for passage in passages] != ["title", "abstract"] or any(passage.extra for passage in passages):
        on_loss(Loss(document.id, "passages", 2, "they become title and abstract"))
    return text[: passages[0].end], text[passages[1].start :]


def _entity_rows(document: Document, text: str, on_loss: Callable[[Loss], None]) -> Iterator[list[str]]:
    taken = {span.id for span in document.spans}
    if None in taken and len(taken) > 1:
        on_loss(Loss(document.id, "span ids", 1, "spans without an id get one"))
    free = (name for name in (f"T{n}" for n in range(1, 2 * len(document.spans) + 2)) if name not in taken)
    for span in document.spans:
        mention = text[span.start : span.end]
        name = next(free) if span.id is None else span.id
        yield [document.id, name, span.type, str(span.start), str(span.end), mention]


def _relation_rows(document: Document, on_loss: Callable[[Loss], None]) -> list[list[str]]:
    found = []
    lost = changed = 0
    golden = {_key(relation) for relation in document.relations if _is_gold(relation)}
    for relation in document.relations:
        arguments = relation.arguments
        if len(arguments) != 2 or any(argument.kind != "span" or ":" in argument.role for argument in arguments):
            lost += 1
            continue
        evaluated = relation.extra.get("evaluated", relation.type in EVALUATED)
        fine = relation.extra.get("fine", "")
        told = {"evaluated": bool(evaluated), "fine": str(fine), "gold": _key(relation) in golden}
        changed += relation != Relation(relation.type, arguments, extra=told)
        cells = [f"{argument.role}:{argument.target}" for argument in arguments]
        found.append([document.id, relation.type, "Y " if evaluated else "N ", str(fine), *cells])
    if lost:
        on_loss(Loss(document.id, "relations", lost, "a relation is between two spans"))
    if changed:
        on_loss(Loss(document.id, "relations", changed, "ids, scores, heads or extra of relations"))
    return found


def _gold_rows(document: Document, relation_rows: list[list[str]]) -> Iterator[list[str]]:
    golden = {_key(relation) for relation in document.relations if _is_gold(relation)}
    written = {(row[1], *row[4:]): row for row in relation_rows}
    for key, row in written.items():
        if key in golden:
            yield [document.id, row[1], *row[4:]]


def _is_gold(relation: Relation) -> bool:
    return bool(relation.extra.get("gold", relation.type in EVALUATED))


def _key(relation: Relation) -> tuple[str, ...]:
    return relation.type, *(f"{argument.role}:{argument.target}" for argument in relation.arguments)


def _sniff(name: str, head: bytes) -> bool:
    match = _NAME.fullmatch(name)
    if match is not None and not head:
        return True  # a table without rows, such as the relations of documents that have none
    return match is not None and head.partition(b"\n")[0].count(b"\t") + 1 == WIDTHS[match["kind"]]


FORMAT = Format(
    name="chemprot",
    title="ChemProt's tables",
    suffixes=(".chemprot",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write_folder=write_folder,
)
