"""Teachers: runs or bundles from whose heads a student learns besides its labels, or instead of them.

A teacher may have another encoder and another vocabulary. Its outputs are kept on disk (`training.teacher_outputs`) and put beside the student's labels,
word by word: a word of the student has the logits of the teacher's word at the same characters, and is ignored if there is none. Tasks that
label windows (sentences, texts, pairs of texts) have the logits of the same question.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine.load import find
from biomux.errors import BundleError, TrainingError, did_you_mean
from biomux.tasks.crf_decoding import Chained
from biomux.tasks.examples import MASKED, Labels
from biomux.training import teacher_outputs
from biomux.training.model import TorchSession
from biomux.training.plan import Objective, taught

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.recipes.schema import Recipe, TeacherSettings
    from biomux.tasks.examples import Example
    from biomux.tasks.task import Task
    from biomux.training.plan import Plan
    from biomux.training.teacher_outputs import WordOutputs

UNLABELLED = "@unlabelled"
"""The name of examples of plain text in place of a task's; no task can have it."""


@dataclass(frozen=True)
class Teacher:
    """A model that teaches, and its checksum."""

    folder: Path
    annotator: Annotator
    checksum: str


def with_teacher(plan: Plan, settings: TeacherSettings, tasks: Sequence[Task]) -> Plan:
    """The plan in which the tasks that are taught have both losses, each with its weight; a loss with weight 0 is left out."""
    options: dict[str, object] = {} if settings.loss == "logit-mse" else {"temperature": settings.temperature}
    if settings.loss == "kl-divergence":
        options["direction"] = settings.direction
    chosen = {task.name for task in pupils(settings, tasks)}
    objectives: list[Objective] = []
    for label_objective in plan.objectives:
        if label_objective.head not in chosen:
            objectives.append(label_objective)
            continue
        share = settings.label_weight
        pair = (
            replace(label_objective, weight=share * label_objective.weight),
            Objective(settings.loss, label_objective.head, (1 - share) * label_objective.weight, "teacher", options),
        )
        objectives += [objective for objective in pair if objective.weight > 0]
    beside = {} if settings.text is None else {UNLABELLED: settings.text.share}
    return replace(plan, objectives=tuple(objectives), draw=replace(plan.draw, beside=beside))


