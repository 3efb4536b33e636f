"""BioASQ golden JSON (task b): questions with snippets of abstracts, exact and ideal answers.

    {"questions": [{"id": "5a1", "type": "factoid", "body": "Which gene …?", "documents": ["http://…"],
        "snippets": [{"text": "…", "document": "http://…", …}], "exact_answer": [["TP53", "p53"]], "ideal_answer": ["…"]}]}

A document a question, called by its id: the text is the snippets, each on a line of its own and a passage of kind `snippet` with its
other fields in `extra`. The answers of factoid and list questions are the names in `exact_answer`, each where it first stands in each snippet
(whole words; capitals do not matter); a name that stands nowhere is an answer without place. The answer of a yes/no question is
the word itself, without place; a summary has none. `exact_answer` and `ideal_answer` are kept as they are in the question's `extra`, other fields
(`documents`, `concepts`, …) in `metadata`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Answer, Document, Passage, Question
from biomux.errors import FormatError
from biomux.formats.fields import build, field, name_of, optional, to_json
from biomux.formats.format import Feature, Format, Loss, report_losses, stop
from biomux.formats.joined import join, parts_of
from biomux.formats.json_array import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from biomux.document import Range
    from biomux.formats.source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "questions", "metadata"})

_ANSWERS = ("exact_answer", "ideal_answer")
_OWN = ("id", "type", "body", "snippets", *_ANSWERS)


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """A document a question."""
    for line, record in items(source, key="questions", on_error=on_error):
        try:
            document = _document(record, f"{source.name}:{line}")
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """A question a document and a line."""
    before = b'{"questions": ['
    for document in documents:
        stream.write(before + b"\n" + to_json(_record(document, on_loss), document.id))
        before = b","
    stream.write(b"\n]}\n" if before == b"," else before + b"]}\n")


def answers(kind: str, exact: Any, text: str, snippets: Sequence[Range], where: str) -> tuple[Answer, ...]:
    """The names of an exact answer, placed in the snippets."""
    names = _names(exact, where)
    if kind not in ("factoid", "list"):
        return tuple(Answer(name) for name in names)
    found: list[Answer] = []
    for name in names:
        # Not \b: a name may begin or end with a sign.
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        matches = [match for start, end in snippets if name and (match := pattern.search(text, start, end))]
        found += [Answer(match[0], match.start(), match.end()) for match in matches] or [Answer(name)]
    return tuple(found)


def _names(exact: Any, where: str) -> list[str]:
    """Each name once: a string, an array of them, or an array of arrays of synonyms."""
    if exact is None:
        return []
    if isinstance(exact, str):
        return [exact]
    if not isinstance(exact, list):
        raise FormatError(
            "BX113",
            "the field 'exact_answer' holds more than names",
            where=where,
            hint="give strings, or arrays of them",
        )
    return list(dict.fromkeys(name for part in exact for name in _names(part, where)))


def _document(record: Any, where: str) -> Document:
    name = name_of(field(record, "id", object, where), "the field 'id'", where)
    where = f"{where} (question {name!r})"
    kind = field(record, "type", str, where)
    snippets = optional(record, "snippets", list, where) or []
    text, ranges = join((field(snippet, "text", str, where) for snippet in snippets), "\n")
    passages = tuple(
        Passage(start, end, "snippet", {key: value for key, value in snippet.items() if key != "text"})
        for snippet, (start, end) in zip(snippets, ranges, strict=True)
    )
    question = Question(
        name,
        field(record, "body", str, where),
        answers(kind, record.get("exact_answer"), text, ranges, where),
        kind,
        extra={key: record[key] for key in _ANSWERS if key in record},
    )
    metadata = {key: value for key, value in record.items() if key not in _OWN}
    return build(where, name, text, passages=passages, questions=(question,), metadata=metadata)


def _record(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    if len(document.questions) != 1:
        raise FormatError(
            "BX120",
            f"there are {len(document.questions)} questions, and BioASQ has one with its snippets",
            where=f"document {document.id!r}",
            hint="write to squad or jsonl",
        )
    report_losses(document, HOLDS, on_loss)
    question = document.questions[0]
    if question.id != document.id:
        on_loss(Loss(document.id, "id", detail=f"the document takes the question's id {question.id!r}"))
    if any(passage.kind != "snippet" or "text" in passage.extra for passage in document.passages):
        on_loss(Loss(document.id, "passages", len(document.passages), "they become snippets"))
    ranges = parts_of(document, [(p.start, p.end) for p in document.passages], "passages", "\n", on_loss)
    extras = {(p.start, p.end): {k: v for k, v in p.extra.items() if k != "text"} for p in document.passages}
    kept = {key: value for key, value in document.metadata.items() if key not in _OWN}
    if len(kept) < len(document.metadata):
        on_loss(Loss(document.id, "metadata", len(document.metadata) - len(kept), "keys that the format has itself"))
    known = {key: question.extra[key] for key in _ANSWERS if key in question.extra}
    if "exact_answer" not in known and question.answers:
        known["exact_answer"] = _exact(question)
    _report_question(document, question, known, ranges, on_loss)
    return {
        "id": question.id,
        "type": question.kind,
        "body": question.text,
        **kept,
        "snippets": [{"text": document.text[start:end], **extras.get((start, end), {})} for start, end in ranges],
        **known,
    }


def _exact(question: Question) -> Any:
    names = list(dict.fromkeys(answer.text for answer in question.answers))
    if question.kind == "list":
        return [[name] for name in names]
    return names[0] if question.kind == "yesno" else names


def _report_question(
    document: Document,
    question: Question,
    known: dict[str, Any],
    ranges: Sequence[Range],
    on_loss: Callable[[Loss], None],
) -> None:
    where = f"document {document.id!r}"
    try:
        again = answers(question.kind, known.get("exact_answer"), document.text, ranges, where)
    except FormatError as error:
        raise FormatError("BX120", error.message, where=where, hint=error.hint) from None
    if Question(question.id, question.text, again, question.kind, extra=known) != question:
        on_loss(
            Loss(document.id, "questions", 1, "places of answers are found anew; scores and other extra are not held")
        )


def _sniff(_: str, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:1] == b"{" and b'"questions"' in head[:200] and b'"paragraphs"' not in head


FORMAT = Format(
    name="bioasq",
    title="BioASQ golden JSON",
    suffixes=(".bioasq.json",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
