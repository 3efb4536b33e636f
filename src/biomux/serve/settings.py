"""How a service is started: plain values that can be passed to worker processes."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where to listen, what to serve, and what a request may cost. Times are in seconds, sizes in bytes; `biomux serve --help` describes each."""

    bundle: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    threads: int | None = None
    runtime: str = "auto"
    api_key_file: str | None = None
    cors_origins: tuple[str, ...] = ()
    max_body: int = 10_000_000
    max_bodies: int = 100_000_000
    max_documents: int = 1_000
    queue_tokens: int = 131_072
    batch_tokens: int = 8_192
    timeout: float = 60.0
    body_timeout: float = 20.0
    header_timeout: float = 20.0
    keep_alive: float = 30.0
    max_connections: int = 1_536
    drain_timeout: float = 60.0
    access_log: bool = True

    def to_json(self) -> str:
        """As text, for a worker's environment."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ServeSettings:
        """The settings in the text of `to_json`."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**{**fields, "cors_origins": tuple(fields["cors_origins"])})

    def limits(self) -> dict[str, float]:
        """The limits that a client should know before it sends a request."""
        names = ("max_body", "max_documents", "queue_tokens", "timeout", "body_timeout")
        return {name: getattr(self, name) for name in names}
