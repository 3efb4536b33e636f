"""Label Studio's ML backend: the addresses that its server calls, so that curators start from what the model found.

Nothing is kept between requests: Label Studio sends the project's labelling interface each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI looks at it
from starlette.responses import Response

from biomux.document import Document
from biomux.engine.query import Query
from biomux.errors import ServeError
from biomux.serve import bodies, docs_page, error_replies, label_config, requests, responses
from biomux.serve.asking import Prepared, answer, note_of, service_of
from biomux.serve.work import Annotate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI

    from biomux.serve.label_config import Interface
    from biomux.serve.responses import FormattedAnswer
    from biomux.serve.served_model import ServedModel

TRAIN = "export the project as JSON, and train with: biomux train export.json"


class Setup(BaseModel):
    """What Label Studio sends when a project is connected; its other fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    schema_: str = Field(
        "", alias="schema", description="The labelling interface, as XML. Empty: the service is only tested."
    )


class Tasks(BaseModel):
    """What Label Studio sends to have tasks pre-annotated."""

    model_config = ConfigDict(extra="ignore")

    tasks: list[dict[str, Any]] = Field(description="Tasks with their `data`.")
    label_config: str = Field(description="The labelling interface, as XML.")


class Event(BaseModel):
    """What Label Studio sends about annotations: nothing in it is used."""

    model_config = ConfigDict(extra="ignore")


def add(app: FastAPI) -> None:
    """Add the addresses to the service. It already has `/health`."""
    options: Any = {
        "response_class": Response,
        "responses": docs_page.REFUSALS | docs_page.OBJECT,
        "tags": ["Label Studio"],
    }
    app.post("/setup", openapi_extra=docs_page.body(Setup), **options)(setup)
    app.post("/predict", openapi_extra=docs_page.body(Tasks), **options)(predict)
    app.post("/webhook", openapi_extra=docs_page.body(Event), **options)(webhook)


async def setup(request: Request) -> Response:
    """Connect a Label Studio project: the model's version, and which type each label means (nearest by name)."""
    question = requests.checked(await _body(request), Setup)
    model = service_of(request).model
    reply: dict[str, Any] = {"model_version": model.version}
    if question.schema_:
        interface = label_config.read(question.schema_, model.annotator.types)
        service_of(request).log.event("label studio", id=note_of(request).id, **interface.told())
        reply |= interface.told()
    return _json(reply)


async def predict(request: Request) -> Response:
    """Pre-annotate tasks of a Label Studio project: spans with scores, and relations where the interface has them."""

    def prepare(body: bytes, model: ServedModel) -> Prepared:
        question = requests.checked(bodies.parse(body), Tasks)
        requests.must_be_few(len(question.tasks), service_of(request).settings.max_documents)
        interface = label_config.read(question.label_config, model.annotator.types)
        documents = [_document(place, task, interface) for place, task in enumerate(question.tasks, 1)]
        kinds = None if interface.relations else ("entities",)
        query = Query(types=tuple(dict.fromkeys(interface.types.values())), tasks=kinds)
        return Prepared(documents, Annotate(query), lambda done: _predictions(done, interface, model.version))

    return await answer(request, prepare)


async def webhook(request: Request) -> Response:
    """Accept what Label Studio sends about annotations. The service does not train; the answer says how to."""
    requests.checked(await _body(request), Event)
    return _json({"status": "not used", "hint": TRAIN}, status=201)


def _document(place: int, task: Mapping[str, Any], interface: Interface) -> Document:
    data = task.get("data")
    text = data.get(interface.key) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise ServeError(
            "BX814",
            f"the task has no text under {interface.key!r}",
            where=f"task {task.get('id', place)}",
            hint="the interface's <Text> names the key of the task's data",
        )
    return Document(str(place), text)


def _predictions(documents: Sequence[Document], interface: Interface, version: str) -> FormattedAnswer:
    return responses.of_json({"results": [_prediction(document, interface, version) for document in documents]})


def _prediction(document: Document, interface: Interface, version: str) -> dict[str, Any]:
    """A document's entities as regions; the score of all is the mean of theirs, by which Label Studio can sort tasks."""
    names = {span.id or f"biomux-{place}": span for place, span in enumerate(document.spans, 1)}
    regions = [
        {
            "id": name,
            "from_name": interface.labels,
            "to_name": interface.text,
            "type": "labels",
            "value": {
                "start": span.start,
                "end": span.end,
                "text": document.text[span.start : span.end],
                "labels": [interface.label(span.type)],
            },
            "score": span.score,
        }
        for name, span in names.items()
    ]
    scores = [span.score for span in document.spans if span.score is not None]
    return {
        "result": [*regions, *_relations(document, interface, names)],
        "score": round(sum(scores) / len(scores), 4) if scores else 0.0,
        "model_version": version,
    }


def _relations(document: Document, interface: Interface, names: Mapping[str, object]) -> list[dict[str, Any]]:
    """Relations between two regions, under the interface's nearest name."""
    relations = []
    for relation in document.relations:
        ends = [end.target for end in relation.arguments]
        name = label_config.nearest_type(relation.type, interface.relations)
        if name is not None and len(ends) == 2 and all(end in names for end in ends):
            linked = {"type": "relation", "from_id": ends[0], "to_id": ends[1], "direction": "right"}
            relations.append(
                {**linked, "labels": [name], **({} if relation.score is None else {"score": relation.score})}
            )
    return relations


async def _body(request: Request) -> Any:
    """The JSON of a small request."""
    service = service_of(request)
    body = await service.bodies.read(request)
    try:
        note_of(request).bytes_in = len(body)
        return bodies.parse(body)
    finally:
        service.bodies.release(body)


def _json(value: object, *, status: int = 200) -> Response:
    return Response(responses.of_json(value).content, status, media_type=error_replies.JSON)
