"""The vectors of words, by a graph of look-up tables that comes with a bundle: what a word-level encoder knows of a word before it reads its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine.session import failed
from biomux.engine.word_memory import WordMemory
from biomux.text.word_features import TableSizes, of_words, vector_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Run = Callable[[Mapping[str, NDArray[np.int64]]], Floats]

AT_ONCE = 512
"""Words that are computed together."""
LENGTHS = 16
"""The n-grams of a word are padded to a multiple of this. Words are computed beside those of the same length only, and never alone: the runtime adds up
in another order where there is other padding or a single row, and a word's vector must not depend on which words came with it."""
ALWAYS = ("[PAD]", "[CLS]", "[SEP]")
"""What stands beside, before and after the words of a window, as numbers 0, 1 and 2."""


@dataclass(frozen=True)
class WordTables:
    """A bundle's graph of words, the words that have a vector in it (the first has row 1), and how many rows its other tables have."""

    graph: bytes
    words: tuple[str, ...]
    rows: TableSizes


class WordVectors:
    """Computes the vectors of words; `run` is the graph.

    | input | shape | |
    |---|---|---|
    | rows | words × 3 | of the tables of word vectors, of hashed words, of shapes |
    | grams | words × the most that one has | rows of the table of n-grams; the row after the last, of zeros, where a word has fewer |
    | sizes | words × 1 | how many n-grams each word has |
    """

    def __init__(self, tables: WordTables, run: Run) -> None:
        self._known = {word: row for row, word in enumerate(tables.words, 1)}
        self._rows, self._run = tables.rows, run

    def __call__(self, words: Sequence[str]) -> Floats:
        """The vectors, a row for each word."""
        features = of_words(words, self._rows)
        vectors = np.array([vector_row(word, self._known) for word in words], dtype=np.int64)
        rows = np.stack([vectors, features.words, features.shapes], axis=1)
        starts = np.cumsum(features.sizes) - features.sizes
        lengths = np.maximum(-(-features.sizes // LENGTHS), 1) * LENGTHS
        parts: list[tuple[NDArray[np.intp], Floats]] = []
        for length in np.unique(lengths).tolist():
            members = np.flatnonzero(lengths == length)
            for begin in range(0, len(members), AT_ONCE):
                chosen = members[begin : begin + AT_ONCE]
                twice = np.resize(chosen, max(len(chosen), 2))
                sizes, places = features.sizes[twice], np.arange(length)[None, :]
                inside = places < sizes[:, None]
                grams = np.where(inside, starts[twice][:, None] + places, 0)
                feeds = {
                    "rows": rows[twice],
                    "grams": np.where(inside, features.grams[grams], self._rows.grams),
                    "sizes": sizes[:, None],
                }
                parts.append((chosen, self._run(feeds)[: len(chosen)]))
        result = np.empty((len(words), parts[0][1].shape[1]), dtype=np.float32)
        for chosen, computed in parts:
            result[chosen] = computed
        return result


def memory_of(tables: WordTables) -> WordMemory:
    """A memory over a bundle's graph of words, computed by onnxruntime whatever computes the rest: each word once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session: Any = onnxruntime.InferenceSession(tables.graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common base
        raise failed("open", error) from None

    def run(feeds: Mapping[str, NDArray[np.int64]]) -> Floats:
        vectors: Floats = session.run(["vectors"], dict(feeds))[0]
        return vectors

    return WordMemory(WordVectors(tables, run), always=ALWAYS)
