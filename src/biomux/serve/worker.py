"""One worker process, as `workers` starts it: `python -m biomux.serve.worker`."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

from biomux.errors import BiomuxError
from biomux.serve import server
from biomux.serve.settings import ServeSettings
from biomux.serve.workers import SETTINGS, SOCKET


def main() -> int:
    """Serve on the inherited socket; returns the exit code."""
    settings = ServeSettings.from_json(os.environ[SETTINGS])
    listening = socket.socket(fileno=int(os.environ[SOCKET]))
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        server.run(settings, listening)
    except BiomuxError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    return 0


def _end_with_parent(parent: int) -> None:
    """End with the parent: a worker whose parent was killed would hold the port for ever."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), 15)


if __name__ == "__main__":
    sys.exit(main())
