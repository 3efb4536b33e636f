"""Two processes that train together, as torchrun starts them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent


def run_two(code: str, *arguments: object) -> None:
    """Run code twice at once, as ranks 0 and 1; fails with what they said if one of them fails."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    environment |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    # Once, of hundreds of times, torch aborted while the interpreter of a process that had done its work was shut down: that is left out.
    leave = "\nimport os\nsys.stderr.flush()\nos._exit(0)\n"
    command = [sys.executable, "-c", f"import sys\n{code}{leave}", *map(str, arguments)]
    both = [
        subprocess.Popen(command, env={**environment, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=600)[1] for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0], said
