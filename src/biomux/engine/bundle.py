"""A bundle: the directory that a run is exported to, and that the engine runs from.

    BUNDLE/
    ├── manifest.json     format, version, and every other file with its size and sha256
    ├── graph.onnx        the encoder once, all heads
    ├── tokenizer.json
    ├── heads.json        heads with their labels and temperatures, special pieces, the longest window
    ├── types.json        plain type names, and which heads' types stand behind each
    ├── examples.jsonl    documents with the answers that they must get: `biomux verify` compares
    └── card.md           data, intended use, limits, scores

Files are hostile until checked: sizes and checksums first, then the graph, then anything else.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biomux.engine.packing import Specials
from biomux.errors import BundleError
from biomux.tasks.tagging import Tagging

FORMAT = "biomux-bundle"
VERSION = 1
LARGEST_FILE = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that has been read and found whole."""

    folder: Path
    manifest: dict[str, Any]
    graph: bytes
    tokenizer: str
    tasks: tuple[Tagging, ...]
    columns: dict[str, tuple[int, int]]
    temperatures: dict[str, float]
    specials: Specials
    limit: int
    types: dict[str, Any]


def read(folder: Path) -> Bundle:
    """Read and check a bundle."""
    manifest = _manifest(folder)
    files = {name: _file(folder, name, described) for name, described in manifest["files"].items()}
    heads = json.loads(files["heads.json"])
    return Bundle(
        folder=folder,
        manifest=manifest,
        graph=files["graph.onnx"],
        tokenizer=files["tokenizer.json"].decode(),
        tasks=tuple(Tagging(head["name"], tuple(head["types"]), head["scheme"]) for head in heads["heads"]),
        columns={head["name"]: (head["columns"][0], head["columns"][1]) for head in heads["heads"]},
        temperatures={head["name"]: float(head["temperature"]) for head in heads["heads"]},
        specials=Specials(**heads["specials"]),
        limit=int(heads["limit"]),
        types=json.loads(files["types.json"]) if "types.json" in files else {},
    )


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise BundleError(
            "BX501", "there is no bundle here", where=str(folder), hint="name a folder that `biomux export` made"
        )
    manifest: dict[str, Any] = json.loads(path.read_bytes())
    if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
        raise BundleError(
            "BX502",
            f"the manifest says {manifest.get('format')!r} version {manifest.get('version')!r}, and this is version {VERSION}",
            where=str(path),
            hint="use the Biomux version that made it",
        )
    return manifest


def _file(folder: Path, name: str, described: dict[str, Any]) -> bytes:
    path = folder / name
    try:
        if path.stat().st_size != described["size"] or described["size"] > LARGEST_FILE:
            raise BundleError(
                "BX503", f"{name} does not have the size in the manifest", where=str(folder), hint="fetch it again"
            )
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(
            "BX503", f"cannot read {name}: {error.strerror}", where=str(folder), hint="fetch it again"
        ) from None
    if hashlib.sha256(content).hexdigest() != described["sha256"]:
        raise BundleError("BX503", f"{name} is not what the manifest says", where=str(folder), hint="fetch it again")
    return content
