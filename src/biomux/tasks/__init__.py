"""Tasks: what is to be predicted about documents. Each task is one file and one line in `TASKS`; no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux import plugins
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.classification import Classification
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.question_answering import Answers
from biomux.tasks.relation import Relations
from biomux.tasks.similarity import Similarity
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from biomux.tasks.task import Task

TASKS: dict[str, type[Any]] = {
    "tagging": Tagging,
    "auxiliary": Auxiliary,
    "classification": Classification,
    "similarity": Similarity,
    "relation": Relations,
    "answers": Answers,
    "masked-words": MaskedWords,
}
"""Kind → task. A task is frozen data; `Class.of_documents(name, documents, **settings)` finds its labels in training documents."""

DEFAULT_HEADS: dict[str, str] = {
    "answers": "answer",
    "similarity": "regression",
    "masked-words": "masked-words",
}
"""Kind → the head that such a task has unless the recipe names one for it; the model's own head for all others."""


def restored(described: dict[str, Any]) -> Task:
    """A task from what a run or a bundle wrote down about it.

    >>> restored({"kind": "tagging", "name": "drugs", "types": ["Chemical"], "scheme": "bio"}).labels
    ('O', 'B-Chemical', 'I-Chemical')
    """
    fields = {key: _frozen(value) for key, value in described.items() if key != "kind"}
    kind = plugins.find(TASKS, described.get("kind", "tagging"), "tasks")
    if kind is None:
        raise ValueError(f"there is no kind of task {described['kind']!r}")
    task: Task = kind(**fields)
    return task


def _frozen(value: Any) -> Any:
    return tuple(_frozen(element) for element in value) if isinstance(value, list) else value
