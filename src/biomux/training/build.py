"""From a recipe to what the loop needs: documents, examples, model, plan."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from biomux import plugins
from biomux.corpora import own
from biomux.corpora.leaks import LeakReport, filter_leaks
from biomux.corpora.survey import Survey, look
from biomux.engine.annotator import Annotator
from biomux.engine.packing import Specials
from biomux.errors import RecipeError, TrainingError, did_you_mean
from biomux.recipes.run_folder import RunFolder
from biomux.recipes.schema import TaskSettings as TaskPart
from biomux.recipes.settings import checked
from biomux.tasks import DEFAULT_HEADS, TASKS, restored
from biomux.tasks.examples import make
from biomux.training import batches, encoders, example_cache, short_frames, teachers
from biomux.training import unlabelled as plain
from biomux.training.encoders import from_run
from biomux.training.encoders.tokenizer import tokenizer_of
from biomux.training.encoders.vocabulary import saved
from biomux.training.heads import HEADS
from biomux.training.heads.crf import chained
from biomux.training.model import Model, TorchSession
from biomux.training.regimes import REGIMES
from biomux.training.task_documents import Library, corpora_of, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.recipes.schema import EncoderSettings, HeadSettings, Recipe
    from biomux.tasks.examples import Example
    from biomux.tasks.task import Task
    from biomux.training.plan import Plan


SAMPLE = 100
"""Documents of each task on which the length of text in another vocabulary is measured."""


@dataclass
class Built:
    """What a recipe describes, built. `leaks` says what was removed from training because it is also in a held-out part."""

    model: Model
    tokenizer: Tokenizer
    specials: Specials
    tasks: tuple[Task, ...]
    plan: Plan
    examples: list[Example]
    development: Mapping[str, list[Document]]
    counts: Mapping[str, Counter[str]]
    leaks: LeakReport | None
    limit: int
    surveys: Mapping[str, Survey] = field(default_factory=dict)
    """What the user's own data contain, by task."""
    vocabulary: Mapping[str, Any] | None = None
    """What a vocabulary other than the encoder's own saves."""

    def annotator(self) -> Annotator:
        """The annotator that scores the development data: the one that runs in production, with torch behind it."""
        tasks = [chained(task, self.model.heads[task.name]) for task in self.tasks]
        session = TorchSession(self.model)
        return Annotator.of_tasks(session, self.tokenizer, self.specials, tasks, limit=self.limit)


def build(
    recipe: Recipe,
    *,
    directory: Path | None = None,
    outputs: Path | None = None,
    listen: Callable[[str], None] = lambda _: None,
) -> Built:
    """Load the corpora, remove leaks, make the model and the examples.

    `outputs` is the folder for the teachers' outputs, and `listen` gets messages about their progress; without `outputs`, teachers are left out.
    """
    torch.manual_seed(recipe.loop.seed)
    loaded = load_documents(recipe, directory=directory, unlabelled=outputs is not None)
    documents = loaded.training
    tasks = tuple(make_task(name, task, documents[name]) for name, task in recipe.tasks.items())
    frames = {
        name: short_frames.made(documents[name], task.frames, seed=recipe.loop.seed)
        for name, task in recipe.tasks.items()
        if task.frames
    }
    documents = documents | {name: [*documents[name], *framed] for name, framed in frames.items()}
    texts = (document.text for group in (*documents.values(), loaded.unlabelled) for document in group)
    encoder, tokenizer, specials = load_encoder(recipe.model.encoder, texts)
    model = make_model(recipe, tasks, encoder, tokenizer)
    if recipe.model.heads != "fresh":
        _keep_heads(recipe, tasks, model)
    plan = _plan(recipe if outputs else recipe.model_copy(update={"teacher": None}), tasks, model)
    examples, counts = make_examples(tasks, documents, tokenizer, limit=recipe.model.encoder.limit, joint=plan.joint)
    _check_positives(recipe, tasks, examples, counts)
    for name, framed in frames.items():
        counts.setdefault(name, Counter())["short frames made"] = len(framed)
    if outputs is not None:
        examples, taught_counts = teachers.teach(recipe, tasks, documents, examples, place=outputs, listen=listen)
        for name, taught in taught_counts.items():
            counts.setdefault(name, Counter()).update(taught)
    if plan.draw.fraction < 1:
        kept_number = len(batches.kept(examples, fraction=plan.draw.fraction, by=plan.draw.by, seed=recipe.loop.seed))
        counts["all tasks"] = Counter({"examples left out by the fraction": len(examples) - kept_number})
    if outputs is not None and recipe.teacher is not None and recipe.teacher.text is not None:
        options: dict[str, Any] = {"limit": recipe.model.encoder.limit, "place": outputs, "listen": listen}
        more, text_counts = plain.examples(recipe.teacher, tasks, loaded.unlabelled, tokenizer, **options)
        if (times := batches.times_repeated(plan.draw, len(examples), len(more), epochs=recipe.loop.epochs)) > 1:
            listen(f"text: its {len(more):,} examples are too few for its share, so each is read {times:.1f} times")
        examples += more
        counts[plain.COUNTED] = text_counts
    return Built(
        model,
        tokenizer,
        specials,
        tasks,
        plan,
        examples,
        loaded.development,
        counts,
        loaded.leaks,
        recipe.model.encoder.limit,
        loaded.surveys,
        _saved(recipe, documents, encoder, tokenizer),
    )


