"""Whether the Hugging Face hub can be asked at all."""

from __future__ import annotations

import os
import socket
from functools import cache

HOST = "huggingface.co"
ELSEWHERE = ("HF_ENDPOINT", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
"""Variables that send requests another way, of which a look-up of the host's name says nothing."""


@cache
def reachable() -> bool:
    """Whether the hub's name can be looked up; True where a proxy or a mirror is asked instead.

    Without a network the hub's own library tries again and again for half a minute before it says so. What was loaded before is found all the same.
    """
    if any(os.environ.get(name) for name in ELSEWHERE):
        return True
    try:
        socket.getaddrinfo(HOST, 443)
    except OSError:
        return False
    return True
