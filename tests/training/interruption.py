"""Runs that are stopped in the middle of training, and resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file

from biomux.training import loop, run

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.recipes.schema import Recipe


def stop_at(step: int, recipe: Recipe, folder: Path, *, directory: Path) -> None:
    """Start a run that is interrupted before this step, counted from 0."""
    take_step = loop.step

    def interrupt(*arguments: Any) -> Any:
        if arguments[0].progress.step == step:
            raise KeyboardInterrupt
        return take_step(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run.start(recipe, folder, directory=directory)


def assert_resumes_to_the_same_weights(step: int, recipe: Recipe, folder: Path, *, directory: Path) -> None:
    """Train a recipe twice below a folder, as `whole` and, interrupted at a step and resumed, as `stopped`."""
    run.start(recipe, folder / "whole", directory=directory)
    stop_at(step, recipe, folder / "stopped", directory=directory)
    run.start(recipe, folder / "stopped", directory=directory)
    resumed, whole = (load_file(folder / name / "model.safetensors") for name in ("stopped", "whole"))
    assert resumed.keys() == whole.keys()
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)