def _saved(
    recipe: Recipe, documents: Mapping[str, Sequence[Document]], encoder: Any, tokenizer: Tokenizer
) -> Mapping[str, Any] | None:
    """What another vocabulary saves, on some of the training documents."""
    settings = recipe.model.encoder
    if settings.run is not None or settings.bundle is not None:
        return None
    sample = [document.text for group in documents.values() for document in spread(list(group), SAMPLE)]
    return saved(settings, sample, encoder, tokenizer)


@dataclass(frozen=True)
class Documents:
    """The documents of a recipe's tasks, without what leaked in training."""

    training: dict[str, list[Document]]
    development: dict[str, list[Document]]
    leaks: LeakReport | None
    surveys: dict[str, Survey]
    unlabelled: Sequence[Document] = ()


def load_documents(recipe: Recipe, *, directory: Path | None = None, unlabelled: bool = False) -> Documents:
    """Read the corpora, survey the user's own data, and remove leaks; with `unlabelled`, also from the plain text that teachers label."""
    library = Library(directory, recipe.documents)
    documents = {name: library.training(name, task) for name, task in recipe.tasks.items()}
    development = {
        name: library.part(task, recipe.development.split)[: recipe.development.limit]
        for name, task in recipe.tasks.items()
        if task.scored and recipe.development.split not in task.train
    }
    for name in [name for name, part_documents in development.items() if not part_documents]:
        if recipe.tasks[name].also:
            del development[name]  # no text is in all of its corpora: it is trained, and not scored
        else:
            raise TrainingError(
                "BX404",
                f"{recipe.development.split} of {recipe.tasks[name].corpus} has no documents to score on",
                where=f"tasks → {name}",
                hint="choose another development.split, or another corpus",
            )
    surveys = _surveys(recipe, library)
    leaks = None
    text = recipe.teacher.text if recipe.teacher is not None and unlabelled else None
    training_documents = documents if text is None else {**documents, plain.COUNTED: plain.documents(text)}
    if recipe.leaks != "ignore":
        without_leaks, leaks = filter_leaks(training_documents, held_out_parts(recipe, library))
        training_documents = without_leaks if recipe.leaks == "filter" else training_documents
    return Documents(
        {name: training_documents[name] for name in documents},
        development,
        leaks,
        surveys,
        training_documents.get(plain.COUNTED, ()),
    )


def _surveys(recipe: Recipe, library: Library) -> dict[str, Survey]:
    """What the user's own data contain; an error if nothing can be learned from them."""
    surveys = {}
    for name, task in recipe.tasks.items():
        if own.of_spec(task.corpus) is None or task.of is not None:
            continue
        splits = {"train": library.training(name, task)}
        splits |= {split: library.part(task, split) for split in ("devel", "test") if split in library.splits(task)}
        surveys[name] = look(splits, types=task.types, where=f"tasks → {name}")
    return surveys


def restore(recipe: Recipe, folder: Path, found: example_cache.Found) -> Built | None:
    """What a run needs to resume, from its cache; None if the cache is incomplete. The weights come from a checkpoint later."""
    examples, counts, development = found
    try:
        described = RunFolder(folder).description
        tasks = tuple(restored(task_description) for task_description in described["tasks"])
        tokenizer = tokenizer_of(str(folder))
        specials, limit = Specials(**described["specials"]), int(described["limit"])
        encoder = encoders.build(described["encoder"])
    except (OSError, ValueError, KeyError, TypeError, TrainingError):
        return None
    model = make_model(recipe, tasks, encoder, tokenizer)
    plan = _plan(recipe, tasks, model)
    return Built(model, tokenizer, specials, tasks, plan, examples, development, counts, None, limit)


