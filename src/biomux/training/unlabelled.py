"""Plain text without labels: its examples have what teachers say for some heads, as far as these are sure, and nothing else."""

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
"""What counts and leaks of the text are listed under."""


def documents(settings: TaughtText) -> list[Document]:
    """The documents of the text, by the order in which they come; what has no words is left out."""
    texts = PlainText(settings).documents()
    return [Document(f"text:{number}", text) for number, text in enumerate(texts, 1) if text.strip()]


def pupils(settings: TeacherSettings, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that learn from the text."""
    chosen = teachers.pupils(settings, tasks)
    known = {task.name: task for task in chosen}
    text = settings.text
    confidence = {} if text is None or not isinstance(text.confidence, dict) else text.confidence
    for name in (*(text.heads or () if text is not None else ()), *confidence):
        if name not in known:
            raise TrainingError(
                "BX562",
                f"no task {name!r} is taught, so it cannot learn from text",
                where="teacher → text",
                hint=did_you_mean(name, known),
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
    """What is learned from the text, and what was counted. Tasks that read alike share their examples."""
    chosen = pupils(settings, tasks)
    said = teachers.answers(settings, tasks, {task.name: found for task in chosen}, place=place, listen=listen)
    counts: Counter[str] = Counter()
    made: list[Example] = []
    remembered = remembering(tokenizer)
    for group in groups(chosen):
        for document in found:
            inputs = list(group[0].inputs(document, remembered, limit=limit, counts=Counter()))
            targets = {task.name: task.targets(document, inputs, counts=Counter()) for task in group}
            for at, one in enumerate(inputs):
                read = ModelInput(one.tokens, one.prefix, one.pairs)
                bare = Example(teachers.UNLABELLED, read, source=(document.id, one.number))
                labels: dict[str, Labels] = {}
                for task in group:
                    asked = targets[task.name][at]
                    unit = asked if isinstance(asked, Labels) else Labels("window", np.zeros(1))
                    logits = teachers.said(bare, unit, said[task.name])
                    sure = _sure(settings.text, task, logits, counts)
                    kept = teachers.spelt(sure, unit, bare)
                    if np.isfinite(kept.values).any():
                        labels[taught(task.name)] = kept
                counts["examples" if labels else "examples of which the teachers are not sure enough"] += 1
                if labels:
                    made.append(Example(bare.task, read, labels, bare.source))
    if not made:
        reasons = "; ".join(f"{what}: {number:,}" for what, number in counts.items() if number)
        nothing = "it has no words" if chosen else "no task is taught"
        raise TrainingError(
            "BX562",
            f"the text gives nothing to learn ({reasons or nothing})",
            where="teacher → text",
            hint="check its files and the confidence; tasks about pairs of texts or of entities cannot learn from it",
        )
    counts["documents"] = len(found)
    return made, counts


def _sure(
    text: TaughtText | None, task: Task, logits: NDArray[np.float32], counts: Counter[str]
) -> NDArray[np.float32]:
    """The logits without those whose most probable label has too little probability."""
    least = 0.0 if text is None else text.confidence
    least = least.get(task.name, 0.0) if isinstance(least, dict) else least
    known = np.isfinite(logits[:, 0])
    counts[f"{task.name}: answers without a partner in a teacher's"] += int((~known).sum())
    if not least or task.objective != "cross-entropy":
        counts[f"{task.name}: answers learned"] += int(known.sum())
        return logits
    sure = known.copy()
    sure[known] = softmax(logits[known]).max(axis=-1) >= least
    counts[f"{task.name}: answers learned"] += int(sure.sum())
    counts[f"{task.name}: answers not sure enough"] += int((known & ~sure).sum())
    return np.where(sure[:, None], logits, np.float32(np.nan))
