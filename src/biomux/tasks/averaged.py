"""A type that several heads find, from the average of what they say about each word.

Votes on whole entities lose those whose boundaries heads draw differently; averaged before decoding, they settle on one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HeadColumns:
    """The columns of a head that mean the type: those that begin an entity, and those inside one."""

    head: str
    begins: tuple[int, ...]
    inside: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Averaged(Tagging):
    """A tagger without a head of its own: the mean of its sources' probabilities, each source counting the same.

    `outside` multiplies the probability of being outside an entity: below 1, fewer heads have to agree.

    >>> gene = Averaged("mean", ("gene",), sources=(HeadColumns("a", (1,), (2,)), HeadColumns("b", (1,), (2,))))
    >>> said = {"a": np.array([[0.2, 0.8, 0.0]]), "b": np.array([[0.6, 0.4, 0.0]])}
    >>> np.exp(gene.averaged(said.__getitem__)).astype(float).round(2).tolist()
    [[0.4, 0.6, 0.0]]
    """

    sources: tuple[HeadColumns, ...] = ()
    outside: float = 1.0

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads that are averaged."""
        return tuple(source.head for source in self.sources)

    def averaged(self, probabilities: Callable[[str], Floats]) -> Floats:
        """Logits for outside, begin and inside, from the probabilities of each head: words × its labels."""
        said = [probabilities(head) for head in self.heads]
        means = np.zeros((len(said[0]), 2), dtype=np.float32)
        # Column by column: a word's sum must not depend on how many words stand beside it.
        for source, rows in zip(self.sources, said, strict=True):
            for place, columns in enumerate((source.begins, source.inside)):
                for column in columns:
                    means[:, place] += rows[:, column]
        means /= np.float32(len(said))
        outside = self.outside * (1 - means.sum(axis=1, keepdims=True))
        logits: Floats = np.log(np.maximum(np.concatenate([outside, means], axis=1), 1e-30)).astype(np.float32)
        return logits


def of_heads(name: str, type_: str, sources: tuple[tuple[Tagging, str], ...], *, outside: float = 1.0) -> Averaged:
    """The average of heads (with the type of each that counts) as one type. Two types of one head count as one source."""
    types_of: dict[str, tuple[Tagging, list[str]]] = {}
    for task, head_type in sources:
        types_of.setdefault(task.name, (task, []))[1].append(head_type)
    columns = tuple(
        HeadColumns(
            head,
            tuple(place for place, label in enumerate(task.labels) if label[:1] in "BS" and label[2:] in types),
            tuple(place for place, label in enumerate(task.labels) if label[:1] in "IE" and label[2:] in types),
        )
        for head, (task, types) in types_of.items()
    )
    first = sources[0][0]
    return Averaged(name, (type_,), longest=first.longest, by=first.by, sources=columns, outside=outside)
