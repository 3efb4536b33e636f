"""The writing half of `pubtator`, and the rules that both halves share."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from biomux.document import Argument
from biomux.errors import FormatError
from biomux.formats._format import Feature, Loss, report_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from biomux.document import Document, Relation, Span

HOLDS: frozenset[Feature] = frozenset({"passages", "spans", "overlaps", "identifiers", "relations"})
ROLES = ("arg1", "arg2")
INTEGER = re.compile(r"-?[0-9]{1,18}")
_KEPT = frozenset({"identifiers", "parts"})
_NONE = frozenset({"", "-", "-1"})
_VARIANT = re.compile(r"(?:^|:)[A-Za-z]?\|[A-Za-z]+\d*\|")
_BREAKS = str.maketrans("\t\n\r", "   ")
_COLUMN = re.compile(r"[\t\n\r]")


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Title, abstract, mentions, relations, and an empty line."""
    for document in documents:
        report_losses(document, HOLDS | {"span extra"}, on_loss)
        block = "\n".join(
            [*_text_lines(document, on_loss), *_mentions(document, on_loss), *_relations(document, on_loss)]
        )
        try:
            stream.write(f"{block}\n\n".encode())
        except UnicodeEncodeError:
            raise _refused(
                document, "the document has half of a surrogate pair, which UTF-8 cannot represent"
            ) from None


def text_of(title: str, abstract: str) -> str:
    """The text that offsets refer to."""
    return f"{title} {abstract}" if abstract else title


def is_half_mention(columns: list[str]) -> bool:
    """Whether a line that is not a mention, without its first column, is a damaged mention rather than a relation.

    The type of a relation is never a number. Its first concept may be one (a gene's), but then at most two columns follow.
    """
    return bool(INTEGER.fullmatch(columns[0])) or (len(columns) > 4 and bool(INTEGER.fullmatch(columns[1])))


def identifiers_of(raw: str, *, composite: bool) -> tuple[str, ...]:
    """The identifiers in a column; `composite` if another column names the parts of the mention."""
    if raw.isalnum():
        return (raw,)
    pieces: list[str] = []
    for piece in re.split("[,;]", raw):
        pieces += piece.split("|") if composite or not _VARIANT.search(piece) else [piece]
    return tuple(stripped for piece in pieces if (stripped := piece.strip()) not in _NONE)


def _text_lines(document: Document, on_loss: Callable[[Loss], None]) -> list[str]:
    name = document.id
    if not name or "|" in name or _COLUMN.search(name) or name != name.strip() or name.startswith("\ufeff"):
        raise _refused(
            document, "the id is empty, contains a vertical bar, tab or line break, or begins or ends with white space"
        )
    text = document.text.translate(_BREAKS)
    split = _end_of_title(document)
    title, abstract = text[:split], text[split + 1 :]
    changed = text_of(title, abstract)
    if changed != document.text:
        on_loss(Loss(name, "text breaks", detail="tabs and line breaks became spaces"))
    expected: list[tuple[int, int, str, dict[str, object]]] = [(0, len(title), "title", {})]
    if abstract:
        expected.append((len(title) + 1, len(changed), "abstract", {}))
    passages = [(passage.start, passage.end, passage.kind, dict(passage.extra)) for passage in document.passages]
    if passages and passages != expected:
        on_loss(
            Loss(
                name,
                "passages",
                len(passages),
                "only a title and an abstract with one character between them can be written",
            )
        )
    return [f"{name}|t|{title}", f"{name}|a|{abstract}"]


def _end_of_title(document: Document) -> int:
    """Where to split the text: after its first passage if that is a title, followed by white space and more text; else at its end."""
    size = len(document.text)
    first = document.passages[0] if document.passages else None
    if first is None or first.kind != "title" or first.start or first.end + 1 >= size:
        return size
    return first.end if document.text[first.end].isspace() and document.text[first.end] in " \t\n\r" else size


def _mentions(document: Document, on_loss: Callable[[Loss], None]) -> list[str]:
    rows = []
    text = document.text.translate(_BREAKS)
    for span in document.spans:
        _check_column(document, span.type, "type")
        rows.append(
            f"{document.id}\t{span.start}\t{span.end}\t{text[span.start : span.end]}\t{span.type}"
            f"\t{_identifier_columns(document, span, on_loss)}"
        )
        if span.extra.keys() - _KEPT:
            on_loss(Loss(document.id, "span extra", detail=", ".join(sorted(span.extra.keys() - _KEPT))))
    return rows


