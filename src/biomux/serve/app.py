"""The routes of the service."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI looks at it
from starlette.responses import Response

import biomux
from biomux.errors import BiomuxError, ServeError
from biomux.serve import answers, bodies, docs_page, page_files, questions, replies
from biomux.serve.edge import Edge, Note
from biomux.serve.metrics import MEDIA
from biomux.serve.questions import AnnotateQuestion, Question
from biomux.serve.service import ClientLeftError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from starlette.types import ASGIApp

    from biomux.document import Document
    from biomux.serve.model import Model
    from biomux.serve.service import Service
    from biomux.serve.work import Work

Result = TypeVar("Result")

SMALL = 4_000
"""Bytes that are parsed and written on the event loop itself; more goes to a thread."""

LEFT = 499
"""The status in the log of a request whose client has left."""


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
    app.post(
        "/annotate",
        response_class=Response,
        openapi_extra=docs_page.body(AnnotateQuestion),
        responses=docs_page.ANSWERS | docs_page.REFUSALS,
    )(annotate)
    app.get("/info")(info)
    app.get("/health")(health)
    app.get("/ready")(ready)
    app.get("/metrics", response_class=Response, responses=docs_page.METRICS)(metrics)
    app.get("/docs", response_class=Response, responses=docs_page.HTML)(docs)
    app.get("/", include_in_schema=False)(page)
    app.get("/page/{name}", include_in_schema=False)(page_file)
    whole: ASGIApp = Edge(app, service)
    if service.settings.cors_origins:
        from starlette.middleware.cors import CORSMiddleware

        whole = CORSMiddleware(
            whole,
            allow_origins=list(service.settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-request-id"],
            expose_headers=["x-request-id", "server-timing", "x-biomux-not-held", "retry-after"],
        )
    return whole


async def annotate(request: Request) -> Response:
    """Find entities in texts, as `biomux annotate` does.

    Give one of `text`, `texts`, `documents` and `content`. The answer about a text is the same bytes whatever else the service computes.
    """
    return await answer(request, AnnotateQuestion, lambda question: question.work())


async def info(request: Request) -> dict[str, Any]:
    """The bundle: its card, types with their thresholds and calibration, heads; the limits and formats of this service."""
    service = _service(request)
    known = {"answers": list(answers.SHAPES), "content": list(questions.FILES)}
    return {**service.model.info(), "limits": service.settings.limits(), "formats": known}


async def health() -> dict[str, str]:
    """Whether the process answers at all."""
    return {"status": "UP"}


async def ready(request: Request) -> dict[str, str]:
    """Whether the model answers: 503 while the service stops."""
    service = _service(request)
    if not service.ready:
        raise ServeError("BX810", "the service is not ready", hint="ask again later")
    return {"status": "ready", "model": service.model.version}


async def metrics(request: Request) -> Response:
    """Counts for Prometheus."""
    service = _service(request)
    service.metrics.observe(service.queue)
    return Response(await asyncio.to_thread(service.metrics.text), headers={"content-type": MEDIA})


async def docs(request: Request) -> Response:
    """This description, to read."""
    return Response(docs_page.render(request.app.openapi()), media_type="text/html")


async def page() -> Response:
    """A page to try the service in the browser."""
    return page_files.reply("index.html")


async def page_file(name: str) -> Response:
    """What the page consists of."""
    return page_files.reply(name)


Asked = TypeVar("Asked", bound=Question)


async def answer(request: Request, kind: type[Asked], work_of: Callable[[Asked], Work]) -> Response:
    """From a request to its answer: read the body, make documents, wait for the lanes, write."""
    service, note = _service(request), _note(request)
    if refusal := service.queue.full():
        raise refusal
    body = await service.bodies.read(request)
    note.bytes_in = len(body)
    try:
        model = service.model

        def prepare() -> tuple[Asked, str, Work, list[Document], list[int]]:
            question = questions.checked(bodies.parse(body), kind)
            shape = answers.chosen(question.format, request.headers.get("accept"))
            work = work_of(question)
            work.check(model.annotator)
            found = questions.documents(question, most=service.settings.max_documents)
            return question, shape, work, found, count(model, found, most=service.settings.queue_tokens)

        question, shape, work, documents, tokens = await _off_loop(len(body), prepare)
        note.documents, note.tokens = len(documents), sum(tokens)
        note.job = await service.ask(model, work, documents, tokens, partial(_gone, request))
        done = [document for document in note.job.done if document is not None]
        one = question.text is not None
        written = await _off_loop(len(body), lambda: answers.written(done, shape, one=one))
    finally:
        service.bodies.release(body)
    headers = {"x-biomux-model": model.version}
    if written.not_held:
        headers["x-biomux-not-held"] = ", ".join(f"{name}={number}" for name, number in written.not_held.items())
    return Response(written.content, media_type=written.media, headers=headers)


def count(model: Model, documents: Sequence[Document], *, most: int) -> list[int]:
    """The tokens of each document. Counting ends, and the rest counts as nothing, where all together are more than `most`."""
    found = [0] * len(documents)
    total = 0
    for place, document in enumerate(documents):
        found[place] = model.tokens(document.text, most=most - total)
        total += found[place]
        if total > most:
            break
    return found


async def _off_loop(size: int, function: Callable[[], Result]) -> Result:
    return function() if size <= SMALL else await asyncio.to_thread(function)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _note(request: Request) -> Note:
    note: Note = request.state.note
    return note


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BiomuxError)
    _note(request).code = error.code
    headers = replies.headers(error, retry_after=_service(request).lanes.retry_after())
    return Response(replies.body(error), replies.status(error), headers=headers, media_type=replies.JSON)


async def _on_left(request: Request, error: Exception) -> Response:
    del request, error
    return Response(status_code=LEFT)


async def _on_http(request: Request, error: Exception) -> Response:
    """No such route, or not with this method."""
    assert isinstance(error, HTTPException)
    what = "method" if error.status_code == 405 else "address"
    told = ServeError("BX808", f"there is no such {what}", hint="/docs lists all addresses")
    _note(request).code = told.code
    return Response(replies.body(told), error.status_code, headers=error.headers, media_type=replies.JSON)


async def _on_bug(request: Request, error: Exception) -> Response:
    """Starlette raises the error again after this answer, and the edge logs it."""
    del error
    _note(request).code = "BX811"
    return Response(replies.body(replies.bug()), 500, media_type=replies.JSON)
