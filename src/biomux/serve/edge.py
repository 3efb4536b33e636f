"""The edge, which every request passes: its id, the key, safe headers, timing, the log. Of a bug, clients see only the code."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.errors import ServeError
from biomux.serve import error_replies

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from biomux.serve.job_queue import Job
    from biomux.serve.service import Service

_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)

SAFE = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer, unless the answer has its own."""


@dataclass
class Note:
    """What is recorded about a request while it runs, for its headers and its line in the log."""

    id: str
    begun: float = field(default_factory=time.perf_counter)
    job: Job | None = None
    documents: int = 0
    tokens: int = 0
    bytes_in: int = 0
    status: int = 0
    bytes_out: int = 0
    code: str | None = None

    def timing(self) -> str:
        """The header Server-Timing: milliseconds in total, in the queue, and of inference."""
        total = (time.perf_counter() - self.begun) * 1000
        parts = {"total": total}
        if self.job is not None:
            parts |= {"queue": self.job.queued * 1000, "inference": self.job.computed * 1000}
        return ", ".join(f"{name};dur={value:.1f}" for name, value in parts.items())


class Edge:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        client_id = headers.get(b"x-request-id", "")
        note = Note(client_id if _ID.fullmatch(client_id) else uuid.uuid4().hex)
        scope.setdefault("state", {})["note"] = note
        answered = _Answer(send, note)
        try:
            if self._service.keys.allow(headers.get(b"authorization")):
                await self._app(scope, receive, answered)
            else:
                refusal = ServeError("BX807", "no valid API key", hint="send Authorization: Bearer KEY")
                await reply(answered, note, refusal)
        except Exception as error:  # a bug: the client gets only its code, and it is logged
            self._service.log.bug(error)
            if not note.status:
                await reply(answered, note, error_replies.bug())
        finally:
            self._tell(scope, note)

    def _tell(self, scope: Scope, note: Note) -> None:
        route = getattr(scope.get("route"), "path", None) or "unknown"
        seconds = time.perf_counter() - note.begun
        metrics = self._service.metrics
        metrics.requests.labels(route, str(note.status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        metrics.observe(self._service.queue)
        fields: dict[str, Any] = {
            "id": note.id,
            "method": scope["method"] if scope["method"] in {"GET", "POST", "HEAD", "OPTIONS"} else "other",
            "route": route,
            "status": note.status,
            "ms": round(seconds * 1000, 1),
            "client": (scope.get("client") or ("unknown",))[0],
            "bytes_in": note.bytes_in,
            "bytes_out": note.bytes_out,
        }
        if note.job is not None:
            fields |= {"queue_ms": round(note.job.queued * 1000, 1), "inference_ms": round(note.job.computed * 1000, 1)}
            fields |= {"documents": note.documents, "tokens": note.tokens}
        if note.code:
            fields["code"] = note.code
        self._service.log.request(**fields)


class _Answer:
    """Passes an answer on, with the headers that every answer has."""

    def __init__(self, send: Send, note: Note) -> None:
        self._send = send
        self._note = note

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._note.status = message["status"]
            present = {name.lower() for name, _ in message["headers"]}
            more = {"x-request-id": self._note.id, "server-timing": self._note.timing()} | SAFE
            message["headers"] = [
                *message["headers"],
                *((name.encode(), value.encode()) for name, value in more.items() if name.encode() not in present),
            ]
        elif message["type"] == "http.response.body":
            self._note.bytes_out += len(message.get("body", b""))
        await self._send(message)


async def reply(send: Send, note: Note, error: ServeError) -> None:
    """An error as a whole answer, without any framework."""
    content = error_replies.body(error)
    note.code = error.code
    headers = {"content-type": error_replies.JSON, "content-length": str(len(content)), **error_replies.headers(error)}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": error_replies.status(error), "headers": pairs})
    await send({"type": "http.response.body", "body": content})
