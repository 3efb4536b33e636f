"""brat stand-off: a text in `.txt`, its annotations beside it in `.ann`.

Read it from either file. In a folder, each pair is one document, named by the files' stem.

    T1⇥Type 7 13;20 25⇥text      a span; several ranges if it is discontinuous
    R1⇥Type Arg1:T1 Arg2:T2      a relation
    E1⇥Type:T3 Theme:T1          an event: a relation whose first argument, in the role "trigger", is T3
    A1⇥Negation E1               an attribute (also M): `extra["attributes"]` of what it is about
    N1⇥Reference T1 RID:ID⇥text  an identifier of a span; its text, if not the mention, in `extra["references"]`
    #1⇥AnnotatorNotes T1⇥text    a note: `extra["notes"]` of what it is about

The ids of A, M, N and # lines are kept in `extra["line ids"]` if renumbering would change them. Every other line, and any of these that
has another shape or occurs twice, is kept unchanged in `metadata["brat"]` and is written back. brat's settings beside the texts (`annotation.conf`
and other `.conf` files, `annotation.log`) are skipped, and reported. The mention must be the text at its offsets, except that brat has spaces for line breaks.
"""

from __future__ import annotations

import re
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from biomux.document import Argument, Document, Relation, Span
from biomux.errors import FormatError
from biomux.formats._brat_write import HOLDS, LINE_LETTERS, LineIds, flat, write_folder
from biomux.formats._fields import build
from biomux.formats._format import Format, stop
from biomux.formats._source import MAX_LINE, decode, lines
from biomux.formats._wide_encoding import refuse_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Range
    from biomux.formats._source import Source

BOM = b"\xef\xbb\xbf"
_PLACE = re.compile(r"([^ ]+) (-?\d{1,18} -?\d{1,18}(?:;-?\d{1,18} -?\d{1,18})*)", re.ASCII)
_HINT = "offsets count the characters of the .txt file, including line breaks, and the end is exclusive"


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """The document of a pair of files."""
    try:
        annotations, text = _pair(source)
        document = _Reading(annotations.name, _text(text)).document(source.stem, annotations)
    except FormatError as error:
        if error.code == "BX112":
            raise
        on_error(error)
        return
    yield document


def _pair(source: Source) -> tuple[Source, Source]:
    name = source.plain_name
    stem, dot, suffix = name.rpartition(".")
    if suffix not in ("ann", "txt") or not dot:
        raise FormatError("BX113", "expected an .ann or a .txt file", where=source.name, hint="name one of the two")
    companion = source.companion(f"{stem}.{'txt' if suffix == 'ann' else 'ann'}")
    if companion is None:
        raise FormatError(
            "BX119",
            f"there is no {stem}.{'txt' if suffix == 'ann' else 'ann'} beside it",
            where=source.name,
            hint="put both files into one folder; an .ann file may be empty",
        )
    return (source, companion) if suffix == "ann" else (companion, source)


def _text(source: Source) -> str:
    with source.open() as stream:
        raw = stream.read(MAX_LINE + 1)
    if len(raw) > MAX_LINE:
        raise FormatError(
            "BX121", f"the text is longer than {MAX_LINE:,} bytes", where=source.name, hint="split the document"
        )
    refuse_wide(raw, source.name)
    return decode(raw.removeprefix(BOM), source.name)


