"""The schema of recipes for `biomux pretrain`: an encoder, plain text, how words are masked, and optionally a teacher. As strict as other recipes."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from biomux.errors import RecipeError, nearest
from biomux.recipes import read as recipes
from biomux.recipes import run_folder
from biomux.recipes.schema import (
    EncoderSettings,
    FeatureLossSettings,
    LayerTeacher,
    Loop,
    Positive,
    Section,
    Share,
    TextFiles,
    Weight,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = run_folder.PRETRAINING
"""The recipe in the folder of a pre-training run."""


class TextSettings(TextFiles):
    """The text, by its files.

    `held_out` is the share of documents that are scored and not trained on, chosen by the seed, or files of such documents. With 0, nothing is scored.
    """

    held_out: Annotated[float, Field(ge=0, lt=1)] | tuple[str, ...] = 0.01


class MaskingSettings(Section):
    """A `share` of the tokens is masked: `mask` of them become the mask token, `random` a random one, the rest stay. With `whole_words`, words are chosen, not tokens.

    BERT and the released code of paper C use 0.8 and 0.1; the text of the paper says 0.8 and 0.2.
    """

    share: Annotated[float, Field(gt=0, lt=1)] = 0.15
    mask: Share = 0.8
    random: Share = 0.1
    whole_words: bool = False

    @model_validator(mode="after")
    def _parts_of_one(self) -> Self:
        if self.mask + self.random > 1 + 1e-9:
            raise ValueError(f"mask and random must add up to at most 1, got {self.mask + self.random:g}")
        return self


class PretrainedModel(Section):
    """The encoder, and the head that predicts masked tokens: the one in the weights ("kept") or a new one ("fresh"). Either is tied to the embeddings."""

    encoder: EncoderSettings
    head: Literal["kept", "fresh"] = "kept"


class OutputLoss(Section):
    """How the student's predictions are compared with its teacher's, at the masked tokens."""

    loss: Literal["kl-divergence", "soft-cross-entropy", "logit-mse"] = "kl-divergence"
    temperature: Positive = 1.0
    direction: Literal["teacher-student", "student-teacher"] = "teacher-student"
    weight: Positive = 1.0


class DistilSettings(LayerTeacher):
    """A teacher of layers, as in tagging recipes, which also predicts the masked words.

    `words` is the weight of the text's own masked words; with 0, only the teacher counts. `output` compares predictions of them.
    """

    words: Weight = 1.0
    output: OutputLoss | None = None
    features: tuple[FeatureLossSettings, ...] = ()

    @model_validator(mode="after")
    def _something_is_taught(self) -> Self:
        if self.output is None and not self.features:
            raise ValueError("a teacher needs something to teach: give output, features, or both")
        return self


class PerplexityScore(Section):
    """When the held-out text is scored: after every `every` steps, or after each epoch; on at most `windows` windows, spread over it.

    Training ends when the perplexity has not improved for `patience` scores.
    """

    every: Annotated[int, Field(ge=1)] | None = None
    windows: Annotated[int, Field(ge=1)] | None = 500
    patience: Annotated[int, Field(ge=1)] | None = None


class Pretraining(Section):
    """Everything that makes a pre-trained encoder. `small` maps paths to the values that `--small` sets: the same recipe for an ordinary machine."""

    name: str
    about: str = ""
    paper: str | None = None
    table: str | None = None
    text: TextSettings = TextSettings()
    masking: MaskingSettings = MaskingSettings()
    model: PretrainedModel
    distil: DistilSettings | None = None
    loop: Loop = Loop()
    score: PerplexityScore = PerplexityScore()
    small: dict[str, Any] = Field(default_factory=dict)

    def training(self) -> dict[str, Any]:
        """The settings that decide a run's weights, as plain data. Without the files: a checksum of their content is kept beside."""
        plain = self.model_dump(mode="json", exclude={"about", "paper", "table", "small", "text"})
        plain["text"] = self.text.model_dump(mode="json", exclude={"files"})
        return plain | {"loop": self.loop.deciding()}


def read(name: str, *, texts: Sequence[str] = (), settings: Sequence[str] = (), small: bool = False) -> Pretraining:
    """Read the recipe of a file or a name such as `c/distil`, with `texts` as its files and `settings` applied, after those of its small variant if `small`."""
    text, where = source(name)
    raw = recipes.mapping(
        text, where=where, what="a pre-training recipe must be a mapping with the keys name, text, model, loop"
    )
    if small:
        variant = raw.get("small")
        if not isinstance(variant, dict) or not variant:
            raise RecipeError(
                "BX552",
                "this recipe has no small variant",
                where=where,
                hint="leave out --small, or add a section small",
            )
        for path, value in variant.items():
            recipes.put(raw, str(path), value)
    for setting in settings:
        recipes.put(raw, *recipes.parsed(setting))
    if texts:
        recipes.put(raw, "text.files", list(texts))
    return recipes.checked(Pretraining, raw, where=where, hint="see docs/how-to/pretrain.md")


def names() -> list[str]:
    """The pre-training recipes that come with Biomux."""
    return recipes.names("encoders")


def source(name: str) -> tuple[str, str]:
    """The text and the path of a recipe: a file, or one that comes with Biomux."""
    if Path(name).is_file():
        return recipes.source(name)
    shipped = names()
    if name not in shipped:
        suggestion = nearest(name, shipped)
        hint = f"did you mean {suggestion!r}?" if suggestion else f"give a file, or one of: {', '.join(shipped)}"
        if name in recipes.names():
            hint = f"it is a recipe for `biomux train {name}`; the pre-training recipes are: {', '.join(shipped)}"
        raise RecipeError("BX303", f"unknown pre-training recipe {name!r}", hint=hint)
    root = resources.files("biomux.recipes").joinpath("encoders")
    return root.joinpath(f"{name}.yaml").read_text(encoding="utf-8"), name
