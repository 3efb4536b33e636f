"""From a recipe to what the loop needs: documents, examples, model, plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from biomux.corpora import corpus as corpora
from biomux.corpora.leaks import LeakReport, filter_leaks
from biomux.engine.annotator import Annotator
from biomux.errors import RecipeError, TrainingError
from biomux.learn.encoders import transformer, vocabulary
from biomux.learn.examples import Example, tagging_examples
from biomux.learn.heads import HEADS
from biomux.learn.model import Model, TorchSession
from biomux.learn.regimes import REGIMES
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.engine.packing import Specials
    from biomux.learn.plan import Plan
    from biomux.recipes.schema import Head, Recipe, Task


@dataclass
class Built:
    """A recipe made real. `leaks` says what was taken out of training because it stands in a held-out part."""

    model: Model
    tokenizer: Tokenizer
    specials: Specials
    tasks: tuple[Tagging, ...]
    plan: Plan
    examples: list[Example]
    development: Mapping[str, list[Document]]
    counts: Mapping[str, Counter[str]]
    leaks: LeakReport | None
    limit: int

    def annotator(self) -> Annotator:
        """The annotator that scores the development data: the one that runs in production, with torch behind it."""
        return Annotator(TorchSession(self.model), self.tokenizer, self.specials, self.tasks, limit=self.limit)


def build(recipe: Recipe, *, directory: Path | None = None, quick: float | None = None) -> Built:
    """Load the corpora, take out what leaks, make the model and the examples. `quick` keeps only that share of the documents."""
    torch.manual_seed(recipe.loop.seed)
    documents = {
        name: _some([document for split in task.train for document in _load(task, split, directory)], quick)
        for name, task in recipe.tasks.items()
    }
    development = {
        name: _some(list(_load(task, recipe.development.split, directory)), quick)[: recipe.development.limit]
        for name, task in recipe.tasks.items()
        if recipe.development.split not in task.train
    }
    leaks = None
    if recipe.leaks != "ignore":
        kept, leaks = filter_leaks(documents, _held_out(recipe, directory))
        documents = kept if recipe.leaks == "filter" else documents
    tasks = tuple(_tagging(name, task, documents[name]) for name, task in recipe.tasks.items())
    encoder, tokenizer, specials = _encoder(recipe, documents)
    heads = {}
    for task in tasks:
        described = recipe.tasks[task.name].head or recipe.model.head
        heads[task.name] = _head(described, encoder.width, len(task.labels))
    examples: list[Example] = []
    counts: dict[str, Counter[str]] = {}
    for task in tasks:
        made = tagging_examples(
            documents[task.name], [task], tokenizer, task=task.name, limit=recipe.model.encoder.limit
        )
        if not made.examples:
            raise TrainingError(
                "BX404", f"task {task.name!r} has no training examples", hint="check its corpus, split and types"
            )
        examples += made.examples
        counts[task.name] = made.counts
    plan = _plan(recipe, [task.name for task in tasks])
    model = Model(encoder, heads)
    return Built(
        model, tokenizer, specials, tasks, plan, examples, development, counts, leaks, recipe.model.encoder.limit
    )


def _load(task: Task, split: str, directory: Path | None) -> Iterator[Document]:
    name = f"{task.corpus}[{','.join(task.types)}]" if task.types else task.corpus
    return corpora.load(name, split, directory=directory)


def _some(documents: list[Document], share: float | None) -> list[Document]:
    """Every so-manieth document, so that a share is spread over the whole."""
    return documents if share is None else documents[:: max(1, round(1 / share))]


def _held_out(recipe: Recipe, directory: Path | None) -> dict[str, list[Document]]:
    """The development and test parts of every corpus that the recipe trains on, but for what it trains on by its own word."""
    held: dict[str, list[Document]] = {}
    for name, task in recipe.tasks.items():
        for split in ("devel", "test"):
            if split not in task.train:
                held[f"{name}/{split}"] = list(_load(task, split, directory))
    return held


def _tagging(name: str, task: Task, documents: Sequence[Document]) -> Tagging:
    counted = Counter(span.type for document in documents for span in document.spans)
    types = task.types or tuple(sorted(counted))
    if not types:
        raise TrainingError(
            "BX404", f"the training documents of {name!r} have no mention", hint="check its corpus and split"
        )
    return Tagging(name, types, task.scheme)


def _encoder(
    recipe: Recipe, documents: Mapping[str, list[Document]]
) -> tuple[transformer.Transformer, Tokenizer, Specials]:
    settings = recipe.model.encoder
    encoder, tokenizer, specials = transformer.load(settings.name, dropout=settings.dropout)
    if settings.layers is not None:
        encoder.keep_layers(settings.layers)
    if settings.vocabulary.kind != "keep":
        table = encoder.embeddings
        if settings.vocabulary.kind == "file":
            tokenizer, table = vocabulary.replace(tokenizer, table, vocabulary.pieces_of(settings.vocabulary.file))
        texts = (document.text for group in documents.values() for document in group)
        more = vocabulary.lines_of(settings.vocabulary.texts)
        tokenizer, table = vocabulary.trim(tokenizer, table, (*texts, *more), minimum=settings.vocabulary.minimum)
        encoder.embeddings = table
        specials = transformer.specials(tokenizer)
    return encoder, tokenizer, specials


def _head(described: Head, width: int, labels: int) -> torch.nn.Module:
    if described.kind not in HEADS:
        raise RecipeError(
            "BX306", f"there is no head {described.kind!r}", where="head → kind", hint=f"one of: {', '.join(HEADS)}"
        )
    try:
        return HEADS[described.kind](width, labels, **described.settings)
    except TypeError as error:
        raise RecipeError("BX306", str(error), where="head → settings") from None


def _plan(recipe: Recipe, heads: Sequence[str]) -> Plan:
    kind = recipe.regime.kind
    if kind not in REGIMES:
        raise RecipeError(
            "BX306", f"there is no regime {kind!r}", where="regime → kind", hint=f"one of: {', '.join(REGIMES)}"
        )
    try:
        return REGIMES[kind](heads, **recipe.regime.settings)
    except TypeError as error:
        raise RecipeError("BX306", str(error), where="regime → settings") from None
