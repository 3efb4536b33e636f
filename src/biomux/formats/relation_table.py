"""Relations as a TSV table for other programs, one row each. It has no texts, so it cannot be read again.

| column | holds |
|---|---|
| `document` | the document's id |
| `type` | the relation's type |
| `first`, `second` | the arguments: the mention's text, or the identifier of a concept |
| `first_start`, `first_end`, `first_type`, `second_start` … | the place of each mention, in characters, end exclusive, and its type; empty for a concept |
| `score` | from 0 to 1, with four digits; empty if there is none |
| `head` | the head that found it; empty if not known |

Roles, and arguments beyond the second, are reported as lost. Tabs, line breaks and other characters that are not printable are escaped (`\\t`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.formats._extract_table import extract_table, report_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Argument, Document, Span
    from biomux.formats._format import Loss

ENDS = ("first", "second")
COLUMNS = (
    "document",
    "type",
    *(f"{end}{part}" for end in ENDS for part in ("", "_start", "_end", "_type")),
    "score",
    "head",
)
ROLES = (("Arg1", "Arg2"), ("arg1", "arg2"), ("", ""))
"""Roles that only say which argument is first."""


def _rows(document: Document, on_loss: Callable[[Loss], None]) -> Iterator[list[object]]:
    spans = {span.id: span for span in document.spans if span.id is not None}
    linked = {end.target for relation in document.relations for end in relation.arguments if end.kind == "span"}
    lost = {
        "spans": sum(span.id not in linked for span in document.spans),
        "labels": len(document.labels),
        "questions": len(document.questions),
        "pair": int(document.pair is not None),
        "relation arguments": sum(len(relation.arguments) > len(ENDS) for relation in document.relations),
        "relation roles": sum(
            tuple(end.role for end in relation.arguments) not in ROLES for relation in document.relations
        ),
    }
    report_counts(document, lost, on_loss)
    for relation in document.relations:
        ends = [_end(document, argument, spans) for argument in relation.arguments[: len(ENDS)]]
        ends += [["", "", "", ""]] * (len(ENDS) - len(ends))
        score = "" if relation.score is None else f"{relation.score:.4f}"
        yield [document.id, relation.type, *ends[0], *ends[1], score, relation.head or ""]


def _end(document: Document, argument: Argument, spans: dict[str, Span]) -> list[object]:
    span = spans.get(argument.target) if argument.kind == "span" else None
    if span is None:
        return [argument.target, "", "", ""]
    return [document.mention(span), span.start, span.end, span.type]


FORMAT = extract_table("relations", COLUMNS, _rows)
