"""Chromium for tests of the page: Debian's, driven by playwright; None where there is none."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


def missing() -> str | None:
    """Why there is no browser, if there is none."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "needs playwright (pip install playwright)"
    return None if executable() else "needs Chromium (apt-get install chromium)"


def executable() -> str | None:
    return os.environ.get("BIOMUX_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def axe() -> str | None:
    """The source of axe-core, which finds what keeps people from using a page: BIOMUX_AXE names axe.min.js."""
    named = os.environ.get("BIOMUX_AXE")
    return Path(named).read_text(encoding="utf-8") if named and Path(named).is_file() else None


@contextmanager
def browser() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=executable(), args=FLAGS)
        try:
            yield running
        finally:
            running.close()
