"""The planner: what tasks ask about documents, answered with as few passes of the encoder as there can be.

Tasks whose `reads` are equal have their inputs made once. Inputs that are equal token by token are read once, whoever asks. Pairs of spans that are
found only after words were decoded are answered from the pass in which their sentence was read.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine import parallel
from biomux.engine.packing import pack
from biomux.tasks.averaged import Averaged
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import Tagging
from biomux.tasks.task import finds_spans
from biomux.tasks.word_spans import decoded, placed

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.engine.packing import Batch, Specials
    from biomux.engine.session import Session
    from biomux.tasks.examples import ModelInput, Unit
    from biomux.tasks.task import Task
    from biomux.tasks.word_spans import ByRow

    Floats = NDArray[np.float32]

MOST_KEPT = 200_000
"""Words whose outputs are kept for pairs to be asked about. What is beyond is read again: a document may be of any length."""

PLAIN = (Tagging, Averaged)
"""Taggers whose answers to a batch are decoded together."""

Key = tuple[bytes, bytes, bytes]


@dataclass(frozen=True, slots=True)
class DocumentInputs:
    """Inputs of a document, and the tasks that they are for. The inputs of a long document come in several of these, in order."""

    document: int
    text: str
    tasks: Sequence[Task]
    inputs: Sequence[ModelInput]


Said = tuple[DocumentInputs, "Task", "Sequence[ModelInput]", "Sequence[Any]"]
"""A task's outputs for some of the inputs that were asked about; of a task that finds spans the spans instead, and no inputs. Those of plain taggers come together, with one of these."""


def groups(tasks: Iterable[Task]) -> list[list[Task]]:
    """The tasks that share inputs, in order.

    >>> from biomux.tasks import Classification, Tagging
    >>> drugs, genes, roles = Tagging("drugs", ("Drug",)), Tagging("genes", ("Gene",)), Classification("roles", ("aim",), of="sentence")
    >>> [[task.name for task in group] for group in groups([drugs, Classification("topic", ("a",)), genes, roles])]
    [['drugs', 'genes', 'roles'], ['topic']]
    """
    by_reads: dict[Any, list[Task]] = {}
    for task in tasks:
        by_reads.setdefault(getattr(task, "reads", None) or (id(task),), []).append(task)
    return list(by_reads.values())


def sections(
    documents: Sequence[Document],
    tasks: Sequence[Task],
    tokenizer: Tokenizer,
    *,
    limit: int,
    chunk: int,
    counts: Counter[str],
) -> Iterator[list[DocumentInputs]]:
    """What tasks ask about documents, in lists of about `chunk` characters of text; windows of one sentence or text are not torn apart."""
    shared = groups(tasks)
    section: list[DocumentInputs] = []
    size = 0
    for number, document in enumerate(documents):
        for group in shared:
            inputs: list[ModelInput] = []
            for input_ in group[0].inputs(document, tokenizer, limit=limit, counts=counts):
                if size >= chunk and inputs and inputs[-1].number != input_.number:
                    yield [*section, DocumentInputs(number, document.text, group, inputs)]
                    section, inputs, size = [], [], 0
                inputs.append(input_)
                size += characters(input_)
            section.append(DocumentInputs(number, document.text, group, inputs))
    if section:
        yield section


