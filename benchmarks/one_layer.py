"""What `--resolve` gives: one layer over all plain types, scored on corpora that annotate several of them.

    python -m benchmarks.one_layer --corpora DIR

"By score" is how Biomux 0.1.0 chose between types that overlap: the highest score, whichever head it came from, and no threshold. "By standing" is
`biomux.engine.overlaps.one_layer` over the entities above the bundle's thresholds. A corpus's types are called by their plain names; what the layer has of other types is left out, but
has taken its place. "cancer" counts as "disease" where a corpus has diseases only. The included bundle has learned the development parts, but for BioRED's, on which no head was trained.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import biomux
from benchmarks.contest import Table
from biomux.corpora import corpus
from biomux.engine import type_merging as types
from biomux.engine.overlaps import Standing, flat, one_layer
from biomux.scoring.spans import score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.document import Document, Span
    from biomux.engine.type_merging import Merge

CORPORA = ("bionlp13cg", "bc5cdr", "craft", "jnlpba", "bionlp11id", "bionlp13pc", "biored")
BIORED = {
    "GeneOrGeneProduct": "gene",
    "DiseaseOrPhenotypicFeature": "disease",
    "ChemicalEntity": "chemical",
    "OrganismTaxon": "species",
    "CellLine": "cell line",
}


def plain_names(name: str, merges: Mapping[str, Merge]) -> dict[str, str]:
    """A corpus's types → plain types."""
    own = {type_: plain for plain, rule in merges.items() for head, type_ in rule.sources if head == name}
    return own or BIORED


def layers(spans: Sequence[Span], merges: Mapping[str, Merge]) -> dict[str, list[Span]]:
    """One layer by each way."""
    standings = {name: Standing(rule.level, rule.curve, at) for at, (name, rule) in enumerate(merges.items())}
    offered = [span for span in spans if merges[span.type].threshold is not None]
    kept = types.above(offered, {name: rule.threshold or 0.0 for name, rule in merges.items()})
    return {"by score": flat(spans), "by standing": one_layer(kept, lambda span: standings[span.type])}


def judged(gold: Document, layer: Sequence[Span], wanted: set[str]) -> Document:
    """The layer's entities of the types that the corpus has."""
    general = [
        replace(span, type="disease") if span.type == "cancer" and "cancer" not in wanted else span for span in layer
    ]
    return replace(gold, spans=tuple(span for span in general if span.type in wanted))


def main() -> None:
    """Annotate the development parts once, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="a bundle's folder or name; else the one included")
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    given = parser.parse_args()
    tagger = biomux.load(given.bundle, runtime="onnxruntime")
    merges = tagger.merges or {}
    rows = []
    for name in CORPORA:
        names = plain_names(name, merges)
        documents = list(corpus.load(name, "devel", directory=given.corpora))
        bare = (replace(document, spans=(), relations=()) for document in documents)
        pairs: dict[str, list[tuple[Document, Document]]] = {}
        for document, said in zip(documents, tagger.annotate(bare, threshold=0), strict=True):
            spans = tuple(replace(span, type=names[span.type]) for span in document.spans if span.type in names)
            gold = replace(document, spans=spans, relations=())
            for way, layer in layers(said.spans, merges).items():
                pairs.setdefault(way, []).append((gold, judged(gold, layer, set(names.values()))))
        found = {way: score(own, matchings=("strict", "type")) for way, own in pairs.items()}
        figures = [f"{100 * one[matching].f1:.1f}" for matching in ("strict", "type") for one in found.values()]
        rows.append((name, len(documents), *figures))
    ways = ("by score", "by standing")
    columns = ("corpus", "documents", *(f"{what}, {way}" for what in ("strict F1", "overlap F1") for way in ways))
    print(Table("One layer over all plain types", columns, tuple(rows), ()).markdown())


if __name__ == "__main__":
    main()
