"""The writing half of `brat`: a folder with a `.txt` and an `.ann` file per document."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.errors import FormatError
from biomux.formats._file_names import name_for
from biomux.formats._format import Feature, Loss, report_losses
from biomux.formats._wide_encoding import wide_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from biomux.document import Document, Relation, Span

HOLDS: frozenset[Feature] = frozenset({"spans", "overlaps", "fragments", "identifiers", "span ids", "relations"})
_FLAT = str.maketrans("\t\n\r", "   ")
_ID = re.compile(r"[TRE][^\s:]+")
_BREAK = re.compile(r"[ \t\n\r]")


LINE_LETTERS = {"attributes": "A", "references": "N", "notes": "#"}
"""The kinds of lines about a span or relation, and the letter with which new ids begin."""
_LINE_ID = {"attributes": re.compile(r"[AM]\S*"), "references": re.compile(r"N\S*"), "notes": re.compile(r"#\S*")}


@dataclass(slots=True)
class LineIds:
    """The ids of the lines about one span or relation: attributes by name, references by identifier, notes in order."""

    attributes: dict[str, str] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def listed(self, part: str) -> list[str]:
        """The ids of one part, in order."""
        ids: dict[str, str] | list[str] = getattr(self, part)
        return list(ids.values()) if isinstance(ids, dict) else ids


def flat(text: str) -> str:
    """The text in one line, as brat repeats it: tabs and line breaks become spaces."""
    return text.translate(_FLAT)


def write_folder(documents: Iterable[Document], folder: Path, *, on_loss: Callable[[Loss], None]) -> None:
    """Two files per document, named by its id; an id that cannot be a file name is escaped, and reported."""
    used_names: set[str] = set()
    for document in documents:
        report_losses(document, HOLDS | {"span extra", "metadata"}, on_loss)
        name = name_for(document.id, taken=used_names, on_loss=on_loss)
        marked = document.text.startswith("\ufeff") or wide_encoding(document.text.encode("utf-8", "replace"))
        text = "\ufeff" + document.text if marked else document.text
        rows = "".join(f"{row}\n" for row in _Writing(document, on_loss).rows())
        try:
            (folder / f"{name}.txt").write_bytes(text.encode())
            (folder / f"{name}.ann").write_bytes(rows.encode())
        except UnicodeEncodeError:
            raise FormatError(
                "BX120",
                "the document has half of a surrogate pair, which UTF-8 cannot represent",
                where=f"document {document.id!r}",
                hint="repair the text",
            ) from None


@dataclass(slots=True)
class _Writing:
    """Writes the rows of one document, and reports what is lost."""

    document: Document
    on_loss: Callable[[Loss], None]
    numbers: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    line_ids: dict[int, LineIds] = field(default_factory=dict)
    """By index: the document's spans first, then its relations."""

    def rows(self) -> Iterator[str]:
        uninterpreted = self._metadata()
        self.used |= {row.split("\t", 1)[0] for row in uninterpreted}
        spans = self.document.spans
        relations = [relation for relation in self.document.relations if self._holdable(relation)]
        span_ids = self._ids([(span.id, "T") for span in spans], "span ids")
        relation_ids = self._ids(
            [(relation.id, "E" if _is_event(relation) else "R") for relation in relations], "relation ids"
        )
        holders: list[Span | Relation] = [*spans, *relations]
        for place, holder in enumerate(holders):
            self.line_ids[place] = self._line_ids(holder)
        for place, (span, row_id) in enumerate(zip(spans, span_ids, strict=True)):
            yield from self._span_rows(span, row_id, self.line_ids[place])
        span_names = {span.id: row_id for span, row_id in zip(spans, span_ids, strict=True)}
        names = {relation.id: row_id for relation, row_id in zip(relations, relation_ids, strict=True)}
        for place, (relation, row_id) in enumerate(zip(relations, relation_ids, strict=True), len(spans)):
            yield from self._relation_rows(relation, row_id, span_names, names, self.line_ids[place])
        yield from uninterpreted

    def _lose(self, feature: str, detail: str) -> None:
        self.on_loss(Loss(self.document.id, feature, detail=detail))

    def _number(self, letter: str) -> str:
        while True:
            self.numbers[letter] = self.numbers.get(letter, 0) + 1
            number = f"{letter}{self.numbers[letter]}"
            if number not in self.used:
                self.used.add(number)
                return number

    def _ids(self, requested: list[tuple[str | None, str]], feature: str) -> list[str]:
        """An id for each: the given one if brat can hold it, else a new one with the letter of its kind."""
        holdable_ids: list[str | None] = []
        for id_, letter in requested:
            holdable = id_ is not None and _ID.fullmatch(id_) and id_.startswith(letter) and id_ not in self.used
            holdable_ids.append(id_ if holdable else None)
            if id_ is not None and holdable:
                self.used.add(id_)
            elif id_ is not None or feature == "relation ids":
                self._lose(feature, f"{id_!r} gets a number" if id_ else "one without an id gets a number")
        return [id_ or self._number(letter) for id_, (_, letter) in zip(holdable_ids, requested, strict=True)]

    def _line_ids(self, holder: Span | Relation) -> LineIds:
        """The ids that its lines had, marked as used. What cannot be kept is reported."""
        stated = holder.extra.get("line ids")
        if stated is None:
            return LineIds()
        ids = LineIds()
        usable = isinstance(stated, dict) and bool(stated)
        for part, stated_ids in (stated if usable else {}).items():
            listed = _listed_ids(part, stated_ids, holder)
            if listed and self.used.isdisjoint(listed):
                self.used.update(listed)
                setattr(ids, part, stated_ids)
            else:
                usable = False
        if not usable:
            self._lose("span extra" if hasattr(holder, "identifiers") else "relation extra", "line ids")
        return ids

    def _span_rows(self, span: Span, row_id: str, ids: LineIds) -> Iterator[str]:
        if not span.type:
            raise self._refused("a span has no type")
        kind = _BREAK.sub("_", span.type)
        if kind != span.type:
            self._lose("span types", f"{span.type!r} becomes {kind!r}")
        places = ";".join(f"{start} {end}" for start, end in span.ranges)
        mention = flat(self.document.mention(span))
        yield f"{row_id}\t{kind} {places}\t{mention}"
        extra = dict(span.extra)
        references = extra.pop("references", {})
        if not _is_texts(references):
            self._lose("span extra", "references")
            references = {}
        for identifier in dict.fromkeys(span.identifiers):
            if not identifier or _BREAK.search(identifier):
                self._lose("identifiers", f"{identifier!r} has white space, or is empty")
                continue
            yield f"{ids.references.get(identifier) or self._number('N')}\tReference {row_id} {identifier}\t{references.get(identifier, mention)}"
        if len(set(span.identifiers)) != len(span.identifiers):
            self._lose("identifiers", "one occurs twice")
        if any(key not in span.identifiers or text == mention for key, text in references.items()):
            self._lose("span extra", "references")
        yield from self._extra_rows(row_id, extra, "span extra", ids)

    def _relation_rows(
        self,
        relation: Relation,
        row_id: str,
        spans: Mapping[str | None, str],
        links: Mapping[str | None, str],
        ids: LineIds,
    ) -> Iterator[str]:
        ends = []
        for argument in relation.arguments:
            target = (spans if argument.kind == "span" else links).get(argument.target)
            if target is None:
                self._lose("relations", f"{relation.type}: an argument could not be written")
                return
            if target != argument.target:
                self._lose("relation arguments", f"{argument.target} is now {target}")
            ends.append(f"{argument.role}:{target}")
        if _is_event(relation):
            ends[0] = f"{relation.type}:{ends[0].rpartition(':')[2]}"
            yield f"{row_id}\t{' '.join(ends)}"
        else:
            yield f"{row_id}\t{relation.type} {' '.join(ends)}"
        if relation.score is not None:
            self._lose("relation scores", relation.type)
        if relation.head is not None:
            self._lose("relation heads", relation.type)
        yield from self._extra_rows(row_id, dict(relation.extra), "relation extra", ids)

    def _holdable(self, relation: Relation) -> bool:
        names = [relation.type, *(argument.role for argument in relation.arguments)]
        targets = [argument.target for argument in relation.arguments]
        if any(argument.kind == "concept" for argument in relation.arguments):
            reason = "it points at a concept"
        elif any(not name or _BREAK.search(name) for name in names) or any(":" in name for name in names):
            reason = "its type or a role is empty, or has white space or a colon"
        elif not _is_event(relation) and len(targets) != 2:
            reason = "it is not an event and does not have two arguments"
        else:
            return True
        self._lose("relations", f"{relation.type}: {reason}")
        return False

    def _extra_rows(self, row_id: str, extra: dict[str, Any], feature: str, ids: LineIds) -> Iterator[str]:
        """Rows for attributes and notes; the rest is reported."""
        extra.pop("line ids", None)
        if _is_attributes(extra.get("attributes")):
            for name, value in extra.pop("attributes").items():
                yield f"{ids.attributes.get(name) or self._number('A')}\t{name} {row_id}{'' if value is True else f' {value}'}"
        if _is_notes(extra.get("notes")):
            for place, note in enumerate(extra.pop("notes")):
                yield f"{ids.notes[place] if ids.notes else self._number('#')}\tAnnotatorNotes {row_id}\t{note}"
        if extra:
            self._lose(feature, ", ".join(sorted(extra)))

    def _metadata(self) -> list[str]:
        """The lines that the reader kept without interpreting them; other metadata are reported."""
        rows = self.document.metadata.get("brat", [])
        usable = _is_notes(rows) and not any(row.startswith(("T", "R", "E")) or not row.strip(" \t") for row in rows)
        lost = self.document.metadata.keys() - ({"brat"} if usable else set())
        if lost:
            self._lose("metadata", ", ".join(sorted(lost)))
        return list(rows) if usable else []

    def _refused(self, reason: str) -> FormatError:
        return FormatError(
            "BX120",
            f"brat cannot hold this document: {reason}",
            where=f"document {self.document.id!r}",
            hint="repair it, or write to another format, such as Biomux's JSON lines",
        )


