"""Do torch and the engine say the same about real documents? Same spans at fp32, and logits how far apart.

    python -m benchmarks.parity RUN jnlpba elucidata-tissue --corpora DIR --limit 100

RUN is a folder that `biomux train` made. Its weights answer by torch, and by onnxruntime over the graph that `biomux export` writes, at fp32 and at int8. Logits are
compared for every word of every window, mentions to the character and by head. Exit code 1: at fp32 a mention differs, or a logit by more than 1e-4.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import biomux
from benchmarks.contest import Table, describe, report
from biomux.corpora import corpus
from biomux.training import exportable, quantization_check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.packing import Batch
    from biomux.engine.session import Session

WITHIN = 1e-4
"""How far apart logits may be at fp32."""


class Beside:
    """A session that asks another one the same, and keeps how far apart they are at most."""

    def __init__(self, session: Session, other: Session) -> None:
        self.session, self.other = session, other
        self.farthest = 0.0
        self.words = 0

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """What the first session says."""
        mine, theirs = self.session.run(batch), self.other.run(batch)
        for head, logits in mine.items():
            if logits.size:
                self.farthest = max(self.farthest, float(np.abs(logits - theirs[head]).max()))
        self.words += int(batch.words.sum())
        return mine


def mentions(annotator: Annotator, documents: Sequence[Document]) -> set[tuple[Any, ...]]:
    """What every head says, by itself."""
    return {
        (document.id, span.start, span.end, span.type, span.head)
        for document in annotator.annotate(documents, heads=annotator.heads)
        for span in document.spans
    }


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=100, help="documents of each corpus")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    described = describe()
    torch = biomux.load(given.run, threads=given.threads)
    trained = exportable.read(given.run)
    torch = replace(torch, tasks=tuple(task for task in torch.tasks if task.name in trained.places))
    mixes = (quantization_check.FP32, trained.mixes[0])
    engines = {mix.name: trained.annotator(trained.graphs(mix), threads=given.threads) for mix in mixes}
    rows: list[tuple[Any, ...]] = []
    for name in given.corpus:
        documents = list(islice(corpus.get(name, directory=given.corpora).documents(given.split), given.limit))
        bare = [replace(document, spans=(), relations=()) for document in documents]
        wanted = mentions(torch, bare)
        for mix, engine in engines.items():
            both = Beside(engine.session, torch.session)
            found = mentions(replace(engine, session=both), bare)
            differ = len(found ^ wanted)
            rows.append((name, mix, len(bare), both.words, len(wanted), differ, f"{both.farthest:.1e}"))
    columns = ("corpus", "graph", "documents", "words", "mentions by torch", "mentions that differ", "farthest logit")
    note = f"All {len(torch.heads)} heads; a mention counts once for each head."
    report([Table("Torch and the engine", columns, tuple(rows), (note,))], json_file=None, described=described)
    exact = [row for row in rows if row[1] == quantization_check.FP32.name]
    sys.exit(1 if any(row[5] or float(row[6]) > WITHIN for row in exact) else 0)


if __name__ == "__main__":
    main()
