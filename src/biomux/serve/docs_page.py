"""The description of the service: what OpenAPI says beyond the routes, and `/docs`, which shows it without any script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from biomux.serve import error_replies
from biomux.serve.responses import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

Responses = dict[int | str, dict[str, Any]]


def _errors(**meanings: str) -> Responses:
    content = {error_replies.JSON: {"schema": dict(error_replies.SCHEMA)}}
    return {int(status[1:]): {"description": meaning, "content": content} for status, meaning in meanings.items()}


ERRORS = _errors(
    _401="No valid API key, if keys are required.",
    _500="A bug in Biomux; the log says where.",
    _503="The service is stopping or could not answer in time. `Retry-After` says when to try again.",
)
"""What any route may answer."""

REFUSALS = _errors(
    _400="The body is not JSON.",
    _406="No format that the client accepts.",
    _408="The body did not arrive in time.",
    _413="The body, the number of documents or the texts are too large.",
    _415="The content type is not application/json.",
    _422="A field is unknown or unusable, or a document cannot be read.",
    _429="The queue is full. `Retry-After` says when to try again.",
)
"""What a route with a body may answer beyond that."""

ANSWERS: Responses = {
    200: {
        "description": "The documents with what was found, in the format that was asked for.",
        "headers": {
            "X-Request-ID": {"schema": {"type": "string"}, "description": "As sent, else a new one."},
            "Server-Timing": {"schema": {"type": "string"}, "description": "Milliseconds: total, queue, inference."},
            "X-Biomux-Not-Held": {
                "schema": {"type": "string"},
                "description": "What the format cannot hold, with counts.",
            },
        },
        "content": {shape.media: {} for shape in SHAPES.values()},
    }
}
JSON_ANSWER: Responses = {
    200: {
        **ANSWERS[200],
        "content": {error_replies.JSON: {"schema": {"type": "object"}}},
        "description": "The best answers.",
    }
}
OBJECT: Responses = {
    status: {
        "description": "What Label Studio expects.",
        "content": {error_replies.JSON: {"schema": {"type": "object"}}},
    }
    for status in (200, 201)
}
METRICS: Responses = {200: {"description": "Prometheus text.", "content": {"text/plain": {}}}}
HTML: Responses = {200: {"description": "A page.", "content": {"text/html": {}}}}


def body(model: type[BaseModel]) -> dict[str, Any]:
    """The body of a route in OpenAPI."""
    content = {error_replies.JSON: {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


def asking(model: type[BaseModel]) -> dict[str, Any]:
    """What FastAPI needs to know about a route that answers in many formats."""
    return {"response_class": Response, "openapi_extra": body(model), "responses": ANSWERS | REFUSALS}


def render(description: Mapping[str, Any]) -> str:
    """The page `/docs`: every route with its fields and answers."""
    parts: list[str] = []
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            parts += _route(path, method, route)
    info = description["info"]
    formats = "".join(f"<li><code>{name}</code>: {escape(_accept(name))}</li>" for name in SHAPES)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}: the service</title>"
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="page/style.css"></head><body class="docs"><main>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('summary', ''))} "
        'The same as <a href="openapi.json">OpenAPI</a>. <a href="./">Try it</a>.</p>'
        f"{''.join(parts)}<h2>Formats of answers</h2><p>By the field <code>format</code>, or by the header <code>Accept</code>:</p>"
        f"<ul>{formats}</ul></main></body></html>"
    )


def _accept(name: str) -> str:
    shape = SHAPES[name]
    return shape.media + (f'; profile="{shape.profile}"' if shape.profile else "")


def _route(path: str, method: str, route: Mapping[str, Any]) -> Iterable[str]:
    text = "".join(f"<p>{escape(part)}</p>" for part in route.get("description", "").split("\n\n"))
    yield f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>{text}"
    schema = route.get("requestBody", {}).get("content", {}).get(error_replies.JSON, {}).get("schema", {})
    if schema.get("properties"):
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(_kinds(field))}</td><td>{escape(field.get('description', ''))}</td></tr>"
            for name, field in schema["properties"].items()
        )
        yield f"<table><thead><tr><th>field</th><th>type</th><th>meaning</th></tr></thead><tbody>{rows}</tbody></table>"
    rows = "".join(
        f"<tr><td>{escape(status)}</td><td>{escape(answer['description'])}</td></tr>"
        for status, answer in sorted(route.get("responses", {}).items())
    )
    yield f"<table><thead><tr><th>status</th><th>meaning</th></tr></thead><tbody>{rows}</tbody></table></section>"


def _kinds(field: Mapping[str, Any]) -> str:
    kinds = field.get("anyOf") or [field]
    return " or ".join(str(kind.get("type", "any")) for kind in kinds if kind.get("type") != "null")
