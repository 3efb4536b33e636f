"""Does a name get one answer throughout a document, and what does the vote over its occurrences change?

    python -m benchmarks.consistency --corpora DIR

Documents are abstracts as a whole: JNLPBA's, BioRED's, ChemProt's and tmVar's (on which no head was trained), and 300 held-out abstracts and passages without annotations. "Repeated"
counts pairs of a name and a type that the name has somewhere, of names that stand in a document at least twice; "unlike" is the share of these where another occurrence does not have the type, though no longer entity of
the type covers it. F1 is strict, over the plain types that a corpus annotates, at the bundle's thresholds.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import biomux
from benchmarks.contest import Table
from benchmarks.one_layer import plain_names
from biomux.corpora import corpus
from biomux.engine import consistency
from biomux.engine import type_merging as types
from biomux.scoring.spans import score
from biomux.text.abbreviations import occurrences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.document import Document, Span

PARTS = (
    ("jnlpba", "devel"),
    ("biored", "train"),
    ("biored", "devel"),
    ("chemprot", "devel"),
    ("tmvar3", "test"),
    ("text", "test"),
)
NAMES: Mapping[str, Mapping[str, str]] = {
    "chemprot": {"GENE-Y": "gene", "GENE-N": "gene", "GENE": "gene", "CHEMICAL": "chemical"},
    "tmvar3": {"Gene": "gene", "Species": "species", "CellLine": "cell line"},
    "text": {},
}
TEXTS = 300


def unlike(text: str, spans: Sequence[Span]) -> tuple[int, int]:
    """Of names that stand at least twice: how many have a type somewhere, and how many of these not everywhere."""
    repeated = differing = 0
    for type_ in {span.type for span in spans}:
        own = [(span.start, span.end) for span in spans if span.type == type_]
        places: dict[str, list[tuple[int, int]]] = {}
        for place in occurrences(text, {text[slice(*place)] for place in own}):
            if place in own or not any(start < place[1] and place[0] < end for start, end in own):
                places.setdefault(text[slice(*place)], []).append(place)
        several = [found for found in places.values() if len(found) > 1]
        repeated += len(several)
        differing += sum(any(place not in own for place in found) for found in several)
    return repeated, differing


def main() -> None:
    """Annotate each part once, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="a bundle's folder or name; else the one included")
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    given = parser.parse_args()
    tagger = biomux.load(given.bundle, runtime="onnxruntime")
    merges = {name: rule for name, rule in (tagger.merges or {}).items() if rule.threshold is not None}
    thresholds = {name: rule.threshold or 0.0 for name, rule in merges.items()}
    rows = []
    for name, split in PARTS:
        names = NAMES[name] if name in NAMES else plain_names(name, merges)
        documents = list(islice(corpus.load(name, split, directory=given.corpora), TEXTS if name == "text" else None))
        bare = (replace(document, spans=(), relations=()) for document in documents)
        pairs: dict[bool, list[tuple[Document, Document]]] = {False: [], True: []}
        counts = {False: [0, 0], True: [0, 0]}
        for document, said in zip(documents, tagger.annotate(bare, types=list(merges), threshold=0), strict=True):
            spans = tuple(replace(span, type=names[span.type]) for span in document.spans if span.type in names)
            gold = replace(document, spans=spans, relations=())
            read = said.coverage or ()
            voted = consistency.agreed(document.text, read, said.spans, lambda source: thresholds[source[1]])
            for on, found in ((False, types.above(said.spans, thresholds)), (True, voted)):
                kept = tuple(span for span in found if span.type in set(names.values()))
                pairs[on].append((gold, replace(gold, spans=kept)))
                counts[on] = [old + new for old, new in zip(counts[on], unlike(document.text, found), strict=True)]
        figures = [f"{100 * counts[on][1] / max(1, counts[on][0]):.1f}" for on in pairs]
        if names:
            tables = [score(own, matchings=("strict",))["strict"] for own in pairs.values()]
            figures += [f"{100 * table.f1:.1f}" for table in tables]
            figures += [f"{100 * getattr(table, what):.1f}" for what in ("precision", "recall") for table in tables]
        else:
            figures += ["–"] * 6
        rows.append((f"{name}, {split}", len(documents), counts[False][0], *figures))
    ways = ("off", "on")
    measured = ("unlike, %", "F1", "precision", "recall")
    columns = ("documents of", "number", "repeated", *(f"{what}, {way}" for what in measured for way in ways))
    print(Table("One name, one answer", columns, tuple(rows), ()).markdown())


if __name__ == "__main__":
    main()
