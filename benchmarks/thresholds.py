"""Does `--precision 0.95` keep its word? The precision of what passes the thresholds, on the real predictions of an evaluation.

    biomux evaluate first all --split test -o scores
    python -m benchmarks.thresholds scores --corpora DIR --precision 0.9 0.95

The thresholds are those of the bundle's `calibration.json`, which come from development data; a head's type without one for that precision is counted and left
out. Strict: offsets and type must be equal. "Kept" is the share of the right mentions that pass.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from benchmarks.contest import Table
from biomux import formats
from biomux.corpora import corpus
from biomux.engine import load
from biomux.engine.bundle import reader


def answers(column: dict[str, Any], scores: Path, corpora: Path) -> dict[tuple[str, str], list[tuple[float, bool]]]:
    """(Head, type) → score and whether it is right, of every mention that was found."""
    found: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    gold = corpus.get(column["corpus"], directory=corpora).documents(column["split"])
    for wanted, said in zip(gold, formats.read(scores / column["name"] / "predictions.jsonl"), strict=True):
        there = {(span.start, span.end, span.type) for span in wanted.spans}
        for span in said.spans:
            right = (span.start, span.end, span.type) in there
            found.setdefault((span.head or "", span.type), []).append((span.score or 0.0, right))
    return found


def main() -> None:
    """Count, and print a table for each precision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path, help="a folder that biomux evaluate -o wrote")
    parser.add_argument("--bundle", help="the bundle that was scored; else the one included")
    parser.add_argument("--precision", type=float, nargs="+", default=[0.95])
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    given = parser.parse_args()
    curves = reader.read(load.find(given.bundle)).curves
    content = json.loads((given.scores / "scores.json").read_bytes())
    own = [answers(column, given.scores, given.corpora) for column in content["columns"] if not column["cross"]]
    for precision in given.precision:
        rows: list[tuple[Any, ...]] = []
        without = []
        for (head, type_), said in (item for found in own for item in found.items()):
            threshold = next((score for score, reached in curves.get((head, type_), ()) if reached >= precision), None)
            if threshold is None:
                without.append(f"{head}/{type_}")
                continue
            kept = [right for score, right in said if score >= threshold]
            right = sum(right for _, right in said)
            reached, share = (100 * sum(kept) / max(1, of) for of in (len(kept), right))
            rows.append((head, type_, f"{threshold:.4f}", len(said), len(kept), f"{reached:.1f}", f"{share:.1f}"))
        columns = ("head", "type", "threshold", "found", "pass", "precision, %", "kept, %")
        missed = sum(float(row[5]) < 100 * precision for row in rows)
        told = f"{missed} of {len(rows)} are below {100 * precision:g} %. No threshold: {', '.join(without) or 'none'}."
        print(
            Table(
                f"Precision on the test parts at thresholds for {precision:g}", columns, tuple(rows), (told,)
            ).markdown()
        )


if __name__ == "__main__":
    main()
