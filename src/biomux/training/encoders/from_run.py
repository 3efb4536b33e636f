"""The result of another run: its encoder (paper A's Frozen2, paper B's refined encoder), and its heads if they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safetensors.torch import load_file
from tokenizers import Tokenizer

from biomux.engine.packing import Specials
from biomux.errors import RecipeError, TrainingError
from biomux.recipes.run_folder import RunFolder
from biomux.tasks import restored
from biomux.training import encoders
from biomux.training.encoders.layer_maps import layer_map
from biomux.training.encoders.transformer import DROPOUTS, Transformer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor, nn

    from biomux.recipes import schema
    from biomux.tasks.task import Task

PREFIX = "encoder."


def load(
    folder: Path, *, dropout: float = 0.0, layers: int | None = None, take: schema.Take = "first"
) -> tuple[nn.Module, Tokenizer, Specials]:
    """The encoder of a run's best weights, or some of its layers, with the vocabulary that it was trained with."""
    run = RunFolder(folder)
    if not run.trained:
        raise TrainingError(
            "BX405",
            "cannot start from this run: it has no trained model",
            where=str(folder),
            hint="name the folder of a finished run in model.encoder.run",
        )
    described = run.description
    names = [name for name in DROPOUTS if name in described["encoder"]]
    encoder = encoders.build(described["encoder"] | dict.fromkeys(names, dropout))
    weights = load_file(run.weights)
    encoder.load_state_dict(
        {name.removeprefix(PREFIX): value for name, value in weights.items() if name.startswith(PREFIX)}
    )
    if layers is not None or not isinstance(take, str):
        if not isinstance(encoder, Transformer):
            raise RecipeError(
                "BX306",
                "cannot take some of the layers of this encoder: it is not a transformer",
                where="model → encoder → layers",
                hint="leave out layers and take, or name another run",
            )
        number = layers if layers is not None else len(take)
        encoder.keep_layers(layer_map(take, teacher=encoder.depth, student=number))
    tokenizer = Tokenizer.from_file(str(run.tokenizer))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return encoder, tokenizer, Specials(**described["specials"])


def heads(folder: Path, tasks: Sequence[Task], *, known: bool = False) -> dict[str, dict[str, Tensor]]:
    """The weights of the heads that a run has for these tasks, by task; BX405 if it has other labels for one, or lacks one and not only `known` ones are asked for."""
    run = RunFolder(folder)
    described = run.description
    run_tasks = {task_description["name"]: restored(task_description) for task_description in described["tasks"]}
    weights = load_file(run.weights)
    head_weights: dict[str, dict[str, Tensor]] = {}
    for task in tasks:
        if known and task.name not in run_tasks:
            continue
        if task.name not in run_tasks or run_tasks[task.name].labels != task.labels:
            reason = "it has other labels in the run" if task.name in run_tasks else "it is not in the run"
            raise TrainingError(
                "BX405",
                f"cannot keep the head {task.name!r}: {reason} to start from",
                where=str(folder),
                hint="set model.heads=fresh, or train the same tasks; model.heads=known keeps those that both have",
            )
        prefix = f"heads.{task.name}."
        head_weights[task.name] = {
            name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)
        }
    return head_weights
