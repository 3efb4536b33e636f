"""One more head on a finished bundle: `biomux train my.yaml --with default`.

Frozen, the encoder stays as it is, so every head that was there gives the very answers that it gave. The new one is trained on what the bundle's own graph says about each word: from the
last layer, and from a learned mix of all layers, and the one with the better development F1 is taken. With light tuning (`light_tuning`) the encoder learns too, and only a limited share of the old answers may
change as the tolerance allows.
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
from biomux.engine.bundle import heads as head_table
from biomux.engine.bundle import reader
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
"""Whether the encoder stays, learns a little, or does what is better on development data."""
WAYS = {
    "mix": "frozen encoder, a mix of layers",
    "last": "frozen encoder, the last layer",
    "light": "light tuning",
}


@dataclass(frozen=True)
class Added:
    """What was added, and how good it is on development documents: for each head, each way's F1 and the way that was taken.

    `light` is what light tuning came to, for the heads for which it was tried.
    """

    bundle: Path
    scores: Mapping[str, Mapping[str, float]]
    taken: Mapping[str, str]
    types: Mapping[str, tuple[str, ...]]
    seconds: float
    light: Mapping[str, light_tuning.Outcome] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {
            "bundle": self.bundle.name,
            "seconds": round(self.seconds, 1),
            "heads": {
                name: {
                    "types": list(self.types[name]),
                    "development_f1": dict(found),
                    "taken": self.taken[name],
                    "light_tuning": self.light[name].to_json() if name in self.light else None,
                }
                for name, found in self.scores.items()
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
    """Write a bundle that is the one given with a further head for each task of the recipe. `begin` is called before the first light tuning, when all has been checked."""
    begun = time.monotonic()
    must_be_new(target, overwrite=overwrite, folder=True, ours=bundle_files(target))
    folder = folder_of(bundle)
    read = original = reader.read(folder)
    if read.words is not None:
        raise _cannot(
            "cannot add a head to a bundle whose encoder reads words",
            "add it to another bundle, or train a run with it",
        )
    _refuse(recipe, read)
    check(recipe, directory)
    documents = load_documents(recipe, directory=directory)
    for name, found in documents.surveys.items():
        listen(f"data of {name}:\n{found}")
    scores: dict[str, dict[str, float]] = {}
    taken: dict[str, str] = {}
    types: dict[str, tuple[str, ...]] = {}
    light: dict[str, light_tuning.Outcome] = {}
    parts = {name: reader.read_file(folder, name, read.manifest) for name in read.manifest.files}
    for name, part in recipe.tasks.items():
        task = make_task(name, part, documents.training[name])
        if not isinstance(task, Tagging) or type(task) is not Tagging:
            raise _cannot(f"task {name!r} does not tag", "leave it out, or train it by itself")
        types[name] = task.types
        _refuse_types(task, read)
        one = _one(
            _Given(read, original, task, documents.training[name], documents.development.get(name, [])),
            _How(recipe, choice, threads, begin if not light else lambda: None, listen),
        )
        scores[name], taken[name], read = one.scores, one.taken, one.bundle
        if one.light is not None:
            light[name] = one.light
        read, parts = _described(read, parts, task, own.short_name(part.corpus), documents.development[name])
        parts["card.md"] += _section(task, own.short_name(part.corpus), documents.training[name], one).encode()
    annotator = annotator_of(read, threads=threads)
    parts["graph.onnx"], parts["examples.jsonl"] = read.graph, verifying.examples(annotator)
    write_bundle(target, parts, overwrite=overwrite)
    return Added(target, scores, taken, types, time.monotonic() - begun, light)


@dataclass(frozen=True)
class _Given:
    """A bundle as it is now and as it was at first, and what a further head is learned from."""

    read: reader.Bundle
    original: reader.Bundle
    task: Tagging
    training: Sequence[Document]
    development: Sequence[Document]


@dataclass(frozen=True)
class _How:
    """The options beside the data, and who is told about progress."""

    recipe: Recipe
    choice: Choice
    threads: int | None
    begin: Callable[[], None]
    listen: Callable[[str], None]


@dataclass(frozen=True)
class _One:
    """The head of one task: each way's development F1, the way that was taken, the bundle, and what light tuning came to."""

    scores: dict[str, float]
    taken: str
    bundle: reader.Bundle
    light: light_tuning.Outcome | None = None


