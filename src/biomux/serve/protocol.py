"""HTTP/1.1 with a deadline for headers, and malformed requests answered like all other errors.

uvicorn waits for a first request, and for the end of its headers, as long as the client likes: a thousand clients that send a byte now and
then would hold a thousand connections for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from biomux.errors import ServeError
from biomux.serve import error_replies

if TYPE_CHECKING:
    import asyncio

    from biomux.serve.settings import ServeSettings

LINGER = 1.0
"""Seconds that a connection with a malformed request is still read from, and ignored."""


def protocol(settings: ServeSettings) -> type[H11Protocol]:
    """The protocol with the deadlines of a service."""

    class Deadlines(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        _refused = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch(settings.header_timeout)

        def connection_lost(self, exc: Exception | None) -> None:
            self._disarm()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._disarm()  # a request is being answered: its own limits hold

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.transport.is_closing():
                self._watch(settings.keep_alive + settings.header_timeout)

        def send_400_response(self, msg: str) -> None:
            del msg
            error = ServeError("BX801", "the request is not HTTP/1.1, or its headers are too large")
            content = error_replies.body(error)
            headers = [
                (b"content-type", error_replies.JSON.encode()),
                (b"content-length", str(len(content)).encode()),
                (b"connection", b"close"),
            ]
            for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=content), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            # If it were closed at once with bytes unread, the system would reset the connection and the answer would be lost.
            self._refused = True
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self._watch(LINGER)

        def _watch(self, seconds: float) -> None:
            self._disarm()
            self._timer = self.loop.call_later(seconds, self._late)

        def _disarm(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _late(self) -> None:
            idle = self._refused or self.cycle is None or self.cycle.response_complete
            if idle and not self.transport.is_closing():
                self.transport.close()

    return Deadlines
