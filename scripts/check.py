"""Every check that a change must pass: lint, format, types, docs, tests. Arguments go to pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "--quiet", "."),
    ("mypy",),
    ("mkdocs", "build", "--strict", "--quiet"),
    ("pytest", "-n", "auto", "--durations", "15", *sys.argv[1:]),
)


def main() -> int:
    """Run the checks in order; the first that fails ends it with its exit code."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # else the theme advertises its successor
    for module, *arguments in CHECKS:
        print(f"{module} {' '.join(arguments)}", flush=True)
        done = subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, env=environment, check=False)  # noqa: S603
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