def pupils(settings: TeacherSettings, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that are taught; refused if a named one does not exist, or if a teacher's outputs for it cannot be stored."""
    names = [task.name for task in tasks]
    for name in (*(settings.only or ()), *settings.heads):
        if name not in names:
            raise TrainingError(
                "BX452", f"there is no task {name!r} to teach", where="teacher", hint=did_you_mean(name, names)
            )
    chosen = [task for task in tasks if settings.only is None or task.name in settings.only]
    for task in chosen:
        if task.unit not in ("word", "window"):
            raise TrainingError(
                "BX452",
                f"cannot teach task {task.name!r}: teacher.models can only teach tasks that label words, sentences or texts",
                where="teacher → only",
                hint="name the tasks that are taught in teacher.only",
            )
        if task.objective != "cross-entropy" and settings.loss != "logit-mse":
            raise TrainingError(
                "BX561",
                f"{settings.loss} compares one choice among labels, which task {task.name!r} does not make",
                where="teacher → loss",
                hint="set teacher.loss=logit-mse, or leave the task out of teacher.only",
            )
    return chosen


def folder_of(path: str) -> Path:
    """The folder of a run or bundle. A bundle may be named as usual: "default", or the run that added a head to it."""
    try:
        return find(path)
    except BundleError:
        return Path(path)


def load(path: str) -> Teacher:
    """A teacher of a run or bundle."""
    import biomux

    folder = folder_of(path)
    annotator = biomux.load(folder)
    if isinstance(annotator.session, TorchSession):  # its outputs are kept in half precision anyway
        annotator.session.compute_fast()
    return Teacher(folder, annotator, checksum(folder))


def checksum(folder: Path) -> str:
    """A checksum of everything that decides a model's outputs: its weights, or its graph, its tokenizer and its description."""
    digest = sha256()
    names = (
        ("manifest.json",)
        if (folder / "manifest.json").is_file()
        else ("model.safetensors", "model.json", "tokenizer.json")
    )
    for name in names:  # a bundle's manifest has the checksums of all its files
        try:
            with (folder / name).open("rb") as stream:
                while data := stream.read(1 << 20):
                    digest.update(data)
        except OSError as error:
            raise TrainingError(
                "BX452",
                f"cannot read the teacher: {error.strerror}",
                where=str(folder / name),
                hint="name the folder of a finished run or of a bundle in teacher.models",
            ) from None
    return digest.hexdigest()


def checksums(recipe: Recipe) -> dict[str, str]:
    """The checksum of each teacher of a recipe, by its name in the recipe."""
    return {} if recipe.teacher is None else {path: checksum(folder_of(path)) for path in recipe.teacher.models}


def teach(
    recipe: Recipe,
    tasks: Sequence[Task],
    documents: Mapping[str, Sequence[Document]],
    examples: Sequence[Example],
    *,
    place: Path,
    listen: Callable[[str], None],
) -> tuple[list[Example], dict[str, Counter[str]]]:
    """The examples with the teachers' outputs for their words, and the counts of each task."""
    settings = recipe.teacher
    if settings is None or settings.label_weight == 1 or not settings.labelled:
        return list(examples), {}
    chosen = {task.name: documents[task.name] for task in pupils(settings, tasks)}
    outputs = answers(settings, tasks, chosen, place=place, listen=listen)
    counts: dict[str, Counter[str]] = {name: Counter() for name in outputs}
    return [_taught(example, outputs, counts) for example in examples], counts


def answers(
    settings: TeacherSettings,
    tasks: Sequence[Task],
    documents: Mapping[str, Sequence[Document]],
    *,
    place: Path,
    listen: Callable[[str], None],
) -> dict[str, list[WordOutputs]]:
    """Each teacher's outputs for the documents of these tasks, in the order of the task's labels."""
    outputs_by_task: dict[str, list[WordOutputs]] = {name: [] for name in documents}
    for path in settings.models:
        teacher = load(path)
        # Tasks on the same documents are asked together, so that the encoder reads each text once.
        by_documents: dict[int, list[Task]] = {}
        for task in tasks:
            if task.name in documents:
                by_documents.setdefault(id(documents[task.name]), []).append(task)
        for together in by_documents.values():
            heads = {task.name: _head(teacher, task, settings.heads.get(task.name, task.name)) for task in together}
            outputs = teacher_outputs.kept(
                teacher.annotator,
                list({head.name: head for head, _ in heads.values()}.values()),
                documents[together[0].name],
                place=place,
                checksum=teacher.checksum,
                listen=listen,
            )
            for name, (head, columns) in heads.items():
                outputs_by_task[name].append(replace(outputs[head.name], columns=columns))
    return outputs_by_task


def _head(teacher: Teacher, task: Task, name: str) -> tuple[Task, tuple[int, ...]]:
    """The teacher's task of that name, and the positions of the student's labels among its own."""
    teacher_heads: dict[str, Task] = {
        head_task.name: head_task for head_task in (*teacher.annotator.tasks, *teacher.annotator.asking)
    }
    head = teacher_heads.get(name)
    if head is None:
        raise TrainingError(
            "BX452",
            f"this teacher has no head {name!r}",
            where=str(teacher.folder),
            hint=f"say which of its heads teaches {task.name!r} in teacher.heads; {did_you_mean(name, teacher_heads)}",
        )
    if isinstance(head, Chained):
        raise TrainingError(
            "BX452",
            f"head {name!r} of this teacher is a conditional random field: its logits for single words are not its answers",
            where=str(teacher.folder),
            hint="use a teacher with a linear, two-layer or BiLSTM head",
        )
    if set(head.labels) != set(task.labels):
        ours, theirs = (
            ", ".join(sorted(set(first.labels) - set(second.labels))) for first, second in ((task, head), (head, task))
        )
        raise TrainingError(
            "BX452",
            f"head {name!r} of this teacher has other labels than {task.name!r}: missing {ours or 'none'}, additional {theirs or 'none'}",
            where=str(teacher.folder),
            hint="train both on the same types with the same scheme",
        )
    if head.unit != task.unit or (task.unit == "window" and not _asks_the_same(head, task)):
        raise TrainingError(
            "BX452",
            f"head {name!r} of this teacher labels other parts of a text than {task.name!r}",
            where=str(teacher.folder),
            hint="give both tasks the same kind and the same settings",
        )
    return head, tuple(head.labels.index(label) for label in task.labels)


def _asks_the_same(head: Task, task: Task) -> bool:
    """Whether the questions of both have the same numbers, whatever the tokenizer."""
    ours, theirs = getattr(task, "reads", None), getattr(head, "reads", None)
    if ours is not None or theirs is not None:
        return bool(ours == theirs)
    return _settings(head) == _settings(task)


def _settings(task: Task) -> dict[str, Any]:
    """The settings of a task, except its name and the order of its labels."""
    settings: dict[str, Any] = asdict(task)  # type: ignore[call-overload]
    return {"kind": task.kind} | {
        name: sorted(value) if name == "types" else value for name, value in settings.items() if name != "name"
    }


def _taught(
    example: Example, outputs: Mapping[str, Sequence[WordOutputs]], counts: Mapping[str, Counter[str]]
) -> Example:
    """An example with the mean of the teachers' outputs for each of its heads; NaN if one of them has no such word."""
    teacher_labels: dict[str, Labels] = {}
    for head, labels in example.labels.items():
        if not outputs.get(head):
            continue
        mean = said(example, labels, outputs[head])
        alone = int(np.isnan(mean[:, 0]).sum())
        noun = "words" if labels.unit in ("word", "token") else "readings"
        counts[head][f"{noun} that a teacher answers for"] += len(mean) - alone
        counts[head][f"{noun} without a partner in a teacher's"] += alone
        teacher_labels[taught(head)] = spelt(mean, labels, example)
    return replace(example, labels={**example.labels, **teacher_labels}) if teacher_labels else example


def said(example: Example, labels: Labels, outputs: Sequence[WordOutputs]) -> NDArray[np.float32]:
    """The mean of the teachers' logits for each word of an example, or for its question."""
    document, number = example.source
    starts, ends = example.tokens.starts, example.tokens.ends
    if labels.unit == "window":
        starts, ends = np.array([number], dtype=np.int32), np.zeros(1, dtype=np.int32)
    mean: NDArray[np.float32] = np.stack([output.at(document, starts, ends) for output in outputs]).mean(
        axis=0, dtype=np.float32
    )
    return mean


def spelt(logits: NDArray[np.float32], labels: Labels, example: Example) -> Labels:
    """The logits of words as targets of the head: its words, all tokens of each, or the window. Context is masked."""
    if labels.unit == "window":
        return Labels("window", logits)
    if labels.unit == "token":
        tokens = example.tokens
        copied = np.full((len(tokens), logits.shape[1]), np.nan, dtype=np.float32)
        if len(logits):
            copied[tokens.first[0] :] = np.repeat(logits, np.diff(np.append(tokens.first, len(tokens))), axis=0)
        logits = copied
    return Labels(labels.unit, np.where((labels.values == MASKED)[:, None], np.float32(np.nan), logits))
