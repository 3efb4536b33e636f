"""Documents that a model has seen: a sentence of theirs, or the whole text, occurs in the training text.

`leaks` removes held-out text from training. For a model that is already trained, the held-out document must go instead. Text is
compared in the same way: ignoring white space and case, from 40 characters on.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from biomux.corpora.leaks import unit_keys, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set

    from biomux.document import Document


def text_keys(documents: Iterable[Document]) -> frozenset[int]:
    """The keys of all sentences and whole texts: eight bytes each, the text itself is not stored."""
    return frozenset(key for document in documents for key in _keys(document))


class Unseen:
    """Passes on the documents that occur in none of the training parts, and counts the others by the part in which they occur.

    >>> from biomux.document import Document
    >>> training_keys = text_keys([Document("a", "A sentence that is long enough to be compared at all.")])
    >>> filtered = Unseen({"toy train": training_keys})
    >>> [document.id for document in filtered.of([Document("1", "A sentence that is long enough to be compared at  ALL."), Document("2", "New.")])]
    ['2']
    >>> filtered.removed, filtered.by_part
    (1, Counter({'toy train': 1}))
    """

    def __init__(self, known: Mapping[str, Set[int]]) -> None:
        self.removed = 0
        self.by_part: Counter[str] = Counter()
        self._keys_by_part = known

    def of(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The unseen documents, in order."""
        for document in documents:
            keys = _keys(document)
            parts = [part for part, part_keys in self._keys_by_part.items() if not keys.isdisjoint(part_keys)]
            if parts:
                self.removed += 1
                self.by_part.update(parts)
            else:
                yield document


def _keys(document: Document) -> frozenset[int]:
    of_units, of_whole = unit_keys(document, units(document))
    return frozenset((*of_units, of_whole)) - {0}
