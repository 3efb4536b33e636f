"""The content of a request: check its fields, make its documents, turn its options into a `Query`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from biomux import formats
from biomux.document import Document
from biomux.engine.query import Query
from biomux.errors import ServeError, UsageError
from biomux.serve.work import Annotate, AnswerQuestion, ComparePairs
from biomux.validation import mistakes

if TYPE_CHECKING:
    from collections.abc import Iterable

Asked = TypeVar("Asked", bound=BaseModel)

FILES = ("medline", "nbib", "jats", "bioc-xml", "bioc-json", "pubtator", "jsonl", "lines", "text")
"""The formats that `content` may have."""


class GivenTexts(BaseModel):
    """Fields that all questions about texts share: the texts, given in exactly one way."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    text: str | None = Field(None, description="One text.", examples=["Aspirin inhibits COX-2 in mice."])
    texts: list[str] | None = Field(None, description="Several texts.")
    documents: list[dict[str, Any]] | None = Field(
        None, description="Documents in Biomux JSON: an `id` and a `text`, and any known annotations."
    )
    content: str | None = Field(
        None,
        description=f"The content of a file in one of these formats: {', '.join(FILES)}. Recognised unless `from` names it.",
    )
    from_: str | None = Field(None, alias="from", description="The format of `content`.")


FORMAT = Field(None, description="The format of the answer; it wins over the header `Accept`.")


class AnnotateQuestion(GivenTexts):
    """What `POST /annotate` takes. Options mean what they mean for `biomux annotate`."""

    format: str | None = FORMAT
    types: list[str] | str | None = Field(None, description="Only these entity types. Default: all.")
    heads: list[str] | str | None = Field(None, description="These heads, with their corpora's own types.")
    tasks: list[str] | str | None = Field(
        None,
        description="What to find: kinds (entities, relations, classes) or names of heads. Default: all that the model has.",
    )
    keep_entities: bool = Field(
        False, description="Find relations between the entities given in the documents instead of finding new ones."
    )
    threshold: float | dict[str, float] | None = Field(
        None, description="Minimum score, for all types or for each that is named (`*`: all others)."
    )
    precision: float | None = Field(
        None, description="Use the thresholds that reached this precision on development data."
    )
    resolve: bool = Field(False, description="Remove overlaps.")
    abbreviations: bool = Field(False, description="Tag an abbreviation like the long form it is defined by.")
    consistent: bool | None = Field(
        None, description="Make all occurrences of a name in a document agree, by vote. Default: as the command does."
    )

    def work(self) -> Annotate:
        """What to do with the documents."""
        query = Query(
            types=_names(self.types),
            heads=_names(self.heads),
            threshold=self.threshold,
            precision=self.precision,
            resolve=self.resolve,
            abbreviations=self.abbreviations,
            consistent=self.consistent,
            tasks=_names(self.tasks),
            keep_entities=self.keep_entities,
        )
        return Annotate(query)


