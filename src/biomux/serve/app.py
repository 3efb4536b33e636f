"""The routes of the service."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI looks at it
from starlette.responses import Response

import biomux
from biomux.errors import BiomuxError, ServeError
from biomux.serve import bodies, docs_page, error_replies, label_studio, page_files, requests, responses
from biomux.serve.asking import Prepared, answer, note_of, service_of
from biomux.serve.edge import Edge
from biomux.serve.metrics import MEDIA
from biomux.serve.requests import AnnotateQuestion, AskQuestion, PairsQuestion
from biomux.serve.service import ClientLeftError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

    from biomux.serve.served_model import ServedModel
    from biomux.serve.service import Service

LEFT = 499
"""The status in the log for a request whose client has disconnected."""


def build(service: Service) -> ASGIApp:
    """The whole application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="Biomux",
        version=biomux.__version__,
        summary="Genes, chemicals, diseases and more in biomedical text.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=docs_page.ERRORS,
    )
    app.state.service = service
    app.exception_handler(BiomuxError)(_on_error)
    app.exception_handler(ClientLeftError)(_on_left)
    app.exception_handler(HTTPException)(_on_http)
    app.exception_handler(Exception)(_on_bug)
    app.post("/annotate", **docs_page.asking(AnnotateQuestion))(annotate)
    app.post("/pairs", **docs_page.asking(PairsQuestion))(pairs)
    app.post("/ask", **docs_page.asking(AskQuestion) | {"responses": docs_page.JSON_ANSWER | docs_page.REFUSALS})(ask)
    app.get("/info")(info)
    app.get("/health")(health)
    app.get("/ready")(ready)
    app.get("/metrics", response_class=Response, responses=docs_page.METRICS)(metrics)
    app.get("/docs", response_class=Response, responses=docs_page.HTML)(docs)
    app.get("/", include_in_schema=False)(page)
    app.get("/page/{name}", include_in_schema=False)(page_file)
    label_studio.add(app)
    application: ASGIApp = Edge(app, service)
    if service.settings.cors_origins:
        from starlette.middleware.cors import CORSMiddleware

        application = CORSMiddleware(
            application,
            allow_origins=list(service.settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-request-id"],
            expose_headers=["x-request-id", "server-timing", "x-biomux-not-held", "retry-after"],
        )
    return application


async def annotate(request: Request) -> Response:
    """Find entities in texts, as `biomux annotate` does.

    Give one of `text`, `texts`, `documents` and `content`. The answer about a text is the same bytes whatever else the service computes.
    """

    def prepare(body: bytes, model: ServedModel) -> Prepared:
        del model
        question = requests.checked(bodies.parse(body), AnnotateQuestion)
        shape = responses.chosen(question.format, request.headers.get("accept"))
        work = question.work()
        documents = requests.documents(question, most=service_of(request).settings.max_documents)
        single = question.text is not None
        return Prepared(documents, work, lambda done: responses.written(done, shape, one=single))

    return await answer(request, prepare)


async def pairs(request: Request) -> Response:
    """Compare pairs of texts (similarity, inference), as `biomux pairs` does: a document for each pair, with labels."""

    def prepare(body: bytes, model: ServedModel) -> Prepared:
        del model
        question = requests.checked(bodies.parse(body), PairsQuestion)
        shape = responses.chosen(question.format, request.headers.get("accept"))
        documents = question.documents(most=service_of(request).settings.max_documents)
        return Prepared(documents, question.work(), lambda done: responses.written(done, shape, one=False))

    return await answer(request, prepare)


async def ask(request: Request) -> Response:
    """Answer a question from texts, as `biomux ask` does: the best answers of all texts, each with its place and the sentence around it."""

    def prepare(body: bytes, model: ServedModel) -> Prepared:
        del model
        question = requests.checked(bodies.parse(body), AskQuestion)
        documents = requests.documents(question, most=service_of(request).settings.max_documents)
        return Prepared(documents, question.work(), lambda done: responses.best(done, question.n))

    return await answer(request, prepare)


async def info(request: Request) -> dict[str, Any]:
    """The bundle: its card, types with their thresholds and calibration, heads; the limits and formats of this service."""
    service = service_of(request)
    format_names = {"answers": list(responses.SHAPES), "content": list(requests.FILES)}
    return {**service.model.info(), "limits": service.settings.limits(), "formats": format_names}


async def health() -> dict[str, str]:
    """Whether the process answers at all."""
    return {"status": "UP", "model_class": "Biomux"}


async def ready(request: Request) -> dict[str, str]:
    """Whether the model answers: 503 while the service stops."""
    service = service_of(request)
    if not service.ready:
        raise ServeError("BX810", "the service is not ready", hint="ask again later")
    return {"status": "ready", "model": service.model.version}


async def metrics(request: Request) -> Response:
    """Counts for Prometheus."""
    service = service_of(request)
    service.metrics.observe(service.queue)
    return Response(await asyncio.to_thread(service.metrics.text), headers={"content-type": MEDIA})


async def docs(request: Request) -> Response:
    """This description, to read."""
    return Response(docs_page.render(request.app.openapi()), media_type="text/html")


async def page() -> Response:
    """A page to try the service in the browser."""
    return page_files.reply("index.html")


async def page_file(name: str) -> Response:
    """A file of the page."""
    return page_files.reply(name)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BiomuxError)
    note_of(request).code = error.code
    headers = error_replies.headers(error, retry_after=service_of(request).lanes.retry_after())
    return Response(
        error_replies.body(error), error_replies.status(error), headers=headers, media_type=error_replies.JSON
    )


async def _on_left(request: Request, error: Exception) -> Response:
    del request, error
    return Response(status_code=LEFT)


async def _on_http(request: Request, error: Exception) -> Response:
    """No such route, or not with this method."""
    assert isinstance(error, HTTPException)
    allowed = (error.headers or {}).get("Allow")
    message = f"this address accepts {allowed}, not {request.method}" if allowed else "there is no such address"
    reply_error = ServeError("BX808", message, hint="/docs lists all addresses")
    note_of(request).code = reply_error.code
    return Response(
        error_replies.body(reply_error), error.status_code, headers=error.headers, media_type=error_replies.JSON
    )


async def _on_bug(request: Request, error: Exception) -> Response:
    """Starlette raises the error again after this answer, and the edge logs it."""
    del error
    note_of(request).code = "BX811"
    return Response(error_replies.body(error_replies.bug()), 500, media_type=error_replies.JSON)
