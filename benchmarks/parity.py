"""Do torch and the engine say the same about real documents? Same spans at fp32, and logits how far apart.

    python -m benchmarks.parity RUN jnlpba elucidata-tissue --corpora DIR --limit 100

RUN is a folder that `biomux train` made. Its weights answer by torch, and by onnxruntime over the graph that `biomux export` writes, at fp32 and at int8. Logits are
compared for every word of every window, mentions to the character and by head. Heads that do not tag answer about the documents of their own corpus, if it is named, with
its gold mentions and questions; their answers and scores are compared. Exit code 1: at fp32 an answer differs, or a logit or score by more than 1e-4.
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
from biomux.recipes.run_folder import RunFolder
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


def answers(annotator: Annotator, documents: Sequence[Document], head: str) -> dict[tuple[Any, ...], float]:
    """What a head that does not tag says, with its scores, or the number that it gives."""
    said: dict[tuple[Any, ...], float] = {}
    for place, document in enumerate(annotator.answer(documents, heads=[head])):
        for relation in document.relations:
            arguments = tuple(argument.target for argument in relation.arguments)
            said[place, relation.type, arguments] = relation.score or 0.0
        for label in document.labels:
            number = label.value if label.score is None else label.score
            said[place, "" if label.score is None else label.name, label.start] = number or 0.0
        for question in document.questions:
            for answer in question.answers:
                said[place, question.id, answer.start, answer.end] = answer.score or 0.0
    return said


def without_answers(document: Document) -> Document:
    """A document with its mentions and questions only."""
    questions = tuple(replace(question, answers=()) for question in document.questions)
    return replace(document, relations=(), labels=(), questions=questions)


def main() -> None:
    """Compare, and print tables."""
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
    asked: list[tuple[Any, ...]] = []
    recipe = RunFolder(given.run).recipe
    for head in [task.name for task in torch.asking if task.name in trained.places]:
        name = recipe.tasks[head].corpus
        if name not in given.corpus:
            continue
        documents = list(islice(corpus.get(name, directory=given.corpora).documents(given.split), given.limit))
        bare = [without_answers(document) for document in documents]
        said = answers(torch, bare, head)
        for mix, engine in engines.items():
            told = answers(engine, bare, head)
            farthest = max((abs(said[key] - told[key]) for key in said.keys() & told.keys()), default=0.0)
            asked.append((head, name, mix, len(bare), len(said), len(said.keys() ^ told.keys()), f"{farthest:.1e}"))
    columns = ("corpus", "graph", "documents", "words", "mentions by torch", "mentions that differ", "farthest logit")
    note = f"All {len(torch.heads)} heads; a mention counts once for each head."
    others = ("head", "corpus", "graph", "documents", "answers by torch", "answers that differ", "farthest score")
    tables = [Table("Torch and the engine: entities", columns, tuple(rows), (note,))]
    tables += [Table("Torch and the engine: other answers", others, tuple(asked))] if asked else []
    report(tables, json_file=None, described=described)
    exact = [row[-2:] for row in (*rows, *asked) if quantization_check.FP32.name in row]
    sys.exit(1 if any(differ or float(farthest) > WITHIN for differ, farthest in exact) else 0)


if __name__ == "__main__":
    main()
