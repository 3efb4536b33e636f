"""The schema of recipes. Strict: all mistakes are reported at once, unknown keys with the nearest known one, bad values with their paths."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from biomux import plugins
from biomux.corpora import own
from biomux.errors import CorpusError

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _plain(name: str) -> str:
    """Check the name of a task, which becomes part of the names of parameters and files."""
    if not re.fullmatch(r"[^\W_][\w +-]*", name):
        raise ValueError(
            "a task's name must begin with a letter or digit and contain only letters, digits, spaces, -, + and _"
        )
    return name


TaskName = Annotated[str, AfterValidator(_plain)]


def _own_data(value: Any) -> Any:
    """Turn a mapping that names the user's own data into the text that names a corpus."""
    if not isinstance(value, dict):
        return value
    try:
        return own.to_spec(own.of_mapping(value))
    except CorpusError as error:
        raise ValueError(error.message) from None


def _readable(corpus: str) -> Any:
    """A corpus as a recipe writes it."""
    return json.loads(corpus) if corpus.startswith("{") else corpus


CorpusName = Annotated[str, BeforeValidator(_own_data), PlainSerializer(_readable, when_used="json")]
"""A corpus: a name in the catalogue, a path, or a mapping as `biomux.corpora.own` describes it."""


class Section(BaseModel):
    """A part of a recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HeadSettings(Section):
    """A head by its kind, with that kind's settings."""

    kind: str = "linear"
    settings: dict[str, Any] = {}


class TaskSettings(Section):
    """A task on a corpus. `types` selects some of the corpus's types (default: all). `rename` gives types other names, and merges those that get the same one.

    `corpus` is a name in the catalogue or of your own card, the path of a file or folder, or `{train: FILES, devel: FILES, test: FILES, format: NAME}`.
    `also` names further corpora whose annotations of the same texts are added. `join` "common" keeps only texts that all of them have; "union" keeps all texts,
    and what a corpus does not annotate counts as outside (the mistake of a multi-class baseline). `of` names the tagging task that an auxiliary task is derived
    from, whose corpus and types it takes over. `settings` are those of the kind. A task that is not `scored` is only learned: its corpus needs no development part.
    `frames` adds short sentences to a tagger's training data, in which a mention of these data, or a word that is never one, stands in a frame such as "We studied {}.";
    it is their number as a share of the mentions.
    """

    kind: str = "tagging"
    corpus: CorpusName = ""
    also: tuple[str, ...] = ()
    join: Literal["common", "union"] = "common"
    of: str | None = None
    settings: dict[str, Any] = {}
    types: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    rename: dict[str, str] = {}
    scheme: Literal["bio", "bioes"] = "bio"
    train: Annotated[tuple[str, ...], Field(min_length=1)] = ("train",)
    scored: bool = True
    frames: Share = 0.0
    head: HeadSettings | None = None

    @model_validator(mode="after")
    def _nothing_without_effect(self) -> TaskSettings:
        if self.join == "union" and not self.also:
            raise ValueError("join: union needs further corpora: name them with also")
        if self.frames and self.kind != "tagging":
            raise ValueError("frames: only taggers can learn from short sentences made from mentions")
        if self.settings.get("by") == "passage" and self.settings.get("longest") is not None:
            raise ValueError("settings: longest splits sentences, so it cannot be used with by: passage")
        return self


class VocabularySettings(Section):
    """`keep` the encoder's own, `trim` it to the tokens of the training text, take the tokens of a `file` and then trim, or `train` a new WordPiece vocabulary of at most `size` tokens on that text.

    `file` is a text file with one token per line, a tokenizer.json, a folder with vocab.txt or tokenizer.json, or a hub name. Tokens that occur fewer than `minimum`
    times are trimmed; with 0, all tokens of a file stay. `texts` names plain-text files whose words count too, besides the training documents. A new token
    starts from the mean of the old tokens that spell it or, if `vectors` names a file of word vectors, from the old tokens nearest to it there.
    """

    kind: Literal["keep", "trim", "file", "train"] = "keep"
    file: str | None = None
    minimum: Annotated[int, Field(ge=0)] = 1
    size: Annotated[int, Field(ge=100)] = 30_000
    texts: tuple[str, ...] = ()
    vectors: str | None = None


