"""From a run to an annotator, without the corpora that the run was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer

from biomux.engine.annotator import Annotator
from biomux.engine.packing import Specials
from biomux.errors import TrainingError
from biomux.recipes.run_folder import RunFolder
from biomux.tasks import restored
from biomux.training import encoders
from biomux.training.build import make_model
from biomux.training.heads.crf import chained
from biomux.training.model import TorchSession

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from biomux.tasks.task import Task
    from biomux.training.model import Model


def load_run(folder: Path, *, threads: int | None = None) -> Annotator:
    """The annotator of a run's best weights, running on torch. `annotate` uses the heads that tag, `answer` the others."""
    if threads:
        torch.set_num_threads(threads)
    model, tasks, tokenizer = read_run(folder)
    described = RunFolder(folder).description
    specials, limit = Specials(**described["specials"]), int(described["limit"])
    decoded = [chained(task, model.heads[task.name]) for task in tasks]
    return Annotator.of_tasks(
        TorchSession(model), tokenizer, specials, decoded, limit=limit, name=folder.resolve().name
    )


def read_run(folder: Path) -> tuple[Model, list[Task], Tokenizer]:
    """The model of a run's best weights, its tasks and its tokenizer; BX406 if they cannot be read."""
    run = RunFolder(folder)
    described = run.description
    try:
        tasks = [restored(task_description) for task_description in described["tasks"]]
        tokenizer = Tokenizer.from_file(str(run.tokenizer))
        model = _model(run, tasks, tokenizer)
        Specials(**described["specials"]), int(described["limit"])
    except (KeyError, TypeError, ValueError, RuntimeError, OSError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise TrainingError(
            "BX406",
            f"cannot load the model: {type(error).__name__}: {reason}",
            where=str(folder),
            hint="name the folder that `biomux train` made, with this version of Biomux",
        ) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return model, tasks, tokenizer


def _model(run: RunFolder, tasks: Sequence[Task], tokenizer: Tokenizer) -> Model:
    weights = load_file(run.weights)
    model = make_model(run.recipe, tasks, encoders.build(run.description["encoder"]), tokenizer)
    model.load_state_dict(weights)
    model.eval()
    return model
