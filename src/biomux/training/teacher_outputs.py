"""A teacher's outputs for documents, kept on disk once for every student that learns from it.

    PLACE/KEY/words.npy       words × 2: first and last character of each word, document by document
    PLACE/KEY/documents.npy   where each document's words begin
    PLACE/KEY/logits.npy      words × labels, half precision, read through the memory map
    PLACE/KEY/progress.json   how many documents are done

A head that labels windows has one row per question of a document instead of per word: for (number, 0), the mean over the windows in which the
question is read. The key is a checksum of the teacher, its head and the documents, so another teacher or another text has its own folder. Work
that is killed resumes with the first document that is not done; a process that needs what another is computing waits for it.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine import parallel
from biomux.engine.packing import pack
from biomux.engine.planner import split
from biomux.files import whole_file
from biomux.training.disk_cache import filling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.tasks.examples import ModelInput, Unit
    from biomux.tasks.task import Task

FOLDER = ".teacher-outputs"
"""Where outputs are kept, beside the runs that use them."""
TOGETHER = 200
"""How many documents are read before their outputs are written."""
VERSION = 1


@dataclass(frozen=True)
class WordOutputs:
    """A teacher's logits for every word, or question, of documents. `columns` puts its labels into the student's order."""

    words: NDArray[np.int32]
    starts: NDArray[np.int64]
    logits: NDArray[np.float16]
    places: Mapping[str, int]
    columns: tuple[int, ...] | None = None

    def at(self, document: str, starts: NDArray[np.int32], ends: NDArray[np.int32]) -> NDArray[np.float32]:
        """The logits of the words at these characters; NaN for words that the teacher does not have, or of a document that is not unique."""
        labels = self.logits.shape[1] if self.columns is None else len(self.columns)
        logits = np.full((len(starts), labels), np.nan, dtype=np.float32)
        place = self.places.get(document, -1)
        if place < 0 or not len(starts):
            return logits
        begin, end = int(self.starts[place]), int(self.starts[place + 1])
        words = self.words[begin:end]
        at = np.minimum(np.searchsorted(words[:, 0], starts), max(0, len(words) - 1))
        same = (words[at, 0] == starts) & (words[at, 1] == ends) if len(words) else np.zeros(len(starts), dtype=bool)
        rows = self.logits[begin + at[same]]
        logits[same] = rows if self.columns is None else rows[:, list(self.columns)]
        return logits


def kept(
    annotator: Annotator,
    task: Task,
    documents: Sequence[Document],
    *,
    place: Path,
    checksum: str,
    listen: Callable[[str], None],
) -> WordOutputs:
    """The outputs of a teacher's head for the documents: from disk, or computed and kept."""
    folder = place / _key(task, documents, checksum)
    with filling(
        folder,
        busy="another process is computing the outputs of this teacher",
        failure="cannot save the teacher's outputs",
        listen=listen,
        hint="free some disk space, then resume with `biomux train --resume`",
    ):
        _fill(annotator, task, documents, folder, listen)
    numbers = Counter(document.id for document in documents)
    places = {document.id: at for at, document in enumerate(documents) if numbers[document.id] == 1}
    words, starts = np.load(folder / "words.npy"), np.load(folder / "documents.npy")
    return WordOutputs(words, starts, np.load(folder / "logits.npy", mmap_mode="r"), places)


def _fill(
    annotator: Annotator, task: Task, documents: Sequence[Document], folder: Path, listen: Callable[[str], None]
) -> None:
    """Compute what is missing."""
    done = _progress(folder)
    if done is None:
        words = [_places(document_inputs, task.unit) for document_inputs in inputs_of(annotator, task, documents)]
        starts = np.cumsum([0, *map(len, words)])
        size = int(starts[-1]) * len(task.labels) * 2
        listen(
            f"{task.name}: {int(starts[-1]):,} {'words' if task.unit == 'word' else 'readings'}, {max(1, round(size / 1e6)):,} MB to keep"
        )
        np.save(folder / "documents.npy", starts.astype(np.int64))
        np.save(folder / "words.npy", np.concatenate(words) if words else np.zeros((0, 2), np.int32))
        shape = (int(starts[-1]), len(task.labels))
        np.lib.format.open_memmap(folder / "logits.npy", mode="w+", dtype=np.float16, shape=shape).flush()
        done = 0
        _note(folder, done)
    if done >= len(documents):
        return
    starts = np.load(folder / "documents.npy")
    logits = np.load(folder / "logits.npy", mmap_mode="r+")
    for begin in range(done, len(documents), TOGETHER):
        chunk = documents[begin : begin + TOGETHER]
        for number, rows in enumerate(_logits(annotator, task, chunk), start=begin):
            logits[starts[number] : starts[number + 1]] = rows
        logits.flush()
        _note(folder, begin + len(chunk))
        listen(f"{task.name}: {begin + len(chunk):,} of {len(documents):,} documents")


