"""One more head on a finished bundle: `biomux train my.yaml --with default`.

With a frozen encoder, every existing head gives exactly the same answers as before. The new head is trained on what the bundle's own graph computes for each word: from
the last layer, and from a learned mix of all layers; the one with the better development F1 is used. With light tuning (`light_tuning`) the encoder is trained too,
and only as many of the old answers may change as the tolerance allows.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from biomux.corpora import own
from biomux.engine.bundle import checksums, reader
from biomux.engine.bundle import heads as head_table
from biomux.engine.bundle import verify as verifying
from biomux.engine.load import annotator as annotator_of
from biomux.errors import RecipeError, TrainingError
from biomux.formats import must_be_new
from biomux.tasks.tagging import Tagging
from biomux.training import calibrate, frozen_head, light_tuning
from biomux.training.build import load_documents, make_examples, make_task
from biomux.training.encoders.from_bundle import folder_of
from biomux.training.export import bundle_files, write_bundle
from biomux.training.task_documents import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.recipes.schema import Recipe
    from biomux.tasks.examples import Example
    from biomux.tasks.task import Evaluation
    from biomux.training.bundle_graph import AddedHead

Way = Literal["frozen", "light", "best"]
"""Whether the encoder stays frozen, is tuned lightly, or whichever is better on development data."""
WAYS = {
    "mix": "frozen encoder, a mix of layers",
    "last": "frozen encoder, the last layer",
    "light": "light tuning",
}


@dataclass(frozen=True)
class Added:
    """What was added, and how good it is on development documents: for each head, the F1 of each way and the way that was chosen.

    `light` has the outcome of light tuning, for the heads for which it was tried.
    """

    bundle: Path
    scores: Mapping[str, Mapping[str, float]]
    taken: Mapping[str, str]
    types: Mapping[str, tuple[str, ...]]
    seconds: float
    light: Mapping[str, light_tuning.TuningOutcome] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {
            "bundle": self.bundle.name,
            "seconds": round(self.seconds, 1),
            "heads": {
                name: {
                    "types": list(self.types[name]),
                    "development_f1": dict(f1_by_way),
                    "taken": self.taken[name],
                    "light_tuning": self.light[name].to_json() if name in self.light else None,
                }
                for name, f1_by_way in self.scores.items()
            },
        }


@dataclass(frozen=True)
class Choice:
    """How heads are added: the way, the share of old answers that light tuning may change, and the folder for its checkpoints."""

    way: Way = "frozen"
    tolerance: float = light_tuning.TOLERANCE
    work: Path | None = None


def add(
    recipe: Recipe,
    bundle: str,
    target: Path,
    *,
    choice: Choice = Choice(),
    directory: Path | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    begin: Callable[[], None] = lambda: None,
    listen: Callable[[str], None] = lambda _: None,
) -> Added:
    """Write a copy of the bundle with one more head for each task of the recipe. `begin` is called before the first light tuning, when all has been checked."""
    started = time.monotonic()
    must_be_new(target, overwrite=overwrite, folder=True, ours=bundle_files(target))
    folder = folder_of(bundle)
    bundle_now = original = reader.read(folder)
    if bundle_now.words is not None:
        raise _cannot(
            "cannot add a head to a bundle whose encoder reads words",
            "add it to another bundle, or train a run with it",
        )
    _refuse(recipe, bundle_now)
    check(recipe, directory)
    documents = load_documents(recipe, directory=directory)
    for name, survey in documents.surveys.items():
        listen(f"data of {name}:\n{survey}")
    scores: dict[str, dict[str, float]] = {}
    ways_taken: dict[str, str] = {}
    types: dict[str, tuple[str, ...]] = {}
    light: dict[str, light_tuning.TuningOutcome] = {}
    parts = {name: checksums.read_file(folder, name, bundle_now.manifest) for name in bundle_now.manifest.files}
    for name, part in recipe.tasks.items():
        task = make_task(name, part, documents.training[name])
        if not isinstance(task, Tagging) or type(task) is not Tagging:
            raise _cannot(f"task {name!r} does not tag", "leave it out, or train it by itself")
        types[name] = task.types
        _refuse_types(task, bundle_now)
        added = _one(
            _Given(bundle_now, original, task, documents.training[name], documents.development.get(name, [])),
            _How(recipe, choice, threads, begin if not light else lambda: None, listen),
        )
        scores[name], ways_taken[name], bundle_now = added.scores, added.taken, added.bundle
        if added.light is not None:
            light[name] = added.light
        bundle_now, parts = _described(
            bundle_now, parts, task, own.short_name(part.corpus), documents.development[name]
        )
        parts["card.md"] += _section(task, own.short_name(part.corpus), documents.training[name], added).encode()
    annotator = annotator_of(bundle_now, threads=threads)
    parts["graph.onnx"], parts["examples.jsonl"] = bundle_now.graph, verifying.examples(annotator)
    write_bundle(target, parts, overwrite=overwrite)
    return Added(target, scores, ways_taken, types, time.monotonic() - started, light)


@dataclass(frozen=True)
class _Given:
    """A bundle as it is now and as it was at first, and the documents that a new head is trained on."""

    read: reader.Bundle
    original: reader.Bundle
    task: Tagging
    training: Sequence[Document]
    development: Sequence[Document]


@dataclass(frozen=True)
class _How:
    """The options besides the data, and the callbacks for progress."""

    recipe: Recipe
    choice: Choice
    threads: int | None
    begin: Callable[[], None]
    listen: Callable[[str], None]


@dataclass(frozen=True)
class _One:
    """The head of one task: the development F1 of each way, the way that was chosen, the bundle, and the outcome of light tuning."""

    scores: dict[str, float]
    taken: str
    bundle: reader.Bundle
    light: light_tuning.TuningOutcome | None = None


def _one(inputs: _Given, how: _How) -> _One:
    """The bundle with the head of one task."""
    bundle_now, task, choice, threads, listen = inputs.read, inputs.task, how.choice, how.threads, how.listen
    if not inputs.development:
        raise _cannot(f"task {task.name!r} has no development documents", "give its corpus a devel part")
    tokenizer = annotator_of(bundle_now, threads=threads).tokenizer
    states, examples = [], []
    for documents in (inputs.training, inputs.development):
        task_examples, _ = make_examples((task,), {task.name: documents}, tokenizer, limit=bundle_now.limit)
        states.append(
            frozen_head.read(bundle_now.graph, task_examples, bundle_now.specials, task=task.name, threads=threads)
        )
        examples.append(task_examples)
    listen(f"{len(states[0].labels):,} words of {len(inputs.training):,} documents read")
    heads: dict[str, AddedHead] = {}
    bundles: dict[str, reader.Bundle] = {}
    scores: dict[str, float] = {}
    for way in ("mix", "last"):
        heads[way], _ = frozen_head.train(
            *states, labels=len(task.labels), mixes=way == "mix", seed=how.recipe.loop.seed, listen=listen
        )
        bundles[way] = light_tuning.grown(bundle_now, task, heads[way])
        scores[way] = score(annotator_of(bundles[way], threads=threads), task, inputs.development).value
        listen(f"{WAYS[way]}: development F1 {100 * scores[way]:.2f}")
    chosen_way = max(scores, key=lambda way: scores[way])
    if choice.way == "frozen":
        return _One(scores, chosen_way, bundles[chosen_way])
    how.begin()
    tuned = _tuned(inputs, how, heads[chosen_way], examples[0])
    outcome = tuned.outcome
    if not outcome.held and choice.way == "light":
        raise TrainingError(
            "BX456",
            f"light tuning changed {100 * outcome.changes.share:.1f} % of the old answers, more than {100 * choice.tolerance:g} %",
            where=f"tasks → {task.name}",
            hint="allow more with --tolerance, or use --way best, which falls back to the frozen encoder",
        )
    if outcome.held:
        scores["light"], bundles["light"] = outcome.f1, tuned.bundle
        if choice.way == "light" or outcome.f1 > scores[chosen_way]:
            chosen_way = "light"
    return _One(scores, chosen_way, bundles[chosen_way], outcome)


def _tuned(inputs: _Given, how: _How, head: AddedHead, examples: Sequence[Example]) -> light_tuning.Tuned:
    """Light tuning that starts from a head trained on the frozen encoder."""
    task, development = inputs.task, inputs.development
    bare = [task.bare(document) for document in development]
    original_heads = {bundle_task.name for bundle_task in inputs.original.tasks}
    with TemporaryDirectory() as temporary:
        return light_tuning.tune(
            inputs.read,
            task,
            head,
            examples,
            development,
            before=list(annotator_of(inputs.original, threads=how.threads).annotate(bare)),
            score=lambda annotator: score(annotator, task, development).value,
            added=frozenset(
                {
                    task.name,
                    *(bundle_task.name for bundle_task in inputs.read.tasks if bundle_task.name not in original_heads),
                }
            ),
            folder=(how.choice.work or Path(temporary)) / task.name,
            tolerance=how.choice.tolerance,
            settings=light_tuning.loop_settings(seed=how.recipe.loop.seed, threads=how.recipe.loop.threads),
            threads=how.threads,
            listen=how.listen,
        )


def score(annotator: Annotator, task: Tagging, documents: Sequence[Document]) -> Evaluation:
    """Score what a head finds in documents, whatever its scores."""
    bare = [task.bare(document) for document in documents]
    return task.evaluate(documents, list(annotator.annotate(bare, heads=[task.name], threshold=0)))


def _described(
    read: reader.Bundle, parts: dict[str, bytes], task: Tagging, corpus: str, development: Sequence[Document]
) -> tuple[reader.Bundle, dict[str, bytes]]:
    """The tables of the bundle with the new head: labels, temperature, thresholds, curves, plain types."""
    annotator = annotator_of(read)
    sentences = calibrate.read(annotator, task, development)
    heat = round(min(max(calibrate.temperature(sentences), head_table.COLDEST), head_table.HOTTEST), 4)
    answers = calibrate.answers(task, sentences, heat)
    thresholds = {type_: calibrate.best_threshold([type_answers]) for type_, type_answers in answers.items()}
    curves = {
        type_: [list(point) for point in calibrate.curve(type_answers)] for type_, type_answers in answers.items()
    }
    table, types = head_table.upgraded(json.loads(parts["heads.json"])), json.loads(parts.get("types.json", b"{}"))
    calibration = json.loads(parts.get("calibration.json", b"{}"))
    table["heads"].append(
        head_table.entry(task, read.places[task.name], temperature=heat, corpus=corpus, thresholds=thresholds)
    )
    calibration[task.name] = curves
    for type_ in task.types if types else ():
        types[type_] = {
            "sources": [[task.name, type_]],
            "rule": "primary",
            "threshold": thresholds[type_],
            "calibration": curves[type_],
        }
    changed = {**parts, "heads.json": _json(table), "calibration.json": _json(calibration)}
    if types:
        changed["types.json"] = _json(types)
    return replace(read, temperatures={**read.temperatures, task.name: heat}), changed


def _section(task: Tagging, corpus: str, training: Sequence[Document], added: _One) -> str:
    """What the card says about the head."""
    counts = Counter(span.type for document in training for span in document.spans)
    entity_counts = ", ".join(f"{name} ({counts[name]:,})" for name in task.types)
    rows = "".join(
        f"| {WAYS[way]}{' (taken)' if way == added.taken else ''} | {100 * f1:.2f} |\n"
        for way, f1 in added.scores.items()
    )
    changed = "" if added.light is None else f" {added.light}"
    if added.taken == "light":
        effect = (
            f"The encoder was tuned with it.{changed} The scores of the other heads above were measured before this."
        )
    else:
        effect = f"The encoder and all other heads are unchanged, so their scores above are still valid.{changed}"
    return (
        f"\n## Added head `{task.name}`\n\n"
        f"Trained on {len(training):,} documents of {corpus}, with these entities: {entity_counts}. {effect}\n\n"
        f"| way | development F1, strict |\n|---|---|\n{rows}"
    )


def _refuse(recipe: Recipe, read: reader.Bundle) -> None:
    """Refuse tasks that cannot be added before anything is read."""
    for name, part in recipe.tasks.items():
        if part.kind != "tagging":
            raise _cannot(f"task {name!r} has the kind {part.kind!r}", "only taggers can be added; train it by itself")
        if name in {task.name for task in read.tasks}:
            raise _cannot(f"the bundle already has a head {name!r}", "rename the task")


def _refuse_types(task: Tagging, read: reader.Bundle) -> None:
    for type_ in task.types:
        if type_ in read.merges:
            raise _cannot(
                f"the bundle already has a type {type_!r}", f"rename it in the task: rename: {{{type_}: my-{type_}}}"
            )


def _cannot(message: str, hint: str) -> RecipeError:
    return RecipeError("BX308", message, where="--with", hint=hint)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