@dataclass
class SessionReader:
    """Reads inputs through a session and says what heads say about them: logits, divided by the head's temperature.

    `later` names heads that will be asked about pairs of spans in sentences that have been read by then.
    """

    session: Session
    specials: Specials
    budget: int
    temperatures: Mapping[str, float]
    later: frozenset[str] = frozenset()
    on_read: Callable[[int], None] | None = None
    _passes: list[Any] = field(default_factory=list)
    _known: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _kept: int = 0

    def answers(self, asked: Sequence[DocumentInputs]) -> Generator[Said, None, None]:
        """What each task's head says: of a task that finds spans part by part, as soon as it is known; of others all at once."""
        rows, users = self._rows(asked)
        waiting = _Waiting(asked)
        for request in asked:
            for task in request.tasks:
                if not request.inputs and not finds_spans(task):
                    yield request, task, (), ()
        yield from self._from_before(asked, users, waiting)
        heads = frozenset(name for request in asked for task in request.tasks for name in _read_by(task)) | self.later
        batches = pack(rows, specials=self.specials, budget=self.budget, heads=heads)
        with closing(parallel.run(self.session, batches)) as answered:
            for batch, outputs in answered:
                self._keep(batch, outputs, rows)
                yield from self._of_batch(batch, outputs, asked, users, waiting)
                if self.on_read is not None:
                    read = [row for row in batch.windows.tolist() if users.counts(asked, row)]
                    self.on_read(sum(characters(rows[row]) for row in read))

    def _rows(self, asked: Sequence[DocumentInputs]) -> tuple[list[ModelInput], _Users]:
        """The inputs to read, each once, and who asks about each: (which of the asked, which of its inputs)."""
        rows: list[ModelInput] = []
        users = _Users()
        places: dict[Key, int] = {}
        alone = len({id(request.tasks) for request in asked}) == 1 and not self._known
        for number, request in enumerate(asked):
            before = all(task.unit == "pair" for task in request.tasks)
            for place, read in enumerate(request.inputs):
                row = len(rows)
                if not alone:
                    key = _key(read)
                    if before and key in self._known:
                        known, begin = self._known[key]
                        users.before.setdefault(known, []).append((number, place, begin))
                        continue
                    row = places.setdefault(key, row)
                if row == len(rows):
                    rows.append(read if read.pairs is None else replace(read, pairs=None))
                    users.of_row.append([])
                users.of_row[row].append((number, place))
        return rows, users

    def _keep(self, batch: Batch, outputs: Any, rows: Sequence[ModelInput]) -> None:
        if not self.later or self._kept >= MOST_KEPT:
            return
        self._kept += len(batch.first)
        begins = np.cumsum(batch.words) - batch.words
        for row, begin in zip(batch.windows.tolist(), begins.tolist(), strict=True):
            self._known[_key(rows[row])] = len(self._passes), begin
        self._passes.append(outputs)

    def _from_before(self, asked: Sequence[DocumentInputs], users: _Users, waiting: _Waiting) -> Iterator[Said]:
        """Pairs of spans in rows that were read in an earlier call."""
        for known, members in users.before.items():
            yield from self._pairs(self._passes[known], members, asked, waiting)

    def _of_batch(
        self, batch: Batch, outputs: Any, asked: Sequence[DocumentInputs], users: _Users, waiting: _Waiting
    ) -> Iterator[Said]:
        by_group: dict[int, list[tuple[int, int, int]]] = {}
        for row, member in enumerate(batch.windows.tolist()):
            for number, place in users.of_row[member]:
                by_group.setdefault(id(asked[number].tasks), []).append((row, number, place))
        ends = np.cumsum(batch.words)
        probabilities = cache(lambda head: softmax(outputs[head], self.temperatures.get(head, 1.0)))
        for members in by_group.values():
            taggers: list[tuple[Any, Floats]] = []
            for task in asked[members[0][1]].tasks:
                if task.unit == "pair":
                    begins = (ends - batch.words).tolist()
                    places = [(number, place, begins[row]) for row, number, place in members]
                    yield from self._pairs(outputs, places, asked, waiting, task)
                    continue
                if isinstance(task, Averaged):
                    logits = task.averaged(probabilities)
                else:
                    logits = self._tempered(outputs[task.name], task)
                if type(task) in PLAIN:
                    taggers.append((task, logits))
                elif finds_spans(task):
                    yield from _spans([(task, logits)], batch, members, asked, waiting)
                else:
                    pieces = split(logits, task.unit, batch)
                    for row, number, place in members:
                        if waiting.complete(number, task, place, pieces[row]):
                            yield waiting.taken(number, task)
            if taggers:
                yield from _spans(taggers, batch, members, asked, waiting)

    def _pairs(
        self,
        outputs: Any,
        members: Sequence[tuple[int, int, int]],
        asked: Sequence[DocumentInputs],
        waiting: _Waiting,
        only: Task | None = None,
    ) -> Iterator[Said]:
        """What heads say about pairs of spans in rows of one pass; a member's third number is where its words begin there."""
        by_task: dict[str, tuple[Task, list[tuple[int, int, int]]]] = {}
        for member in members:
            for task in [only] if only is not None else asked[member[0]].tasks:
                by_task.setdefault(task.name, (task, []))[1].append(member)
        for task, task_members in by_task.values():
            asked_pairs = [asked[number].inputs[place].pairs for number, place, _ in task_members]
            counts = [0 if pairs is None else len(pairs) for pairs in asked_pairs]
            places = [pairs + task_members[at][2] for at, pairs in enumerate(asked_pairs) if pairs is not None]
            whole = np.concatenate(places).astype(np.int64) if places else np.zeros((0, 4), dtype=np.int64)
            logits = self._tempered(outputs.pair_logits(task.name, whole), task)
            for (number, place, _), piece in zip(task_members, np.split(logits, np.cumsum(counts)[:-1]), strict=True):
                if waiting.complete(number, task, place, piece):
                    yield waiting.taken(number, task)

    def _tempered(self, logits: Floats, task: Task) -> Floats:
        heat = self.temperatures.get(task.name, 1.0)
        return logits if heat == 1.0 else logits / np.float32(heat)


@dataclass
class _Users:
    """Who asks about each row that is to be read, and about rows of earlier passes."""

    of_row: list[list[tuple[int, int]]] = field(default_factory=list)
    before: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)

    def counts(self, asked: Sequence[DocumentInputs], row: int) -> bool:
        """Whether a row is part of reading a text through: some task finds spans in it."""
        return any(finds_spans(task) for number, _ in self.of_row[row] for task in asked[number].tasks)


