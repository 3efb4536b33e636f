"""Commands run on a terminal of their own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys


def on_a_terminal(*arguments: str, columns: int, **environment: str) -> str:
    """What `biomux` with these arguments writes to a terminal of so many columns, colours included."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(columns)} | environment
    command = [sys.executable, "-m", "biomux", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            written += data
        process.wait(60)
    os.close(ours)
    return written.decode()
