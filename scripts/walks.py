"""Two pictures of how it works, as trees of calls: what happens to one text, and to one recipe. A part of scripts/docs.py.

A step stands below the module that calls it. tests/cli/test_walks.py checks that every module exists and is imported by its caller.
"""

from __future__ import annotations

from typing import NamedTuple

from biomux.report import svg


class Step(NamedTuple):
    """A module of `src/biomux`, how deep it stands in the tree, and what it does there."""

    depth: int
    module: str
    does: str


ANNOTATE = (
    Step(0, "cli/annotate.py", "reads the options of `biomux annotate`"),
    Step(1, "annotate/inputs.py", "finds the files, in folders and archives too"),
    Step(2, "formats/__init__.py", "recognises each format and reads documents"),
    Step(1, "cli/ui/annotation_output.py", "shows progress and failures, and sums up"),
    Step(2, "annotate/run.py", "splits the documents into parts, and joins what is done"),
    Step(3, "annotate/workers.py", "hands the parts to several processes"),
    Step(4, "annotate/part_work.py", "annotates and writes one part"),
    Step(5, "engine/annotator.py", "takes documents through the steps below"),
    Step(6, "text/sentences.py", "splits the text into sentences"),
    Step(6, "engine/planner.py", "asks each task what it reads, and reads nothing twice"),
    Step(7, "tasks/task.py", "… which every task says of itself; taggers say:"),
    Step(6, "tasks/text_inputs.py", "each sentence"),
    Step(7, "text/tokens.py", "split into tokens, with offsets"),
    Step(7, "text/windows.py", "cut into windows if it is too long for the encoder"),
    Step(6, "engine/planner.py", "asks the heads what they say:"),
    Step(7, "engine/packing.py", "puts inputs of one length into a batch"),
    Step(7, "engine/parallel.py", "runs the graph, a batch on each core: one encoder, all heads"),
    Step(6, "tasks/task.py", "decodes what they say: a tag for each word, then entities"),
    Step(6, "engine/query.py", "keeps the types and scores that were asked for"),
    Step(7, "engine/type_merging.py", "merges heads into the types that users know"),
    Step(8, "engine/overlaps.py", "decides which of two overlapping entities stays"),
)

TRAIN = (
    Step(0, "cli/train.py", "reads the options of `biomux train`"),
    Step(1, "training/trained_run.py", "finds what is to be trained:"),
    Step(2, "recipes/read.py", "reads the recipe and checks every key"),
    Step(1, "training/run.py", "keeps the run's folder, from start to resume to end"),
    Step(2, "training/build.py", "makes all that the loop needs:"),
    Step(3, "training/task_documents.py", "documents of the corpora"),
    Step(3, "corpora/leaks.py", "without those that stand in a test set"),
    Step(3, "tasks/__init__.py", "examples with labels"),
    Step(3, "training/encoders/__init__.py", "the encoder"),
    Step(3, "training/heads/__init__.py", "a head for each task"),
    Step(3, "training/regimes/__init__.py", "the plan: how tasks share training"),
    Step(2, "training/loop.py", "trains by the plan"),
    Step(3, "training/batches.py", "draws batches"),
    Step(3, "training/batch_losses.py", "computes losses"),
    Step(4, "training/objectives/__init__.py", "by their names"),
    Step(3, "training/checkpoint.py", "saves what is needed to resume"),
    Step(2, "training/development_scores.py", "scores each epoch"),
    Step(3, "engine/annotator.py", "with the same annotator as above"),
    Step(0, "cli/export.py", "reads the options of `biomux export`"),
    Step(1, "training/export.py", "turns the run into a bundle:"),
    Step(2, "training/exportable.py", "takes encoder and heads apart"),
    Step(3, "training/graph/__init__.py", "writes one graph for the encoder and all heads"),
    Step(2, "training/quantization_check.py", "measures what int8 costs each head"),
    Step(2, "training/calibrate.py", "fits temperatures and thresholds"),
    Step(2, "training/merge_rule_choice.py", "chooses how heads of one type are merged"),
    Step(2, "training/model_card.py", "writes the card"),
    Step(2, "engine/bundle/verify.py", "checks the bundle as its users will"),
)

WALKS = {
    "walk-annotate": (ANNOTATE, "What happens to a text"),
    "walk-train": (TRAIN, "What happens to a recipe"),
}

ROW, INDENT, LEFT, NAMES = 28, 24, 14, 390


def draw(name: str) -> str:
    """The picture of a walk: a row for each step, below and right of its caller."""
    steps, title = WALKS[name]
    parts: list[str] = []
    for row, step in enumerate(steps):
        x, y = LEFT + INDENT * step.depth, 12 + ROW * row
        if step.depth:
            caller = max(above for above in range(row) if steps[above].depth == step.depth - 1)
            elbow = x - INDENT / 2
            parts.append(svg.path(f"M{elbow:g} {12 + ROW * caller + 22:g} V{y + 11:g} H{x:g}", ink=svg.NONE, width=1.2))
        parts.append(svg.box(x, y, svg.wide(step.module, 14) + 18, 22, fill="#eef3f6", ink=svg.FAINT, round=4))
        parts.append(svg.text(x + 6, y + 15.5, step.module, weight=600))
        parts.append(svg.text(NAMES, y + 15.5, step.does.replace("`", ""), fill=svg.SOFT))
    about = "; ".join(f"{step.module} {step.does}" for step in steps)
    width = NAMES + max(svg.wide(step.does, 13) for step in steps) + LEFT
    return svg.picture(width, 24 + ROW * len(steps), parts, title=title, about=about)