class BiLSTMSettings(Section):
    """Paper E's encoder: word vectors from a file or learned, and a character BiLSTM. State sizes are per direction.

    `case` "keep": words that differ in case are different words; "characters": they share a word vector, and the characters tell them apart;
    "lower": all text is lower-cased. A word without a vector in the file gets its own if it occurs `minimum` times; the first `most` words
    of the file are known whether or not they occur.
    """

    vectors: str | None = None
    frozen: bool = False
    case: Literal["keep", "characters", "lower"] = "characters"
    minimum: Annotated[int, Field(ge=1)] = 2
    most: Annotated[int, Field(ge=0)] = 50_000
    word_width: Annotated[int, Field(ge=1)] = 100
    longest: Annotated[int, Field(ge=1)] = 40
    character_width: Annotated[int, Field(ge=1)] = 30
    character_hidden: Annotated[int, Field(ge=1)] = 50
    hidden: Annotated[int, Field(ge=1)] = 150


class ConvolutionSettings(Section):
    """A convolutional encoder: each block sees `window` tokens on either side.

    `embedding` "table": one vector per token; "hashed": the sum of vectors for the token, its beginning, end and shape, each from `hashes`
    of a table's `rows` rows. The encoder's `layers` is the number of blocks (default: 4); its `name` says where the tokenizer comes from.
    """

    width: Annotated[int, Field(ge=1)] = 128
    window: Annotated[int, Field(ge=0)] = 1
    activation: Literal["gelu", "maxout"] = "gelu"
    embedding: Literal["table", "hashed"] = "table"
    rows: Annotated[int, Field(ge=2)] = 5000
    hashes: Annotated[int, Field(ge=1)] = 2


class LexicalSettings(Section):
    """A word-level encoder of look-up tables: word vectors from a file, hashed words, n-grams and shapes; then windows, and a BiLSTM if `recurrent`.

    `vectors` is a file of word vectors; without one there are only the hashed tables. The vectors of the training text's words are read, and those of
    the file's first `most` words; they are not trained if `frozen`. For each table, `rows` is the number of rows that words are hashed to, and `width`
    the size of a row. The encoder's `layers` is the number of windows (default: 4), each with `window` neighbours on either side.
    """

    vectors: str | None = None
    most: Annotated[int, Field(ge=0)] = 200_000
    frozen: bool = True
    word_rows: Annotated[int, Field(ge=2)] = 32_768
    gram_rows: Annotated[int, Field(ge=2)] = 65_536
    shape_rows: Annotated[int, Field(ge=2)] = 512
    word_width: Annotated[int, Field(ge=1)] = 64
    gram_width: Annotated[int, Field(ge=1)] = 64
    shape_width: Annotated[int, Field(ge=1)] = 16
    width: Annotated[int, Field(ge=2, multiple_of=2)] = 192
    window: Annotated[int, Field(ge=0)] = 1
    recurrent: bool = True


ENCODERS = ("transformer", "bilstm", "convolution", "lexical", "shaped", "random")


def _known_encoder(kind: str) -> str:
    encoders = plugins.names(dict.fromkeys(ENCODERS), "encoders")
    if kind not in encoders:
        raise ValueError(f"unknown encoder {kind!r}; choose one of {', '.join(encoders)}")
    return kind


class ShapeSettings(Section):
    """The shape of a transformer with random weights. `bottleneck` is MobileBERT's width inside a layer and of its embeddings."""

    family: Literal["bert", "distilbert", "mobilebert"] = "bert"
    layers: Annotated[int, Field(ge=1)]
    width: Annotated[int, Field(ge=1)]
    heads: Annotated[int, Field(ge=1)]
    feed_forward: Annotated[int, Field(ge=1)]
    bottleneck: Annotated[int, Field(ge=1)] = 128


Take = Literal["first", "last", "uniform", "every-other-0", "every-other-1"] | tuple[Annotated[int, Field(ge=1)], ...]
"""Which layers to keep."""


