"""What the sessions over a bundle's graphs share: what a graph is fed, and how its outputs become heads' logits."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine.session import Floats, SessionAnswers, failed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from biomux.engine.packing import Batch
    from biomux.engine.word_memory import WordMemory

    Whole = NDArray[np.int64]

LARGEST_LOGIT = 1e6
"""Beyond this a graph is broken; within it no probability overflows."""

NEVER = -1e4
"""The logit of a place where no answer can begin or end: the question, later tokens of words, padding."""

READS = {
    "first": frozenset({"logits", "answers", "states"}),
    "starts": frozenset({"windows", "answers"}),
    "tokens": frozenset({"pooled", "tokens.logits"}),
}
"""Input that says which rows are computed → the outputs that read these rows."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a head's logits stand: an output of the graph (`pairs.0`, `pairs.1` … of the graph of pairs) and its columns there."""

    output: str
    begin: int
    end: int

    @property
    def of_pairs(self) -> bool:
        """Whether the head speaks about pairs of spans."""
        return self.output.startswith("pairs.")

    @property
    def needed(self) -> str:
        """The output of the encoder's graph that the head needs."""
        return "states" if self.of_pairs else self.output


class GraphSession:
    """A session over a bundle's graphs; a runtime says how they are computed."""

    def __init__(self, places: Mapping[str, Place], inputs: Collection[str]) -> None:
        self.places = dict(places)
        self._inputs = frozenset(inputs)
        self.memory: WordMemory | None = None
        """The words whose numbers batches have as ids, where the graph reads their vectors."""

    @abstractmethod
    def compute(self, feeds: Mapping[str, NDArray[Any]], outputs: Collection[str]) -> dict[str, Floats]:
        """What the encoder's graph gives; no other outputs than these are read."""

    @abstractmethod
    def compute_pairs(self, feeds: Mapping[str, NDArray[np.generic]], output: str) -> Floats:
        """One output of the graph of pairs."""

    def run(self, batch: Batch) -> SessionAnswers:
        """The logits of the heads that the batch asks about."""
        heads = self.places if batch.heads is None else [head for head in self.places if head in batch.heads]
        asked = {head: self.places[head] for head in heads}
        outputs = {place.needed for place in asked.values()}
        try:
            logits = self.compute(self._feeds(batch, outputs), sorted(outputs)) if outputs else {}
        except Exception as error:
            raise failed("run", error) from None
        for values in logits.values():
            usable(values)
        return GraphAnswers(self, batch, asked, logits)

    def pairs(self, states: Floats, head: str, places: Whole) -> Floats:
        """What a head says about pairs of words' states."""
        asked = self.places[head]
        feeds: dict[str, NDArray[np.generic]] = {"states": states}
        for place in self.places.values():
            if place.of_pairs:
                # Not every runtime takes an empty list of places: others get one pair, which nobody reads.
                feeds[place.output.replace("pairs", "places")] = np.zeros((1, 4), dtype=np.int64)
        feeds[asked.output.replace("pairs", "places")] = places
        try:
            logits = self.compute_pairs(feeds, asked.output)
        except Exception as error:
            raise failed("run", error) from None
        usable(logits)
        return logits

    def _feeds(self, batch: Batch, outputs: Collection[str]) -> dict[str, NDArray[Any]]:
        """The graph's inputs. Rows that nothing reads are not computed, but for one: not every runtime takes none."""
        windows, length = batch.ids.shape
        rows = {
            "first": batch.first,
            "starts": np.arange(windows, dtype=np.int64) * length,
            "tokens": np.arange(windows * length, dtype=np.int64),
        }
        for name, readers in READS.items():
            if not readers & set(outputs) or not len(rows[name]):
                rows[name] = np.arange(length if name == "tokens" else 1, dtype=np.int64)
        segments = np.zeros_like(batch.ids) if batch.segments is None else batch.segments
        feeds = {"ids": batch.ids, "mask": batch.mask, "segments": segments, **rows}
        read: dict[str, NDArray[Any]] = {name: feeds[name] for name in feeds if name in self._inputs}
        if self.memory is not None:
            read["vectors"] = self.memory.take(batch.ids)
        return read


class GraphAnswers(SessionAnswers):
    """What a graph said about a batch."""

    def __init__(
        self, session: GraphSession, batch: Batch, asked: Mapping[str, Place], outputs: Mapping[str, Floats]
    ) -> None:
        self._session, self._batch, self._asked, self._found = session, batch, asked, outputs

    def __getitem__(self, head: str) -> Floats:
        place, batch = self._asked[head], self._batch
        if place.of_pairs:
            pairs = np.zeros((0, 4), dtype=np.int64) if batch.pairs is None else batch.pairs
            return self.pair_logits(head, np.searchsorted(batch.first, pairs))
        rows = self._found[place.output][:, place.begin : place.end]
        if place.output == "logits":
            return rows[: len(batch.first)]
        if place.output == "answers":
            return _answers(rows, batch)
        if place.output == "tokens.logits":
            return rows[_inner(batch)]
        return rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)

    def pair_logits(self, head: str, places: Whole) -> Floats:
        """What a head says about pairs of spans, by the places of their words in the batch."""
        place = self._asked[head]
        if not len(places):
            return np.zeros((0, place.end - place.begin), dtype=np.float32)
        return self._session.pairs(self._found["states"], head, np.ascontiguousarray(places, dtype=np.int64))


def usable(values: Floats) -> None:
    """Refuse what are no usable numbers."""
    # A comparison that a logit which is no number fails too.
    if values.size and not max(float(values.max()), -float(values.min())) <= LARGEST_LOGIT:
        raise failed("run", ArithmeticError("its outputs are not finite numbers"))


def _answers(rows: Floats, batch: Batch) -> Floats:
    """Windows × length × 2; an answer begins and ends where words begin, or at the first place for none."""
    windows, length = batch.ids.shape
    laid = np.full((windows * length, 2), NEVER, dtype=np.float32)
    words = len(rows) - windows
    laid[batch.first] = rows[: len(batch.first)]
    laid[np.arange(windows) * length] = rows[words:]
    return laid.reshape(windows, length, 2)


def _inner(batch: Batch) -> Whole:
    """The places of tokens without special ones: window by window."""
    length = batch.ids.shape[1]
    sizes = batch.mask.sum(axis=1)
    return np.concatenate([np.arange(1, size - 1) + row * length for row, size in enumerate(sizes)])
