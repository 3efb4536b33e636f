"""What a run did, in numbers that add up over its parts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.engine import coverage
from biomux.engine.text_pairs import UNREAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.document import Document


@dataclass
class JobTally:
    """Documents annotated and failed; words (between white space); entities and relations by type, labels by name; characters (white space left out), and those read.

    Relations and labels are those that a head said: what a document brought is not counted.
    """

    documents: int = 0
    failed: int = 0
    words: int = 0
    characters: int = 0
    read: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    """Pairs of texts that were not read to the end."""
    too_far_apart: int = 0
    """Pairs of entities that no relation head was asked about."""

    def add(self, document: Document, *, too_far_apart: Callable[[Document], int] | None = None) -> None:
        """Count an annotated document. `too_far_apart` is what the annotator counts such pairs with."""
        words = document.text.split()
        characters = sum(map(len, words))
        self.documents += 1
        self.words += len(words)
        self.characters += characters
        self.read += characters - coverage.unread(document)
        self.entities.update(span.type for span in document.spans)
        self.relations.update(relation.type for relation in document.relations if relation.head is not None)
        self.labels.update(label.name for label in document.labels if label.head is not None)
        self.cut += UNREAD in document.metadata
        if too_far_apart is not None:
            self.too_far_apart += too_far_apart(document)

    def __add__(self, other: JobTally) -> JobTally:
        return JobTally(
            self.documents + other.documents,
            self.failed + other.failed,
            self.words + other.words,
            self.characters + other.characters,
            self.read + other.read,
            self.entities + other.entities,
            self.relations + other.relations,
            self.labels + other.labels,
            self.cut + other.cut,
            self.too_far_apart + other.too_far_apart,
        )

    @property
    def coverage(self) -> float:
        """The share of characters that were read; white space does not count."""
        return self.read / self.characters if self.characters else 1.0

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "documents": self.documents,
            "failed": self.failed,
            "words": self.words,
            "characters": self.characters,
            "read": self.read,
            "entities": dict(sorted(self.entities.items())),
            **{name: dict(sorted(counts.items())) for name, counts in self._others().items() if counts},
            **({"cut": self.cut} if self.cut else {}),
            **({"too_far_apart": self.too_far_apart} if self.too_far_apart else {}),
        }

    def _others(self) -> dict[str, Counter[str]]:
        return {"relations": self.relations, "labels": self.labels}

    @staticmethod
    def of_json(value: dict[str, Any]) -> JobTally:
        """What `to_json` gave."""
        counted = {name: Counter(value.get(name, {})) for name in ("entities", "relations", "labels")}
        return JobTally(**{**value, **counted})
