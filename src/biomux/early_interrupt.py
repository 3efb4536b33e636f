"""Ctrl-C while the command still starts: nothing has begun that must be tidied up, so it ends at once, in one word.

An interrupt in the middle of an import would show where in Python it fell, and some modules do not survive it.
"""

from __future__ import annotations

import os
import signal


def hold() -> None:
    """From here on Ctrl-C ends the process by itself, with exit code 130; unless somebody has decided otherwise (nohup)."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def release() -> None:
    """Ctrl-C is a KeyboardInterrupt again, if it was held."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: object) -> None:
    del number, frame
    try:
        os.write(2, b"stopped\n")
    finally:
        os._exit(130)