class EncoderSettings(Section):
    """Which encoder: a hub name or a folder. With `run`, weights and vocabulary are those of another run; with `bundle`, those of a bundle
    (`default` is the one that comes with Biomux, so that nothing needs to be downloaded).

    `layers` is the number of layers to keep: the first ones, or those that `take` names ("last", "uniform", "every-other-0", "every-other-1", or a
    list of layers counted from 1). `feed_forward` is the number of units to keep in each layer's feed-forward part: those with the largest weights. The kind "shaped" has random weights and the given `shape`; its `name` says where the tokenizer comes from.
    `lower_case` says whether the tokenizer ignores case, if the encoder's own files do not say so or are wrong. `settings` are for encoders
    from other packages. The kind "random" is a small transformer with random weights that knows the words of the training text, to try a recipe with.
    """

    kind: Annotated[str, AfterValidator(_known_encoder)] = "transformer"
    name: str = ""
    dropout: Share = 0.0
    limit: Annotated[int, Field(ge=8, le=8192)] = 254
    layers: Annotated[int, Field(ge=1)] | None = None
    take: Take = "first"
    feed_forward: Annotated[int, Field(ge=1)] | None = None
    shape: ShapeSettings | None = None
    lower_case: bool | None = None
    vocabulary: VocabularySettings = VocabularySettings()
    run: str | None = None
    bundle: str | None = None
    bilstm: BiLSTMSettings | None = None
    convolution: ConvolutionSettings | None = None
    lexical: LexicalSettings | None = None
    settings: dict[str, Any] = {}

    @model_validator(mode="after")
    def _kind_and_settings_fit(self) -> Self:
        if self.bundle is not None and (self.kind != "transformer" or self.name):
            raise ValueError("with bundle, name must be left out and kind must be 'transformer'")
        if self.kind in ("transformer", "convolution", "shaped") and not self.name and self.bundle is None:
            raise ValueError(f"an encoder of kind {self.kind!r} needs a name: a hub name or a folder")
        if self.settings and self.kind in ENCODERS:
            raise ValueError(f"settings are for encoders from other packages; {self.kind!r} has none")
        for kind, section in (*((name, name) for name in ("bilstm", "convolution", "lexical")), ("shaped", "shape")):
            if getattr(self, section) is not None and self.kind != kind:
                raise ValueError(f"cannot give settings of {kind!r} to an encoder of kind {self.kind!r}")
        return self


class ModelPart(Section):
    """The encoder, and the head of every task that does not name its own.

    `heads` "kept": if the encoder comes from another run, each head starts from its weights there; "known": each head that the run has, the others from new
    ones; "fresh": all from new ones.
    """

    encoder: EncoderSettings
    head: HeadSettings = HeadSettings()
    heads: Literal["fresh", "kept", "known"] = "fresh"

    @model_validator(mode="after")
    def _kept_heads_come_from_a_run(self) -> Self:
        if self.heads != "fresh" and self.encoder.run is None:
            raise ValueError("heads can only be kept from a run: name it in model.encoder.run")
        return self


class Regime(Section):
    """How tasks share training, by name, with that regime's settings."""

    kind: str = "single"
    settings: dict[str, Any] = {}


class Loop(Section):
    """The training loop. A batch has at most `batch_tokens` tokens (`batch_pieces` in 0.1.0), padding included, and at most `batch_examples` examples.

    With `steps`, training ends after that number of steps, even in the middle of an epoch or beyond `epochs`. With several processes and `local_steps` above 1,
    each process moves its own copy of the weights, and the copies are averaged after every so many steps; otherwise gradients are summed in every step.
    `device` "auto" uses CUDA if there is a device. `precision` "auto" is what the device is fastest with.
    """

    epochs: Annotated[int, Field(ge=1, le=10_000)] = 3
    steps: Annotated[int, Field(ge=1)] | None = None
    batch_tokens: Annotated[int, Field(ge=8, validation_alias=AliasChoices("batch_tokens", "batch_pieces"))] = 1024
    batch_examples: Annotated[int, Field(ge=1)] | None = None
    accumulate: Annotated[int, Field(ge=1)] = 1
    local_steps: Annotated[int, Field(ge=1)] = 1
    optimizer: Literal["adamw", "adam", "adamax"] = "adamw"
    learning_rate: Positive = 1e-4
    head_learning_rate: Positive | None = None
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    warmup: Share = 0.1
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    clip: Annotated[float, Field(ge=0)] = 1.0
    ema: Annotated[float, Field(ge=0, lt=1)] = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    checkpoint_minutes: Positive = 5.0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    gradient_checkpointing: bool = False

    def deciding(self) -> dict[str, Any]:
        """The settings that decide a run's weights, as plain data; without newer settings that are not used, as before they existed."""
        how = {"threads", "checkpoint_minutes", "device"} | ({"steps"} if self.steps is None else set())
        how |= {"local_steps"} if self.local_steps == 1 else set()
        return self.model_dump(mode="json", exclude=how)


