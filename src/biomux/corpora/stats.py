"""Counts over documents, and how they differ from what a card says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from biomux.corpora.card import SplitCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.document import Document


def count(documents: Iterable[Document]) -> SplitCounts:
    """How much there is of everything.

    >>> from biomux.document import Document, Span
    >>> count([Document("1", "TP53 it is", spans=(Span(0, 4, "gene"),))]).mentions
    {'gene': 1}
    """
    number: Counter[str] = Counter()
    mentions: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for document in documents:
        number["documents"] += 1
        number["sentences"] += len(document.sentences or ())
        number["tokens"] += len(document.tokens or ())
        number["words"] += len(document.text.split())
        number["pairs"] += document.pair is not None
        number["questions"] += len(document.questions)
        mentions.update(span.type for span in document.spans)
        relations.update(relation.type for relation in document.relations)
        labels.update(label.name for label in document.labels)
    return SplitCounts(
        documents=number["documents"],
        sentences=number["sentences"],
        tokens=number["tokens"],
        words=number["words"],
        pairs=number["pairs"],
        questions=number["questions"],
        mentions=dict(mentions.most_common()),
        relations=dict(relations.most_common()),
        labels=dict(labels.most_common()),
    )


def differences(expected: SplitCounts, found: SplitCounts) -> list[str]:
    """What differs, a phrase for each count; only what the card counts is compared.

    >>> differences(SplitCounts(documents=3, mentions={"gene": 1}), SplitCounts(documents=2, mentions={"gene": 1}))
    ['2 documents, not 3']
    """
    said: list[str] = []
    for what in SplitCounts.model_fields:
        wanted, have = getattr(expected, what), getattr(found, what)
        if isinstance(wanted, dict):
            said += [
                f"{(have or {}).get(name, 0):,} {what} of {name!r}, not {wanted.get(name, 0):,}"
                for name in {**wanted, **(have or {})}
                if (have or {}).get(name, 0) != wanted.get(name, 0)
            ]
        elif wanted is not None and wanted != have:
            said.append(f"{have or 0:,} {what}, not {wanted:,}")
    return said


def flat(counts: SplitCounts) -> dict[str, int]:
    """The totals that are not zero, maps summed: one line of a table."""
    totals = {
        what: sum(value.values()) if isinstance(value, dict) else value
        for what in SplitCounts.model_fields
        if (value := getattr(counts, what)) is not None
    }
    return {what: total for what, total in totals.items() if total}
