"""Development scores: what the annotator says about documents, against what they say themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.tasks.task import Scores, Task


def predict(annotator: Annotator, task: Task, documents: Sequence[Document]) -> list[Document]:
    """The documents as the task's head has them; what it is to predict is taken away first."""
    bare = (task.bare(document) for document in documents)
    if isinstance(task, Tagging):
        return list(annotator.annotate(bare, heads=[task.name]))
    return list(annotator.answer(bare, heads=[task.name]))


def evaluate(
    annotator: Annotator, tasks: Sequence[Task], development: Mapping[str, Sequence[Document]]
) -> dict[str, Scores]:
    """The scores of every task that has development documents."""
    return {
        task.name: task.score(development[task.name], predict(annotator, task, development[task.name]))
        for task in tasks
        if development.get(task.name)
    }
