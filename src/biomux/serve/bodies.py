"""The body of a request: read with limits of size and time before anything looks into it, then parsed as JSON."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from biomux.errors import ServeError

if TYPE_CHECKING:
    from starlette.requests import Request

    from biomux.serve.settings import ServeSettings


class BodyReader:
    """Reads bodies; all bodies held at once have at most `settings.max_bodies` bytes."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self.held = 0

    async def read(self, request: Request) -> bytes:
        """The whole body. Refused by its announced length if it has one, else as soon as it is too long. Call `release` when done with it."""
        _must_be_json(request)
        announced = request.headers.get("content-length")
        if announced is not None and announced.isdecimal():
            self._must_fit(int(announced))
        try:
            return await asyncio.wait_for(self._chunks(request), self._settings.body_timeout)
        except TimeoutError:
            raise ServeError(
                "BX804",
                f"the body did not arrive within {self._settings.body_timeout:g} seconds",
                hint="send the request again",
            ) from None

    def release(self, body: bytes) -> None:
        """Stop counting a body that is no longer held."""
        self.held -= len(body)

    async def _chunks(self, request: Request) -> bytes:
        body = bytearray()
        try:
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ServeError("BX804", "the client disconnected before its body was complete")
                chunk: bytes = message.get("body", b"")
                self._must_fit(len(body) + len(chunk), more=len(chunk))
                body += chunk
                self.held += len(chunk)
                if not message.get("more_body", False):
                    return bytes(body)
        except BaseException:
            self.held -= len(body)
            raise

    def _must_fit(self, size: int, *, more: int = 0) -> None:
        if size > self._settings.max_body:
            raise ServeError(
                "BX803",
                f"the body has more than {self._settings.max_body:,} bytes",
                hint="send several smaller requests, or start the service with a higher --max-body",
            )
        if self.held + (more or size) > self._settings.max_bodies:
            raise ServeError(
                "BX809", "the service is busy: too many bodies at once", hint="send the request again later"
            )


def parse(body: bytes) -> Any:
    """The JSON value of a body."""
    import orjson

    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        reason = "it is empty" if not body.strip() else f"{error.msg}, line {error.lineno} column {error.colno}"
        raise ServeError("BX801", f"the body is not JSON: {reason}", hint="send a JSON object in UTF-8") from None
    except RecursionError:
        raise ServeError("BX801", "the body is nested too deeply", hint="send a JSON object in UTF-8") from None


def _must_be_json(request: Request) -> None:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        media_given = repr(media) if media else "none"
        raise ServeError(
            "BX805",
            f"the content type must be application/json, got {media_given}",
            hint="send the header Content-Type: application/json",
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise ServeError(
            "BX805", f"the content encoding must be identity, got {encoding!r}", hint="send the body uncompressed"
        )
