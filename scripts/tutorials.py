"""Run a tutorial from its own text, the long parts too, in a new folder, and say how long each block takes.

    python scripts/tutorials.py docs/tutorial/own-tagger.md docs/tutorial/add-a-type.md

The normal tests run the blocks of a page that take seconds; those marked `<!-- not run: takes minutes -->` are run here.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(?P<before>^[^\n]*\n)?^```(?P<language>sh|python)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and code of every block that is run, here or in the tests.

    >>> blocks("<!-- not run: takes minutes -->\\n```sh\\nbiomux train x\\n```\\n<!-- not run: yours -->\\n```sh\\nbiomux x\\n```\\n")
    [('sh', 'biomux train x\\n')]
    """
    found = []
    for block in BLOCK.finditer(text):
        before = block["before"] or ""
        if not before.startswith("<!-- not run: ") or before.startswith("<!-- not run: takes "):
            found.append((block["language"], block["code"]))
    return found


def run(page: Path, folder: Path) -> float:
    """Run a page in a folder; the seconds that it took. A command that fails ends it."""
    total = 0.0
    for language, code in blocks(page.read_text(encoding="utf-8")):
        begun = time.monotonic()
        if language == "python":
            subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)  # noqa: S603
        else:
            for line in code.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words:
                    subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True)  # noqa: S603
        seconds = time.monotonic() - begun
        total += seconds
        print(f"--- {seconds:6.1f} s: {code.strip().splitlines()[0][:100]}", flush=True)
    return total


def main() -> None:
    """Run the pages that are named."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "examples", Path(folder) / "examples")
            seconds = run(Path(name).resolve(), Path(folder))
        print(f"=== {name}: {seconds / 60:.1f} minutes")


if __name__ == "__main__":
    main()
