"""Run the tutorials from their own text, as a reader would: in a fresh virtual environment and an empty folder. Says how many minutes each takes.

    python scripts/tutorials.py                                    # all of them, in a new environment
    python scripts/tutorials.py docs/tutorial/own-tagger.md        # one of them
    python scripts/tutorials.py --venv .venv-tutorials             # in this environment, which is made if it is not there, and kept

The normal tests run the blocks of a page that take seconds; those marked `<!-- not run: takes minutes -->` are run here too. A block marked
`<!-- runs until the end of the page -->` is started and left running while the next ones are run; its port, 8080, becomes one that is free.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs/tutorial"
EXTRAS = "train,serve,report"
BLOCK = re.compile(
    r"(?P<before>^[^\n]*\n)?^```(?P<language>sh|console|python|pycon)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
STAYS = "<!-- runs until the end of the page -->"
PORT = "8080"
PATIENCE = 120
"""Seconds in which a service must listen, and in which it must stop."""


def blocks(text: str) -> list[tuple[str, str, bool]]:
    """The language and code of every block that is run here, and whether it is left running.

    >>> blocks("<!-- not run: takes minutes -->\\n```sh\\nbiomux train x\\n```\\n<!-- not run: yours -->\\n```sh\\nbiomux x\\n```\\n")
    [('sh', 'biomux train x\\n', False)]
    """
    found = []
    for block in BLOCK.finditer(text):
        before = block["before"] or ""
        if not before.startswith("<!-- not run: ") or before.startswith("<!-- not run: takes "):
            found.append((block["language"], block["code"], before.startswith(STAYS)))
    return found


def on_free_port(text: str) -> str:
    """The page with a free port in place of 8080, if something on it is left running: another service may have that one."""
    if STAYS not in text:
        return text
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return text.replace(PORT, str(taken.getsockname()[1]))


@contextlib.contextmanager
def running(code: str, folder: Path) -> Iterator[None]:
    """Run a `biomux` command that says an address when it is ready, and stop it in the end as Ctrl-C does. It must then end well."""
    with (folder / "service.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", *shlex.split(code, comments=True)], cwd=folder, stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + PATIENCE
        while "http://" not in (said := (folder / "service.log").read_text(encoding="utf-8")):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{code.strip()} did not start: {said}")
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            ended = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    if ended:
        raise RuntimeError(f"{code.strip()} ended with {ended}: {(folder / 'service.log').read_text(encoding='utf-8')}")


def run_python(code: str, names: dict[str, Any]) -> None:
    """Run a block, of a program or of a session with its answers, with the names of the blocks before it."""
    if not code.lstrip().startswith(">>>"):
        exec(code, names)  # noqa: S102 (our own page)
        return
    test = doctest.DocTestParser().get_doctest(code, names, "page", None, None)
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    names |= test.globs
    if report:
        raise AssertionError("".join(report))


def run_shell(code: str, folder: Path) -> None:
    """Run the lines of a block in a shell; the first one that fails ends it."""
    subprocess.run(["bash", "-euo", "pipefail", "-c", code], cwd=folder, check=True)  # noqa: S603, S607


def run_console(code: str, folder: Path) -> None:
    """Run the commands of a block that shows what they print; they must print that."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        told = subprocess.run(["bash", "-c", line], cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603, S607
        if told.stdout != output:
            raise AssertionError(f"{line}\nprinted: {told.stdout}\nexpected: {output}")


def run_page(page: Path, folder: Path) -> None:
    """Run a page in a folder with this Python. Whatever fails ends it."""
    os.chdir(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.ExitStack() as left_running:
        for language, code, stays in blocks(on_free_port(page.read_text(encoding="utf-8"))):
            begun = time.monotonic()
            if stays:
                left_running.enter_context(running(code, folder))
            elif language == "sh":
                run_shell(code, folder)
            elif language == "console":
                run_console(code, folder)
            else:
                run_python(code, names)
            print(f"--- {time.monotonic() - begun:6.1f} s: {code.strip().splitlines()[0][:100]}", flush=True)


def environment(folder: Path) -> Path:
    """The Python of a virtual environment with the package installed from this tree, as it is now; dependencies only where it is new."""
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q"]
    if python.is_file():
        subprocess.run([*install, "--force-reinstall", "--no-deps", str(ROOT)], check=True)  # noqa: S603
        return python
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603
    constraints = ["-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, *constraints, f"{ROOT}[{EXTRAS}]", "pandas"], check=True)  # noqa: S603
    return python


def main() -> None:
    """Run the pages that are named, or all, each in a folder of its own; a page that fails does not keep the others from being run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help="Pages to run; all tutorials unless given.")
    parser.add_argument("--venv", type=Path, help="Environment to use and keep; made if it is not there.")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        run_page(given.inside, Path.cwd())
        return
    told: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.monotonic()
        python = environment((given.venv or Path(scratch) / "venv").absolute())
        print(f"=== environment: {(time.monotonic() - begun) / 60:.1f} minutes", flush=True)
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        env["PATH"] = f"{python.parent}{os.pathsep}{env['PATH']}"
        for page in [path.resolve() for path in given.pages] or sorted(PAGES.glob("*.md")):
            folder = Path(scratch) / page.stem
            folder.mkdir()
            shutil.copytree(ROOT / "examples", folder / "examples")
            print(f"=== {page.name}", flush=True)
            begun = time.monotonic()
            done = subprocess.run(  # noqa: S603
                [str(python), str(Path(__file__).resolve()), "--inside", str(page)], cwd=folder, env=env
            )
            told[page.name] = f"{(time.monotonic() - begun) / 60:.1f} minutes{' FAILED' * (done.returncode != 0)}"
    for name, what in told.items():
        print(f"{name}: {what}")
    sys.exit(any("FAILED" in what for what in told.values()))


if __name__ == "__main__":
    main()
