"""Development scores: what the annotator predicts for documents, against their annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.tasks.task import Evaluation, Task


def predict(annotator: Annotator, task: Task, documents: Sequence[Document]) -> list[Document]:
    """The documents as the task's head annotates them; the gold annotations are removed first."""
    return list(annotator.answer((task.bare(document) for document in documents), heads=[task.name]))


def evaluate(
    annotator: Annotator, tasks: Sequence[Task], development: Mapping[str, Sequence[Document]]
) -> dict[str, Evaluation]:
    """The scores of every task that has development documents."""
    return {
        task.name: task.evaluate(development[task.name], predict(annotator, task, development[task.name]))
        for task in tasks
        if development.get(task.name)
    }
