"""PubTator: a title, an abstract, and lines with mentions and relations between concepts.

    123|t|Aspirin and ulcers.
    123|a|It causes them.
    123	0	7	Aspirin	Chemical	D001241
    123	12	18	ulcers	Disease	D014456
    123	CID	D001241	D014456

Reading. The text is title, one blank, abstract (the title alone where the abstract is empty): so offsets run. The mention column must be the text
at its offsets. Identifiers are split at `,` `;` and `|`, but not inside a variant's name (`p|SUB|V|600|E`); `-` and `-1` are none.
The column as it stands is kept in `span.extra["identifiers"]` where joining with commas would not give it back, and a seventh
column (BC5CDR's parts of a composite mention) in `span.extra["parts"]`. Relations have two concepts, in the roles "arg1" and "arg2"; a
column after them (BioRED's novelty) is `relation.extra["novelty"]`.

Writing. TABs and line ends in the text become blanks, of which there are as many, so offsets stay; this is reported. So are passages that
are not a title and an abstract, and relations between spans.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.document import Argument, Document, Passage, Relation, Span
from biomux.errors import FormatError
from biomux.formats.fields import build
from biomux.formats.format import Format, stop
from biomux.formats.pubtator_write import HOLDS, INTEGER, ROLES, identifiers_of, is_half_mention, text_of, write
from biomux.formats.source import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats.source import Source

_FIRST_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\s*[^|\t\n]+\|[ta]\|")
_HINT = "offsets count the characters of title, one blank, abstract; end exclusive"


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """A document a block of lines with the same id."""
    for block in _blocks(source):
        try:
            document = _document(block, source.name)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _blocks(source: Source) -> Iterator[list[tuple[int, str]]]:
    """The lines of each document: up to an empty line, or to the title of another document."""
    block: list[tuple[int, str]] = []
    for number, line in lines(source):
        if not line.strip(" \t"):
            if block:
                yield block
            block = []
            continue
        if block and (found := _part(line)) and found[1] == "t" and not block[0][1].startswith(f"{found[0]}|"):
            yield block
            block = []
        block.append((number, line))
    if block:
        yield block


def _part(line: str) -> tuple[str, str, str] | None:
    """Id, "t" or "a", and text of a line of text."""
    pieces = line.split("|", 2)
    if len(pieces) == 3 and pieces[1] in ("t", "a") and "\t" not in pieces[0]:
        return pieces[0], pieces[1], pieces[2]
    return None


def _document(block: list[tuple[int, str]], file: str) -> Document:
    parts: dict[str, str] = {}
    rows: list[tuple[int, list[str]]] = []
    name: str | None = None
    for number, line in block:
        where = f"{file}:{number}"
        part = _part(line)
        columns = line.split("\t") if part is None else [part[0]]
        if name is None:
            name = columns[0]
        if columns[0] != name:
            raise FormatError(
                "BX113",
                f"a line of {columns[0]!r:.80} stands among those of {name!r:.80}",
                where=where,
                hint="put an empty line between documents",
            )
        if part is None:
            rows.append((number, columns))
        elif part[1] in parts:
            raise FormatError(
                "BX113",
                f"document {name!r} has two {part[1]!r} lines",
                where=where,
                hint="give one title, one abstract",
            )
        else:
            parts[part[1]] = part[2]
    where = f"{file}:{block[0][0]}"
    if name is None or "t" not in parts:
        raise FormatError("BX116", "there is no title line", where=where, hint="begin a document with ID|t|title")
    text = text_of(parts["t"], parts.get("a", ""))
    spans: list[Span] = []
    relations: list[Relation] = []
    for number, columns in rows:
        place = f"{file}:{number}"
        if len(columns) >= 3 and INTEGER.fullmatch(columns[1]) and INTEGER.fullmatch(columns[2]):
            spans.append(_span(columns, text, place))
        else:
            relations.append(_relation(columns, place))
    return build(
        where, name, text, passages=passages_of(parts["t"], text), spans=tuple(spans), relations=tuple(relations)
    )


def passages_of(title: str, text: str) -> tuple[Passage, ...]:
    """Title and, if there is one, abstract."""
    if text == title:
        return (Passage(0, len(title), "title"),)
    return Passage(0, len(title), "title"), Passage(len(title) + 1, len(text), "abstract")


def _span(columns: list[str], text: str, where: str) -> Span:
    if len(columns) < 5 or not columns[4]:
        raise FormatError(
            "BX116",
            "a mention has no type",
            where=where,
            hint="give id, start, end, mention, type and identifier, with TABs between them",
        )
    start, end = int(columns[1]), int(columns[2])
    if not 0 <= start < end <= len(text):
        raise FormatError(
            "BX114", f"a mention is at {start}..{end}, but the text has {len(text)} characters", where=where, hint=_HINT
        )
    if columns[3] != text[start:end]:
        raise FormatError(
            "BX115",
            f"the mention is {columns[3]!r:.200}, but the text at {start}..{end} is {text[start:end]!r:.200}",
            where=where,
            hint=_HINT,
        )
    raw = columns[5] if len(columns) > 5 else ""
    identifiers = identifiers_of(raw, composite=len(columns) > 6)
    extra: dict[str, str] = {}
    if raw != ",".join(identifiers):
        extra["identifiers"] = raw
    if len(columns) > 6:
        extra["parts"] = "\t".join(columns[6:])
    return Span(start, end, columns[4], identifiers=identifiers, extra=extra)


def _relation(columns: list[str], where: str) -> Relation:
    if len(columns) < 4 or not columns[1] or is_half_mention(columns[1:]):
        raise FormatError(
            "BX116",
            f"the line has {len(columns)} columns and is neither a mention nor a relation",
            where=where,
            hint="a mention has five or six columns, the second and third whole numbers; a relation has four or five",
        )
    arguments = tuple(Argument(role, target, "concept") for role, target in zip(ROLES, columns[2:4], strict=True))
    extra = {"novelty": "\t".join(columns[4:])} if len(columns) > 4 else {}
    return Relation(columns[1], arguments, extra=extra)


def _sniff(name: str, head: bytes) -> bool:
    del name
    return bool(_FIRST_LINE.match(head))


FORMAT = Format(
    name="pubtator",
    title="PubTator",
    suffixes=(".pubtator", ".PubTator", ".pubtator.txt", ".PubTator.txt"),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
