"""What was found out about this machine once and need not be found out again: small JSON files in the user's folder for such things.

A file that is damaged, or of something else, says nothing; what cannot be written is remembered until the process ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "BIOMUX_CACHE"
"""A folder to be used instead of the system's usual one, or "off"."""

LARGEST = 64 * 1024

_unwritten: dict[Path, str] = {}
"""What the files would hold that could not be written."""


def folder() -> Path | None:
    """The folder; None where nothing shall be kept. It may not be there yet."""
    named = os.environ.get(VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None)
    try:
        if named:
            return None if named.lower() == "off" else Path(named).expanduser()
        if base:
            return Path(base) / "biomux"
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "biomux"
    except RuntimeError:  # a user without a home, or ~ before the name of no user
        return None


def recall(what: str, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was kept under a key; None if nothing usable was."""
    path = _path(what, key)
    if path is None:
        return None
    try:
        value = json.loads(_unwritten.get(path) or _read(path))
    except (OSError, ValueError, RecursionError):
        return None
    usable = isinstance(value, dict) and value.get("key") == dict(key) and isinstance(value.get("value"), dict)
    return dict(value["value"]) if usable else None


def keep(what: str, key: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Keep a value of JSON; whether that was possible. The file is there whole or not at all."""
    path = _path(what, key)
    if path is None:
        return False
    content = json.dumps({"key": dict(key), "value": dict(value)}, indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(content)
            Path(fresh).replace(path)
        except OSError:
            Path(fresh).unlink(missing_ok=True)
            raise
    except OSError:
        _unwritten[path] = content
        return False
    _unwritten.pop(path, None)
    return True


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(LARGEST)


def _path(what: str, key: Mapping[str, Any]) -> Path | None:
    place = folder()
    if place is None:
        return None
    name = hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()
    return place / f"{what}-{name[:32]}.json"
