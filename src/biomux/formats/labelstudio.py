"""Label Studio JSON: an array of tasks, with annotations to import and predictions (pre-annotations) to export.

    [{"data": {"id": "d1", "text": "TP53 is …"}, "predictions": [{"model_version": "biomux", "result": [
      {"id": "T1", "from_name": "label", "to_name": "text", "type": "labels",
       "value": {"start": 0, "end": 4, "text": "TP53", "labels": ["gene"]}, "score": 0.98, "head": "genes"}]}]}]

Also read: JSON-MIN, in which a task's data and results are side by side under the names of their controls (`{"id": 1, "text": "…", "label":
[{"start": 0, "end": 4, "text": "TP53", "labels": ["gene"]}], "topic": {"choices": ["relevant"]}, "annotator": 1}`). Arrays of regions become spans, objects with choices become labels; a
single choice is a plain string there, which cannot be distinguished from data, so it is kept in the metadata like all other fields.

The answers of all heads are written as one prediction with the `model_version` "biomux", because Label Studio shows annotators the predictions of only one version; `head` in each result
names its head. In other files, the version of a prediction is the head. A document without answers of heads is gold: it is written with annotations instead of predictions. The controls of
the labelling interface must have the names in `from_name`: `<Labels name="label" toName="text">`, `<Choices name="choice" toName="text">`, `<Text name="text" value="$text">`.

Offsets in Label Studio 1.23 count characters, also after characters beyond U+FFFF; users of older versions report UTF-16 units, as JavaScript counts (HumanSignal/label-studio issue
1347). So the region's text decides between the two; a region whose text is at neither place is refused, and one without text is assumed to count characters. A region that was marked by
hand has the text that the browser shows, in which a line end is a backslash and an n, and other white space is one space; so white space is not compared. Written offsets count
characters, and regions have their text.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Argument, Document, Label, Relation, Span
from biomux.document.record_write import as_json
from biomux.errors import FormatError
from biomux.formats._fields import build, field, name_of, of_kind, optional, strings, to_json
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._json_array import items
from biomux.formats._utf16 import from_utf16

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset(
    {"spans", "overlaps", "scores", "heads", "span ids", "relations", "labels", "metadata"}
)
ROLES = ("from", "to")
"""The roles of a relation's arguments: Label Studio has no names for them."""
VERSION = "biomux"
"""The model version of written predictions; each of their results names its head."""
MADE_ID = "biomux-"
"""Prefix of the ids of regions for spans without an id; the reader drops these ids unless a relation needs them."""

_START = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\[\s*(?:\]|\{\s*(?:"id"\s*:\s*\d+\s*,\s*)?"(?:data|annotations|predictions|completions)"\s*:)'
)

_SPACE = re.compile(r"(?:\s|\\n)+")
_OBJECTS = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")


def sniff(name: str, head: bytes) -> bool:
    """By its suffix; or an array of tasks that begin with data, annotations or predictions, or are JSON-MIN."""
    if name.endswith(".labelstudio.json"):
        return True
    if not name.endswith(".json") or len(head.strip()) <= 2:
        return False
    minimal = _OBJECTS.match(head) and b'"text"' in head and (b'"annotation_id"' in head or b'"lead_time"' in head)
    return bool(minimal) or _START.match(head) is not None


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    text: str = "text",
    predictions: bool | None = None,
) -> Iterator[Document]:
    """One document per task, with the annotations of everybody who did not skip it.

    `text` is the field of `data` that holds the text. Predictions are read if a task has no annotations; always or never if
    `predictions` is true or false. Results that are neither labels, choices nor relations are kept in the metadata as "label_studio".
    """
    for number, (line, task) in enumerate(items(source, on_error=on_error), 1):
        try:
            document = _document(task, f"{source.stem}:{number}", f"{source.name}:{line}", text, predictions)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """One task per document, each on one line."""
    before = b"[\n"
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        stream.write(before + to_json(_task(document, on_loss), document.id))
        before = b",\n"
    stream.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _document(task: Any, default: str, where: str, key: str, predictions: bool | None) -> Document:
    if isinstance(task, dict) and "data" not in task and isinstance(task.get(key), str):
        return _minimal(task, default, where, key)
    data = field(task, "data", dict, where)
    text = field(data, key, str, where)
    name = data.get("id", task.get("id"))
    document = default if name is None else name_of(name, "the id", where)
    where = f"{where} (document {document!r})"
    annotations = optional(task, "annotations", list, where) or optional(task, "completions", list, where) or []
    finished = [item for item in annotations if not (isinstance(item, dict) and item.get("was_cancelled"))]
    parts = _Parts(text, where)
    for item in finished:
        parts.add(field(item, "result", list, where), None)
    if predictions or (predictions is None and not finished):
        for item in optional(task, "predictions", list, where) or []:
            parts.add(field(item, "result", list, where), optional(item, "model_version", str, where))
    metadata = {field_: value for field_, value in data.items() if field_ not in (key, "id")}
    if parts.other:
        metadata["label_studio"] = parts.other
    return build(
        where,
        document,
        text,
        spans=parts.named_spans(),
        relations=tuple(parts.relations),
        labels=tuple(parts.labels),
        metadata=metadata,
    )