def _identifier_columns(document: Document, span: Span, on_loss: Callable[[Loss], None]) -> str:
    parts = span.extra.get("parts")
    composite = isinstance(parts, str) and not re.search("[\n\r]", parts)
    if parts is not None and not composite:
        on_loss(Loss(document.id, "span extra", detail="parts"))
    raw = ",".join(span.identifiers) or "-"
    stated = span.extra.get("identifiers")
    if stated is not None:
        usable = isinstance(stated, str) and stated != "" and not _COLUMN.search(stated) and stated != raw
        if usable and identifiers_of(stated, composite=composite) == span.identifiers:
            raw = stated
        else:
            on_loss(Loss(document.id, "span extra", detail="identifiers"))
    _check_column(document, raw, "identifier")
    if identifiers_of(raw, composite=composite) != span.identifiers:
        on_loss(Loss(document.id, "identifiers", detail=f"{raw} would be read back differently"))
        on_loss(Loss(document.id, "span extra", detail="identifiers"))
    return f"{raw}\t{parts}" if composite else raw


def _relations(document: Document, on_loss: Callable[[Loss], None]) -> list[str]:
    rows = []
    concepts = {span.id: span.identifiers for span in document.spans if span.id is not None}
    for original in document.relations:
        relation = _between_concepts(original, concepts)
        if relation is not original:
            on_loss(
                Loss(
                    document.id,
                    "relation arguments",
                    detail=f"{original.type}: mentions were replaced by their identifiers",
                )
            )
        if len(relation.arguments) not in (1, 2) or any(argument.kind != "concept" for argument in relation.arguments):
            on_loss(
                Loss(
                    document.id,
                    "relations",
                    detail=f"{relation.type}: only relations of one or two concepts can be written",
                )
            )
            continue
        columns = [relation.type, *(argument.target for argument in relation.arguments)]
        for column in columns:
            _check_column(document, column, "relation's type or argument")
        if is_half_mention(columns):
            raise _refused(document, f"the relation {relation.type!r} would be read as a mention")
        novelty = relation.extra.get("novelty")
        if (
            isinstance(novelty, str)
            and len(columns) == 3
            and not re.search("[\n\r]", novelty)
            and not is_half_mention([*columns, *novelty.split("\t")])
        ):
            columns.append(novelty)
        rows.append("\t".join([document.id, *columns]))
        _report_relation(document, relation, len(columns) > 3, on_loss)
    return rows


def _between_concepts(relation: Relation, concepts: Mapping[str, tuple[str, ...]]) -> Relation:
    """A relation between mentions with one identifier each, as a relation between concepts; others unchanged."""
    targets = [concepts.get(argument.target, ()) if argument.kind == "span" else () for argument in relation.arguments]
    if len(targets) != 2 or any(len(identifiers) != 1 for identifiers in targets):
        return relation
    arguments = tuple(
        Argument(role, identifiers[0], "concept") for role, identifiers in zip(ROLES, targets, strict=True)
    )
    return replace(relation, arguments=arguments)


def _report_relation(document: Document, relation: Relation, novel: bool, on_loss: Callable[[Loss], None]) -> None:
    lost = {
        "roles": tuple(argument.role for argument in relation.arguments) != ROLES[: len(relation.arguments)],
        "ids": relation.id is not None,
        "scores": relation.score is not None,
        "heads": relation.head is not None,
        "extra": bool(relation.extra.keys() - ({"novelty"} if novel else set())),
    }
    for part, is_lost in lost.items():
        if is_lost:
            on_loss(Loss(document.id, f"relation {part}", detail=relation.type))


def _check_column(document: Document, value: str, column: str) -> None:
    if not value or _COLUMN.search(value):
        raise _refused(document, f"the {column} {value!r} is empty, or contains a tab or line break")


def _refused(document: Document, reason: str) -> FormatError:
    return FormatError(
        "BX120",
        f"PubTator cannot hold this document: {reason}",
        where=f"document {document.id!r}",
        hint="rename it, or write to another format, such as Biomux's JSON lines",
    )
