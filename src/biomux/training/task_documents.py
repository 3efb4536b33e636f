"""The documents of a recipe's tasks, with each split of a corpus read only once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from biomux.corpora import corpus as corpora
from biomux.corpora import view
from biomux.errors import BiomuxError, CorpusError, RecipeError, TrainingError
from biomux.training.shared_texts import joined, union

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.document import Document
    from biomux.recipes.schema import Recipe, TaskSettings


@dataclass
class Library:
    """What has been read so far. `most` is the maximum number of documents of a split; they are spread over the whole."""

    directory: Path | None = None
    most: int | None = None
    kept: dict[tuple[tuple[str, ...], str, str], list[Document]] = field(default_factory=dict)

    def part(self, task: TaskSettings, split: str) -> list[Document]:
        """The documents of one split of a task's corpora."""
        names = corpora_of(task)
        key = names, split, task.join
        if key not in self.kept:
            groups = (list(corpora.load(name, split, directory=self.directory)) for name in names)
            together = union(*groups) if task.join == "union" else joined(*groups)
            self.kept[key] = spread(together, self.most)
        return self.kept[key]

    def splits(self, task: TaskSettings) -> frozenset[str]:
        """The splits that all of a task's corpora have."""
        return frozenset.intersection(
            *(frozenset(corpora.get(name, directory=self.directory).splits) for name in corpora_of(task))
        )

    def training(self, name: str, task: TaskSettings) -> list[Document]:
        """The documents that a task is trained on: its splits, one after the other."""
        documents = [document for split in task.train for document in self.part(task, split)]
        if not documents:
            raise TrainingError(
                "BX404",
                f"{'+'.join(task.train)} of {', '.join(corpora_of(task))} has no documents",
                where=f"tasks → {name}",
                hint="choose another split or corpus; `biomux corpora stats` shows what they hold",
            )
        return documents


def corpora_of(task: TaskSettings) -> tuple[str, ...]:
    """The corpora that a task reads, as `corpora.load` takes them; the first one with the types that the task keeps."""
    types = None if task.also else task.types
    return (view.spec(task.corpus, types=types, rename=task.rename), *task.also)


def spread(documents: list[Document], most: int | None) -> list[Document]:
    """At most `most` documents, evenly spaced.

    >>> spread(list("abcdefghij"), 3)
    ['a', 'd', 'g']
    """
    if most is None or len(documents) <= most:
        return documents
    return [documents[index * len(documents) // most] for index in range(most)]


def check(recipe: Recipe, directory: Path | None) -> None:
    """Refuse, before anything is read, a recipe whose corpora, splits, types or files do not exist. All problems are reported at once."""
    wrong: list[tuple[str, BiomuxError]] = []
    for name, task in recipe.tasks.items():
        splits = dict.fromkeys((*task.train, *([recipe.development.split] if task.scored else [])))
        try:
            for corpus in corpora_of(task):
                for split in splits:
                    corpora.load(corpus, split, directory=directory)
        except BiomuxError as error:
            if not isinstance(error, CorpusError) and error.code not in ("BX002", "BX110"):
                raise  # a record that cannot be read has its own place
            wrong.append((f"tasks → {name}", error))
    if wrong and (
        len(wrong) == 1 or wrong[0][1].code == "BX202"
    ):  # without the directory, every task has the same problem
        place, first = wrong[0]
        raise type(first)(
            first.code, first.message, where=first.where or (place if len(wrong) == 1 else None), hint=first.hint
        )
    if wrong:
        problems = "; ".join(
            f"{place}: {error.message}" + (f" ({error.hint})" if error.hint else "") for place, error in wrong
        )
        raise RecipeError("BX307", problems, where=f"recipe {recipe.name!r}")