class _Waiting:
    """Outputs of which others are still missing."""

    def __init__(self, asked: Sequence[DocumentInputs]) -> None:
        self._asked = asked
        self._pieces: dict[tuple[int, str], dict[int, Floats]] = {}
        self._ranges: dict[tuple[int, int], range] = {}

    def complete(self, number: int, task: Task, place: int, piece: Floats) -> bool:
        """Keep a piece; whether all inputs have theirs now."""
        pieces = self._pieces.setdefault((number, task.name), {})
        pieces[place] = piece
        return len(pieces) == len(self._asked[number].inputs)

    def taken(self, number: int, task: Task) -> Said:
        """All inputs with their outputs."""
        request, pieces = self._asked[number], self._pieces.pop((number, task.name))
        return request, task, request.inputs, [pieces[place] for place in range(len(request.inputs))]

    def whole(self, number: int, task: Task, place: int, piece: Floats) -> bool:
        """Keep a window's piece; whether all windows of its sentence have theirs now."""
        pieces = self._pieces.setdefault((number, task.name), {})
        pieces[place] = piece
        return all(window in pieces for window in self._places(number, place))

    def windows(self, number: int, task: Task, place: int) -> tuple[list[ModelInput], list[Floats]]:
        """All windows of a window's sentence, and their outputs."""
        inputs, pieces, places = (
            self._asked[number].inputs,
            self._pieces[number, task.name],
            self._places(number, place),
        )
        return [inputs[at] for at in places], [pieces.pop(at) for at in places]

    def _places(self, number: int, place: int) -> range:
        """The places of the windows of one sentence, which stand side by side."""
        inputs = self._asked[number].inputs
        sentence = inputs[place].number
        if (number, sentence) not in self._ranges:
            first, last = place, place + 1
            while first > 0 and inputs[first - 1].number == sentence:
                first -= 1
            while last < len(inputs) and inputs[last].number == sentence:
                last += 1
            self._ranges[number, sentence] = range(first, last)
        return self._ranges[number, sentence]


def _spans(
    said: Sequence[tuple[Any, Floats]],
    batch: Batch,
    members: Sequence[tuple[int, int, int]],
    asked: Sequence[DocumentInputs],
    waiting: _Waiting,
) -> Iterator[Said]:
    """The spans of each sentence as soon as all its windows are read, by one task or by several plain taggers.

    Sentences of one window are decoded together, if the task can.
    """
    ends = np.cumsum(batch.words).tolist()
    first = said[0][0]
    by_task: list[ByRow] | None = None
    if type(first) in PLAIN:
        by_task = decoded([task for task, _ in said], [logits for _, logits in said], batch.words)
    elif hasattr(first, "word_spans"):
        by_task = [first.word_spans(said[0][1], batch.words)]
    for row, number, place in members:
        request = asked[number]
        read = request.inputs[place]
        if read.cut is None and by_task is not None:
            own = [(task, by_row[row]) for (task, _), by_row in zip(said, by_task, strict=True) if row in by_row]
            if own and type(first) in PLAIN:
                found = [(task.name, spans) for task, spans in own]
                yield request, first, (), placed(request.text, read.tokens, read.part, found)
            elif own:
                yield request, first, (), first.placed(request.text, read.tokens, read.part, own[0][1])
            continue
        for task, logits in said:
            piece = logits[ends[row] - read.tokens.words : ends[row]]
            if read.cut is None:
                if read.tokens.words:
                    yield request, task, (), task.mentions(request.text, (read,), (piece,))
            elif waiting.whole(number, task, place, piece):
                yield request, task, (), task.mentions(request.text, *waiting.windows(number, task, place))


def split(logits: Floats, unit: Unit, batch: Batch) -> list[Floats]:
    """A batch's logits, row by row, for units that a batch has of itself."""
    if unit == "answer":
        return list(logits)
    sizes = batch.words if unit == "word" else batch.mask.sum(axis=1) - 2
    if unit == "window":
        sizes = np.ones(len(batch.ids), dtype=np.int64)
    return np.split(logits, np.cumsum(sizes)[:-1])


def _read_by(task: Task) -> tuple[str, ...]:
    """The heads whose outputs a task is made of."""
    return task.heads if isinstance(task, Averaged) else (task.name,)


def characters(read: ModelInput) -> int:
    """How many characters an input's words cover."""
    return int(read.tokens.ends[-1] - read.tokens.starts[0]) if read.tokens.words else 0


def _key(read: ModelInput) -> Key:
    """Inputs with the same key are the same to an encoder and to heads that read words."""
    ids = read.tokens.ids if read.hidden is None else read.hidden
    prefix = b"" if read.prefix is None else b"p" + read.prefix.ids.tobytes()
    return prefix, ids.tobytes(), read.tokens.first.tobytes()
