"""Export: a run becomes a bundle."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file

from biomux import __version__
from biomux.engine.bundle import FORMAT, VERSION
from biomux.errors import BundleError, TrainingError
from biomux.learn import graph

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def export(run: Path, target: Path, *, precision: graph.Precision = "int8", card: str = "") -> None:
    """Write the best weights of a run as a bundle; the folder appears under its name only when whole."""
    if target.exists():
        raise BundleError("BX504", "the target exists already", where=str(target), hint="remove it or name another")
    if not (run / "model.safetensors").is_file():
        raise TrainingError(
            "BX405", "there is no trained model here", where=str(run), hint="name the folder that `biomux train` made"
        )
    described = json.loads((run / "model.json").read_text())
    weights = load_file(run / "model.safetensors")
    prefix = "encoder.body."
    encoder = {
        name.removeprefix(prefix): value.astype(np.float32)
        for name, value in weights.items()
        if name.startswith(prefix)
    }
    names = [task["name"] for task in described["tasks"]]
    heads = _heads(weights, names)
    made = graph.bert(encoder, described["encoder"], heads, precision=precision)
    fresh = target.with_name(f".{target.name}.part")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    (fresh / "graph.onnx").write_bytes(made.SerializeToString())
    shutil.copy(run / "tokenizer.json", fresh / "tokenizer.json")
    (fresh / "heads.json").write_text(json.dumps(_table(described, heads), indent=1) + "\n")
    (fresh / "card.md").write_text(card)
    manifest = {"format": FORMAT, "version": VERSION, "biomux": __version__, "files": _files(fresh)}
    (fresh / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    fresh.rename(target)


def _heads(weights: Mapping[str, Floats], names: list[str]) -> tuple[list[tuple[Floats, Floats]], ...]:
    """The layers of all heads: for each depth the (matrix, bias) of every head."""
    layers: list[list[tuple[Floats, Floats]]] = []
    for name in names:
        own = sorted(key for key in weights if key.startswith(f"heads.{name}.") and key.endswith(".weight"))
        for depth, key in enumerate(own):
            if len(layers) <= depth:
                layers.append([])
            layers[depth].append(
                (weights[key].T.astype(np.float32), weights[key.removesuffix("weight") + "bias"].astype(np.float32))
            )
    if len({len(layer) for layer in layers}) > 1:
        raise BundleError(
            "BX505", "heads of different depths cannot stand in one graph", hint="train them with one kind of head"
        )
    return tuple(layers)


def _table(described: dict[str, Any], heads: tuple[list[tuple[Floats, Floats]], ...]) -> dict[str, Any]:
    table, at = [], 0
    for task, (_, bias) in zip(described["tasks"], heads[-1], strict=True):
        table.append({**task, "columns": [at, at + len(bias)], "temperature": 1.0})
        at += len(bias)
    return {"heads": table, "specials": described["specials"], "limit": described["limit"]}


def _files(folder: Path) -> dict[str, Any]:
    return {
        path.name: {"size": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in sorted(folder.iterdir())
    }
