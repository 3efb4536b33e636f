"""BioASQ golden JSON (task b): questions with snippets of abstracts, exact and ideal answers.

    {"questions": [{"id": "5a1", "type": "factoid", "body": "Which gene …?", "documents": ["http://…"],
        "snippets": [{"text": "…", "document": "http://…", …}], "exact_answer": [["TP53", "p53"]], "ideal_answer": ["…"]}]}

One document per question, named by its id: the text is the snippets, one per line, each a passage of kind `snippet` with its
other fields in `extra`. The answers of factoid and list questions are the names in `exact_answer`, each at its first occurrence in each snippet
(whole words; case does not matter); a name that does not occur is an answer without a place. The answer of a yes/no question is
the word itself, without a place; a summary has none. `exact_answer` and `ideal_answer` are kept unchanged in the question's `extra`, other fields
(`documents`, `concepts`, …) in `metadata`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from biomux.document import Answer, Document, Passage, Question
from biomux.errors import FormatError
from biomux.formats._fields import build, field, name_of, optional
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join
from biomux.formats._json_array import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from biomux.document import Range
    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "questions", "metadata"})

_ANSWERS = ("exact_answer", "ideal_answer")
_OWN = ("id", "type", "body", "snippets", *_ANSWERS)


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per question."""
    for line, record in items(source, key="questions", on_error=on_error):
        try:
            document = _document(record, f"{source.name}:{line}")
        except FormatError as error:
            on_error(error)
            continue
        yield document


def answers(kind: str, exact: Any, text: str, snippets: Sequence[Range], where: str) -> tuple[Answer, ...]:
    """The names of an exact answer, with their places in the snippets."""
    names = _names(exact, where)
    if kind not in ("factoid", "list"):
        return tuple(Answer(name) for name in names)
    placed: list[Answer] = []
    for name in names:
        # Not \b: a name may begin or end with punctuation.
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        matches = [match for start, end in snippets if name and (match := pattern.search(text, start, end))]
        placed += [Answer(match[0], match.start(), match.end()) for match in matches] or [Answer(name)]
    return tuple(placed)


def _names(exact: Any, where: str) -> list[str]:
    """Each name once: a string, an array of them, or an array of arrays of synonyms."""
    if exact is None:
        return []
    if isinstance(exact, str):
        return [exact]
    if not isinstance(exact, list):
        raise FormatError(
            "BX113",
            "the field 'exact_answer' must hold only names",
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
)
