"""Labels (classes and numbers) as a TSV table for other programs, a row each. It has no texts, so it is not read again.

| column | holds |
|---|---|
| `document` | the document's id |
| `start`, `end` | of a sentence's label, where it stands, in characters, end exclusive; empty for one of the whole document |
| `label` | the class, or what a number is of |
| `value` | the number; empty for a class |
| `score` | from 0 to 1, with four digits; empty where there is none |
| `head` | which head found it; empty where that is not known |
| `text` | the text that it is said of, for one with a place |

Tabs, line ends and other signs that do not print are written as escapes (`\\t`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.formats._extract_table import extract_table, report_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Document
    from biomux.formats._format import Loss

COLUMNS = ("document", "start", "end", "label", "value", "score", "head", "text")


def _rows(document: Document, on_loss: Callable[[Loss], None]) -> Iterator[list[object]]:
    lost = {
        "spans": len(document.spans),
        "relations": len(document.relations),
        "questions": len(document.questions),
        "pair": int(document.pair is not None),
    }
    report_counts(document, lost, on_loss)
    for label in document.labels:
        placed = label.start is not None and label.end is not None
        value, score = (
            "" if number is None else f"{number:.{digits}f}" if digits else f"{number:g}"
            for number, digits in ((label.value, 0), (label.score, 4))
        )
        place: list[object] = [label.start, label.end] if placed else ["", ""]
        text = document.text[label.start : label.end] if placed else ""
        yield [document.id, *place, label.name, value, score, label.head or "", text]


FORMAT = extract_table("labels", COLUMNS, _rows)
