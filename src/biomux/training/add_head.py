"""One more head on a finished bundle: `biomux train my.yaml --with default`.

The encoder stays as it is, so every head that was there gives the very answers that it gave. The new one is trained on what the bundle's own graph says about each word, in two
ways: from the last layer, and from a learned mix of all layers. The one with the better development F1 is taken.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from biomux.corpora import own
from biomux.engine.bundle import heads as head_table
from biomux.engine.bundle import reader
from biomux.engine.bundle import verify as verifying
from biomux.engine.graph_session import Place
from biomux.engine.load import annotator as annotator_of
from biomux.errors import RecipeError
from biomux.tasks.tagging import Tagging
from biomux.training import bundle_graph, calibrate, frozen_head
from biomux.training.build import load_documents, make_examples, make_task
from biomux.training.encoders.from_bundle import folder_of
from biomux.training.export import write_bundle
from biomux.training.task_documents import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.recipes.schema import Recipe
    from biomux.tasks.task import Evaluation

WAYS = {"mix": "a learned mix of layers", "last": "the last layer"}


@dataclass(frozen=True)
class Added:
    """What was added, and how good it is on development documents: for each head, each way's F1 and the way that was taken."""

    bundle: Path
    scores: Mapping[str, Mapping[str, float]]
    taken: Mapping[str, str]
    types: Mapping[str, tuple[str, ...]]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {
            "bundle": self.bundle.name,
            "seconds": round(self.seconds, 1),
            "heads": {
                name: {"types": list(self.types[name]), "development_f1": dict(found), "taken": self.taken[name]}
                for name, found in self.scores.items()
            },
        }


def add(
    recipe: Recipe,
    bundle: str,
    target: Path,
    *,
    directory: Path | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    listen: Callable[[str], None] = lambda _: None,
) -> Added:
    """Write a bundle that is the one given with a further head for each task of the recipe."""
    begun = time.monotonic()
    folder = folder_of(bundle)
    read = reader.read(folder)
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
    parts = {name: reader.read_file(folder, name, read.manifest) for name in read.manifest.files}
    for name, part in recipe.tasks.items():
        task = make_task(name, part, documents.training[name])
        if not isinstance(task, Tagging) or type(task) is not Tagging:
            raise _cannot(f"task {name!r} does not tag", "leave it out, or train it by itself")
        types[name] = task.types
        _refuse_types(task, read)
        scores[name], taken[name], read = _one(
            read, task, documents.training[name], documents.development.get(name, []), recipe.loop.seed, threads, listen
        )
        read, parts = _described(read, parts, task, own.short_name(part.corpus), documents.development[name])
        parts["card.md"] += _section(
            task, own.short_name(part.corpus), documents.training[name], scores[name], taken[name]
        ).encode()
    annotator = annotator_of(read, threads=threads)
    parts["graph.onnx"], parts["examples.jsonl"] = read.graph, verifying.examples(annotator)
    write_bundle(target, parts, overwrite=overwrite)
    return Added(target, scores, taken, types, time.monotonic() - begun)


def _one(
    read: reader.Bundle,
    task: Tagging,
    training: Sequence[Document],
    development: Sequence[Document],
    seed: int,
    threads: int | None,
    listen: Callable[[str], None],
) -> tuple[dict[str, float], str, reader.Bundle]:
    """The bundle with the head of one task: each way's development F1, the way that was taken, and the bundle."""
    if not development:
        raise _cannot(f"task {task.name!r} has no development documents", "give its corpus a devel part")
    tokenizer = annotator_of(read, threads=threads).tokenizer
    states = []
    for documents in (training, development):
        examples, _ = make_examples((task,), {task.name: documents}, tokenizer, limit=read.limit)
        states.append(frozen_head.read(read.graph, examples, read.specials, task=task.name, threads=threads))
    listen(f"{len(states[0].labels):,} words of {len(training):,} documents read")
    labels = len(task.labels)
    made: dict[str, reader.Bundle] = {}
    scores: dict[str, float] = {}
    for way in WAYS:
        head, _ = frozen_head.train(*states, labels=labels, mixes=way == "mix", seed=seed, listen=listen)
        first = max(place.end for place in read.places.values() if place.output == "logits")
        made[way] = replace(
            read,
            graph=bundle_graph.with_head(read.graph, head),
            tasks=(*read.tasks, task),
            places={**read.places, task.name: Place("logits", first, first + labels)},
            temperatures={**read.temperatures, task.name: 1.0},
        )
        found = score(annotator_of(made[way], threads=threads), task, development)
        scores[way] = found.value
        listen(f"{WAYS[way]}: development F1 {100 * found.value:.2f}")
    taken = max(scores, key=lambda way: scores[way])
    return scores, taken, made[taken]


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


def _section(task: Tagging, corpus: str, training: Sequence[Document], scores: Mapping[str, float], taken: str) -> str:
    """What the card says about the head."""
    counts = Counter(span.type for one in training for span in one.spans)
    told = ", ".join(f"{name} ({counts[name]:,})" for name in task.types)
    rows = "".join(
        f"| {WAYS[way]}{' (taken)' if way == taken else ''} | {100 * f1:.2f} |\n" for way, f1 in scores.items()
    )
    return (
        f"\n## Added head `{task.name}`\n\n"
        f"Trained on {len(training):,} documents of {corpus}, with these entities: {told}. The encoder and all other heads are unchanged: what is said "
        "about them above holds.\n\n"
        f"| what the head reads | development F1, strict |\n|---|---|\n{rows}"
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
