"""Texts that several corpora annotate, with the annotations of all of them.

A text in only one corpus says nothing about the types of the others: it is left out, not read as having none. Reading it as having none (`union`) is the
mistake of a multi-class baseline, and exists only to be measured.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document


def joined(first: Sequence[Document], *others: Sequence[Document]) -> list[Document]:
    """The documents of the first corpus whose text is in all of them, with all spans. Relations are left out: their spans' ids may clash.

    >>> from biomux.document import Document, Span
    >>> cells = [Document("1", "HeLa in liver", spans=(Span(0, 4, "cell line"),)), Document("2", "HeLa")]
    >>> tissues = [Document("9", "HeLa in liver", spans=(Span(8, 13, "tissue"),))]
    >>> [(document.id, [span.type for span in document.spans]) for document in joined(cells, tissues)]
    [('1', ['cell line', 'tissue'])]
    """
    if not others:
        return list(first)
    by_text = [{document.text: document for document in group} for group in others]
    shared = []
    for document in first:
        twins = [group[document.text] for group in by_text if document.text in group]
        if len(twins) == len(others):
            spans = [*document.spans, *(replace(span, id=None) for twin in twins for span in twin.spans)]
            shared.append(replace(document, spans=tuple(spans), relations=()))
    return shared


def union(*groups: Sequence[Document]) -> list[Document]:
    """The documents of all corpora, each text once, with the spans of all corpora that have it: what a corpus does not annotate counts as outside.

    >>> from biomux.document import Document, Span
    >>> cells = [Document("1", "HeLa in liver", spans=(Span(0, 4, "cell line"),)), Document("2", "HeLa")]
    >>> tissues = [Document("9", "HeLa in liver", spans=(Span(8, 13, "tissue"),)), Document("2", "lung")]
    >>> [(document.id, [span.type for span in document.spans]) for document in union(cells, tissues)]
    [('1', ['cell line', 'tissue']), ('2', []), ('2 (2)', [])]
    """
    by_text: dict[str, Document] = {}
    ids: dict[str, int] = {}
    for group in groups:
        for document in group:
            before = by_text.get(document.text)
            spans = tuple(replace(span, id=None) for span in document.spans)
            if before is not None:
                by_text[document.text] = replace(before, spans=(*before.spans, *spans))
                continue
            number = ids[document.id] = ids.get(document.id, 0) + 1
            name = document.id if number == 1 else f"{document.id} ({number})"
            by_text[document.text] = replace(document, id=name, spans=spans, relations=())
    return list(by_text.values())