class TextFiles(Section):
    """Plain text: `files` are files, folders, globs or archives of any format, gzipped or not, each read in its own format unless `format` names one, with that
    format's `options`. `documents` is the maximum number to read.
    """

    files: tuple[str, ...] = ()
    format: str | None = None
    options: dict[str, str] = Field(default_factory=dict)
    documents: Annotated[int, Field(ge=1)] | None = None


class TaughtText(TextFiles):
    """Plain text without labels, beside the labelled tasks, learned only from what the teachers predict for it.

    `share` of an epoch's examples come from it, different ones in every epoch until all have been used. `heads` learn from it (default: all that are taught).
    Predictions are ignored where the teachers' most probable label has less than `confidence`: one number, or one for each head.
    """

    files: Annotated[tuple[str, ...], Field(min_length=1)]
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    confidence: Share | dict[str, Share] = 0.0
    heads: Annotated[tuple[str, ...], Field(min_length=1)] | None = None


class TeacherSettings(Section):
    """Teachers: `models` are folders of runs or bundles; the logits of several are averaged.

    Each task learns from its labels and from the teachers' head of the same name, or of the name in `heads`; with `only`, only these tasks are taught.
    `loss` compares logits. The labels' loss has the weight `alpha` and the teachers' the rest (`alpha_weighs` "labels", as Mehmood et al. write
    it), or the other way round ("teacher"). `unchecked` accepts a bundle, which does not record what text was held out of its training. `text` adds plain text for them to label;
    with `labelled` false, they teach nothing else.
    """

    models: Annotated[tuple[str, ...], Field(min_length=1)]
    heads: dict[str, str] = {}
    only: tuple[str, ...] | None = None
    loss: Literal["logit-mse", "kl-divergence", "soft-cross-entropy"] = "logit-mse"
    temperature: Positive = 1.0
    direction: Literal["teacher-student", "student-teacher"] = "teacher-student"
    alpha: Share = 0.5
    alpha_weighs: Literal["labels", "teacher"] = "labels"
    unchecked: bool = False
    text: TaughtText | None = None
    labelled: bool = True

    @model_validator(mode="after")
    def _text_is_learned_from_teachers(self) -> Self:
        if self.text is not None and self.label_weight == 1:
            raise ValueError("text without labels is learned only from the teachers, but their loss has weight 0")
        if self.text is None and not self.labelled:
            raise ValueError("the teachers have nothing to teach: labelled is false, and there is no text")
        return self

    @property
    def label_weight(self) -> float:
        """The weight of the labels' loss.

        >>> [TeacherSettings(models=("t",), alpha=0.25, alpha_weighs=which).label_weight for which in ("labels", "teacher")]
        [0.25, 0.75]
        """
        return self.alpha if self.alpha_weighs == "labels" else 1 - self.alpha


class FeatureLossSettings(Section):
    """How layers of the student are compared with those of its teacher.

    `layers` are the student's: "all", each compared with the teacher's layer that `distil.map` names; "last", with the teacher's last; "embeddings"; or a list.
    `weight` is the weight of every layer's loss, or a list with one for each layer.
    """

    loss: Literal["hidden-cosine", "hidden-mse", "attention-mse", "attention-kl"]
    layers: Literal["all", "last", "embeddings"] | tuple[Annotated[int, Field(ge=1)], ...] = "all"
    weight: Positive | tuple[Weight, ...] = 1.0


