"""Heads of a model, and the corpora that they were trained on.

A run's recipe says which corpus a head has. A bundle's `heads.json` may say it (`"corpus": "bc5cdr"` beside a head's name). Where neither does,
the name decides: the corpus of the same name, or the only one whose name ends in it (`cell-line`: `elucidata-cell-line`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from biomux.corpora import catalogue, own, view
from biomux.recipes.run_folder import RunFolder
from biomux.tasks.task import finds_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from biomux.document import Document


class EvaluatedModel(Protocol):
    """What is needed of an annotator to score it."""

    @property
    def tasks(self) -> Sequence[Any]: ...

    @property
    def asking(self) -> Sequence[Any]:
        """Tasks that find no spans."""
        ...

    def answer(self, documents: Iterable[Document], *, heads: Sequence[str] | None = None) -> Iterator[Document]:
        """The documents, in order, with the answers of heads that find no spans."""
        ...

    def annotate(
        self,
        documents: Iterable[Document],
        *,
        types: Sequence[str] | None = None,
        heads: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
    ) -> Iterator[Document]:
        """The documents, in order, with what the heads find."""
        ...


@dataclass(frozen=True, slots=True)
class EvaluatedHead:
    """A head: its types, its tagging scheme, the corpus (or view) it was trained on, None if unknown, and its kind of task.

    `tags`: its types are types of spans.
    """

    name: str
    types: tuple[str, ...]
    scheme: str
    corpus: str | None
    kind: str = "tagging"
    tags: bool = True

    @property
    def base(self) -> str | None:
        """The corpus without the brackets of a view."""
        return None if self.corpus is None else view.parse(self.corpus)[0]

    @property
    def called(self) -> str | None:
        """The name of the corpus; for the user's own data, the name that a bundle keeps instead of the path."""
        return None if self.base is None else own.short_name(self.base)


def heads_of(model: EvaluatedModel, folder: Path | None = None) -> tuple[EvaluatedHead, ...]:
    """The heads of a model that was loaded from this folder, without those of `unscored`: taggers first."""
    stated = {} if folder is None else _stated(folder)
    return tuple(
        EvaluatedHead(
            task.name,
            tuple(task.types if finds_spans(task) else task.labels),
            getattr(task, "scheme", "none"),
            stated.get(task.name) or corpus_of(task.name),
            task.kind,
            finds_spans(task),
        )
        for task in (*model.tasks, *model.asking)
        if not getattr(task, "for_training", False)
    )


def unscored(model: EvaluatedModel) -> tuple[tuple[str, str], ...]:
    """Heads that cannot be scored on a corpus, with their kind: they only serve training."""
    return tuple((task.name, task.kind) for task in model.asking if getattr(task, "for_training", False))


def corpus_of(head: str) -> str | None:
    """The corpus that a head's name means.

    >>> corpus_of("bc5cdr"), corpus_of("cell-line"), corpus_of("drugs")
    ('bc5cdr', 'elucidata-cell-line', None)
    """
    if head in catalogue.names():
        return head
    ending = [name for name in catalogue.names() if name.endswith(f"-{head}")]
    return ending[0] if len(ending) == 1 else None


def _stated(folder: Path) -> Mapping[str, str]:
    """What a run's recipe or a bundle's table says. Both were checked when the model was loaded."""
    run, table = RunFolder(folder), folder / "heads.json"
    if table.is_file():
        heads = json.loads(table.read_bytes()).get("heads", [])
        return {head["name"]: head["corpus"] for head in heads if isinstance(head.get("corpus"), str)}
    if run.exists:
        return {name: _read_by(task) for name, task in run.recipe.tasks.items()}
    return {}


def _read_by(task: Any) -> str:
    """The corpus of a recipe's task, with the types that it kept, unless it is a tagger, which names its types itself."""
    if task.rename:
        return view.spec(task.corpus, types=task.types, rename=task.rename)
    return f"{task.corpus}[{','.join(task.types)}]" if task.kind != "tagging" and task.types else str(task.corpus)
