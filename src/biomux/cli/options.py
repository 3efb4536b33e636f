"""Options that several commands have, so that they are called and explained alike."""

from __future__ import annotations

from enum import StrEnum


class OnError(StrEnum):
    """What to do at a record, document or file that fails."""

    stop = "stop"
    skip = "skip"
