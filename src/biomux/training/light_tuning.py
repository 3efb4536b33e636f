"""A new head on a bundle whose encoder is tuned lightly with it: the old heads are held in place by their own outputs, and the share of their answers that change is measured.

It starts from the head trained on the frozen encoder. The loss has two parts: the labels of the new head and, for every word, the divergence of all old heads from their
earlier outputs. After each epoch the graph is written as it would be in the bundle, and run on the development documents; the epoch with the best F1 of the new head is
kept. If more of the old answers changed than the tolerance allows, the weights move only a part of the way from where they started to where they ended: the largest
of `PARTS` that stays within the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file

from biomux.engine.graph_session import Place
from biomux.engine.load import annotator as annotator_of
from biomux.engine.packing import BUDGET, pack
from biomux.engine.planner import split
from biomux.recipes.run_folder import WEIGHTS
from biomux.recipes.schema import Loop
from biomux.tasks.examples import Labels
from biomux.training import bundle_graph, loop
from biomux.training.frozen_head import MixedHead
from biomux.training.graph_module import GraphEncoder, GraphHeads
from biomux.training.model import Model
from biomux.training.plan import Draw, Objective, Plan, taught

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.bundle.reader import Bundle
    from biomux.tasks.examples import Example
    from biomux.tasks.tagging import Tagging
    from biomux.training.bundle_graph import AddedHead

NEW, OLD = "_new", "_old"
"""The new head, whatever the name of its task, and all existing heads, side by side."""
MOVING = ("encoder.layer.",)
"""What is trained besides the new head: all layers, without the embeddings."""
EPOCHS = 3
BATCH_TOKENS = 1024
LEARNING_RATE = 1e-4
HEAD_LEARNING_RATE = 5e-4
HOLD = 1.0
"""The weight of the old heads' divergence relative to the new head's loss."""
TOLERANCE = 0.03
"""The share of old answers that may change, by default."""
PARTS = (1.0, 0.75, 0.5, 0.25)
"""How far the weights may move from where they started to where they ended."""


@dataclass(frozen=True)
class Changes:
    """How many entities two bundles find in the same texts, and how many of them are identical."""

    before: int
    after: int
    same: int
    documents: int

    @property
    def share(self) -> float:
        """The share that changed: 1 − F1 of one against the other.

        >>> Changes(100, 100, 97, 10).share, Changes(0, 0, 0, 1).share
        (0.03, 0.0)
        """
        total = self.before + self.after
        return round(1 - 2 * self.same / total, 6) if total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {**vars(self), "share": self.share}


@dataclass(frozen=True)
class TuningOutcome:
    """The outcome of light tuning: the new head's development F1, how far the weights moved, how many old answers changed, and whether that is allowed."""

    f1: float
    part: float
    changes: Changes
    tolerance: float

    @property
    def held(self) -> bool:
        """Whether the change is within the tolerance."""
        return self.changes.share <= self.tolerance

    def __str__(self) -> str:
        changes = self.changes
        return (
            f"With light tuning{'' if self.part == 1 else f' ({100 * self.part:g} % of the way)'} {100 * changes.share:.1f} % of the other entities changed in "
            f"{changes.documents:,} development documents ({changes.before:,} before, {changes.after:,} after, {changes.same:,} the same; allowed: {100 * self.tolerance:g} %)"
            + ("." if self.held else ", which is too many: the encoder was left as it is.")
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {"f1": self.f1, "part": self.part, "tolerance": self.tolerance, "old_answers": self.changes.to_json()}


@dataclass(frozen=True)
class Tuned:
    """The bundle with a tuned encoder, and the outcome; use the bundle only if the tolerance held."""

    bundle: Bundle
    outcome: TuningOutcome


def changes(before: Iterable[Document], after: Iterable[Document], *, without: frozenset[str] = frozenset()) -> Changes:
    """What changed in documents that two bundles annotated; entities of the heads in `without` do not count."""
    counts = np.zeros(4, dtype=int)
    for old_document, new_document in zip(before, after, strict=True):
        old_spans, new_spans = (
            {(span.start, span.end, span.fragments, span.type) for span in document.spans if span.head not in without}
            for document in (old_document, new_document)
        )
        counts += (len(old_spans), len(new_spans), len(old_spans & new_spans), 1)
    return Changes(*map(int, counts))


def grown(read: Bundle, task: Tagging, head: AddedHead, *, graph: bytes | None = None) -> Bundle:
    """The bundle with one more head, behind the others."""
    first = max(place.end for place in read.places.values() if place.output == bundle_graph.LOGITS)
    return replace(
        read,
        graph=bundle_graph.with_head(graph or read.graph, head),
        tasks=(*read.tasks, task),
        places={**read.places, task.name: Place(bundle_graph.LOGITS, first, first + head.labels)},
        temperatures={**read.temperatures, task.name: 1.0},
    )


def tune(
    read: Bundle,
    task: Tagging,
    head: AddedHead,
    examples: Sequence[Example],
    development: Sequence[Document],
    *,
    before: Sequence[Document],
    score: Callable[[Annotator], float],
    added: frozenset[str],
    folder: Path,
    tolerance: float = TOLERANCE,
    settings: Loop | None = None,
    threads: int | None = None,
    listen: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """Tune the encoder of a bundle for a head that was trained on it while frozen.

    `before` are the development documents as the bundle without any new head annotates them, `added` the names of all heads that are new since. A folder with a checkpoint is resumed.
    """
    chosen = settings or loop_settings()
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    encoder = GraphEncoder(read.graph, moving=MOVING)
    new = MixedHead.of(head)
    model = Model(encoder, {NEW: new, OLD: GraphHeads(read.graph)})
    bare = [task.bare(document) for document in development]

    def judged() -> tuple[Bundle, float, Changes]:
        bundle = grown(read, task, new.added(), graph=encoder.written(read.graph))
        annotator = annotator_of(bundle, threads=threads)
        return bundle, score(annotator), changes(before, annotator.annotate(bare), without=added)

    def evaluate() -> float:
        _, f1, changed = judged()
        listen(f"light tuning, epoch {run.progress.epoch + 1}: {_told(f1, changed)}")
        return f1

    def journal(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["batch"]:
            listen(f"light tuning: step {event['step']:,} of {event['total']:,}")

    folder.mkdir(parents=True, exist_ok=True)
    run = loop.LoopInputs(
        folder,
        model,
        plan(read),
        chosen,
        taught_examples(read, task, examples, threads=threads),
        read.specials,
        evaluate,
        journal,
        report_every=30.0,
    )
    started = {name: value.clone() for name, value in model.state_dict().items()}
    loop.train(run)
    ended = load_file(folder / WEIGHTS)
    for part in PARTS:
        model.load_state_dict({name: torch.lerp(started[name], ended[name], part) for name in started})
        bundle, f1, changed = judged()
        listen(f"light tuning, {100 * part:g} % of the way: {_told(f1, changed)}")
        tuned = Tuned(bundle, TuningOutcome(f1, part, changed, tolerance))
        if tuned.outcome.held:
            break
    return tuned


def _told(f1: float, changed: Changes) -> str:
    return f"development F1 {100 * f1:.2f}, {100 * changed.share:.1f} % of the old answers changed"


def loop_settings(**settings: Any) -> Loop:
    """The loop of light tuning. Steps of int8 need fp32."""
    defaults = {
        "epochs": EPOCHS,
        "batch_tokens": BATCH_TOKENS,
        "learning_rate": LEARNING_RATE,
        "head_learning_rate": HEAD_LEARNING_RATE,
        "weight_decay": 0.0,
        "precision": "fp32",
    }
    return Loop.model_validate(defaults | settings)


def plan(read: Bundle) -> Plan:
    """The new head and the encoder learn its labels, while the old heads hold the encoder where they need it."""
    places = sorted(read.places.values(), key=lambda place: place.begin)
    groups = [(place.begin, place.end) for place in places if place.output == bundle_graph.LOGITS]
    objectives = (
        Objective("cross-entropy", NEW),
        Objective("kl-divergence", OLD, HOLD, "teacher", {"groups": groups}),
    )
    return Plan(Draw(), objectives, moving=("encoder.", f"heads.{NEW}."), mean="heads")


def taught_examples(
    read: Bundle, task: Tagging, examples: Sequence[Example], *, threads: int | None = None
) -> list[Example]:
    """The examples with the new head's labels, and with the logits of the unchanged bundle's heads for each word."""
    session = annotator_of(read, threads=threads).session
    places = sorted((place.begin, name) for name, place in read.places.items() if place.output == bundle_graph.LOGITS)
    taught_list = list(examples)
    for batch in pack([example.input for example in examples], specials=read.specials, budget=BUDGET):
        outputs = session.run(batch)
        rows = np.concatenate([outputs[name] for _, name in places], axis=1)
        for index, logits in zip(batch.windows.tolist(), split(rows, "word", batch), strict=True):
            new_labels = {NEW: taught_list[index].labels[task.name]} if task.name in taught_list[index].labels else {}
            taught_list[index] = replace(taught_list[index], labels={**new_labels, taught(OLD): Labels("word", logits)})
    return taught_list
