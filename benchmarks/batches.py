"""How batches are run and laid out: one a core or one on all cores, how many tokens, and how much of them is padding.

    python -m benchmarks.batches                             # the bundle that comes with Biomux, invented abstracts
    python -m benchmarks.batches --text abstracts.txt.gz     # padding of your own texts too, one a line
    python -m benchmarks.batches --bundles A B               # bundles against each other

Contestants take turns; words a second are medians, from text to documents.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import biomux
from benchmarks import invented
from biomux.engine import load, packing
from biomux.engine.bundle import reader
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.threads import usable_cores
from biomux.tasks.examples import ModelInput
from biomux.text import sentences, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator

BUDGETS = (256, 512, 1024, 2048)


def on_all_cores(found: reader.Bundle) -> OnnxSession:
    """A session that runs one batch after another, each on all cores."""
    options = {"intra_op_num_threads": usable_cores()}
    return OnnxSession(found.graph, found.places, pairs=found.pairs, threads=1, options=options)


def rates(contestants: Mapping[str, Annotator], documents: Sequence[Document], *, rounds: int) -> dict[str, float]:
    """Words a second of each, the median of so many turns."""
    words = sum(len(document.text.split()) for document in documents)
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds):
        for name, annotator in list(contestants.items())[:: -1 if turn % 2 else 1]:
            begun = time.perf_counter()
            for _ in annotator.annotate(documents):
                pass
            found[name].append(words / (time.perf_counter() - begun))
    return {name: statistics.median(own) for name, own in found.items()}


def padding(annotator: Annotator, texts: Sequence[str]) -> tuple[int, float, float]:
    """Windows, tokens a window, and the share of padding in the batches of texts; sentences beyond the encoder's limit left out."""
    cut = [one for text in texts for one in tokens.split(annotator.tokenizer, text, sentences.split(text))]
    cut = [one for one in cut if 0 < len(one) <= annotator.limit]
    batches = packing.pack([ModelInput(one) for one in cut], specials=annotator.specials, budget=annotator.budget)
    laid = [(int(one.mask.sum()), one.ids.size) for one in batches]
    real, whole = (sum(column) for column in zip(*laid, strict=True))
    return len(cut), real / len(cut), 1 - real / whole


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--text", type=Path, nargs="*", default=[], help="gzipped texts, one a line; the first 400 are read"
    )
    parser.add_argument("--bundles", type=Path, nargs="*", default=[], help="bundles to set against each other")
    asked = parser.parse_args()
    ours = biomux.load(runtime="onnxruntime")
    shared = replace(ours, session=on_all_cores(reader.read(load.find())))
    documents = list(invented.documents(asked.documents))
    ways = rates({"a batch a core": ours, "a batch on all cores": shared}, documents, rounds=asked.rounds)
    budgets = rates({f"{size}": replace(ours, budget=size) for size in BUDGETS}, documents, rounds=asked.rounds)
    written = rates(
        {str(path): biomux.load(path, runtime="onnxruntime") for path in asked.bundles}, documents, rounds=asked.rounds
    )
    for name, rate in (*ways.items(), *budgets.items(), *written.items()):
        print(f"| {name} | {rate:,.0f} |")
    for path in asked.text:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            windows, size, share = padding(ours, list(islice((line.strip() for line in lines if line.strip()), 400)))
        print(f"| {path.name} | {windows:,} | {size:.1f} | {100 * share:.1f} % |")


if __name__ == "__main__":
    main()
