"""What a teacher says about documents, kept on disk once for every student that learns from it.

    PLACE/KEY/words.npy       words × 2: first and last character of each word, document by document
    PLACE/KEY/documents.npy   where each document's words begin
    PLACE/KEY/logits.npy      words × labels, half precision, read through the memory map
    PLACE/KEY/progress.json   how many documents are done

A head that speaks about windows has a row for each question of a document in place of each word: for (number, 0), the mean over the windows that the
question is read in. The key is a checksum of the teacher, its head and the documents, so another teacher or another text has a folder of its own. Work
that is killed goes on with the first document that is not done; a process that needs what another is computing waits for it.
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
"""Documents that are read before what is known is written down."""
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
        """The logits of the words at these characters; no number for words that the teacher does not have, or of a document that is not unique."""
        labels = self.logits.shape[1] if self.columns is None else len(self.columns)
        found = np.full((len(starts), labels), np.nan, dtype=np.float32)
        place = self.places.get(document, -1)
        if place < 0 or not len(starts):
            return found
        begin, end = int(self.starts[place]), int(self.starts[place + 1])
        words = self.words[begin:end]
        at = np.minimum(np.searchsorted(words[:, 0], starts), max(0, len(words) - 1))
        same = (words[at, 0] == starts) & (words[at, 1] == ends) if len(words) else np.zeros(len(starts), dtype=bool)
        rows = self.logits[begin + at[same]]
        found[same] = rows if self.columns is None else rows[:, list(self.columns)]
        return found


def kept(
    annotator: Annotator,
    task: Task,
    documents: Sequence[Document],
    *,
    place: Path,
    checksum: str,
    listen: Callable[[str], None],
) -> WordOutputs:
    """What a teacher's head says about the documents: from disk, or computed and kept."""
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
    """Compute what is not there yet."""
    done = _progress(folder)
    if done is None:
        words = [_places(own, task.unit) for own in inputs_of(annotator, task, documents)]
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
        some = documents[begin : begin + TOGETHER]
        for number, rows in enumerate(_logits(annotator, task, some), start=begin):
            logits[starts[number] : starts[number + 1]] = rows
        logits.flush()
        _note(folder, begin + len(some))
        listen(f"{task.name}: {begin + len(some):,} of {len(documents):,} documents")


def _logits(annotator: Annotator, task: Task, documents: Sequence[Document]) -> Iterator[NDArray[np.float32]]:
    """The logits of each document's words, in order; of every sentence, also of those in which the head finds nothing."""
    inputs = list(inputs_of(annotator, task, documents))
    rows = [one for own in inputs for one in own]
    found: dict[int, NDArray[np.float32]] = {}
    batches = pack(rows, specials=annotator.specials, budget=annotator.budget, heads=frozenset({task.name}))
    with closing(parallel.run(annotator.session, batches)) as answered:
        for batch, outputs in answered:
            pieces = split(outputs[task.name], task.unit, batch)
            found.update(zip(batch.windows.tolist(), pieces, strict=True))
    place = 0
    for own in inputs:
        parts = [found[place + at] for at in range(len(own))]
        place += len(own)
        if task.unit == "window":
            parts = [np.concatenate(part).mean(axis=0, keepdims=True) for part in _by_question(own, parts)]
        else:
            parts = [rows[_own(one)] for one, rows in zip(own, parts, strict=True)]
        yield np.concatenate(parts) if parts else np.zeros((0, len(task.labels)), np.float32)


def _by_question(inputs: Sequence[ModelInput], found: Sequence[Any]) -> list[list[Any]]:
    """What belongs to windows of the same question, together."""
    together: dict[int, list[Any]] = {}
    for one, part in zip(inputs, found, strict=True):
        together.setdefault(one.number, []).append(part)
    return list(together.values())


def inputs_of(annotator: Annotator, task: Task, documents: Sequence[Document]) -> Iterator[list[ModelInput]]:
    """What the teacher reads of each document."""
    for document in documents:
        yield list(task.inputs(document, annotator.tokenizer, limit=annotator.limit, counts=Counter()))


def _places(inputs: Sequence[ModelInput], unit: Unit) -> NDArray[np.int32]:
    """The characters of the words that the inputs answer for; of windows, the numbers of their questions."""
    if unit == "window":
        numbers = dict.fromkeys(one.number for one in inputs)
        return np.array([(number, 0) for number in numbers], dtype=np.int32).reshape(-1, 2)
    parts = [np.stack([one.tokens.starts, one.tokens.ends], axis=1)[_own(one)] for one in inputs]
    return np.concatenate(parts).astype(np.int32) if parts else np.zeros((0, 2), np.int32)


def _own(given: ModelInput) -> NDArray[np.bool_]:
    """The words of an input that no other window of the same sentence answers for."""
    starts = given.tokens.starts
    own = np.ones(len(starts), dtype=bool) if given.cut is None else given.cut.own.copy()
    if given.part is not None:
        own &= (starts >= given.part[0]) & (starts < max(given.part[1], given.part[0] + 1))
    return own


def _key(task: Task, documents: Sequence[Document], checksum: str) -> str:
    digest = sha256(json.dumps([VERSION, checksum, task.name]).encode())
    for document in documents:
        cut: Any = [document.id, document.text, document.sentences]
        if task.unit == "window":  # what is asked may depend on these too
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