def make_model(recipe: Recipe, tasks: Sequence[Task], encoder: Any, tokenizer: Tokenizer) -> Model:
    """The heads of a recipe's tasks on an encoder."""
    heads = {}
    for task in tasks:
        described = recipe.tasks[task.name].head or _default_head(task, recipe.model.head)
        heads[task.name] = make_head(described, encoder, _outputs(task, tokenizer))
    try:
        return Model(encoder, heads, {task.name: task.unit for task in tasks})
    except KeyError as error:
        raise RecipeError(
            "BX305",
            f"cannot use this name for a task: {error.args[0]}",
            where="tasks",
            hint="choose another name",
        ) from None


def make_examples(
    tasks: Sequence[Task],
    documents: Mapping[str, Sequence[Document]],
    tokenizer: Tokenizer,
    *,
    limit: int,
    joint: bool = False,
) -> tuple[list[Example], dict[str, Counter[str]]]:
    """The examples of all tasks, and what was counted for each. With `joint`, auxiliary tasks label the examples of the task they are derived from."""
    examples: list[Example] = []
    counts: dict[str, Counter[str]] = {}
    names = {task.name: task for task in tasks}
    followed = {task.name: _followed(task, names) for task in tasks if joint}
    for task in tasks:
        if followed.get(task.name) in names:
            continue
        also = [auxiliary for auxiliary in tasks if followed.get(auxiliary.name) == task.name]
        task_examples = make(task, documents[task.name], tokenizer, limit=limit, also=also)
        if not task_examples.examples:
            raise TrainingError(
                "BX404", f"task {task.name!r} has no training examples", hint="check its corpus, split and types"
            )
        examples += task_examples.examples
        counts[task.name] = task_examples.counts
    return examples, counts


def _followed(task: Task, tasks: Mapping[str, Task]) -> str:
    """The task whose examples an auxiliary one labels: the one that it is derived from, if both read text the same way."""
    origin = tasks.get(getattr(task, "follows", ""))
    alike = origin is not None and getattr(origin, "reads", None) == getattr(task, "reads", None)
    return origin.name if origin is not None and alike else ""


def _check_positives(
    recipe: Recipe, tasks: Sequence[Task], examples: Sequence[Example], counts: Mapping[str, Counter[str]]
) -> None:
    """Refuse a task without any positive example."""
    waiting: dict[str, int] = {task.name: task.positive for task in tasks if hasattr(task, "positive")}
    for example in examples:
        for name, labels in example.labels.items():
            if name in waiting and (labels.values >= waiting[name]).any():
                del waiting[name]
        if not waiting:
            return
    for name in waiting:
        described = recipe.tasks[name]
        counted = "; ".join(f"{noun}: {number:,}" for noun, number in counts.get(name, Counter()).items() if number)
        raise TrainingError(
            "BX409",
            f"{'+'.join(described.train)} of {', '.join(corpora_of(described))} gives this task no positive example"
            + (f" ({counted})" if counted else ""),
            where=f"tasks → {name}",
            hint="check the types that the task names, and that the corpus has mentions, relations or answers of them",
        )


def held_out_parts(recipe: Recipe, library: Library) -> dict[str, list[Document]]:
    """The development and test parts of every corpus that the recipe trains on, except those that the recipe explicitly trains on."""
    held_out: dict[str, list[Document]] = {}
    for name, task in recipe.tasks.items():
        splits = library.splits(task)
        for split in ("devel", "test"):
            if split in splits and split not in task.train:
                held_out[f"{name}/{split}"] = library.part(task, split)
    trained_on = {spec.partition("[")[0] for task in recipe.tasks.values() for spec in (task.corpus, *task.also)}
    for corpus in recipe.hold_out:
        if corpus not in trained_on:
            for split in recipe.hold_out_parts:
                held_out[f"{corpus}/{split}"] = library.part(TaskPart(corpus=corpus), split)
    return held_out


def make_task(name: str, described: TaskPart, documents: Sequence[Document]) -> Task:
    """The task that a recipe describes; its labels are taken from the training documents unless it names them."""
    kind = plugins.find(TASKS, described.kind, "tasks")
    if kind is None:
        raise RecipeError(
            "BX306",
            f"unknown kind of task {described.kind!r}",
            where=f"tasks → {name} → kind",
            hint=did_you_mean(described.kind, plugins.names(TASKS, "tasks")),
        )
    settings = checked(kind.of_documents, described.settings, where=f"tasks → {name}", fields=kind)
    if "scheme" in getattr(kind, "__dataclass_fields__", ()):
        settings = {"types": described.types, "scheme": described.scheme} | settings
    if described.of is not None:
        settings["of"] = described.of
    try:
        task: Task = kind.of_documents(name, documents, **settings)
    except (TypeError, ValueError) as error:
        raise RecipeError("BX306", str(error), where=f"tasks → {name} → settings") from None
    return task


