"""A recipe made small: the same tasks, heads and regime, end to end within minutes, to see that it works and not how well.

| part | becomes |
|---|---|
| documents | at most 60 of each split of each corpus |
| loop.epochs | 1 |
| loop.batch_tokens | at most 1,024 |
| development.limit | at most 30 documents of each task |
| model.encoder | its first 2 layers; if its weights are not available offline, 2 layers of 64 with random weights and the words of the training text |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.recipes.schema import EncoderSettings, Recipe

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENTS = 60
EPOCHS = 1
PIECES = 1024
SCORED = 30
LAYERS = 2


def quick(recipe: Recipe, *, at_hand: Callable[[str], bool]) -> tuple[Recipe, list[str]]:
    """The recipe made small, and what was changed. `at_hand` says whether a name or folder can be loaded without a network."""
    encoder, encoder_change = _encoder(recipe.model.encoder, at_hand)
    documents = min(recipe.documents or DOCUMENTS, DOCUMENTS)
    tokens = min(recipe.loop.batch_tokens, PIECES)
    scored = min(recipe.development.limit or SCORED, SCORED)
    small = _with(
        recipe,
        documents=documents,
        model=_with(recipe.model, encoder=encoder, heads=recipe.model.heads if encoder.run else "fresh"),
        loop=_with(recipe.loop, epochs=EPOCHS, steps=None, batch_tokens=tokens),
        development=_with(recipe.development, limit=scored),
    )
    changes = [
        f"documents={documents} of each split",
        f"loop.epochs={EPOCHS}",
        f"loop.batch_tokens={tokens}",
        f"development.limit={scored}",
        encoder_change,
    ]
    text = recipe.teacher.text if recipe.teacher is not None else None
    if text is not None:
        few = min(text.documents or documents, documents)
        small = _with(small, teacher=_with(small.teacher, text=_with(text, documents=few)))
        changes.append(f"teacher.text.documents={few}")
    if recipe.distil is not None and encoder.kind == "random" != recipe.model.encoder.kind:
        small = _with(small, distil=None)
        changes.append("no distil, since the encoder has another vocabulary")
    return Recipe.model_validate(small.model_dump()), changes


def _encoder(encoder: EncoderSettings, at_hand: Callable[[str], bool]) -> tuple[EncoderSettings, str]:
    if encoder.kind == "random":
        return encoder, "the encoder as it is"
    if encoder.kind == "bilstm":
        settings = encoder.bilstm
        if settings is None or settings.vectors is None or at_hand(settings.vectors):
            return encoder, "the encoder as it is"
        return _with(
            encoder, bilstm=_with(settings, vectors=None)
        ), f"word vectors learned: {settings.vectors!r} is not available offline"
    if encoder.bundle is not None:
        layers = min(encoder.layers or LAYERS, LAYERS)
        return _with(encoder, layers=layers), f"model.encoder.layers={layers}"
    name = encoder.run or encoder.name
    if at_hand(name):
        if encoder.run:
            return encoder, f"the encoder of {name}"
        layers = min(encoder.layers or LAYERS, LAYERS)
        smaller, change = _with(encoder, layers=layers), f"model.encoder.layers={layers}"
        vocabulary = encoder.vocabulary
        if vocabulary.kind == "file" and not at_hand(vocabulary.file or ""):
            smaller = _with(smaller, vocabulary=_with(vocabulary, kind="trim", file=None))
            change += f", its own vocabulary, since {vocabulary.file!r} is not available offline"
        return smaller, change
    small = EncoderSettings(kind="random", name="", limit=encoder.limit, dropout=encoder.dropout, layers=LAYERS)
    return small, f"an encoder of {LAYERS} layers with random weights, since {name!r} is not available offline"


def _with(part: Any, **values: Any) -> Any:
    return part.model_copy(update=values)
