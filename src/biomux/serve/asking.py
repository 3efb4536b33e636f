"""From a request to its answer, whatever the route: read the body, make documents, wait for the lanes, write."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from biomux.document import Document
    from biomux.serve.edge import Note
    from biomux.serve.responses import FormattedAnswer
    from biomux.serve.served_model import ServedModel
    from biomux.serve.service import Service
    from biomux.serve.work import Work

Result = TypeVar("Result")

SMALL = 4_000
"""Bytes that are parsed and written on the event loop itself; more goes to a thread."""


@dataclass(frozen=True)
class Prepared:
    """What a request asks for: work to do with documents, and how to write the results."""

    documents: Sequence[Document]
    work: Work
    write: Callable[[Sequence[Any]], FormattedAnswer]


async def answer(request: Request, prepare: Callable[[bytes, ServedModel], Prepared]) -> Response:
    """The answer to a request, whose body `prepare` parses. The model is the one in use when the request arrives."""
    service, note = service_of(request), note_of(request)
    if refusal := service.queue.full():
        raise refusal
    body = await service.bodies.read(request)
    note.bytes_in = len(body)
    try:
        model = service.model

        def understand() -> tuple[Prepared, list[int]]:
            prepared = prepare(body, model)
            prepared.work.check(model.annotator)
            return prepared, count(model, prepared.documents, most=service.settings.queue_tokens)

        prepared, tokens = await off_loop(len(body), understand)
        note.documents, note.tokens = len(prepared.documents), sum(tokens)
        note.job = await service.ask(model, prepared.work, prepared.documents, tokens, partial(_gone, request))
        done = note.job.done
        written = await off_loop(len(body), lambda: prepared.write(done))
    finally:
        service.bodies.release(body)
    headers = {"x-biomux-model": model.version}
    if written.not_held:
        headers["x-biomux-not-held"] = ", ".join(f"{name}={number}" for name, number in written.not_held.items())
    return Response(written.content, media_type=written.media, headers=headers)


def count(model: ServedModel, documents: Sequence[Document], *, most: int) -> list[int]:
    """The tokens of each document, with its pair and its questions. Counting stops once the total exceeds `most`."""
    counts = [0] * len(documents)
    total = 0
    for place, document in enumerate(documents):
        for text in (document.text, document.pair, *(question.text for question in document.questions)):
            counts[place] += model.tokens(text or "", most=most - total)
        total += counts[place]
        if total > most:
            break
    return counts


async def off_loop(size: int, function: Callable[[], Result]) -> Result:
    """The result of a function, called in a thread if there is much to do."""
    return function() if size <= SMALL else await asyncio.to_thread(function)


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


def note_of(request: Request) -> Note:
    """The note kept about a request."""
    note: Note = request.state.note
    return note


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
