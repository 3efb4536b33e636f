"""words.onnx and words.txt of a bundle whose encoder reads words: the tables, and whose vectors they hold.

words.txt has a word a line, in UTF-8: line n is the word of row n of the table of vectors, whose row 0 is for all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.engine.bundle import onnx_check
from biomux.engine.bundle.strict_json import HINT
from biomux.engine.word_vectors import WordTables
from biomux.errors import BundleError
from biomux.text.word_features import TableSizes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read(graph: bytes, text: bytes, *, width: int, folder: Path) -> WordTables:
    """The tables of a bundle; refused if they do not fit each other, or the encoder whose words are `width` wide."""
    facts = onnx_check.check_words(graph, name=str(folder / "words.onnx"))
    if facts.width != width:
        raise BundleError(
            "BX424",
            f"the vectors of words.onnx have {facts.width} numbers, but the encoder reads {width}",
            where=str(folder),
            hint=HINT,
        )
    try:
        words = tuple(text.decode("utf-8").split("\n")[:-1])
    except UnicodeDecodeError as error:
        raise BundleError("BX424", f"not UTF-8: {error.reason}", where=str(folder / "words.txt"), hint=HINT) from None
    if len(words) != facts.words or len(set(words)) != len(words) or "" in words:
        raise BundleError(
            "BX424",
            f"there must be {facts.words:,} different words, one for each vector, got {len(words):,} lines with {len(set(words) - {''}):,} different words",
            where=str(folder / "words.txt"),
            hint=HINT,
        )
    return WordTables(graph, words, TableSizes(facts.hashed, facts.grams, facts.shapes))


def of_graph(graph: bytes, words: Sequence[str]) -> WordTables:
    """The tables of a graph that was just written."""
    facts = onnx_check.check_words(graph)
    return WordTables(graph, tuple(words), TableSizes(facts.hashed, facts.grams, facts.shapes))


def to_text(words: Sequence[str]) -> bytes:
    """The content of words.txt."""
    return "".join(f"{word}\n" for word in words).encode()
