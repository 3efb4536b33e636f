"""Plain types by the bundle's own rules and by averages of the heads, on abstracts that no head was trained on.

    python -m benchmarks.merging --corpora DIR

Documents are those of BioRED and ChemProt, without text that also occurs in the corpora of the bundle's heads. Thresholds are the bundle's for its own rules, and none
for averages, whose scores mean something else; names vote within a document as they do by default.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import biomux
from benchmarks.consistency import NAMES
from benchmarks.contest import Table
from benchmarks.one_layer import plain_names
from biomux.corpora import corpus
from biomux.corpora.seen import Unseen
from biomux.evaluation.evaluate import training_text
from biomux.scoring.spans import score
from biomux.training.merge_rule_choice import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from biomux.engine.type_merging import Merge

PARTS = (("biored", "train"), ("biored", "devel"), ("chemprot", "devel"))


def averaging(merges: Mapping[str, Merge], outside: float) -> dict[str, Merge]:
    """The same types; those of several heads by their average."""
    several = {name for name, rule in merges.items() if len({head for head, _ in rule.sources}) > 1}
    return {
        name: replace(rule, rule="mean", least=1, outside=outside, threshold=0.0) if name in several else rule
        for name, rule in merges.items()
    }


def main() -> None:
    """Annotate each part by each rule, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="a bundle's folder or name; else the one included")
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    parser.add_argument("--threads", type=int, help="threads of the tagger; else one per core")
    given = parser.parse_args()
    tagger = biomux.load(given.bundle, threads=given.threads)
    merges = tagger.merges or {}
    ways = {"the bundle's rule": merges, **{f"mean, outside {share:g}": averaging(merges, share) for share in OUTSIDE}}
    # The heads of the included bundle are called as their corpora, or without their maker.
    known, _ = training_text([*tagger.heads, *(f"elucidata-{head}" for head in tagger.heads)], given.corpora)
    rows = []
    for name, split in PARTS:
        names = NAMES[name] if name in NAMES else plain_names(name, merges)
        unseen = Unseen(known)
        documents = list(unseen.of(corpus.load(name, split, directory=given.corpora)))
        gold = [
            replace(
                document,
                spans=tuple(replace(span, type=names[span.type]) for span in document.spans if span.type in names),
                relations=(),
            )
            for document in documents
        ]
        figures: dict[str, list[str]] = {}
        for rules in ways.values():
            bare = (replace(document, spans=(), relations=()) for document in documents)
            found = replace(tagger, merges=rules).annotate(bare, types=sorted(set(names.values())))
            tables = score(list(zip(gold, found, strict=True)), matchings=("strict", "overlap"))
            for type_ in sorted(set(names.values())):
                strict, overlap = (tables[matching].types[type_].f1 for matching in ("strict", "overlap"))
                figures.setdefault(type_, []).append(f"{100 * strict:.1f} / {100 * overlap:.1f}")
        for type_, each in figures.items():
            number = sum(span.type == type_ for document in gold for span in document.spans)
            rows.append((f"{name}, {split}", len(gold), type_, number, merges[type_].rule, *each))
    columns = ("documents of", "number", "type", "mentions", "rule", *ways)
    note = "Strict F1 / overlap F1."
    print(Table("Plain types by rule", columns, tuple(rows), (note,)).markdown())


if __name__ == "__main__":
    main()
