"""SQuAD 1 and 2 JSON: contexts with questions and answers (COVID-QA; BioASQ in BioBERT's version).

    {"version": "…", "data": [{"title": "…", "paragraphs": [{"context": "…", "document_id": 630, "qas":
        [{"id": "q1", "question": "…", "is_impossible": false, "answers": [{"text": "…", "answer_start": 9149}]}]}]}]}

One document per paragraph: the text is the context, each of `qas` a question. The document is named by `document_id`, or
`<title>:<n>`, or `<stem>:<n>`, n counted from 1. An id that is a number is kept as a number in `metadata` or the question's `extra`. Other fields
of article and paragraph go to `metadata`, those of a question to its `extra`. `answer_start` may be null: an answer without a place.

Answers that are not at `answer_start` (234 of COVID-QA's 1,380) are searched for in the context, and the occurrence nearest to the stated place is
taken. The question's `extra` gets their number as `repaired`, and the document's metadata the sum. With `repair=False` such a question is malformed
(BX115); one whose answer does not occur in the context always is. One article is in memory at a time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Answer, Document, Question
from biomux.errors import FormatError
from biomux.formats._fields import build, field, name_of, optional, to_json
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._json_array import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"questions", "metadata"})

_EMPTY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"version"\s*:\s*"[^"]*"\s*,\s*)?"data"\s*:\s*\[\s*\]')
"""A file without articles."""

_PARAGRAPH = ("context", "document_id", "qas")
_QUESTION = ("id", "question", "answers", "is_impossible", "type")


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    repair: bool = True,
    on_repaired: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """One document per paragraph. `on_repaired` gets how many of its answers were found at another place than stated."""
    number = 0
    stem = source.stem
    for line, article in items(source, key="data", on_error=on_error):
        where = f"{source.name}:{line}"
        try:
            paragraphs = field(article, "paragraphs", list, where)
        except FormatError as error:
            on_error(error)
            continue
        article_fields = {key: value for key, value in article.items() if key != "paragraphs"}
        title = article_fields.get("title")
        for count, paragraph in enumerate(paragraphs, 1):
            number += 1
            name = f"{title}:{count}" if isinstance(title, str) and title else f"{stem}:{number}"
            try:
                document, repaired = _document(paragraph, article_fields, name, where, repair, on_error)
            except FormatError as error:
                on_error(error)
                continue
            if repaired and on_repaired is not None:
                on_repaired(repaired)
            yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """One article with one paragraph per document, each on one line."""
    before = b'{"version": "2.0", "data": ['
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        stream.write(before + b"\n" + to_json(_article(document, on_loss), document.id))
        before = b","
    stream.write(b"\n]}\n" if before == b"," else before + b"]}\n")


def place(context: str, answer: str, near: int) -> int | None:
    """The start of the answer's occurrence nearest to a place; None if it does not occur.

    >>> place("a virus, the virus", "virus", 12)
    13
    """
    after = context.find(answer, max(near, 0))
    before = context.rfind(answer, 0, max(near, 0) + len(answer))
    starts = [start for start in (before, after) if start >= 0]
    return min(starts, key=lambda start: abs(start - near), default=None)


def _document(
    paragraph: Any,
    article_fields: dict[str, Any],
    name: str,
    where: str,
    repair: bool,
    on_error: Callable[[FormatError], None],
) -> tuple[Document, int]:
    context = field(paragraph, "context", str, where)
    raw_id = paragraph.get("document_id")
    metadata = {**article_fields, **{key: value for key, value in paragraph.items() if key not in _PARAGRAPH}}
    if raw_id is not None:
        name = name_of(raw_id, "the field 'document_id'", where)
        if not isinstance(raw_id, str):
            metadata["document_id"] = raw_id
    where = f"{where} (document {name!r})"
    questions = []
    repaired = 0
    for raw in field(paragraph, "qas", list, where):
        try:
            question, moved = _question(raw, context, where, repair)
        except FormatError as error:
            on_error(error)
            continue
        questions.append(question)
        repaired += moved
    if repaired:
        metadata["repaired answers"] = repaired
    return build(where, name, context, questions=tuple(questions), metadata=metadata), repaired


def _question(raw: Any, context: str, where: str, repair: bool) -> tuple[Question, int]:
    raw_id = field(raw, "id", object, where)
    name = name_of(raw_id, "the field 'id'", where)
    where = f"{where}, question {name!r}"
    text = field(raw, "question", str, where)
    extra = {key: value for key, value in raw.items() if key not in _QUESTION}
    if not isinstance(raw_id, str):
        extra["id"] = raw_id
    answers = []
    moved = 0
    for raw_answer in optional(raw, "answers", list, where) or []:
        answer, was_moved = _answer(raw_answer, context, where, repair)
        moved += was_moved
        answers.append(answer)
    if moved:
        extra["repaired"] = moved
    kind = optional(raw, "type", str, where) or "factoid"
    impossible = bool(optional(raw, "is_impossible", bool, where))
    return Question(name, text, tuple(answers), kind, impossible, extra), moved


def _answer(raw: Any, context: str, where: str, repair: bool) -> tuple[Answer, bool]:
    text = field(raw, "text", str, where)
    if "answer_start" in raw and raw["answer_start"] is None:
        return Answer(text), False
    stated = field(raw, "answer_start", int, where)
    if not text:
        raise FormatError(
            "BX113", "an answer must not be empty", where=where, hint="leave it out, or set is_impossible"
        )
    if stated >= 0 and context.startswith(text, stated):
        return Answer(text, stated, stated + len(text)), False
    start = place(context, text, stated)
    if start is None or not repair:
        actual_place = "nowhere in the context" if start is None else f"at {start}, not at the stated {stated}"
        raise FormatError(
            "BX115",
            f"the answer {text[:60]!r} is {actual_place}",
            where=where,
            hint="correct it" if start is None else "correct it, or take the nearest place with -O repair=true",
        )
    return Answer(text, start, start + len(text)), True


def _article(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    metadata = dict(document.metadata)
    number = metadata.get("document_id")
    has_number = isinstance(number, int) and str(number) == document.id and not isinstance(number, bool)
    reserved = [key for key in metadata if key in _PARAGRAPH or key == "paragraphs"]
    if len(reserved) > has_number:
        on_loss(Loss(document.id, "metadata", len(reserved) - has_number, "keys that the format uses itself"))
    for key in reserved:
        del metadata[key]
    title = {"title": metadata.pop("title")} if isinstance(metadata.get("title"), str) else {}
    return {
        **title,
        "paragraphs": [
            {
                "document_id": number if has_number else document.id,
                "context": document.text,
                "qas": [_qa(document, question, on_loss) for question in document.questions],
                **metadata,
            }
        ],
    }


def _qa(document: Document, question: Question, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    number = question.extra.get("id")
    has_number = isinstance(number, int) and str(number) == question.id and not isinstance(number, bool)
    reserved = [key for key in question.extra if key in _QUESTION]
    if len(reserved) > has_number:
        on_loss(Loss(document.id, "question extra", len(reserved) - has_number, "keys that the format uses itself"))
    answers = []
    for answer in question.answers:
        start, end = answer.start, answer.end
        text = answer.text if start is None or end is None else document.text[start:end]
        if answer != Answer(text, start, end):
            on_loss(Loss(document.id, "answers", 1, "its score or head, or a text that is not the one at its place"))
        answers.append({"text": text, "answer_start": start})
    return {
        "id": number if has_number else question.id,
        "question": question.text,
        "is_impossible": question.impossible,
        "answers": answers,
        **({} if question.kind == "factoid" else {"type": question.kind}),
        **{key: value for key, value in question.extra.items() if key not in reserved},
    }


def _sniff(_: str, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return start == b"{" and ((b'"data"' in head and b'"paragraphs"' in head) or _EMPTY.match(head) is not None)


FORMAT = Format(
    name="squad",
    title="SQuAD JSON",
    suffixes=(".squad.json",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
