"""How fast spans are scored, and whether memory stays flat.

    python benchmarks/scoring.py --documents 1000000
    python benchmarks/scoring.py --documents 50000 --matchings strict

Documents are made up on the way (about 150 characters, 3 gold spans, predictions that are wrong here and there), so the time to make them is
measured as well and taken off. Peak memory is printed at every tenth of the way: it must not grow.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from typing import TYPE_CHECKING

from biomux.document import Document, Span
from biomux.scoring.align import align
from biomux.scoring.spans import MATCHINGS, score

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = "aspirin and interleukin 2 cut the levels of TNF-alpha in rat liver cells; " * 2
TYPES = ("gene", "chemical", "disease", "cell")


def documents(number: int, *, predicted: bool) -> Iterator[Document]:
    """Gold documents, or predictions for them; the same seed makes both fit."""
    for place in range(number):
        chance = random.Random(place)
        spans = []
        for start in range(0, 20 * chance.randrange(7), 20):
            span = Span(start, start + chance.randrange(4, 18), chance.choice(TYPES))
            if predicted:
                luck = chance.random()
                if luck < 0.08:
                    continue
                if luck < 0.16:
                    span = Span(span.start, span.end + 2, span.type)
                elif luck < 0.2:
                    span = Span(span.start, span.end, chance.choice(TYPES))
            else:
                luck = chance.random()
                if 0.16 <= luck < 0.2:
                    chance.choice(TYPES)
            spans.append(span)
        yield Document(str(place), TEXT, spans=tuple(spans))


def pairs(number: int, *, report: bool) -> Iterator[tuple[Document, Document]]:
    """Aligned documents; peak memory is printed while they go by."""
    step = max(1, number // 10)
    made = align(documents(number, predicted=False), documents(number, predicted=True))
    for place, pair in enumerate(made, start=1):
        yield pair
        if report and place % step == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{place:>9} documents  peak {peak:6.1f} MB", flush=True)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--matchings", nargs="+", choices=[name for name in MATCHINGS if name != "piece"], default=None)
    chosen = parser.parse_args()

    few = min(chosen.documents, 20_000)
    begun = time.process_time()
    for _ in pairs(few, report=False):
        pass
    making = (time.process_time() - begun) / few * chosen.documents

    begun = time.process_time()
    scores = score(pairs(chosen.documents, report=True), matchings=chosen.matchings)
    whole = time.process_time() - begun
    net = max(whole - making, 1e-9)
    for name, table in scores.tables.items():
        print(f"{name:>9}  F1 {table.f1:.4f} ± {table.errors.f1:.4f}")
    print(f"{whole:.1f} s of processor time in all, of it {making:.1f} s to make and align documents (estimated)")
    print(f"{chosen.documents / net:,.0f} documents a second scored, {net / chosen.documents * 1e6:.1f} µs a document")


if __name__ == "__main__":
    main()