def _logits(annotator: Annotator, task: Task, documents: Sequence[Document]) -> Iterator[NDArray[np.float32]]:
    """The logits of each document's words, in order; for every sentence, including those in which the head finds nothing."""
    inputs = list(inputs_of(annotator, task, documents))
    rows = [model_input for document_inputs in inputs for model_input in document_inputs]
    logits_by_window: dict[int, NDArray[np.float32]] = {}
    batches = pack(rows, specials=annotator.specials, budget=annotator.budget, heads=frozenset({task.name}))
    with closing(parallel.run(annotator.session, batches)) as answered:
        for batch, outputs in answered:
            pieces = split(outputs[task.name], task.unit, batch)
            logits_by_window.update(zip(batch.windows.tolist(), pieces, strict=True))
    place = 0
    for document_inputs in inputs:
        parts = [logits_by_window[place + at] for at in range(len(document_inputs))]
        place += len(document_inputs)
        if task.unit == "window":
            parts = [np.concatenate(part).mean(axis=0, keepdims=True) for part in _by_question(document_inputs, parts)]
        else:
            parts = [rows[_own(model_input)] for model_input, rows in zip(document_inputs, parts, strict=True)]
        yield np.concatenate(parts) if parts else np.zeros((0, len(task.labels)), np.float32)


def _by_question(inputs: Sequence[ModelInput], values: Sequence[Any]) -> list[list[Any]]:
    """Group values by the question of their windows."""
    together: dict[int, list[Any]] = {}
    for model_input, part in zip(inputs, values, strict=True):
        together.setdefault(model_input.number, []).append(part)
    return list(together.values())


def inputs_of(annotator: Annotator, task: Task, documents: Sequence[Document]) -> Iterator[list[ModelInput]]:
    """The teacher's inputs for each document."""
    for document in documents:
        yield list(task.inputs(document, annotator.tokenizer, limit=annotator.limit, counts=Counter()))


def _places(inputs: Sequence[ModelInput], unit: Unit) -> NDArray[np.int32]:
    """The characters of the words that the inputs label; for windows, the numbers of their questions."""
    if unit == "window":
        numbers = dict.fromkeys(model_input.number for model_input in inputs)
        return np.array([(number, 0) for number in numbers], dtype=np.int32).reshape(-1, 2)
    parts = [
        np.stack([model_input.tokens.starts, model_input.tokens.ends], axis=1)[_own(model_input)]
        for model_input in inputs
    ]
    return np.concatenate(parts).astype(np.int32) if parts else np.zeros((0, 2), np.int32)


def _own(model_input: ModelInput) -> NDArray[np.bool_]:
    """The words of an input that no other window of the same sentence labels."""
    starts = model_input.tokens.starts
    labelled = np.ones(len(starts), dtype=bool) if model_input.cut is None else model_input.cut.own.copy()
    if model_input.part is not None:
        labelled &= (starts >= model_input.part[0]) & (starts < max(model_input.part[1], model_input.part[0] + 1))
    return labelled


def _key(task: Task, documents: Sequence[Document], checksum: str) -> str:
    digest = sha256(json.dumps([VERSION, checksum, task.name]).encode())
    for document in documents:
        cut: Any = [document.id, document.text, document.sentences]
        if task.unit == "window":  # the question may depend on these too
            cut += [document.pair, document.passages, document.spans]
        digest.update(json.dumps(cut, default=str).encode())
    return digest.hexdigest()[:24]


def _progress(folder: Path) -> int | None:
    try:
        return int(json.loads((folder / "progress.json").read_text())["documents"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _note(folder: Path, documents: int) -> None:
    with whole_file(folder / "progress.json") as fresh:
        fresh.write_text(json.dumps({"documents": documents}))
