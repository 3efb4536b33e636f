"""The tagger: what `biomux.load` gives. An annotator that takes plain texts, one, several or a stream, and that can be pickled.

It may be called by several threads at once, after a fork, and from asyncio by `asyncio.to_thread`: docs/how-to/python.md has examples.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from biomux.document import Document
from biomux.engine.annotator import Annotator
from biomux.engine.query import Query
from biomux.errors import BundleError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from biomux.document import Span
    from biomux.errors import BiomuxError

Context = TypeVar("Context")


class SkipWarning(UserWarning):
    """Warns that `pipe(…, on_error="skip")` skipped texts: how many, and the error of the first one."""


class QueryOptions(TypedDict, total=False):
    """The keyword options of a call; `Tagger.annotate` says what each of them does."""

    types: Sequence[str] | None
    heads: Sequence[str] | None
    threshold: float | Mapping[str, float] | None
    precision: float | None
    resolve: bool
    abbreviations: bool
    consistent: bool | None
    tasks: Sequence[str] | None
    keep_entities: bool


def _query(options: QueryOptions) -> Query:
    """What a call asks for; a keyword that no call has is told with the nearest."""
    known = list(QueryOptions.__annotations__)
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            if name in ("model", "bundle"):
                hint = f"load it first: biomux.load({options[name]!r})"  # type: ignore[literal-required]
            raise UsageError("BX001", f"unknown option {name!r}", hint=hint)
    return Query(**options)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a tagger was loaded from, so that another process can load the same: the name of a shipped bundle, or a folder, and its manifest's checksum."""

    path_or_name: str
    threads: int | None
    runtime: str
    checksum: str | None

    def load(self) -> Tagger:
        """Load it again; an error if the bundle is no longer the same."""
        from biomux import load

        tagger = load(self.path_or_name, threads=self.threads, runtime=self.runtime)
        if tagger.origin is None or tagger.origin.checksum != self.checksum:
            raise BundleError(
                "BX640",
                "the bundle is not the one that the tagger was pickled with",
                where=self.path_or_name,
                hint="load the tagger again where it is used: biomux.load(PATH)",
            )
        return tagger


