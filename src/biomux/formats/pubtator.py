"""PubTator: a title, an abstract, and lines with mentions and relations between concepts.

    123|t|Aspirin and ulcers.
    123|a|It causes them.
    123	0	7	Aspirin	Chemical	D001241
    123	12	18	ulcers	Disease	D014456
    123	CID	D001241	D014456

Reading. The text is title, one space, abstract (the title alone if the abstract is empty), and offsets refer to it. Full texts have `ID|title|` and
`ID|body|` lines, or others named by their section, which are joined in the same way. The mention column must be the text
at its offsets. Each wrong line is a separate error: if errors are skipped, the rest of its document is read. Identifiers are split at `,` `;` and `|`, but not inside a variant's name (`p|SUB|V|600|E`); `-` and `-1` mean none.
The original column is kept in `span.extra["identifiers"]` if joining the identifiers with commas would not restore it (except an empty one, which is written as `-`), and a seventh
column (BC5CDR's parts of a composite mention) in `span.extra["parts"]`. Relations have two concepts, in the roles "arg1" and "arg2"; a
column after them (BioRED's novelty) is `relation.extra["novelty"]`. A line of three columns is about the whole document, for example an
index term: it is read as a relation of one concept.

Writing. Types are written unchanged; PubTator's own begin with a capital, such as Gene, Disease and Chemical (`biomux convert --rename gene=Gene`). A mention without identifier gets `-` in that column, since readers count columns. Tabs and line breaks in the text become spaces, one for one, so offsets stay the same; this is reported. So are passages that
are not a title and an abstract, and relations between spans.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.document import Argument, Document, Passage, Relation, Span
from biomux.errors import FormatError
from biomux.formats._fields import build
from biomux.formats._format import Format, stop
from biomux.formats._pubtator_write import HOLDS, INTEGER, ROLES, identifiers_of, is_half_mention, write
from biomux.formats._source import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

_FIRST_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\s*[^|\t\n]+\|(?:t|a|title|abstract|body)\|")
_PART = re.compile(r"([^|\t]+)\|([A-Za-z][\w-]*)\|(.*)", re.DOTALL)
_KINDS = {"t": "title", "a": "abstract"}
_ONCE = frozenset({"t", "a", "title"})
_TITLES = frozenset({"t", "title"})
_HINT = "offsets count the characters of title, one space and abstract, and the end is exclusive"


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per block of lines with the same id."""
    for block in _blocks(source):
        try:
            document = _document(block, source.name, on_error)
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
        if block and (part := _part(line)) and part[1] in _TITLES and not block[0][1].startswith(f"{part[0]}|"):
            yield block
            block = []
        block.append((number, line))
    if block:
        yield block


def _part(line: str) -> tuple[str, str, str] | None:
    """Id, name ("t", "a", "body") and text of a line of text."""
    match = _PART.fullmatch(line)
    return None if match is None else (match[1], match[2], match[3])


def _document(block: list[tuple[int, str]], file: str, on_error: Callable[[FormatError], None]) -> Document:
    """The document of a block. A wrong mention or relation goes to `on_error`, and the document is made without it."""
    parts: list[tuple[str, str]] = []
    rows: list[tuple[int, list[str]]] = []
    name: str | None = None
    for number, line in block:
        where = f"{file}:{number}"
        part = _part(line)
        columns = line.split("\t") if part is None else [part[0]]
        if name is None:
            name = columns[0]
        if columns[0] != name:
            error = FormatError(
                "BX113",
                f"a line of document {columns[0]!r:.80} is among those of {name!r:.80}",
                where=where,
                hint="put an empty line between documents",
            )
            if part is not None:
                raise error
            on_error(error)
        elif part is None:
            rows.append((number, columns))
        elif part[1] in _ONCE and any(part[1] == part_name for part_name, _ in parts):
            raise FormatError(
                "BX113",
                f"document {name!r} has two {part[1]!r} lines",
                where=where,
                hint="give one title and one abstract",
            )
        else:
            parts.append(part[1:])
    where = f"{file}:{block[0][0]}"
    if name is None or not any(part_name in _TITLES for part_name, _ in parts):
        raise FormatError(
            "BX116", "the document has no title line", where=where, hint="begin a document with ID|t|title"
        )
    parts.sort(key=lambda part: part[0] not in _TITLES)
    text, passages = _laid_out(parts)
    spans: list[Span] = []
    relations: list[Relation] = []
    for number, columns in rows:
        place = f"{file}:{number}"
        try:
            if len(columns) >= 3 and INTEGER.fullmatch(columns[1]) and INTEGER.fullmatch(columns[2]):
                spans.append(_span(columns, text, place))
            else:
                relations.append(_relation(columns, place))
        except FormatError as error:
            on_error(error)
    return build(where, name, text, passages=passages, spans=tuple(spans), relations=tuple(relations))


def _laid_out(parts: list[tuple[str, str]]) -> tuple[str, tuple[Passage, ...]]:
    """The parts joined by spaces, and their passages; empty parts at the end are dropped."""
    while len(parts) > 1 and not parts[-1][1]:
        parts = parts[:-1]
    passages: list[Passage] = []
    start = 0
    for name, text in parts:
        passages.append(Passage(start, start + len(text), _KINDS.get(name, name)))
        start += len(text) + 1
    return " ".join(text for _, text in parts), tuple(passages)


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
    if raw not in ("", "-") and raw != ",".join(identifiers):
        extra["identifiers"] = raw
    if len(columns) > 6:
        extra["parts"] = "\t".join(columns[6:])
    return Span(start, end, columns[4], identifiers=identifiers, extra=extra)


def _relation(columns: list[str], where: str) -> Relation:
    if len(columns) < 3 or not all(columns[1:3]) or is_half_mention(columns[1:]):
        raise FormatError(
            "BX116",
            f"the line has {len(columns)} columns and is neither a mention nor a relation",
            where=where,
            hint="a mention has five or six columns, of which the second and third are integers, and a relation has three to five",
        )
    arguments = tuple(Argument(role, target, "concept") for role, target in zip(ROLES, columns[2:4], strict=False))
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
