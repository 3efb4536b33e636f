"""Documents that a model has seen: those of which a sentence, or the whole, stands in the text that it was trained on.

`leaks` takes held-out text out of training. Where a model is there already, it is the held-out document that must go. Text is
compared as there: without blanks and case, from 40 characters on.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from biomux.corpora.leaks import unit_keys, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set

    from biomux.document import Document


def text_keys(documents: Iterable[Document]) -> frozenset[int]:
    """The keys of all sentences and whole texts: eight bytes each, the text is not kept."""
    return frozenset(key for document in documents for key in _keys(document))


class Unseen:
    """Passes on the documents that stand in none of the training parts, and counts the others by the part they are found in.

    >>> from biomux.document import Document
    >>> known = text_keys([Document("a", "A sentence that is long enough to be compared at all.")])
    >>> filtered = Unseen({"toy train": known})
    >>> [one.id for one in filtered.of([Document("1", "A sentence that is long enough to be compared at  ALL."), Document("2", "New.")])]
    ['2']
    >>> filtered.removed, filtered.by_part
    (1, Counter({'toy train': 1}))
    """

    def __init__(self, known: Mapping[str, Set[int]]) -> None:
        self.removed = 0
        self.by_part: Counter[str] = Counter()
        self._known = known

    def of(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The unseen documents, in order."""
        for document in documents:
            keys = _keys(document)
            found = [part for part, known in self._known.items() if not keys.isdisjoint(known)]
            if found:
                self.removed += 1
                self.by_part.update(found)
            else:
                yield document


def _keys(document: Document) -> frozenset[int]:
    own, whole = unit_keys(document, units(document))
    return frozenset((*own, whole)) - {0}
