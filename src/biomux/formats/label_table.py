"""Labels (classes and numbers) as a TSV table for other programs, one row each. It has no texts, so it cannot be read again.

| column | holds |
|---|---|
| `document` | the document's id |
| `start`, `end` | the place of a sentence's label, in characters, end exclusive; empty for a label of the whole document |
| `label` | the class, or the name of a number |
| `value` | the number; empty for a class |
| `score` | from 0 to 1, with four digits; empty if there is none |
| `head` | the head that found it; empty if not known |
| `text` | the text at its place, if it has one |

Tabs, line breaks and other characters that are not printable are escaped (`\\t`).
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
