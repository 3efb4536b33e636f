"""The manifest of a bundle, and its files: each is read once, and must have the size and the checksum that the manifest says."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.engine.bundle import onnx_check, tokenizer_check
from biomux.engine.bundle.strict_json import HINT, Fields, parse
from biomux.errors import BundleError

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "biomux-bundle"
VERSION = 2
OLDEST = 1
"""Bundles from this version on are read: 1 is what Biomux 0.1.0 wrote, with taggers only."""
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 64 * 1024
MOST_FILES = 32
LARGEST_PAIRS = 64 * 1024 * 1024
LARGEST_WORDS = 64 * 1024 * 1024
LARGEST = {
    "graph.onnx": onnx_check.LARGEST_GRAPH,
    "pairs.onnx": LARGEST_PAIRS,
    "tokenizer.json": tokenizer_check.LARGEST_TOKENIZER,
    "words.onnx": onnx_check.LARGEST_GRAPH,
    "words.txt": LARGEST_WORDS,
    "heads.json": 1024 * 1024,
    "transitions.json": 16 * 1024 * 1024,
    "types.json": 1024 * 1024,
    "calibration.json": 16 * 1024 * 1024,
    "gate.json": 1024 * 1024,
    "examples.jsonl": 16 * 1024 * 1024,
    "card.md": 1024 * 1024,
}
"""File → the bytes that it may have."""
LARGEST_OTHER = 1024 * 1024
REQUIRED = ("graph.onnx", "heads.json")

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}(\.[a-z0-9]{1,16}){1,2}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest: which Biomux wrote the bundle, and for each file its size and sha256."""

    biomux: str
    files: dict[str, tuple[int, str]]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle, checked."""
    path = folder / MANIFEST
    if not path.exists() and not path.is_symlink():
        raise BundleError("BX501", "not a bundle", where=str(folder), hint="name a folder that `biomux export` made")
    whole = Fields.of(parse(_bytes(folder, MANIFEST, LARGEST_MANIFEST), str(path)), where=str(path), code="BX510")
    stated = whole.values.get("format"), whole.values.get("version")
    if stated[0] != FORMAT or type(stated[1]) is not int or not OLDEST <= stated[1] <= VERSION:
        raise BundleError(
            "BX502",
            f"the manifest says {str(stated[0])[:80]!r} version {str(stated[1])[:20]!r}; this Biomux reads {FORMAT!r} versions {OLDEST} to {VERSION}",
            where=str(path),
            hint="use the Biomux version that made it",
        )
    whole.text("format", longest=80)
    whole.whole("version", low=OLDEST, high=VERSION)
    biomux = whole.text("biomux", longest=80)
    files = whole.object("files")
    whole.end()
    if len(files.values) > MOST_FILES:
        files.refuse(f"there are more than {MOST_FILES} files")
    made = {name: _described(files, name, value) for name, value in files.values.items()}
    for name in REQUIRED:
        if name not in made:
            files.refuse(f"{name} is missing")
    return Manifest(biomux, made)


def read_file(folder: Path, name: str, manifest: Manifest) -> bytes:
    """The bytes of a file that the manifest names, if they are what it says."""
    size, sha256 = manifest.files[name]
    content = _bytes(folder, name, size)
    if len(content) != size or hashlib.sha256(content).hexdigest() != sha256:
        raise BundleError("BX503", f"{name} differs from the manifest", where=str(folder), hint=HINT)
    return content


def unlisted(folder: Path, manifest: Manifest) -> list[str]:
    """What lies in the folder and is not of the bundle."""
    return sorted(path.name for path in folder.iterdir() if path.name not in {*manifest.files, MANIFEST})


def _described(files: Fields, name: str, value: Any) -> tuple[int, str]:
    if not _PLAIN.fullmatch(name) or name == MANIFEST:
        files.refuse(f"{name[:80]!r} is no plain file name", code="BX507")
    fields = Fields.of(value, where=f"{files.where} → {name}", code="BX510")
    size = fields.whole("size", low=0, high=1 << 60)
    sha256 = fields.text("sha256", longest=64)
    fields.end()
    if not _SHA256.fullmatch(sha256):
        fields.refuse("'sha256' is none")
    if size > (largest := LARGEST.get(name, LARGEST_OTHER)):
        fields.refuse(f"{name} has {size} bytes; at most {largest} are allowed", code="BX509")
    return size, sha256


def _bytes(folder: Path, name: str, largest: int) -> bytes:
    """The bytes of an ordinary file, at most one more than `largest`. A link is not followed, a pipe is not waited for."""
    path = folder / name
    if path.is_symlink():
        raise BundleError("BX508", f"{name} is a link", where=str(folder), hint=HINT)
    # Opened once, and looked at as opened: what the name stands for cannot change in between.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BundleError("BX508", f"{name} is not a regular file", where=str(folder), hint=HINT)
            if status.st_size > largest and name == MANIFEST:
                raise BundleError(
                    "BX509", f"{name} is larger than the limit of {largest} bytes", where=str(folder), hint=HINT
                )
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                return stream.read(largest + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BundleError(
            "BX503", f"cannot read {name}: {error.strerror or error}", where=str(folder), hint=HINT
        ) from None