class PairsQuestion(BaseModel):
    """What `POST /pairs` takes. Options mean what they mean for `biomux pairs`."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    pairs: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        description="Pairs of texts.", examples=[[["Aspirin inhibits COX-2.", "COX-2 is inhibited by aspirin."]]]
    )
    heads: list[str] | str | None = Field(None, description="Only these heads. Default: all for pairs.")
    threshold: float | None = Field(None, description="Minimum score of a class.")
    format: str | None = FORMAT

    def work(self) -> ComparePairs:
        """What to do with the documents."""
        return ComparePairs(_names(self.heads), self.threshold)

    def documents(self, *, most: int) -> list[Document]:
        """A document for each pair: at least one, at most `most`."""
        must_be_few(len(self.pairs), most)
        if not self.pairs:
            raise ServeError("BX802", "there is no pair in the request", hint="give at least one pair of texts")
        return [Document(f"pair-{place}", text, pair=pair) for place, (text, pair) in enumerate(self.pairs, 1)]


class AskQuestion(GivenTexts):
    """What `POST /ask` takes. Options mean what they mean for `biomux ask`."""

    question: str = Field(description="What to ask.", examples=["What does aspirin inhibit?"])
    n: int = Field(5, ge=1, le=100, description="Number of answers, the best of all texts.")
    heads: list[str] | str | None = Field(None, description="Only these heads. Default: all for questions.")
    threshold: float | None = Field(None, description="Minimum score of an answer.")

    def work(self) -> AnswerQuestion:
        """What to do with the documents."""
        return AnswerQuestion(self.question, self.n, _names(self.heads), self.threshold)


def checked(value: Any, kind: type[Asked]) -> Asked:
    """Check a request's fields."""
    if not isinstance(value, dict):
        raise ServeError("BX802", "the body must be a JSON object", hint='send for instance {"text": "…"}')
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problems = mistakes(error, kind)
        more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
        raise ServeError("BX802", f"{problems[0]}{more}", hint="/docs lists all fields") from None


def documents(question: GivenTexts, *, most: int) -> list[Document]:
    """The documents that a question is about: at least one, at most `most`."""
    sources = {
        name: value
        for name in ("text", "texts", "documents", "content")
        if (value := getattr(question, name)) is not None
    }
    if len(sources) != 1:
        names = " and ".join(sources) or "none of them"
        raise ServeError("BX802", f"give one of text, texts, documents and content, got {names}")
    if question.from_ is not None and question.content is None:
        raise ServeError("BX802", "from: needs content, which is not given")
    must_be_few(len(question.texts or question.documents or ()), most)
    read_documents = list(islice(_documents(question), most + 1))
    must_be_few(len(read_documents), most)
    if not read_documents:
        raise ServeError("BX802", "there is no document in the request", hint="give at least one text")
    return read_documents


def must_be_few(size: int, most: int) -> None:
    """Refuse a request with too many documents."""
    if size > most:
        raise ServeError(
            "BX803",
            f"there are more than {most:,} documents",
            hint="send several smaller requests, or start the service with a higher --max-documents",
        )


def _documents(question: GivenTexts) -> Iterable[Document]:
    if question.text is not None:
        return [Document("text", question.text)]
    if question.texts is not None:
        return [
            Document("text" if place == 1 else f"text-{place}", text) for place, text in enumerate(question.texts, 1)
        ]
    if question.documents is not None:
        return _records(question.documents)
    return _file(question.content or "", question.from_)


def _records(records: list[dict[str, Any]]) -> Iterable[Document]:
    """Documents from JSON objects, as from a file of Biomux JSON lines; a missing version or id is added."""
    import orjson

    try:
        lines = [orjson.dumps({"biomux": 1, "id": str(place), **record}) for place, record in enumerate(records, 1)]
    except orjson.JSONEncodeError as error:  # orjson reads deeper nesting than it writes
        raise ServeError("BX802", f"documents: {error}", hint="send documents that are nested less deeply") from None
    return formats.read_source(formats.of_bytes("documents", b"\n".join(lines)), format="jsonl")


def _file(content: str, format: str | None) -> Iterable[Document]:
    if format is not None and format not in FILES:
        raise UsageError("BX110", f"cannot read the format {format!r} here", hint=f"choose from: {', '.join(FILES)}")
    source = formats.of_bytes("content", content.encode())
    chosen = formats.get(format) if format else formats.guess(source)
    if chosen.name not in FILES:
        raise UsageError(
            "BX110", f"cannot read the format {chosen.name!r} here", hint=f"choose from: {', '.join(FILES)}"
        )
    return chosen.read(source, on_error=formats.stop)


def _names(names: list[str] | str | None) -> tuple[str, ...] | None:
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",") if name.strip()]
    if names is not None and not names:
        raise ServeError("BX802", "types, heads and tasks must not be empty", hint="leave the field out for all")
    return None if names is None else tuple(names)
