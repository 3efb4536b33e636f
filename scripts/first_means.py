"""Make diseases and cell lines of the bundle that comes with Biomux from the average of their heads, without touching its graph.

    python scripts/first_means.py src/biomux/bundles/first docs/explanation/model-card.md --corpora DIR

The shipped weights have learned the development data of their own corpora, so thresholds and precisions are fitted on BioRED's training part, which no head was
trained on, without text that also occurs in the heads' corpora. BioRED's development part is for checking; what it shows is printed. The types were chosen by
`python -m benchmarks.merging`: genes and chemicals gain nothing by averaging, and keep their votes.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from first_defaults import rewrite

import biomux
from biomux.corpora import corpus
from biomux.corpora.seen import Unseen
from biomux.engine.thresholds import for_precision
from biomux.engine.type_merging import Merge
from biomux.evaluation.evaluate import training_text
from biomux.training import calibrate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document
    from biomux.tagger import Tagger

TYPES = {"disease": "DiseaseOrPhenotypicFeature", "cell line": "CellLine"}
"""Plain type → its name in BioRED."""
PARTS = ("train", "devel")
PRECISIONS = (0.8, 0.85, 0.9, 0.95)
UNRELIABLE = " Not reliable: operon"
SAID = (
    " Diseases and cell lines are the average of their heads, word by word, decoded once. Their F1, threshold and precisions, and the F1 of the rule they had before, are of the shipped weights"
    " on BioRED's training part, which no head was trained on, without text that also occurs in the heads' corpora."
)


def answers(tagger: Tagger, documents: Sequence[Document], **options: Any) -> dict[str, calibrate.TypeAnswers]:
    """What a tagger finds of these types in documents of BioRED, and whether it is right."""
    bare = (replace(document, spans=(), relations=()) for document in documents)
    found = list(tagger.annotate(bare, types=sorted(TYPES), **options))
    given = {}
    for name, type_ in TYPES.items():
        scores: list[float] = []
        right: list[bool] = []
        number = 0
        for gold, predicted in zip(documents, found, strict=True):
            places = {(span.start, span.end) for span in gold.spans if span.type == type_}
            number += len(places)
            for span in predicted.spans:
                if span.type == name:
                    scores.append(span.score or 0.0)
                    right.append((span.start, span.end) in places)
        given[name] = calibrate.TypeAnswers(tuple(scores), tuple(right), number)
    return given


def f1(given: calibrate.TypeAnswers) -> float:
    """Strict F1."""
    return 2 * sum(given.right) / max(1, len(given.right) + given.gold)


def checked(given: calibrate.TypeAnswers, rule: Merge) -> str:
    """How precise the answers are where a precision is asked for."""
    said = []
    for precision in PRECISIONS:
        if rule.curve and rule.curve[-1][1] >= precision:
            threshold = for_precision(rule.type, rule.curve, precision)
            kept = [right for score, right in zip(given.scores, given.right, strict=True) if score >= threshold]
            said.append(f"asked {precision:.2f}, was {sum(kept) / max(1, len(kept)):.3f} of {len(kept)}")
    return "; ".join(said)


def changed_card(card: str, rules: dict[str, Merge], after: dict[str, float], before: dict[str, float]) -> str:
    """The card with other rows for these types."""
    lines = card.splitlines(keepends=True)
    for at, line in enumerate(lines):
        cells = re.split(r"\s*\|\s*", line.strip("| \n")) if line.startswith("| ") else []
        if len(cells) == 6 and cells[0] in rules:
            name, rule, heads, _, _, _ = cells
            figures = f"{100 * after[name]:.1f} on BioRED", f"{rule} {100 * before[name]:.1f} on BioRED"
            lines[at] = f"| {' | '.join([name, 'mean', heads, *figures, f'{rules[name].threshold:.2f}'])} |\n"
    return "".join(lines).replace(UNRELIABLE, SAID + UNRELIABLE)


def main() -> None:
    """Fit, check, rewrite types.json, the card and the manifest; then verify the bundle."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("card", type=Path, help="the copy of the card in the docs")
    parser.add_argument("--corpora", type=Path, required=True)
    given = parser.parse_args()
    folder = given.bundle
    tagger = biomux.load(str(folder))
    known, _ = training_text([*tagger.heads, *(f"elucidata-{head}" for head in tagger.heads)], given.corpora)
    types = json.loads((folder / "types.json").read_bytes())
    if any(types[name]["rule"] == "mean" for name in TYPES):
        raise SystemExit("the bundle has these averages already")
    train, devel = (list(Unseen(known).of(corpus.load("biored", split, directory=given.corpora))) for split in PARTS)
    rules = {name: Merge(name, tuple(map(tuple, types[name]["sources"])), "mean") for name in TYPES}
    free = replace(tagger, merges=rules)
    fitted, free_devel = (answers(free, documents, threshold=0) for documents in (train, devel))
    for name in TYPES:
        threshold = calibrate.best_threshold([fitted[name]]) or 0.0
        rules[name] = replace(rules[name], threshold=threshold, curve=calibrate.curve(fitted[name]))
        types[name] = {
            "sources": types[name]["sources"],
            "rule": "mean",
            "threshold": threshold,
            "calibration": [list(point) for point in rules[name].curve],
        }
        print(f"{name}: threshold {threshold}; devel: {checked(free_devel[name], rules[name])}")
    # By default: with thresholds, and one answer for one name.
    changed = replace(tagger, merges={**(tagger.merges or {}), **rules})
    reached = [
        {name: f1(one) for name, one in answers(which, documents).items()}
        for documents in (train, devel)
        for which in (tagger, changed)
    ]
    for name in TYPES:
        print(f"{name}: strict F1 by default, train before and after, devel before and after:", end=" ")
        print(*(f"{100 * by_type[name]:.1f}" for by_type in reached))
    card = changed_card((folder / "card.md").read_text(encoding="utf-8"), rules, reached[1], reached[0])
    rewrite(folder, {"types.json": types}, card, given.card)


if __name__ == "__main__":
    main()