def _one(given: _Given, how: _How) -> _One:
    """The bundle with the head of one task."""
    read, task, choice, threads, listen = given.read, given.task, how.choice, how.threads, how.listen
    if not given.development:
        raise _cannot(f"task {task.name!r} has no development documents", "give its corpus a devel part")
    tokenizer = annotator_of(read, threads=threads).tokenizer
    states, examples = [], []
    for documents in (given.training, given.development):
        made, _ = make_examples((task,), {task.name: documents}, tokenizer, limit=read.limit)
        states.append(frozen_head.read(read.graph, made, read.specials, task=task.name, threads=threads))
        examples.append(made)
    listen(f"{len(states[0].labels):,} words of {len(given.training):,} documents read")
    heads: dict[str, AddedHead] = {}
    bundles: dict[str, reader.Bundle] = {}
    scores: dict[str, float] = {}
    for way in ("mix", "last"):
        heads[way], _ = frozen_head.train(
            *states, labels=len(task.labels), mixes=way == "mix", seed=how.recipe.loop.seed, listen=listen
        )
        bundles[way] = light_tuning.grown(read, task, heads[way])
        scores[way] = score(annotator_of(bundles[way], threads=threads), task, given.development).value
        listen(f"{WAYS[way]}: development F1 {100 * scores[way]:.2f}")
    taken = max(scores, key=lambda way: scores[way])
    if choice.way == "frozen":
        return _One(scores, taken, bundles[taken])
    how.begin()
    tuned = _tuned(given, how, heads[taken], examples[0])
    found = tuned.outcome
    if not found.held and choice.way == "light":
        raise TrainingError(
            "BX456",
            f"light tuning changed {100 * found.changes.share:.1f} % of the old answers, more than {100 * choice.tolerance:g} %",
            where=f"tasks → {task.name}",
            hint="allow more with --tolerance, or take --way best, which falls back on the frozen encoder",
        )
    if found.held:
        scores["light"], bundles["light"] = found.f1, tuned.bundle
        if choice.way == "light" or found.f1 > scores[taken]:
            taken = "light"
    return _One(scores, taken, bundles[taken], found)


def _tuned(given: _Given, how: _How, head: AddedHead, examples: Sequence[Example]) -> light_tuning.Tuned:
    """Light tuning that begins with a head of the frozen encoder."""
    task, development = given.task, given.development
    bare = [task.bare(document) for document in development]
    known = {one.name for one in given.original.tasks}
    with TemporaryDirectory() as temporary:
        return light_tuning.tune(
            given.read,
            task,
            head,
            examples,
            development,
            before=list(annotator_of(given.original, threads=how.threads).annotate(bare)),
            score=lambda annotator: score(annotator, task, development).value,
            added=frozenset({task.name, *(one.name for one in given.read.tasks if one.name not in known)}),
            folder=(how.choice.work or Path(temporary)) / task.name,
            tolerance=how.choice.tolerance,
            settings=light_tuning.loop_settings(seed=how.recipe.loop.seed, threads=how.recipe.loop.threads),
            threads=how.threads,
            listen=how.listen,
        )


def score(annotator: Annotator, task: Tagging, documents: Sequence[Document]) -> Evaluation:
    """What a head finds in documents, whatever it scores."""
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
    thresholds = {type_: calibrate.best_threshold([given]) for type_, given in answers.items()}
    curves = {type_: [list(point) for point in calibrate.curve(given)] for type_, given in answers.items()}
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


def _section(task: Tagging, corpus: str, training: Sequence[Document], one: _One) -> str:
    """What the card says about the head."""
    counts = Counter(span.type for document in training for span in document.spans)
    told = ", ".join(f"{name} ({counts[name]:,})" for name in task.types)
    rows = "".join(
        f"| {WAYS[way]}{' (taken)' if way == one.taken else ''} | {100 * f1:.2f} |\n" for way, f1 in one.scores.items()
    )
    changed = "" if one.light is None else f" {one.light}"
    if one.taken == "light":
        others = (
            f"The encoder was tuned with it.{changed} The scores of the other heads above were measured before this."
        )
    else:
        others = f"The encoder and all other heads are unchanged, so their scores above are still valid.{changed}"
    return (
        f"\n## Added head `{task.name}`\n\n"
        f"Trained on {len(training):,} documents of {corpus}, with these entities: {told}. {others}\n\n"
        f"| way | development F1, strict |\n|---|---|\n{rows}"
    )


def _refuse(recipe: Recipe, read: reader.Bundle) -> None:
    """Refuse tasks that cannot be added before anything is read."""
    for name, part in recipe.tasks.items():
        if part.kind != "tagging":
            raise _cannot(
                f"task {name!r} is of the kind {part.kind!r}", "only taggers can be added; train it by itself"
            )
        if name in {task.name for task in read.tasks}:
            raise _cannot(f"the bundle has a head {name!r} already", "rename the task")


def _refuse_types(task: Tagging, read: reader.Bundle) -> None:
    for type_ in task.types:
        if type_ in read.merges:
            raise _cannot(
                f"the bundle has a type {type_!r} already", f"rename it in the task: rename: {{{type_}: my-{type_}}}"
            )


def _cannot(message: str, hint: str) -> RecipeError:
    return RecipeError("BX308", message, where="--with", hint=hint)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
