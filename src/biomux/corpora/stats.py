"""Counts over documents, and how they differ from a card's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from biomux.corpora.card import SplitCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.document import Document


def count(documents: Iterable[Document]) -> SplitCounts:
    """Count documents, mentions and everything else.

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
    """The differences, one phrase for each; only counts that the card has are compared.

    >>> differences(SplitCounts(documents=3, mentions={"gene": 1}), SplitCounts(documents=2, mentions={"gene": 1}))
    ['2 documents, not 3']
    """
    messages: list[str] = []
    for unit in SplitCounts.model_fields:
        expected_count, actual = getattr(expected, unit), getattr(found, unit)
        if isinstance(expected_count, dict):
            messages += [
                f"{(actual or {}).get(name, 0):,} {unit} of {name!r}, not {expected_count.get(name, 0):,}"
                for name in {**expected_count, **(actual or {})}
                if (actual or {}).get(name, 0) != expected_count.get(name, 0)
            ]
        elif expected_count is not None and expected_count != actual:
            messages.append(f"{actual or 0:,} {unit}, not {expected_count:,}")
    return messages


def flat(counts: SplitCounts) -> dict[str, int]:
    """The totals that are not zero, maps summed up: one line of a table."""
    totals = {
        unit: sum(value.values()) if isinstance(value, dict) else value
        for unit in SplitCounts.model_fields
        if (value := getattr(counts, unit)) is not None
    }
    return {unit: total for unit, total in totals.items() if total}
