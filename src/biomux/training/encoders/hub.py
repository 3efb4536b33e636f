"""Whether the Hugging Face hub can be reached at all."""

from __future__ import annotations

import os
import socket
from functools import cache

HOST = "huggingface.co"
ELSEWHERE = ("HF_ENDPOINT", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
"""Variables that route requests another way, so that looking up the host's name proves nothing."""


@cache
def reachable() -> bool:
    """Whether the hub's name can be looked up; True if a proxy or a mirror is used instead.

    Without a network, the hub's own library retries for half a minute before it fails. Files downloaded before are found in any case.
    """
    if any(os.environ.get(name) for name in ELSEWHERE):
        return True
    try:
        socket.getaddrinfo(HOST, 443)
    except OSError:
        return False
    return True