def _minimal(task: dict[str, Any], default: str, where: str, key: str) -> Document:
    """The document of a JSON-MIN task."""
    document = default if task.get("id") is None else name_of(task["id"], "the id", where)
    where = f"{where} (document {document!r})"
    parts = _Parts(task[key], where)
    metadata: dict[str, Any] = {}
    for name, value in task.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) and "labels" in item for item in value):
            parts.add([{"type": "labels", "value": item} for item in value], None)
        elif isinstance(value, dict) and value.keys() == {"choices"}:
            parts.add([{"type": "choices", "value": value}], None)
        elif name not in ("id", key):
            metadata[name] = value
    return build(where, document, task[key], spans=parts.named_spans(), labels=tuple(parts.labels), metadata=metadata)


class _Parts:
    """Collects the results of a task."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where
        self._utf16 = from_utf16(text)
        self.spans: list[Span] = []
        self.relations: list[Relation] = []
        self.labels: list[Label] = []
        self.other: list[Any] = []

    def add(self, results: list[Any], version: str | None) -> None:
        for result in results:
            kind = field(result, "type", str, self._where)
            head = optional(result, "head", str, self._where) if version == VERSION else version
            if kind == "relation":
                self.relations.append(self._relation(result, head))
                continue
            value = field(result, "value", dict, self._where)
            if kind == "labels":
                start, end = self._place(value)
                name = None if result.get("id") is None else name_of(result["id"], "a region's id", self._where)
                score = _score(result, self._where)
                types = strings(value, "labels", self._where)
                self.spans += [Span(start, end, type_, score, head, id=name) for type_ in types]
            elif kind == "choices" and "start" not in value:
                score = _score(result, self._where)
                choices = strings(value, "choices", self._where)
                self.labels += [Label(choice, score=score, head=head) for choice in choices]
            else:
                self.other.append(result)

    def named_spans(self) -> tuple[Span, ...]:
        """The spans, without the ids that the writer made, unless relations need them."""
        used = {argument.target for relation in self.relations for argument in relation.arguments}
        return tuple(
            Span(span.start, span.end, span.type, span.score, span.head)
            if span.id is not None and span.id.startswith(MADE_ID) and span.id not in used
            else span
            for span in self.spans
        )

    def _place(self, value: dict[str, Any]) -> tuple[int, int]:
        start, end = field(value, "start", int, self._where), field(value, "end", int, self._where)
        stated = optional(value, "text", str, self._where)
        text_there = self._text[max(start, 0) : max(end, 0)]
        if stated is None or _one_space(text_there) == _one_space(stated):
            return start, end
        first, last = (self._utf16.offset(offset, self._where) for offset in (start, end))
        if _one_space(self._text[first:last]) == _one_space(stated):
            return first, last
        beyond = f"; the document has {len(self._text):,} characters" if end > len(self._text) else ""
        raise FormatError(
            "BX115",
            f"a region's text is {_clipped(stated)}, but the text at {start}..{end} is {_clipped(text_there)}{beyond}",
            where=self._where,
            hint="the task's text was changed after it was annotated; export both again",
        )

    def _relation(self, result: dict[str, Any], head: str | None) -> Relation:
        ends = [
            name_of(field(result, key, object, self._where), repr(key), self._where) for key in ("from_id", "to_id")
        ]
        if result.get("direction") == "left":
            ends.reverse()
        types = [of_kind(name, str, "a relation's label", self._where) for name in result.get("labels") or []]
        arguments = tuple(Argument(role, end) for role, end in zip(ROLES, ends, strict=True))
        return Relation(";".join(types) or "relation", arguments, head=head)


def _one_space(text: str) -> str:
    """The text with one space for each run of white space; Label Studio writes a line end as a backslash and an n."""
    return _SPACE.sub(" ", text)


def _clipped(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:99]}…")


def _score(result: dict[str, Any], where: str) -> float | None:
    score = result.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise FormatError("BX113", "a score must be a number", where=where, hint="leave it out, or give a number")
    return score


def _task(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    numbers = count(1)
    made_ids = sum(span.id is not None and span.id.startswith(MADE_ID) for span in document.spans)
    if made_ids:
        on_loss(Loss(document.id, "span ids", made_ids, f"ids that begin with {MADE_ID!r}"))
    results = [_region(document, span, numbers) | _head(span) for span in document.spans]
    for relation in _held_relations(document, on_loss):
        ends = {"from_id": relation.arguments[0].target, "to_id": relation.arguments[1].target}
        results.append({"type": "relation", **ends, "direction": "right", "labels": [relation.type]} | _head(relation))
    for label in document.labels:
        if label.value is not None or label.start is not None or label.end is not None:
            on_loss(Loss(document.id, "labels", detail="labels with a number or a place"))
        else:
            results.append(_choice(label, document.id) | _head(label))
    task: dict[str, Any] = {"predictions": []}
    if any("head" in result for result in results):
        task["predictions"] = [{"model_version": VERSION, "result": results}]
    elif results:
        task["annotations"] = [{"result": results}]
    metadata = as_json(document.metadata, document.id)
    if clash := metadata.keys() & {"id", "text"}:
        on_loss(Loss(document.id, "metadata", len(clash), "a task's data have their own id and text"))
    task["data"] = {**metadata, "id": document.id, "text": document.text}
    return task


def _region(document: Document, span: Span, numbers: Iterator[int]) -> dict[str, Any]:
    place = {"start": span.start, "end": span.end, "text": document.text[span.start : span.end], "labels": [span.type]}
    region = {
        "id": f"{MADE_ID}{next(numbers)}" if span.id is None else span.id,
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": place,
    }
    if span.score is not None:
        region["score"] = as_json(float(span.score), document.id)
    return region


def _head(part: Span | Relation | Label) -> dict[str, str]:
    return {} if part.head is None else {"head": part.head}


def _choice(label: Label, document: str) -> dict[str, Any]:
    result: dict[str, Any] = {"from_name": "choice", "to_name": "text", "type": "choices"}
    result["value"] = {"choices": [label.name]}
    if label.score is not None:
        result["score"] = as_json(float(label.score), document)
    return result


def _held_relations(document: Document, on_loss: Callable[[Loss], None]) -> Iterator[Relation]:
    """The relations between two spans; anything else about them is reported as lost."""
    for relation in document.relations:
        ends = relation.arguments
        plain = tuple(Argument(role, end.target) for role, end in zip(ROLES, ends, strict=False))
        if relation != Relation(relation.type, plain, head=relation.head) or not relation.type:
            on_loss(Loss(document.id, "relations", detail="everything but a type and two spans, from and to"))
        if len(ends) == 2 and all(end.kind == "span" for end in ends):
            yield relation


FORMAT = Format(
    name="labelstudio",
    title="Label Studio JSON",
    suffixes=(".labelstudio.json",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write,
)
