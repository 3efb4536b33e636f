"""A bundle: the directory that a run is exported to, and that the engine runs from.

    BUNDLE/
    ├── manifest.json     format, version, and every other file with its size and sha256
    ├── graph.onnx        the encoder once, all heads but those of pairs of spans
    ├── pairs.onnx        heads of pairs of spans, over the words' states that the encoder's graph gives
    ├── tokenizer.json    how text becomes tokens; or, of a word-level encoder:
    ├── words.onnx        tables from which the vector of a word is made
    ├── words.txt         the words that have a row of their own there, one a line
    ├── heads.json        heads with their labels and temperatures, special tokens, the longest window
    ├── transitions.json  which tag follows which, of heads with a conditional random field
    ├── types.json        plain type names, and which heads' types stand behind each
    ├── calibration.json  for each head and type the scores that keep a precision
    ├── gate.json         what each head loses by int8, as measured at export
    ├── examples.jsonl    documents with the answers that they must get: `biomux verify` compares
    └── card.md           data, intended use, limits, scores

Files are hostile until checked. The manifest comes first. Of each file that is needed the size is looked at, then its bytes are read once
and their sha256 taken, and only then does anything look into them: the graph (`onnx_check`), the tokenizer (`tokenizer_check`), the
tables (`head_table`). Files that are not needed are not opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from biomux.engine.bundle import crf_transitions, heads, onnx_check, tokenizer_check, word_tables
from biomux.engine.bundle.checksums import MANIFEST, read_file, read_manifest
from biomux.engine.bundle.strict_json import HINT
from biomux.errors import BundleError
from biomux.tasks.task import finds_spans

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.engine.bundle.checksums import Manifest
    from biomux.engine.graph_session import Place
    from biomux.engine.overlaps import Curve
    from biomux.engine.packing import Specials
    from biomux.engine.type_merging import Merge
    from biomux.engine.word_vectors import WordTables
    from biomux.tasks.task import SpanTask, Task

WORD_FILES = ("words.onnx", "words.txt")
"""What a bundle has in place of tokenizer.json if its encoder reads words."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that has been read and found whole."""

    folder: Path
    manifest: Manifest
    graph: bytes
    pairs: bytes | None
    tokenizer: bytes
    words: WordTables | None
    tasks: tuple[Task, ...]
    places: dict[str, Place]
    temperatures: dict[str, float]
    specials: Specials
    limit: int
    merges: dict[str, Merge]
    curves: dict[tuple[str, str], Curve]
    thresholds: dict[tuple[str, str], float | None]

    @property
    def taggers(self) -> tuple[SpanTask, ...]:
        """The tasks that find entities."""
        return tuple(task for task in self.tasks if finds_spans(task))


def read(folder: Path) -> Bundle:
    """Read and check a bundle."""
    manifest = read_manifest(folder)
    graph = read_file(folder, "graph.onnx", manifest)
    facts = onnx_check.check(graph, name=str(folder / "graph.onnx"))
    tokenizer, words = b"", None
    for name in WORD_FILES if facts.width is not None else ("tokenizer.json",):
        if name not in manifest.files:
            raise BundleError("BX510", f"{name} is missing", where=str(folder / MANIFEST), hint=HINT)
    if facts.width is not None:
        words = word_tables.read(
            *(read_file(folder, name, manifest) for name in WORD_FILES), width=facts.width, folder=folder
        )
    else:
        tokenizer = read_file(folder, "tokenizer.json", manifest)
        tokenizer_check.check(tokenizer, vocabulary=facts.vocabulary, where=str(folder / "tokenizer.json"))
    pairs = read_file(folder, "pairs.onnx", manifest) if "pairs.onnx" in manifest.files else None
    of_pairs = None if pairs is None else onnx_check.check_pairs(pairs, name=str(folder / "pairs.onnx"))
    content = read_file(folder, "heads.json", manifest)
    table = heads.heads(content, facts, of_pairs, where=str(folder / "heads.json"))
    tasks = table.tasks
    if "transitions.json" in manifest.files:
        content = read_file(folder, "transitions.json", manifest)
        tasks = crf_transitions.read(content, tasks, table.temperatures, where=str(folder / "transitions.json"))
    merges: dict[str, Merge] = {}
    if "types.json" in manifest.files:
        content = read_file(folder, "types.json", manifest)
        merges = heads.plain_types(content, table.taggers, where=str(folder / "types.json"))
    curves: dict[tuple[str, str], Curve] = {}
    if "calibration.json" in manifest.files:
        content = read_file(folder, "calibration.json", manifest)
        curves = heads.calibration(content, table.tasks, where=str(folder / "calibration.json"))
    return Bundle(
        folder=folder,
        manifest=manifest,
        graph=graph,
        pairs=pairs,
        tokenizer=tokenizer,
        words=words,
        tasks=tasks,
        places=table.places,
        temperatures=table.temperatures,
        specials=table.specials,
        limit=table.limit,
        merges=merges,
        curves=curves,
        thresholds=table.thresholds,
    )