class _Reading:
    """Collects the lines of an `.ann` file."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.spans: dict[str, dict[str, Any]] = {}
        self.links: dict[str, tuple[str, list[tuple[str, str]]]] = {}
        self.extras: dict[str, dict[str, Any]] = {}
        self.raw: list[str] = []
        self.line_ids: dict[str, LineIds] = {}
        self.used_ids: set[str] = set()

    def document(self, name: str, annotations: Source) -> Document:
        about_others: list[list[str]] = []
        for number, line in lines(annotations):
            if not line.strip(" \t"):
                continue
            columns = line.split("\t", 2)
            where = f"{self.file}:{number}"
            if line[0] == "T":
                self._span(columns, where)
            elif line[0] in "RE":
                self._link(columns, line, where)
            else:
                about_others.append(columns)
        for columns in about_others:
            if columns[0] in self.used_ids or not self._add_to_target(columns):
                self.raw.append("\t".join(columns))
            self.used_ids.add(columns[0])
        self._keep_line_ids()
        spans = tuple(Span(**fields, extra=self.extras.get(id_, {})) for id_, fields in self.spans.items())
        relations = tuple(self._relation(id_, *link) for id_, link in self.links.items())
        metadata = {"brat": self.raw} if self.raw else {}
        return build(self.file, name, self.text, spans=spans, relations=relations, metadata=metadata)

    def _span(self, columns: list[str], where: str) -> None:
        match = _PLACE.fullmatch(columns[1]) if len(columns) > 1 else None
        if match is None:
            raise FormatError(
                "BX113", "a T line needs a type and offsets", where=where, hint="write T1, TAB, Type 7 13, TAB, text"
            )
        if len(columns) < 3:
            raise FormatError(
                "BX116", "a T line needs the text of the mention", where=where, hint="add a TAB and the text"
            )
        if columns[0] in self.spans:
            raise FormatError("BX113", f"the id {columns[0]!r} is used twice", where=where, hint="number them again")
        ranges: list[Range] = []
        for piece in match[2].split(";"):
            start, end = map(int, piece.split(" "))
            if not 0 <= start < end <= len(self.text):
                raise FormatError(
                    "BX114",
                    f"{columns[0]} is at {start}..{end}, but the text has {len(self.text)} characters",
                    where=where,
                    hint=_HINT,
                )
            ranges.append((start, end))
        mention = " ".join(self.text[start:end] for start, end in ranges)
        if flat(mention) != flat(columns[2]):
            raise FormatError(
                "BX115",
                f"the mention is {columns[2]!r:.200}, but the text there is {mention!r:.200}",
                where=where,
                hint=_HINT,
            )
        self.spans[columns[0]] = {
            "start": ranges[0][0],
            "end": ranges[-1][1],
            "type": match[1],
            "identifiers": (),
            "fragments": tuple(ranges) if len(ranges) > 1 else (),
            "id": columns[0],
        }

    def _link(self, columns: list[str], line: str, where: str) -> None:
        parts = columns[1].rstrip(" ").split(" ") if len(columns) > 1 else []
        event = line[0] == "E"
        ends = [part.rpartition(":") for part in (parts if event else parts[1:])]
        if not ends or any(not colon or not target for _, colon, target in ends) or (not event and not parts[0]):
            raise FormatError(
                "BX113",
                f"the line of {columns[0]!r:.80} is not a type and its arguments",
                where=where,
                hint="write R1, TAB, Type Arg1:T1 Arg2:T2, or E1, TAB, Type:T3 Theme:T1",
            )
        if columns[0] in self.links:
            raise FormatError("BX113", f"the id {columns[0]!r} is used twice", where=where, hint="number them again")
        arguments = [(role, target) for role, _, target in ends]
        kind = arguments[0][0] if event else parts[0]
        if event:
            arguments[0] = ("trigger", arguments[0][1])
        self.links[columns[0]] = (kind, arguments)

    def _relation(self, id: str, type: str, arguments: list[tuple[str, str]]) -> Relation:
        typed_arguments = tuple(
            Argument(role, target, "relation" if target in self.links else "span") for role, target in arguments
        )
        return Relation(type, typed_arguments, id=id, extra=self.extras.get(id, {}))

    def _add_to_target(self, columns: list[str]) -> bool:
        """Add an attribute, identifier or note to its target; False if the line must be kept unchanged."""
        words = columns[1].split(" ", 2) if len(columns) > 1 else []
        if len(words) < 2 or not (words[1] in self.spans or words[1] in self.links):
            return False
        name, target = words[:2]
        extra = self.extras.setdefault(target, {})
        kind = columns[0][:1]
        ids = self.line_ids.setdefault(target, LineIds())
        if kind in "AM" and len(columns) == 2 and name not in extra.get("attributes", {}):
            extra.setdefault("attributes", {})[name] = words[2] if len(words) > 2 else True
            ids.attributes[name] = columns[0]
            return True
        if kind == "#" and name == "AnnotatorNotes" and len(words) == 2 and len(columns) == 3:
            extra.setdefault("notes", []).append(columns[2])
            ids.notes.append(columns[0])
            return True
        if kind == "N" and name == "Reference" and len(words) == 3 and target in self.spans and len(columns) == 3:
            return self._identifier(target, words[2], columns[2], columns[0])
        return False

    def _keep_line_ids(self) -> None:
        """Put line ids into the extra of their targets, all ids of a letter or none, unless the writer would give the same."""
        raw_ids = {row.split("\t", 1)[0] for row in self.raw}
        order = [self.line_ids[target] for target in (*self.spans, *self.links) if target in self.line_ids]
        for part, letter in LINE_LETTERS.items():
            numbers = (f"{letter}{number}" for number in count(1) if f"{letter}{number}" not in raw_ids)
            stated = [line_id for ids in order for line_id in ids.listed(part)]
            if stated == list(islice(numbers, len(stated))):
                continue
            for target, ids in self.line_ids.items():
                if part_ids := getattr(ids, part):
                    self.extras[target].setdefault("line ids", {})[part] = part_ids

    def _identifier(self, target: str, identifier: str, text: str, line_id: str) -> bool:
        fields = self.spans[target]
        if identifier in fields["identifiers"] or " " in identifier:
            return False
        self.line_ids[target].references[identifier] = line_id
        fields["identifiers"] += (identifier,)
        ranges = fields["fragments"] or ((fields["start"], fields["end"]),)
        mention = " ".join(self.text[start:end] for start, end in ranges)
        if flat(mention) != text:
            self.extras[target].setdefault("references", {})[identifier] = text
        return True


def _sniff(name: str, head: bytes) -> bool:
    del head
    return name.endswith(".ann")


FORMAT = Format(
    name="brat",
    title="brat stand-off (.txt and .ann)",
    suffixes=(".ann", ".brat"),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    files=("*.ann", "*.txt"),
    write_folder=write_folder,
)
