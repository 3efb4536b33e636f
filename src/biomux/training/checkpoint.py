"""Checkpoints: everything that a run needs to resume exactly, as safetensors and JSON; nothing is ever unpickled.

A checkpoint is written beside its place and renamed when complete: a crash or a full disk leaves the previous one untouched.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from biomux.errors import TrainingError
from biomux.files import NEW, OLD, replaced_folder, whole_file

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn


def save(
    place: Path,
    *,
    model: nn.Module,
    optimizers: dict[str, torch.optim.Optimizer],
    extra: dict[str, Tensor],
    progress: dict[str, Any],
) -> None:
    """Write a checkpoint; the previous one is replaced only when the new one is complete."""
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    state, scalars = _optimizer_state(optimizers)
    state |= {f"extra/{name}": value.contiguous() for name, value in extra.items()}
    state |= _random_state(model)
    try:
        with replaced_folder(place) as fresh:
            save_file(weights, fresh / "model.safetensors")
            save_file(state, fresh / "state.safetensors")
            (fresh / "progress.json").write_text(json.dumps({**progress, "optimizers": scalars}, indent=2) + "\n")
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            "BX402",
            f"cannot save a checkpoint: {getattr(error, 'strerror', None) or error}",
            where=str(place),
            hint="free some disk space, then resume with `biomux train --resume`; the previous checkpoint is intact",
        ) from error


def save_model(place: Path, model: nn.Module) -> None:
    """Write only the weights."""
    try:
        with whole_file(place) as fresh:
            save_file({name: value.contiguous() for name, value in model.state_dict().items()}, fresh)
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            "BX402",
            f"cannot save the model: {getattr(error, 'strerror', None) or error}",
            where=str(place),
            hint="free some disk space, then resume with `biomux train --resume`",
        ) from error


def find(place: Path) -> Path | None:
    """The newest complete checkpoint: at its place, or, after a crash between two renames, beside it."""
    for candidate in (place, *(place.with_name(place.name + end) for end in (NEW, OLD))):
        if (candidate / "progress.json").is_file():
            return candidate
    return None


def load(
    place: Path, *, model: nn.Module, optimizers: dict[str, torch.optim.Optimizer]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Restore model, optimizers and random state; returns the progress and the extra tensors."""
    try:
        return _load(place, model=model, optimizers=optimizers)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise TrainingError(
            "BX406",
            f"the checkpoint is damaged, or of another model: {type(error).__name__}: {reason}",
            where=str(place),
            hint="restore the run's files, or start another run",
        ) from None


def _load(
    place: Path, *, model: nn.Module, optimizers: dict[str, torch.optim.Optimizer]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    model.load_state_dict(load_file(place / "model.safetensors"))
    progress: dict[str, Any] = json.loads((place / "progress.json").read_text())
    state = load_file(place / "state.safetensors")
    scalars = progress.pop("optimizers")
    for name, optimizer in optimizers.items():
        described = optimizer.state_dict()
        prefix = f"optimizer/{name}/"
        restored: dict[int, dict[str, Tensor | int]] = {}
        for key, value in state.items():
            if key.startswith(prefix):
                index, part = key[len(prefix) :].split("/")
                restored.setdefault(int(index), {})[part] = value
        if isinstance(optimizer, torch.optim.SparseAdam):  # it counts steps in a plain number, others in a tensor
            restored = {index: {**parts, "step": int(parts["step"])} for index, parts in restored.items()}
        described["state"] = restored
        for group, rate in zip(described["param_groups"], scalars[name], strict=True):
            group["lr"] = rate
        optimizer.load_state_dict(described)
    torch.set_rng_state(state["random/torch"])
    device = next(model.parameters()).device
    if device.type == "cuda" and "random/cuda" in state:
        torch.cuda.set_rng_state(state["random/cuda"], device)
    extra = {key.removeprefix("extra/"): value for key, value in state.items() if key.startswith("extra/")}
    return progress, extra


def _random_state(model: nn.Module) -> dict[str, Tensor]:
    device = next(model.parameters()).device
    cuda = {"random/cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"random/torch": torch.get_rng_state(), **cuda}


def _optimizer_state(optimizers: dict[str, torch.optim.Optimizer]) -> tuple[dict[str, Tensor], dict[str, list[float]]]:
    tensors: dict[str, Tensor] = {}
    rates: dict[str, list[float]] = {}
    for name, optimizer in optimizers.items():
        described = optimizer.state_dict()
        rates[name] = [float(group["lr"]) for group in described["param_groups"]]
        for index, parts in described["state"].items():
            for part, content in parts.items():
                value = torch.as_tensor(content)
                tensors[f"optimizer/{name}/{index}/{part}"] = (
                    value.contiguous() if value.ndim else value.reshape(()).clone()
                )
    return tensors, rates