def _listed_ids(part: str, stated_ids: object, holder: Span | Relation) -> list[str]:
    """The ids given for a part's lines; empty unless there is one per line, all different, with the part's letter."""
    names: object = getattr(holder, "identifiers", ()) if part == "references" else holder.extra.get(part)
    if part == "notes" and isinstance(stated_ids, list) and isinstance(names, list):
        listed, fits = stated_ids, len(stated_ids) == len(names) and _is_notes(names)
    elif part in ("attributes", "references") and isinstance(stated_ids, dict) and isinstance(names, dict | tuple):
        listed, fits = (
            list(stated_ids.values()),
            list(stated_ids) == list(names) and (part != "attributes" or _is_attributes(names)),
        )
    else:
        return []
    fits = fits and all(isinstance(line_id, str) and _LINE_ID[part].fullmatch(line_id) for line_id in listed)
    return listed if fits and len(set(listed)) == len(listed) else []


def _is_event(relation: Relation) -> bool:
    first = relation.arguments[0] if relation.arguments else None
    return (
        first is not None and first.role == "trigger" and first.kind == "span" and (relation.id or "E").startswith("E")
    )


def _is_attributes(value: object) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(name and not _BREAK.search(name) for name in value)
        and all(item is True or (isinstance(item, str) and item == flat(item)) for item in value.values())
    )


def _is_notes(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(note, str) and not re.search("[\n\r]", note) for note in value)
    )


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) and text == flat(text) for text in value.values())
