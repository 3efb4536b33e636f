"""A vector for each task and corpus, by what the task asks of the encoder: root-mean-square gradients (the diagonal of the Fisher information).

For a sample of a task's training examples, the loss of its head is differentiated by the encoder's weights. The squares are averaged over
examples, which is the diagonal of the empirical Fisher information; then over the inputs of each unit, which leaves one number for each unit of
each layer; and the root is used. Word vectors are left out, since vocabularies may differ. The vector has length 1.

Why this one: the mean of the encoder's states would be the same for all tasks on one corpus (paper D's four tasks), since it sees texts and no
labels. Gradients see both: tasks are near if they pull at the same units. It needs no further training and no second model.

Vectors can be compared between runs that started from the same encoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from biomux.engine.packing import Specials
from biomux.errors import TrainingError
from biomux.recipes.run_folder import RunFolder
from biomux.tasks import restored
from biomux.tasks.examples import make
from biomux.training import encoders
from biomux.training.batches import collate
from biomux.training.build import make_model
from biomux.training.objectives import OBJECTIVES
from biomux.training.task_documents import Library, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.tasks.examples import Example
    from biomux.tasks.task import Task
    from biomux.training.model import Model

METHOD = (
    "A task's vector is the root-mean-square gradient of its loss at each unit of the encoder's layers, over {examples} training examples "
    "(the diagonal of the empirical Fisher information, averaged over each unit's inputs), scaled to length 1. The map shows the two "
    "principal axes of the vectors: tasks that are near pull the encoder the same way."
)
EXAMPLES = 100
"""How many training examples of each task are used."""


class Vector(NamedTuple):
    """The vector of a task of a run. `examples` is the number it was computed from."""

    task: str
    kind: str
    corpus: str
    values: NDArray[np.float64]
    examples: int


def of_run_tasks(
    folder: Path, *, directory: Path | None = None, examples: int = EXAMPLES, only: Sequence[str] | None = None
) -> Iterator[Vector]:
    """The vector of each task of a run, at the run's best weights."""
    run = RunFolder(folder)
    recipe, described, weights = run.recipe, run.description, run.weights
    tasks = [restored(task_description) for task_description in described["tasks"]]
    tokenizer = Tokenizer.from_file(str(run.tokenizer))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    model = make_model(recipe, tasks, encoders.build(described["encoder"]), tokenizer)
    model.load_state_dict(load_file(weights))
    model.eval()
    for weight in model.parameters():
        weight.requires_grad_(True)
    library, specials = Library(directory, recipe.documents), Specials(**described["specials"])
    for task in tasks:
        if only is not None and task.name not in only:
            continue
        documents = spread(library.training(task.name, recipe.tasks[task.name]), 4 * examples)
        all_examples = make(task, documents, tokenizer, limit=int(described["limit"])).examples
        sample: list[Example] = spread(all_examples, examples)  # type: ignore[arg-type,assignment]
        if not sample:
            raise TrainingError(
                "BX404", f"task {task.name!r} has no training examples", where=str(folder), hint="check its corpus"
            )
        values = vector(model, task, sample, specials)
        yield Vector(task.name, task.kind, recipe.tasks[task.name].corpus, values, len(sample))


def vector(model: Model, task: Task, examples: Sequence[Example], specials: Specials) -> NDArray[np.float64]:
    """The root-mean-square gradient of a task's loss at each unit of the encoder, of length 1."""
    weights = [(name, weight) for name, weight in model.encoder.named_parameters() if "embedding" not in name]
    if not weights:
        raise TrainingError("BX404", "cannot compare tasks: the encoder has no layers", hint="use another encoder")
    sums = [torch.zeros(len(weight), dtype=torch.float64) for _, weight in weights]
    head: Any = model.heads[task.name]
    # A head with its own loss (CRF) has no objective in the table.
    objective = None if hasattr(head, "loss") else OBJECTIVES[getattr(head, "objective", task.objective)]
    for number, example in enumerate(examples):
        part = collate([example], specials, seed=(0, number))
        target = part.targets.get(task.name)
        if target is None or not len(target.labels):
            continue
        model.zero_grad(set_to_none=True)
        features = model.features(part.batch)
        rows, labels = torch.from_numpy(target.rows), torch.from_numpy(target.labels)
        loss = head.loss(features, rows, labels) if objective is None else objective(head(features, rows), labels)
        (loss / len(target.labels)).backward()
        for total, (_, weight) in zip(sums, weights, strict=True):
            if weight.grad is not None:
                squares = weight.grad.to_dense().double().pow(2)
                total += squares.flatten(1).mean(1) if weight.dim() > 1 else squares
    model.zero_grad(set_to_none=True)
    gradients = np.sqrt(np.concatenate([total.numpy() for total in sums]) / max(len(examples), 1))
    size = float(np.linalg.norm(gradients))
    return np.asarray(gradients / size if size else gradients, dtype=np.float64)