def load_encoder(settings: EncoderSettings, texts: Iterable[str]) -> tuple[Any, Tokenizer, Specials]:
    """The encoder of a recipe, narrowed if it says so."""
    encoder, tokenizer, specials = _whole_encoder(settings, texts)
    if settings.feed_forward is not None:
        if not hasattr(encoder, "keep_feed_forward"):
            raise RecipeError(
                "BX306",
                "cannot keep some feed-forward units of this encoder: it is not a transformer",
                where="model → encoder → feed_forward",
                hint="leave feed_forward out",
            )
        encoder.keep_feed_forward(settings.feed_forward)
    return encoder, tokenizer, specials


def _whole_encoder(settings: EncoderSettings, texts: Iterable[str]) -> tuple[Any, Tokenizer, Specials]:
    """An encoder of a run, of a bundle, or made by its kind, which may look at the training texts."""
    if settings.run is not None:
        return from_run.load(Path(settings.run), dropout=settings.dropout, layers=settings.layers, take=settings.take)
    if settings.bundle is not None:
        from biomux.training.encoders import from_bundle  # here: it needs onnx

        return from_bundle.load(settings)
    built = encoders.of_kind(settings.kind).make(settings, texts)
    return built.encoder, built.tokenizer, built.specials


def _keep_heads(recipe: Recipe, tasks: Sequence[Task], model: Model) -> None:
    """Give each head the weights that it had in the run that the encoder comes from; if only known ones are kept, the others stay new."""
    folder = Path(recipe.model.encoder.run or "")
    for name, weights in from_run.heads(folder, tasks, known=recipe.model.heads == "known").items():
        try:
            model.heads[name].load_state_dict(weights)
        except RuntimeError:
            raise TrainingError(
                "BX405",
                f"cannot keep the head {name!r}: it has another kind or size in the run to start from",
                where=str(folder),
                hint="set model.heads=fresh, or give it the same head",
            ) from None


def _default_head(task: Task, usual: HeadSettings) -> HeadSettings:
    """The model's head, unless it does not fit what the task predicts."""
    kind = DEFAULT_HEADS.get(task.kind) or ("pair-of-spans" if task.unit == "pair" else None)
    if kind is None and task.unit == "window" and usual.kind in ("bilstm", "crf"):
        kind = "pooled"
    return usual if kind is None else usual.model_copy(update={"kind": kind, "settings": {}})


def _outputs(task: Task, tokenizer: Tokenizer) -> int:
    return tokenizer.get_vocab_size() if task.unit == "token" else len(task.labels)


def make_head(described: HeadSettings, encoder: Any, outputs: int) -> torch.nn.Module:
    """The head of a recipe on an encoder."""
    make = plugins.find(HEADS, described.kind, "heads")
    if make is None:
        raise RecipeError(
            "BX306",
            f"unknown kind of head {described.kind!r}",
            where="head → kind",
            hint=did_you_mean(described.kind, plugins.names(HEADS, "heads")),
        )
    settings = checked(make, described.settings, where="head")
    options = {"encoder": encoder} if "encoder" in inspect.signature(make).parameters else {}
    try:
        return make(encoder.width, outputs, **options, **settings)
    except (TypeError, ValueError) as error:
        raise RecipeError("BX306", str(error), where="head → settings") from None


def _plan(recipe: Recipe, tasks: Sequence[Task], model: Model) -> Plan:
    losses = {task.name: getattr(model.heads[task.name], "objective", task.objective) for task in tasks}
    kind = recipe.regime.kind
    regime = plugins.find(REGIMES, kind, "regimes")
    if regime is None:
        raise RecipeError(
            "BX306",
            f"unknown regime {kind!r}",
            where="regime → kind",
            hint=did_you_mean(kind, plugins.names(REGIMES, "regimes")),
        )
    boost = recipe.regime.settings.get("boost")
    unknown = sorted(set(boost) - set(losses)) if isinstance(boost, dict) else []
    if unknown:
        raise RecipeError(
            "BX305",
            f"cannot boost the task {unknown[0]!r}: the recipe has no such task",
            where="regime → settings → boost",
            hint=did_you_mean(unknown[0], losses),
        )
    try:
        plan: Plan = regime(losses, **checked(regime, recipe.regime.settings, where="regime"))
    except (TypeError, ValueError) as error:
        raise RecipeError("BX306", str(error), where="regime → settings") from None
    return plan if recipe.teacher is None else teachers.with_teacher(plan, recipe.teacher, tasks)