@dataclass(frozen=True, eq=False, repr=False)
class Tagger(Annotator):
    """Finds entities in texts. Make one with `biomux.load`.

    >>> import biomux
    >>> tagger = biomux.load(threads=1)
    >>> [(entity.text, entity.type) for entity in tagger("Aspirin inhibits COX-2.").entities]
    [('Aspirin', 'chemical'), ('COX-2', 'gene')]

    A tagger can be pickled and sent to other processes. Only the location of its bundle is pickled; each process loads the bundle once.
    """

    origin: Origin | None = None

    @classmethod
    def of(cls, annotator: Annotator, origin: Origin | None) -> Tagger:
        """The tagger around an annotator."""
        return cls(**{part.name: getattr(annotator, part.name) for part in fields(annotator)}, origin=origin)

    @overload
    def __call__(self, text: str | Document, **options: Unpack[QueryOptions]) -> Document: ...  # type: ignore[overload-overlap]  # a str is one text

    @overload
    def __call__(self, text: Iterable[str | Document], **options: Unpack[QueryOptions]) -> list[Document]: ...

    def __call__(
        self, text: str | Document | Iterable[str | Document], **options: Unpack[QueryOptions]
    ) -> Document | list[Document]:
        """Annotate one text, or a list of texts, which gives a list of documents. Options as in `annotate`.

        The document of a single text has the id `text`; those of a list have their places in it as ids: `0`, `1` and so on. For many texts use `pipe`, which returns documents one by one.
        """
        if isinstance(text, str | Document):
            document = Document("text", text) if isinstance(text, str) else text
            return next(self.annotate_query([document], _query(options)))
        if not isinstance(text, Iterable) or isinstance(text, bytes | bytearray | Mapping):
            raise UsageError(
                "BX001",
                f"text must be a str or a list of them, got {type(text).__name__}",
                hint="decode bytes first" if isinstance(text, bytes | bytearray) else None,
            )
        return list(self.pipe(text, **options))

    @overload
    def pipe(
        self,
        texts: Iterable[str | Document],
        *,
        on_error: Literal["raise", "skip"] | Callable[[Any, BiomuxError], None] = "raise",
        **options: Unpack[QueryOptions],
    ) -> Iterator[Document]: ...

    @overload
    def pipe(
        self,
        texts: Iterable[tuple[str | Document, Context]],
        *,
        on_error: Literal["raise", "skip"] | Callable[[Any, BiomuxError], None] = "raise",
        **options: Unpack[QueryOptions],
    ) -> Iterator[tuple[Document, Context]]: ...

    def pipe(
        self,
        texts: Iterable[str | Document] | Iterable[tuple[str | Document, Context]],
        *,
        on_error: Literal["raise", "skip"] | Callable[[Any, BiomuxError], None] = "raise",
        **options: Unpack[QueryOptions],
    ) -> Iterator[Document] | Iterator[tuple[Document, Context]]:
        """Annotate a stream of texts, in order. Options as in `annotate`.

        Each text is a str or a Document, or a pair of one of these and any other object. For a pair, the annotated document and the same object are returned as a pair.
        The document of a str has its place in the stream as its id, `0` for the first. At most some 400,000 characters are read ahead, so
        memory stays flat however long the stream is.

        `on_error` says what to do with a text that cannot be annotated, or with something that is not a text. `"raise"` ends the stream with the error. `"skip"` leaves the text out and, at
        the end, reports all skipped texts in one SkipWarning. A function is called with the text as it was given and the error.
        """
        _must_be_several(texts)
        if on_error not in ("raise", "skip") and not callable(on_error):
            raise UsageError("BX001", f"on_error must be 'raise', 'skip' or a function, got {on_error!r}")
        stream = _Stream(on_error)
        found = self.annotate_query(stream.documents(texts), _query(options), on_error=stream.failed)
        return cast("Iterator[Document]", stream.results(found))

    def one_layer(self, document: Document, *, heads: Sequence[str] | None = None) -> list[Span]:
        """The spans that `resolve=True` would have kept in an annotated document. If it was annotated with certain `heads`, name the same ones here."""
        chosen = self._resolved(Query(heads=heads, resolve=True, tasks=["entities"]))
        return chosen.final(document.spans)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin is None:
            raise TypeError("a tagger that was not loaded from a folder cannot be pickled")
        return _reloaded, (self.origin, self.budget, self.chunk, self.strict)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class _Stream:
    """Texts on their way through an annotator, each remembered with what it came with until its answer is there."""

    def __init__(self, on_error: Literal["raise", "skip"] | Callable[[Any, BiomuxError], None]) -> None:
        self._on_error = on_error
        self._waiting: deque[tuple[Document, Any]] = deque()
        self._failed: set[int] = set()
        self._skipped = 0
        self._first: BiomuxError | None = None

    def documents(self, texts: Iterable[Any]) -> Iterator[Document]:
        for place, item in enumerate(texts):
            text = item[0] if isinstance(item, tuple) and len(item) == 2 else item
            if isinstance(text, str):
                text = Document(str(place), text)
            if isinstance(text, Document):
                self._waiting.append((text, item))
                yield text
                continue
            told = UsageError(
                "BX001",
                f"a text must be a str, a Document, or a pair of one and its context, got {type(text).__name__}",
                where=f"text {place}",
                hint="leave out missing values, or skip them with on_error='skip'",
            )
            self._tell(item, told)

    def failed(self, document: Document, error: BiomuxError) -> None:
        self._failed.add(id(document))
        item = next(item for waiting, item in self._waiting if waiting is document)
        self._tell(item, error)

    def results(self, found: Iterator[Document]) -> Iterator[Any]:
        for document in found:
            item = self._take()
            yield (document, item[1]) if isinstance(item, tuple) else document
        if self._skipped:
            warnings.warn(
                f"skipped {self._skipped:,} {'text' if self._skipped == 1 else 'texts'}, the first: {self._first}",
                SkipWarning,
                stacklevel=2,
            )

    def _take(self) -> Any:
        """What the next answer's text was given as; failed ones before it are forgotten."""
        while True:
            document, item = self._waiting.popleft()
            if id(document) not in self._failed:
                return item
            self._failed.discard(id(document))

    def _tell(self, item: Any, error: BiomuxError) -> None:
        if self._on_error == "raise":
            raise error
        if callable(self._on_error):
            self._on_error(item, error)
            return
        self._skipped += 1
        self._first = self._first or error


def origin_of(folder: Path, name: str | None, *, threads: int | None, runtime: str) -> Origin:
    """What a tagger of a folder is loaded from; `name` is that of a shipped bundle, which other machines have elsewhere."""
    manifest = folder / "manifest.json"
    checksum = hashlib.sha256(manifest.read_bytes()).hexdigest() if manifest.is_file() else None
    return Origin(name or str(folder.resolve()), threads, runtime, checksum)


@lru_cache(maxsize=1)
def _reloaded(origin: Origin, budget: int, chunk: int, strict: bool) -> Tagger:
    """Load a pickled tagger, once for many tasks of a process."""
    return replace(origin.load(), budget=budget, chunk=chunk, strict=strict)


def _must_be_several(texts: object) -> None:
    if isinstance(texts, str | Document | bytes | Mapping) or not isinstance(texts, Iterable):
        what = {str: "a single text", Document: "a single document"}.get(type(texts), type(texts).__name__)
        raise UsageError(
            "BX001", f"pipe() takes a stream of texts, got {what}", hint="for one text, call the tagger itself"
        )
