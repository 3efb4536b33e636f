"""The annotator: documents in, the same documents with what the heads say about them out.

    documents → sentences → tokens → windows → packed batches → session → entities → relations between them → documents

Training scores its development data through this same path, with torch behind the session.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from biomux.document import Document
from biomux.engine import asked_tasks, coverage, questions, text_pairs
from biomux.engine.packing import BUDGET, Specials
from biomux.engine.planner import SessionReader, sections
from biomux.engine.query import Query, resolved
from biomux.engine.type_merging import rounded
from biomux.errors import AnnotateError, BiomuxError, UsageError, did_you_mean
from biomux.tasks.task import finds_spans
from biomux.tasks.text_inputs import sentence_ranges
from biomux.text import abbreviations as text_abbreviations
from biomux.text import sentences, stretches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Range
    from biomux.engine.overlaps import Curve
    from biomux.engine.query import ResolvedQuery
    from biomux.engine.session import Session
    from biomux.engine.type_merging import Merge
    from biomux.tasks.examples import ModelInput
    from biomux.tasks.task import SpanTask, Task
    from biomux.tasks.word_spans import Found

    Outputs = tuple[list[ModelInput], list[NDArray[np.float32]]]

CHUNK = 400_000
"""Characters of text that are packed together: enough to find windows of like length, little enough for flat memory."""

CHUNK_OF_PAIRS = 100_000
"""As CHUNK, where outputs of the encoder are kept until pairs of the entities that they give are asked about."""


@dataclass(frozen=True)
class Annotator:
    """A session with the tokenizer, windows and decoders around it.

    `limit` is the longest window in tokens; `budget` the tokens of a batch; `temperatures` divide a head's logits before they
    become probabilities. `merges` make plain types of the heads' types; without them the heads' own types are what there is.
    `curves` say how precise a head's type is from which score on, `thresholds` from which score on it is given out by default (None: not at all). In `strict` mode a document that was not wholly read is an error.
    `tasks` find entities; `asking` are all others: classes, relations, answers, and what other packages bring. What a document's answer is depends neither on `budget` and `chunk` nor on the documents beside it.
    `name` is what the bundle or run is called, for people to read.
    """

    session: Session
    tokenizer: Tokenizer
    specials: Specials
    tasks: tuple[SpanTask, ...]
    limit: int = 254
    budget: int = BUDGET
    temperatures: Mapping[str, float] | None = None
    merges: Mapping[str, Merge] | None = None
    curves: Mapping[tuple[str, str], Curve] | None = None
    thresholds: Mapping[tuple[str, str], float | None] | None = None
    strict: bool = False
    chunk: int = CHUNK
    asking: tuple[Task, ...] = ()
    name: str = ""
    on_read: Callable[[int], None] | None = None
    """Told how many more characters have been read: a long document is many calls."""

    @classmethod
    def of_tasks(
        cls, session: Session, tokenizer: Tokenizer, specials: Specials, tasks: Iterable[Task], **settings: Any
    ) -> Annotator:
        """The annotator of tasks of any kind, in any order."""
        tasks = tuple(tasks)
        finding = tuple(task for task in tasks if finds_spans(task))
        asking = tuple(task for task in tasks if not finds_spans(task))
        return cls(session, tokenizer, specials, finding, asking=asking, **settings)

    def __repr__(self) -> str:
        """One line: what it is called, what it finds, what computes it."""
        name = f" {self.name!r}" if self.name else ""
        parts = [_number(len(self.tasks), "head"), _number(len(self.types), "entity type")]
        if self.asking:
            parts.append(_number(len(self.asking), "other task"))
        runtime = getattr(self.session, "runtime", type(self.session).__name__)
        parts.append(runtime)
        # Torch has threads of its own, however many batches it reads at once.
        if runtime != "torch" and (threads := getattr(self.session, "at_once", None)) is not None:
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
        """Return the documents, in order, with the entities that the heads find in place of their own spans, and with the ranges that were read as `coverage`.

        By default all plain types are found, or only those in `types`. With `heads`, the named heads' own types are found, unmerged.
        `threshold` is one number, or one for each type; by default each type has the bundle's threshold, and 0 returns everything. `precision` takes thresholds from the bundle's calibration instead.
        Types that were never right on development data are left out unless you name them or ask for everything.

        `consistent` lets the occurrences of a name within a document vote on its type (`engine.consistency`). By default they vote on plain types, unless you ask for everything or for a
        precision; on heads' own types they vote only if it is True. `abbreviations` gives a short form the types of its long form. `resolve` then keeps one layer of entities that do not
        overlap (`engine.overlaps.one_layer`). A document loses its own relations together with the spans that they link.

        `tasks` says what to find: "entities", "relations" (with the entities that they link), "classes" (of documents and sentences), "pairs", "questions", or names of heads that do not tag. By default
        that is everything that the model has heads for and that needs no second text, or only entities if `heads` are named. Thresholds and `precision` apply to relation types and classes too. With
        `keep_entities`, documents keep their own entities, and relations are found between those. Relation heads that read the same as the taggers use the same pass of the encoder.

        If a `precision` is asked for, types that never reach it are left out (`imprecise` names them), but it is an error if you name such a type.
        Other wrong options are errors too; all are raised by this call, before the first document is read. A document that fails is passed to `on_error`, and the others are still annotated;
        without `on_error`, the error is raised.
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
        chosen = self._resolved(query)
        others = chosen.asked.others if chosen.asked else ()
        return self._all(documents, partial(self._annotate, chosen), others, on_error=on_error)

    def imprecise(
        self, precision: float, *, heads: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> tuple[str, ...]:
        """The types that reach this precision at no threshold, according to the bundle's calibration."""
        chosen = self._resolved(Query(heads=heads, precision=precision, tasks=tasks))
        return chosen.left_out + (chosen.asked.left_out if chosen.asked else ())

    def too_far_apart(self, query: Query) -> Callable[[Document], int] | None:
        """A function that counts the pairs of entities in an annotated document that are too far apart for the relation heads to be asked about.

        None if the query asks for no relations.
        """
        asked = self._resolved(query).asked
        counting = [task.too_far_apart for task in (asked.others if asked else ()) if hasattr(task, "too_far_apart")]
        return (lambda document: sum(count(document) for count in counting)) if counting else None

    def _resolved(self, query: Query) -> ResolvedQuery:
        curves = self.curves or {}
        head_types = [name for task in self.tasks for name in task.types]
        asked, query = asked_tasks.resolved(
            query, self.asking, types=self.types, own=head_types, curves=curves, defaults=self.thresholds
        )
        taggers = self.tasks if asked.entities else ()
        chosen = resolved(query, taggers, self.merges if taggers else None, curves, defaults=self.thresholds)
        return replace(chosen, asked=asked)

    def answer(
        self,
        documents: Iterable[Document],
        *,
        heads: Sequence[str] | None = None,
        on_error: Callable[[Document, BiomuxError], None] | None = None,
    ) -> Iterator[Document]:
        """Return the documents, in order, with the answers of `heads`: classes, numbers, relations between their spans, answers to their questions. By default these are all heads that do not tag.

        Documents keep what they already have, and relations are found between the mentions that a document has. Only if you name a head that finds spans do its spans replace theirs.
        Errors are as in `annotate`.
        """
        _must_be_several(documents)
        known = {task.name: task for task in (*self.tasks, *self.asking)}
        named = [task.name for task in self.asking] if heads is None else heads
        for name in named:
            if name not in known:
                raise UsageError("BX001", f"no head is called {name!r}", hint=did_you_mean(name, known))
        finding = [name for name in named if finds_spans(known[name])]
        others = tuple(task for name in named if not finds_spans(task := known[name]))
        chosen = None
        if finding:
            chosen = resolved(Query(heads=finding), self.tasks, None, self.curves or {}, defaults=self.thresholds)
        return self._all(documents, partial(self._found, chosen, others), others, on_error=on_error)

    def pairs(
        self,
        pairs: Iterable[tuple[str, str] | Document],
        *,
        heads: Sequence[str] | None = None,
        threshold: float | None = None,
        on_error: Callable[[Document, BiomuxError], None] | None = None,
    ) -> Iterator[Document]:
        """Return a document for each pair of texts, in order, labelled by the heads for pairs (similarity, inference).

        `heads` chooses some of these heads. Classes that score less than `threshold` are left out.
        """
        return text_pairs.find(self, pairs, heads=heads, threshold=threshold, on_error=on_error)

    def ask(
        self,
        question: str,
        documents: str | Document | Iterable[str | Document],
        *,
        n: int = 5,
        heads: Sequence[str] | None = None,
        threshold: float | None = None,
        on_error: Callable[[Document, BiomuxError], None] | None = None,
    ) -> list[questions.FoundAnswer]:
        """Return the `n` best answers to a question in all documents or texts, best first, each with its place and the sentence around it."""
        return questions.find(self, question, documents, n=n, heads=heads, threshold=threshold, on_error=on_error)

    def _all(
        self,
        documents: Iterable[Document],
        read: Callable[[Sequence[Document]], list[Document]],
        others: Sequence[Task],
        *,
        on_error: Callable[[Document, BiomuxError], None] | None,
    ) -> Iterator[Document]:
        pairs = any(task.unit == "pair" for task in others)
        for group in _chunks(documents, min(self.chunk, CHUNK_OF_PAIRS) if pairs else self.chunk):
            try:
                done = read(group)
            except Exception as error:
                if on_error is None and isinstance(error, BiomuxError) and error.where:
                    raise
                yield from _one_by_one(group, read, on_error=on_error or _raise)
            else:
                yield from done

    def _annotate(self, chosen: ResolvedQuery, documents: Sequence[Document]) -> list[Document]:
        """A chunk of documents with what was asked for."""
        asked = chosen.asked
        if asked is None or (asked.entities and not asked.others):
            return self._found(chosen, (), documents)
        for document in documents:
            asked.must_fit(document)
        bare = [asked.bare(document) for document in documents]
        done = self._found(chosen if asked.entities else None, asked.others, bare)
        if not asked.entities:
            done = [self._covered(replace(document, coverage=sentence_ranges(document))) for document in done]
            if self.on_read is not None:
                self.on_read(sum(len(document.text) for document in done))
        if asked.reads_pairs:
            done = list(text_pairs.measured(done, self.tokenizer, limit=self.limit, strict=self.strict))
        return [asked.kept(document) for document in done]

    def _found(
        self, chosen: ResolvedQuery | None, others: Sequence[Task], documents: Sequence[Document]
    ) -> list[Document]:
        """A chunk of documents: taggers and what does not depend on them in one pass, then what reads the entities that were found, or that there are."""
        for document in documents:
            _must_be_text(document)
        later = [task for task in others if getattr(task, "reads_spans", False)]
        sooner = [task for task in others if task not in later]
        finding = () if chosen is None else chosen.tasks
        reader = SessionReader(
            self.session,
            self.specials,
            self.budget,
            self.temperatures or {},
            later=frozenset(task.name for task in later if task.unit == "pair"),
            on_read=self.on_read,
        )
        done = list(documents)
        split = [replace(document, sentences=sentences.of(document)) for document in documents]
        bare = split if chosen is None else [replace(document, spans=(), relations=()) for document in split]
        spans, outputs = self._read(bare, (*finding, *sooner), reader)
        if chosen is not None:
            done = [
                self._with_spans(document, sentenced, head_spans, chosen)
                for document, sentenced, head_spans in zip(documents, split, spans, strict=True)
            ]
        done = [_decoded(document, sooner, answers) for document, answers in zip(done, outputs, strict=True)]
        if later:
            again = [replace(document, sentences=known.sentences) for document, known in zip(done, split, strict=True)]
            _, outputs = self._read(again, later, reader)
            done = [_decoded(document, later, answers) for document, answers in zip(done, outputs, strict=True)]
        return done

    def _covered(self, document: Document) -> Document:
        """The document, which must have been wholly read in strict mode."""
        if self.strict:
            _must_be_read(document)
        return document

    def _with_spans(
        self, document: Document, split: Document, head_spans: Sequence[Found], chosen: ResolvedQuery
    ) -> Document:
        """A document with the entities that were asked for, made of what the heads said."""
        read = _ranges(split, chosen.tasks)
        mine = chosen.merged(head_spans, text=document.text, read=read)
        made = self._covered(replace(document, spans=tuple(mine), relations=(), coverage=read))
        if chosen.abbreviations:
            made = text_abbreviations.carry(made)
        if chosen.abbreviations or chosen.resolve:
            made = replace(made, spans=tuple(chosen.final(made.spans)))
        return made

    def _read(
        self, documents: Sequence[Document], tasks: Sequence[Task], reader: SessionReader
    ) -> tuple[list[list[Found]], list[dict[str, Outputs]]]:
        """What heads say about each document: spans, and by task the inputs and outputs of all others.

        At most a chunk of text is held as tokens at a time, however long a document is.
        """
        spans: list[list[Found]] = [[] for _ in documents]
        outputs: list[dict[str, Outputs]] = [{} for _ in documents]
        asked = sections(documents, tasks, self.tokenizer, limit=self.limit, chunk=self.chunk, counts=Counter())
        for section in asked:
            with closing(reader.answers(section)) as answers:
                for request, task, inputs, answer in answers:
                    if finds_spans(task):
                        spans[request.document] += answer
                    else:
                        gathered = outputs[request.document].setdefault(task.name, ([], []))
                        gathered[0].extend(inputs)
                        gathered[1].extend(answer)
        for document, found in zip(documents, spans, strict=True):
            if any(end - start > stretches.LONGEST for start, end in document.sentences or ()):
                found.sort(key=lambda span: (span.start, span.end, span.head or "", span.type))
                found[:] = stretches.without_overlaps(rounded(found))
        return spans, outputs


def _one_by_one(
    documents: Sequence[Document],
    read: Callable[[Sequence[Document]], list[Document]],
    *,
    on_error: Callable[[Document, BiomuxError], None],
) -> Iterator[Document]:
    """Read each by itself, to find out which of them fails."""
    for document in documents:
        try:
            done = read([document])
        except BiomuxError as error:
            on_error(document, _placed(error, document))
        except Exception as error:  # whatever a runtime or a tokenizer may raise is about this document
            message = f"cannot be annotated: {type(error).__name__}: {error}"
            where = f"document {document.id!r}"
            failure = AnnotateError("BX603", message, where=where, hint="check that the text is what you expect")
            failure.__cause__ = error
            on_error(document, failure)
        else:
            yield from done


def _ranges(document: Document, tasks: Sequence[SpanTask]) -> tuple[Range, ...]:
    """What was read: the sentences, in parts if all tasks read the same parts of them."""
    longest = {getattr(getattr(task, "reads", None), "longest", None) for task in tasks}
    return sentence_ranges(document, longest.pop() if len(longest) == 1 else None)


def _decoded(document: Document, tasks: Sequence[Task], outputs: Mapping[str, Outputs]) -> Document:
    """A document with what tasks make of their outputs for it."""
    for task in tasks:
        document = task.decode(document, *outputs[task.name])
    return document


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
    placed = type(error)(error.code, error.message, where=f"document {document.id!r}", hint=error.hint)
    placed.__cause__ = error
    return placed


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


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