class LayerTeacher(Section):
    """A teacher that reads the same batches as its student, so that layers can be compared token by token.

    `teacher` is a run, a folder of an encoder or a hub name, with the student's vocabulary. `map` says which of its layers each layer of the student learns from:
    "uniform", "last", "first", "every-other-0", "every-other-1" or a list.
    """

    teacher: str
    map: (
        Literal["first", "last", "uniform", "every-other-0", "every-other-1"] | tuple[Annotated[int, Field(ge=0)], ...]
    ) = "uniform"
    features: Annotated[tuple[FeatureLossSettings, ...], Field(min_length=1)]


class Development(Section):
    """How development scores are taken: after every `every` epochs, on at most `limit` documents of each task."""

    split: str = "devel"
    every: Annotated[int, Field(ge=1)] = 1
    limit: Annotated[int, Field(ge=1)] | None = None
    patience: Annotated[int, Field(ge=1)] | None = None


_FOLLOWED = ("corpus", "also", "join", "types", "rename", "scheme", "train")
"""What an auxiliary task takes over from the task it is derived from, unless it says otherwise."""


class Recipe(Section):
    """Everything that makes a run. `documents` is the maximum number of documents to read of each split of each corpus, spread over the whole.

    `types` are the plain types that a bundle of the run offers, each with the heads' types that it stands for, such as `bc5cdr/Chemical`. Their `levels` decide
    which of two overlapping entities wins (`biomux annotate --resolve`): types of a lower level come first; types that are not named have level 0.

    A task that is null is left out. `hold_out` names further corpora: texts in their development and test parts are not trained on either, so that a baseline leaves
    out the same texts as the system it is compared with; `hold_out_parts` [test] leaves out only the test parts, for models trained on the development parts.
    """

    name: str
    about: str = ""
    paper: str | None = None
    table: str | None = None
    leaks: Literal["filter", "report", "ignore"] = "filter"
    documents: Annotated[int, Field(ge=1)] | None = None
    hold_out: tuple[str, ...] = ()
    hold_out_parts: Annotated[tuple[Literal["devel", "test"], ...], Field(min_length=1)] = ("devel", "test")
    tasks: Annotated[dict[TaskName, TaskSettings], Field(min_length=1)]
    model: ModelPart
    regime: Regime = Regime()
    teacher: TeacherSettings | None = None
    distil: LayerTeacher | None = None
    loop: Loop = Loop()
    development: Development = Development()
    types: dict[str, tuple[str, ...]] = {}
    levels: dict[str, Annotated[int, Field(ge=0, le=9)]] = {}

    def training(self) -> dict[str, Any]:
        """The settings that decide a run's weights, as plain data: all except descriptions and how it is run."""
        left_out = {"about", "paper", "table", "types", "levels"}
        # A recipe without these settings compares equal to one from before there were any.
        left_out |= {name for name in ("teacher", "distil") if getattr(self, name) is None}
        plain = self.model_dump(mode="json", exclude=left_out)
        plain["loop"] = self.loop.deciding()
        if self.model.encoder.feed_forward is None:
            del plain["model"]["encoder"]["feed_forward"]
        return plain

    @model_validator(mode="before")
    @classmethod
    def _auxiliaries_have_the_corpus_they_follow_from(cls, raw: Any) -> Any:
        tasks = raw.get("tasks") if isinstance(raw, dict) else None
        if isinstance(tasks, dict):  # a study leaves a task out by setting it to null
            tasks = {name: task for name, task in tasks.items() if task is not None}
            raw = {**raw, "tasks": tasks}
        if not isinstance(tasks, dict) or not all(isinstance(task, dict) for task in tasks.values()):
            return raw
        filled = {}
        for name, task in tasks.items():
            origin = tasks.get(task["of"], {}) if isinstance(task.get("of"), str) else {}
            filled[name] = {key: origin[key] for key in _FOLLOWED if key in origin and task.get("of")} | task
        return {**raw, "tasks": filled}

    @model_validator(mode="after")
    def _every_task_has_documents(self) -> Recipe:
        for name, task in self.tasks.items():
            if task.of is not None and (task.of not in self.tasks or self.tasks[task.of].kind != "tagging"):
                raise ValueError(f"tasks → {name} → of: there is no tagging task {task.of!r}")
            if not task.corpus:
                raise ValueError(f"tasks → {name} → corpus: field required")
        return self
