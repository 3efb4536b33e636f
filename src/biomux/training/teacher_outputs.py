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
from contextlib import ExitStack, closing
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine import parallel
from biomux.engine.packing import pack
from biomux.engine.planner import groups, split
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
    tasks: Sequence[Task],
    documents: Sequence[Document],
    *,
    place: Path,
    checksum: str,
    listen: Callable[[str], None],
) -> dict[str, WordOutputs]:
    """The outputs of a teacher's heads for the documents: from disk, or computed and kept. Heads that read the same inputs are computed together."""
    heads = [_Head(task, place / _key(task, documents, checksum)) for task in tasks]
    with ExitStack() as stack:
        for head in sorted(heads, key=lambda head: head.folder):  # in the same order in every process
            stack.enter_context(
                filling(
                    head.folder,
                    busy="another process is computing the outputs of this teacher",
                    failure="cannot save the teacher's outputs",
                    listen=listen,
                    hint="free some disk space, then resume with `biomux train --resume`",
                )
            )
        by_name = {head.task.name: head for head in heads}
        for group in groups(tasks):
            _fill(annotator, [by_name[task.name] for task in group], documents, listen)
    numbers = Counter(document.id for document in documents)
    places = {document.id: at for at, document in enumerate(documents) if numbers[document.id] == 1}
    return {head.task.name: _from_disk(head.folder, places) for head in heads}


@dataclass(frozen=True)
class _Head:
    """A head, and the folder of its outputs."""

    task: Task
    folder: Path


def _from_disk(folder: Path, places: Mapping[str, int]) -> WordOutputs:
    words, starts = np.load(folder / "words.npy"), np.load(folder / "documents.npy")
    return WordOutputs(words, starts, np.load(folder / "logits.npy", mmap_mode="r"), places)


def _fill(
    annotator: Annotator, heads: Sequence[_Head], documents: Sequence[Document], listen: Callable[[str], None]
) -> None:
    """Compute what is missing of heads that read the same inputs."""
    done = {head.task.name: _progress(head.folder) for head in heads}
    fresh = [head for head in heads if done[head.task.name] is None]
    if fresh:
        _make_room(annotator, fresh, documents, listen)
    unfinished = [head for head in heads if (done[head.task.name] or 0) < len(documents)]
    if not unfinished:
        return
    starts = {head.task.name: np.load(head.folder / "documents.npy") for head in unfinished}
    logits = {head.task.name: np.load(head.folder / "logits.npy", mmap_mode="r+") for head in unfinished}
    about = unfinished[0].task.name if len(unfinished) == 1 else f"{len(unfinished)} heads"
    for begin in range(min(done[head.task.name] or 0 for head in unfinished), len(documents), TOGETHER):
        chunk = documents[begin : begin + TOGETHER]
        missing = [head for head in unfinished if (done[head.task.name] or 0) <= begin]
        tasks = [head.task for head in missing]
        for number, rows in enumerate(_logits(annotator, tasks, chunk), start=begin):
            for name, values in rows.items():
                logits[name][starts[name][number] : starts[name][number + 1]] = values
        for head in missing:
            logits[head.task.name].flush()
            _note(head.folder, begin + len(chunk))
        listen(f"{about}: {begin + len(chunk):,} of {len(documents):,} documents")


def _make_room(
    annotator: Annotator, heads: Sequence[_Head], documents: Sequence[Document], listen: Callable[[str], None]
) -> None:
    """Write where the words of each document are, and files of the size that the logits will have."""
    places: dict[Unit, list[NDArray[np.int32]]] = {head.task.unit: [] for head in heads}
    for document_inputs in inputs_of(annotator, heads[0].task, documents):
        for unit, found in places.items():
            found.append(_places(document_inputs, unit))
    for head in heads:
        task, folder, words = head.task, head.folder, places[head.task.unit]
        starts = np.cumsum([0, *map(len, words)])
        size = int(starts[-1]) * len(task.labels) * 2
        listen(
            f"{task.name}: {int(starts[-1]):,} {'words' if task.unit == 'word' else 'readings'}, {max(1, round(size / 1e6)):,} MB to keep"
        )
        np.save(folder / "documents.npy", starts.astype(np.int64))
        np.save(folder / "words.npy", np.concatenate(words) if words else np.zeros((0, 2), np.int32))
        shape = (int(starts[-1]), len(task.labels))
        np.lib.format.open_memmap(folder / "logits.npy", mode="w+", dtype=np.float16, shape=shape).flush()
        _note(folder, 0)


def _logits(
    annotator: Annotator, tasks: Sequence[Task], documents: Sequence[Document]
) -> Iterator[dict[str, NDArray[np.float32]]]:
    """The logits of each document's words by head, in order; for every sentence, including those in which a head finds nothing."""
    inputs = list(inputs_of(annotator, tasks[0], documents))
    rows = [model_input for document_inputs in inputs for model_input in document_inputs]
    by_window: dict[str, dict[int, NDArray[np.float32]]] = {task.name: {} for task in tasks}
    batches = pack(rows, specials=annotator.specials, budget=annotator.budget, heads=frozenset(by_window))
    with closing(parallel.run(annotator.session, batches)) as answered:
        for batch, outputs in answered:
            for task in tasks:
                pieces = split(outputs[task.name], task.unit, batch)
                by_window[task.name].update(zip(batch.windows.tolist(), pieces, strict=True))
    place = 0
    for document_inputs in inputs:
        windows = range(place, place + len(document_inputs))
        place += len(document_inputs)
        yield {
            task.name: _of_document(task, document_inputs, [by_window[task.name][window] for window in windows])
            for task in tasks
        }


def _of_document(
    task: Task, document_inputs: Sequence[ModelInput], parts: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The logits of a document's words, or questions, from those of its windows."""
    if task.unit == "window":
        parts = [np.concatenate(part).mean(axis=0, keepdims=True) for part in _by_question(document_inputs, parts)]
    else:
        parts = [rows[_own(model_input)] for model_input, rows in zip(document_inputs, parts, strict=True)]
    return np.concatenate(parts) if parts else np.zeros((0, len(task.labels)), np.float32)


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
