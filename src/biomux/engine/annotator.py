"""The annotator: documents in, the same documents with what the heads say about them out.

    documents → sentences → tokens → windows → packed batches → session → stitched answers → decoded spans → documents

Training scores its development data through this same path, with torch behind the session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from biomux.document import Document
from biomux.engine import asked_tasks, coverage, parallel, text_blocks
from biomux.engine.packing import BUDGET, Specials, pack
from biomux.engine.query import Query, resolved
from biomux.engine.task_runner import ask
from biomux.errors import AnnotateError, BiomuxError, UsageError, did_you_mean
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import reading_ranges
from biomux.text import abbreviations as text_abbreviations
from biomux.text import tokens as text_tokens
from biomux.text.windows import Window, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Range, Span
    from biomux.engine.entity_types import Curve, Merge
    from biomux.engine.query import ResolvedQuery
    from biomux.engine.session import Session
    from biomux.engine.text_blocks import Stretch
    from biomux.tasks.tagging import Tagging
    from biomux.tasks.task import Asking
    from biomux.text.tokens import Tokens

CHUNK = 400_000
"""Characters of text that are packed together: enough to find windows of like length, little enough for flat memory."""


@dataclass(frozen=True)
class Annotator:
    """A session with the tokenizer, windows and decoders around it.

    `limit` is the longest window in tokens; `budget` the tokens of a batch; `temperatures` divide a head's logits before they
    become probabilities. `merges` make plain types of the heads' types; without them the heads' own types are what there is.
    `curves` say how precise a head's type is from which score on, `thresholds` from which score on it is given out by default (None: not at all). In `strict` mode a document that was not wholly read is an error.
    `asking` are tasks other than tagging, whose heads `answer` asks. What a document's answer is depends neither on `budget` and `chunk` nor on the documents beside it.
    `name` is what the bundle or run is called, for people to read.
    """

    session: Session
    tokenizer: Tokenizer
    specials: Specials
    tasks: tuple[Tagging, ...]
    limit: int = 254
    budget: int = BUDGET
    temperatures: Mapping[str, float] | None = None
    merges: Mapping[str, Merge] | None = None
    curves: Mapping[tuple[str, str], Curve] | None = None
    thresholds: Mapping[tuple[str, str], float | None] | None = None
    strict: bool = False
    chunk: int = CHUNK
    asking: tuple[Asking, ...] = ()
    name: str = ""
    on_read: Callable[[int], None] | None = None
    """Told how many more characters have been read: a long document is many calls."""

    def __repr__(self) -> str:
        """One line: what it is called, what it finds, what computes it."""
        name = f" {self.name!r}" if self.name else ""
        parts = [_number(len(self.tasks), "head"), _number(len(self.types), "entity type")]
        if self.asking:
            parts.append(_number(len(self.asking), "other task"))
        parts.append(getattr(self.session, "runtime", type(self.session).__name__))
        if (threads := getattr(self.session, "at_once", None)) is not None:
            parts.append(_number(threads, "thread"))
        return f"<{type(self).__name__}{name}: {', '.join(parts)}>"

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the heads."""
        return tuple(task.name for task in self.tasks)

    @property
    def types(self) -> tuple[str, ...]:
        """The types that `annotate` can be asked for: plain ones if there are any, else those of the heads."""
        return tuple(self.merges) if self.merges else tuple(dict.fromkeys(t for task in self.tasks for t in task.types))

    def __call__(
        self,
        text: str,
        *,
        types: Sequence[str] | None = None,
        heads: Sequence[str] | None = None,
        threshold: float | Mapping[str, float] | None = None,
        precision: float | None = None,
        resolve: bool = False,
        abbreviations: bool = False,
        consistent: bool | None = None,
        tasks: Sequence[str] | None = None,
    ) -> Document:
        """Annotate one text; everything else as in `annotate`."""
        _must_be_str(text)
        query = Query(types, heads, threshold, precision, resolve, abbreviations, consistent, tasks)
        return next(self.annotate_query([Document("text", text)], query))

    def annotate(
        self,
        documents: Iterable[Document],
        *,
        types: Sequence[str] | None = None,
        heads: Sequence[str] | None = None,
        threshold: float | Mapping[str, float] | None = None,
        precision: float | None = None,
        resolve: bool = False,
        abbreviations: bool = False,
        consistent: bool | None = None,
        tasks: Sequence[str] | None = None,
        keep_entities: bool = False,
        on_error: Callable[[Document, BiomuxError], None] | None = None,
    ) -> Iterator[Document]:
        """The documents, in order, with what the heads say in place of their spans, and the characters that were read.

        Plain types by default (`types`: only these); `heads`: the named heads' own types, unmerged. `threshold` is one number or one for
        each type; without it each type has the bundle's own, and 0 gives everything. `precision` takes thresholds from the bundle's calibration.
        Types that were never right on development data are left out unless they are named, or everything is asked for. `consistent` lets the occurrences of a name within
        a document vote (`engine.consistency`): plain types do unless everything or a precision is asked for, heads' own types only if it is True. `abbreviations` carries a long form's types to its short
        form; `resolve` then leaves one layer over all types (`engine.entity_types.one_layer`). A document's own relations are left out with the spans that they link.

        `tasks` says what is found: "entities", "relations" (with the entities that they link), "classes" (of documents and sentences), "pairs", "questions", or names of heads that do not tag. By default it
        is all that the model has and that needs no second text; entities alone if `heads` are named. Thresholds and `precision` are for relation types and classes too. With `keep_entities`
        documents keep their own entities, and relations are those between them.

        Of all types, those that were never as precise as `precision` are left out: `imprecise` names them. One that is asked for by name is an error then.
        What cannot be asked for is raised here, before the first document. A document that fails goes to `on_error`, and the rest goes on;
        without `on_error` it is raised.
        """
        _must_be_several(documents)
        query = Query(types, heads, threshold, precision, resolve, abbreviations, consistent, tasks, keep_entities)
        return self.annotate_query(documents, query, on_error=on_error)

    def annotate_query(
        self,
        documents: Iterable[Document],
        query: Query,
        *,
        on_error: Callable[[Document, BiomuxError], None] | None = None,
    ) -> Iterator[Document]:
        """As `annotate`, with its options in one value."""
        return self._all(documents, self._resolved(query), on_error=on_error)

    def imprecise(
        self, precision: float, *, heads: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> tuple[str, ...]:
        """The types that no threshold makes that precise, as far as the bundle knows."""
        chosen = self._resolved(Query(heads=heads, precision=precision, tasks=tasks))
        return chosen.left_out + (chosen.asked.left_out if chosen.asked else ())

    def _resolved(self, query: Query) -> ResolvedQuery:
        curves = self.curves or {}
        own = [name for task in self.tasks for name in task.types]
        asked, query = asked_tasks.resolved(
            query, self.asking, types=self.types, own=own, curves=curves, defaults=self.thresholds
        )
        taggers = self.tasks if asked.entities else ()
        chosen = resolved(query, taggers, self.merges if taggers else None, curves, defaults=self.thresholds)
        return replace(chosen, asked=asked)

    def _all(
        self,
        documents: Iterable[Document],
        chosen: ResolvedQuery,
        *,
        on_error: Callable[[Document, BiomuxError], None] | None,
    ) -> Iterator[Document]:
        for group in _chunks(documents, self.chunk):
            try:
                done = self._annotate(group, chosen)
            except Exception as error:
                if on_error is None and isinstance(error, BiomuxError) and error.where:
                    raise
                yield from self._one_by_one(group, chosen, on_error=on_error or _raise)
            else:
                yield from done

    def answer(self, documents: Iterable[Document], *, heads: Sequence[str] | None = None) -> Iterator[Document]:
        """The documents, in order, with what the heads that do not tag say: classes, numbers, relations between their spans, answers.

        What the documents have already stays: `annotate` first, and relations are those between the mentions that were found.
        """
        known = {task.name: task for task in self.asking}
        unknown = [name for name in heads or () if name not in known]
        if unknown:
            raise UsageError(
                "BX001", f"no answering head is called {unknown[0]!r}", hint=did_you_mean(unknown[0], known)
            )
        for group in _chunks(documents, self.chunk):
            done: Sequence[Document] = group
            for name in known if heads is None else heads:
                done = list(
                    ask(
                        done,
                        known[name],
                        session=self.session,
                        tokenizer=self.tokenizer,
                        specials=self.specials,
                        limit=self.limit,
                        budget=self.budget,
                        temperature=(self.temperatures or {}).get(name, 1.0),
                    )
                )
            yield from done

    def _one_by_one(
        self,
        documents: Sequence[Document],
        chosen: ResolvedQuery,
        *,
        on_error: Callable[[Document, BiomuxError], None],
    ) -> Iterator[Document]:
        """Annotate each by itself, to find out which of them fails."""
        for document in documents:
            try:
                done = self._annotate([document], chosen)
            except BiomuxError as error:
                on_error(document, _placed(error, document))
            except Exception as error:  # whatever a runtime or a tokenizer may raise is about this document
                message = f"cannot be annotated: {type(error).__name__}: {error}"
                where = f"document {document.id!r}"
                told = AnnotateError("BX603", message, where=where, hint="check that the text is what you expect")
                told.__cause__ = error
                on_error(document, told)
            else:
                yield from done

    def _annotate(self, documents: Sequence[Document], chosen: ResolvedQuery) -> list[Document]:
        asked = chosen.asked
        for document in documents:
            _must_be_text(document)
            if asked is not None:
                asked.must_fit(document)
        read = self._tagged(documents, chosen) if asked is None or asked.entities else self._untagged(documents)
        if asked is None or not asked.others:
            return read
        answered = self.answer([asked.bare(document) for document in read], heads=asked.heads)
        return [asked.kept(document) for document in answered]

    def _untagged(self, documents: Sequence[Document]) -> list[Document]:
        """The documents with their own entities, as they are read for other answers."""
        read = [replace(document, coverage=reading_ranges(document)) for document in documents]
        for document in read:
            if self.strict:
                _must_be_read(document)
            if self.on_read is not None:
                self.on_read(len(document.text))
        return read

    def _tagged(self, documents: Sequence[Document], chosen: ResolvedQuery) -> list[Document]:
        longest = {task.longest for task in chosen.tasks}
        most = longest.pop() if len(longest) == 1 else None  # heads that were taught otherwise share whole sentences
        ranges = [reading_ranges(document, most) for document in documents]
        spans = self._read(documents, ranges, chosen.tasks)
        annotated: list[Document] = []
        for document, found, said in zip(documents, ranges, spans, strict=True):
            mine = chosen.merged(said, text=document.text, read=found)
            read = replace(document, spans=tuple(mine), relations=(), coverage=found)
            if self.strict:
                _must_be_read(read)
            if chosen.abbreviations:
                read = text_abbreviations.carry(read)
            annotated.append(replace(read, spans=tuple(chosen.final(read.spans))))
        return annotated

    def _read(
        self, documents: Sequence[Document], ranges: Sequence[Sequence[Range]], tasks: Sequence[Tagging]
    ) -> list[list[Span]]:
        """What the heads say about each document. At most a chunk of text is held as tokens at a time, however long a document is."""
        found: list[list[Span]] = [[] for _ in documents]
        group: list[tuple[int, Stretch]] = []
        size = 0
        for index, own in enumerate(ranges):
            for stretch in text_blocks.of(own):
                group.append((index, stretch))
                size += stretch.end - stretch.start + 1
                if size >= self.chunk:
                    self._read_group(documents, group, tasks, found)
                    group, size = [], 0
        self._read_group(documents, group, tasks, found)
        return found

    def _read_group(
        self,
        documents: Sequence[Document],
        group: Sequence[tuple[int, Stretch]],
        tasks: Sequence[Tagging],
        found: list[list[Span]],
    ) -> None:
        texts = (
            (documents[index].text, [(stretch.start, stretch.end) for _, stretch in own])
            for index, own in groupby(group, key=lambda pair: pair[0])
        )
        tokens = text_tokens.split_all(self.tokenizer, texts)
        own = [documents[index].text for index, _ in group]
        for (index, stretch), spans in zip(group, self.tag(tokens, own, tasks), strict=True):
            text_blocks.keep(spans, stretch, found[index])

    def tag(
        self, sentences_tokens: Sequence[Tokens], texts: Sequence[str], tasks: Sequence[Tagging] | None = None
    ) -> list[list[Span]]:
        """The spans of each sentence; `texts` are the whole texts that the sentences stand in."""
        tasks = self.tasks if tasks is None else tasks
        places, cut = [], []
        for index, token in enumerate(sentences_tokens):
            for window in windows(len(token), limit=self.limit):
                if window.end > window.start:
                    places.append((index, window))
                    cut.append(
                        token if window.end - window.start == len(token) else token.window(window.start, window.end)
                    )
        found: list[list[Span]] = [[] for _ in sentences_tokens]
        partial: dict[tuple[int, str], list[tuple[int, NDArray[np.float32]]]] = {}
        for batch, logits in parallel.run(self.session, pack(cut, specials=self.specials, budget=self.budget)):
            ends = np.cumsum(batch.words)
            begins = ends - batch.words
            for task in tasks:
                rows = softmax(logits[task.name], (self.temperatures or {}).get(task.name, 1.0))
                self._decode(task, rows, batch.windows, begins, ends, places, sentences_tokens, texts, found, partial)
            if self.on_read is not None:
                self.on_read(sum(_characters(cut[member]) for member in batch.windows.tolist()))
        by_name = {task.name: task for task in tasks}
        for (index, head), parts in sorted(partial.items()):
            rows = np.concatenate([part for _, part in sorted(parts, key=lambda part: part[0])])
            found[index] += by_name[head].decode(rows, sentences_tokens[index], texts[index])
        return [sorted(group, key=lambda span: (span.start, span.end, span.head or "", span.type)) for group in found]

    def _decode(
        self,
        task: Tagging,
        rows: NDArray[np.float32],
        members: NDArray[np.int64],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        places: Sequence[tuple[int, Window]],
        sentences_tokens: Sequence[Tokens],
        texts: Sequence[str],
        found: list[list[Span]],
        partial: dict[tuple[int, str], list[tuple[int, NDArray[np.float32]]]],
    ) -> None:
        busy = np.add.reduceat(rows.argmax(axis=1) > 0, begins[ends > begins]).tolist() if len(rows) else []
        order = 0
        for member, begin, end in zip(members.tolist(), begins.tolist(), ends.tolist(), strict=True):
            index, window = places[member]
            token = sentences_tokens[index]
            if end == begin:
                continue
            some = bool(busy[order]) or not task.skips_empty
            order += 1
            if window.end - window.start == len(token):
                if some:
                    found[index] += task.decode(rows[begin:end], token, texts[index])
                continue
            firsts = token.first[slice(*np.searchsorted(token.first, (window.start, window.end)))]
            keep = (firsts >= window.core_start) & (firsts < window.core_end)
            partial.setdefault((index, task.name), []).append((window.start, rows[begin:end][keep]))


def _characters(tokens: Tokens) -> int:
    return int(tokens.ends[-1] - tokens.starts[0]) if tokens.words else 0


def _chunks(documents: Iterable[Document], limit: int) -> Iterator[list[Document]]:
    chunk: list[Document] = []
    size = 0
    for document in documents:
        if not isinstance(document, Document):
            raise UsageError(
                "BX001",
                f"documents must be Document objects, got {type(document).__name__}",
                hint="make one with Document(id, text)",
            )
        chunk.append(document)
        size += len(document.text) + 1
        if size >= limit:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _must_be_text(document: Document) -> None:
    try:
        document.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AnnotateError(
            "BX601",
            f"character {error.start} is half of a surrogate pair, which is not a character",
            where=f"document {document.id!r}",
            hint="repair the text",
        ) from None


def _placed(error: BiomuxError, document: Document) -> BiomuxError:
    """The error with a place: a runtime that fails does not know whose batch it is."""
    if error.where:
        return error
    told = type(error)(error.code, error.message, where=f"document {document.id!r}", hint=error.hint)
    told.__cause__ = error
    return told


def _must_be_read(document: Document) -> None:
    left_out = coverage.gaps(document)
    if left_out:
        start, end = left_out[0]
        raise AnnotateError(
            "BX602",
            f"{coverage.unread(document):,} characters were not read, the first at {start}..{end}",
            where=f"document {document.id!r}",
            hint="the document's sentences leave them out: give sentences that cover the whole text, or none",
        )


def _must_be_str(text: object) -> None:
    if not isinstance(text, str):
        hint = "pass a list of documents to annotate()" if isinstance(text, Document) else None
        raise UsageError("BX001", f"text must be a str, got {type(text).__name__}", hint=hint)


def _must_be_several(documents: object) -> None:
    if isinstance(documents, str | Document):
        raise UsageError(
            "BX001",
            f"annotate() takes a list of documents, got a single {'text' if isinstance(documents, str) else 'document'}",
            hint="for one text, call the annotator itself; for one document, pass [document]",
        )


def _raise(document: Document, error: BiomuxError) -> None:
    del document
    raise error


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
