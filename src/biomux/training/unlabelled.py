"""Plain text without labels: its examples have the teachers' confident outputs for some heads, and nothing else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from biomux.document import Document
from biomux.engine.planner import groups
from biomux.errors import TrainingError, did_you_mean
from biomux.tasks.examples import Example, Labels, ModelInput
from biomux.tasks.softmax import softmax
from biomux.text.token_cache import remembering
from biomux.training import teachers
from biomux.training.plain_text import PlainText
from biomux.training.plan import taught

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.recipes.schema import TaughtText, TeacherSettings
    from biomux.tasks.task import Task

COUNTED = "text without labels"
"""The name under which counts and leaks of the text are listed."""


def documents(settings: TaughtText) -> list[Document]:
    """The documents of the text, numbered in order; those without words are left out."""
    texts = PlainText(settings).documents()
    return [Document(f"text:{number}", text) for number, text in enumerate(texts, 1) if text.strip()]


def pupils(settings: TeacherSettings, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that learn from the text."""
    chosen = teachers.pupils(settings, tasks)
    taught_tasks = {task.name: task for task in chosen}
    text = settings.text
    confidence = {} if text is None or not isinstance(text.confidence, dict) else text.confidence
    for name in (*(text.heads or () if text is not None else ()), *confidence):
        if name not in taught_tasks:
            raise TrainingError(
                "BX562",
                f"cannot learn {name!r} from text: no such task is taught",
                where="teacher → text",
                hint=did_you_mean(name, taught_tasks),
            )
    return [task for task in chosen if text is None or text.heads is None or task.name in text.heads]


def examples(
    settings: TeacherSettings,
    tasks: Sequence[Task],
    found: Sequence[Document],
    tokenizer: Tokenizer,
    *,
    limit: int,
    place: Path,
    listen: Callable[[str], None],
) -> tuple[list[Example], Counter[str]]:
    """The examples of the text, and their counts. Tasks that read text the same way share examples."""
    chosen = pupils(settings, tasks)
    outputs = teachers.answers(settings, tasks, {task.name: found for task in chosen}, place=place, listen=listen)
    counts: Counter[str] = Counter()
    taught_list: list[Example] = []
    remembered = remembering(tokenizer)
    for group in groups(chosen):
        for document in found:
            inputs = list(group[0].inputs(document, remembered, limit=limit, counts=Counter()))
            targets = {task.name: task.targets(document, inputs, counts=Counter()) for task in group}
            for at, model_input in enumerate(inputs):
                text_input = ModelInput(model_input.tokens, model_input.prefix, model_input.pairs)
                bare = Example(teachers.UNLABELLED, text_input, source=(document.id, model_input.number))
                labels: dict[str, Labels] = {}
                for task in group:
                    target = targets[task.name][at]
                    unit = target if isinstance(target, Labels) else Labels("window", np.zeros(1))
                    logits = teachers.said(bare, unit, outputs[task.name])
                    sure = _sure(settings.text, task, logits, counts)
                    confident_labels = teachers.spelt(sure, unit, bare)
                    if np.isfinite(confident_labels.values).any():
                        labels[taught(task.name)] = confident_labels
                counts["examples" if labels else "examples of which the teachers are not sure enough"] += 1
                if labels:
                    taught_list.append(Example(bare.task, text_input, labels, bare.source))
    if not taught_list:
        reasons = "; ".join(f"{noun}: {number:,}" for noun, number in counts.items() if number)
        nothing = "it has no words" if chosen else "no task is taught"
        raise TrainingError(
            "BX562",
            f"the text gives nothing to learn ({reasons or nothing})",
            where="teacher → text",
            hint="check its files and the confidence; tasks about pairs of texts or of entities cannot learn from it",
        )
    counts["documents"] = len(found)
    return taught_list, counts


def _sure(
    text: TaughtText | None, task: Task, logits: NDArray[np.float32], counts: Counter[str]
) -> NDArray[np.float32]:
    """The logits without those whose most probable label has too little probability."""
    least = 0.0 if text is None else text.confidence
    least = least.get(task.name, 0.0) if isinstance(least, dict) else least
    answered = np.isfinite(logits[:, 0])
    counts[f"{task.name}: answers without a partner in a teacher's"] += int((~answered).sum())
    if not least or task.objective != "cross-entropy":
        counts[f"{task.name}: answers learned"] += int(answered.sum())
        return logits
    sure = answered.copy()
    sure[answered] = softmax(logits[answered]).max(axis=-1) >= least
    counts[f"{task.name}: answers learned"] += int(sure.sum())
    counts[f"{task.name}: answers not sure enough"] += int((answered & ~sure).sum())
    return np.where(sure[:, None], logits, np.float32(np.nan))
