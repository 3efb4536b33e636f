"""What a recipe may say. Strict: an unknown key names its nearest neighbour, a bad value names its path, all at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]


class Part(BaseModel):
    """A part of a recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Head(Part):
    """A head by its kind, with that kind's settings."""

    kind: str = "linear"
    settings: dict[str, Any] = {}


class Task(Part):
    """A task on a corpus. `types` chooses some of the corpus's types; none means all."""

    kind: Literal["tagging"] = "tagging"
    corpus: str
    types: tuple[str, ...] | None = None
    scheme: Literal["bio", "bioes"] = "bio"
    train: tuple[str, ...] = ("train",)
    head: Head | None = None


class Vocabulary(Part):
    """`keep` the encoder's own, `trim` it to what the training text uses, or take the pieces of a `file` and then trim.

    `texts` names files of plain text whose words count when trimming, besides the training documents.
    """

    kind: Literal["keep", "trim", "file"] = "keep"
    file: str | None = None
    minimum: Annotated[int, Field(ge=1)] = 1
    texts: tuple[str, ...] = ()


class Encoder(Part):
    """Which encoder: a hub name or a folder."""

    kind: Literal["transformer"] = "transformer"
    name: str
    dropout: Share = 0.0
    limit: Annotated[int, Field(ge=8)] = 254
    layers: Annotated[int, Field(ge=1)] | None = None
    vocabulary: Vocabulary = Vocabulary()


class ModelPart(Part):
    """One encoder, and the head that a task has unless it names its own."""

    encoder: Encoder
    head: Head = Head()


class Regime(Part):
    """How tasks share training, by name, with that regime's settings."""

    kind: str = "single"
    settings: dict[str, Any] = {}


class Loop(Part):
    """The training loop. A batch has at most `batch_pieces` pieces, padding included."""

    epochs: Annotated[int, Field(ge=1)] = 3
    batch_pieces: Annotated[int, Field(ge=8)] = 1024
    accumulate: Annotated[int, Field(ge=1)] = 1
    optimizer: Literal["adamw", "adam", "adamax"] = "adamw"
    learning_rate: Positive = 1e-4
    head_learning_rate: Positive | None = None
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    warmup: Share = 0.1
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    clip: Annotated[float, Field(ge=0)] = 1.0
    ema: Annotated[float, Field(ge=0, lt=1)] = 0.0
    seed: Annotated[int, Field(ge=0)] = 1
    threads: Annotated[int, Field(ge=1)] | None = None
    checkpoint_minutes: Positive = 5.0


class Development(Part):
    """How development scores are taken: after every `every` epochs, on at most `limit` documents of each task."""

    split: str = "devel"
    every: Annotated[int, Field(ge=1)] = 1
    limit: Annotated[int, Field(ge=1)] | None = None
    patience: Annotated[int, Field(ge=1)] | None = None


class Recipe(Part):
    """Everything that makes a run."""

    name: str
    about: str = ""
    paper: str | None = None
    table: str | None = None
    leaks: Literal["filter", "report", "ignore"] = "filter"
    tasks: dict[str, Task]
    model: ModelPart
    regime: Regime = Regime()
    loop: Loop = Loop()
    development: Development = Development()
