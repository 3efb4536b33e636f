"""Processes of their own, to see how long one takes to begin and how much memory it needs: what has run here before must not count."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from biomux import formats
from biomux.errors import AnnotateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document

SENTENCE = "Metformin lowers blood glucose in mice that lack SIRT3."

# The peak is that of this program alone: what a parent had before it began this one is in ru_maxrss, but not in VmHWM.
PROGRAM = """
import json, sys
from biomux.cli import run
code = run(sys.argv[2:])
peak = None
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
except (OSError, StopIteration):
    try:
        import resource
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    except ImportError:
        pass
with open(sys.argv[1], "w") as out:
    json.dump(peak, out)
sys.exit(code)
"""


def starts(folder: Path, *, number: int, threads: int, runtime: str) -> tuple[list[float], float | None]:
    """The seconds that each of several `biomux annotate "one sentence"` took, from its start to its end, and the most memory that one needed.

    One more before them fills the system's cache of files and does not count.
    """
    spent, peaks = [], []
    for turn in range(number + 1):
        begun = time.perf_counter()
        needed = _annotate(folder, ["--text", SENTENCE], threads=threads, runtime=runtime)
        if turn:
            spent.append(time.perf_counter() - begun)
            peaks.append(needed)
    known = [one for one in peaks if one is not None]
    return spent, max(known, default=None)


def peak_memory(folder: Path, documents: Sequence[Document], *, threads: int, runtime: str) -> float | None:
    """The most memory, in bytes, that a process needs to annotate the documents, or None where the system does not say."""
    write = formats.get("jsonl").write
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "documents.jsonl"
        if write is not None:
            with path.open("wb") as stream:
                write(iter(documents), stream, on_loss=formats.ignore)
        return _annotate(folder, [str(path)], threads=threads, runtime=runtime)


def _annotate(folder: Path, arguments: list[str], *, threads: int, runtime: str) -> float | None:
    with tempfile.TemporaryDirectory() as place:
        told = Path(place) / "peak.json"
        options = ["--bundle", str(folder), "--threads", str(threads), "--runtime", runtime, "--format", "jsonl"]
        command = [sys.executable, "-c", PROGRAM, str(told), "annotate", *options, *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)  # noqa: S603
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise AnnotateError(
                "BX603",
                f"a process that annotates ended with {done.returncode}: {said[-1] if said else 'nothing was said'}",
            )
        found = json.loads(told.read_text())
        return None if found is None else float(found)
