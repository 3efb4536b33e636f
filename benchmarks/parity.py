"""Do torch and the engine say the same about real documents, for every kind of head?

    python -m benchmarks.parity jnlpba bc5cdr --run RUN --corpora DIR --limit 100
    python -m benchmarks.parity jnlpba bc5cdr --encoder FOLDER --corpora DIR --limit 100

RUN is a folder that `biomux train` made: its weights answer by torch, and by onnxruntime over the graphs that `biomux export` writes, at fp32 and at int8. FOLDER (or a hub name) is
an encoder with real weights; heads of every kind with random weights are put on it. Logits are compared for every word, window, pair of spans and place of an answer, and of a run
also all that is said about documents, to the character. Exit code 1: at fp32 something differs, or a logit by more than 1e-4.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import biomux
from benchmarks.contest import Table, describe, report
from biomux.corpora import corpus
from biomux.engine.graph_session import NEVER, Place
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.packing import pack
from biomux.recipes.schema import HeadSettings
from biomux.tasks.examples import ModelInput
from biomux.text import sentences
from biomux.text import tokens as text_tokens
from biomux.training import exportable, graph, quantization_check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.packing import Batch
    from biomux.engine.session import Session

WITHIN = 1e-4
"""How far apart logits may be at fp32."""

LIMIT = 126
"""The longest window of an encoder without a run, in tokens."""

HEADS: dict[str, tuple[Any, str, int, dict[str, Any]]] = {
    "linear": ("word", "linear", 5, {}),
    "two-layer": ("word", "two-layer", 5, {}),
    "crf": ("word", "crf", 5, {}),
    "bilstm": ("word", "bilstm", 5, {}),
    "mix": ("word", "mix", 5, {"head": "linear"}),
    "[CLS]": ("window", "linear", 4, {}),
    "pooled by mean": ("window", "pooled", 4, {"pooling": "mean"}),
    "pooled by max": ("window", "pooled", 4, {}),
    "pair of texts": ("window", "pair", 3, {}),
    "regression": ("window", "regression", 1, {}),
    "answer": ("answer", "answer", 2, {}),
    "pair of spans": ("pair", "pair-of-spans", 4, {}),
}
"""Head → what it speaks about, its kind, labels and settings."""


@dataclass
class Compared:
    """How far apart two sessions are about one head."""

    rows: int = 0
    farthest: float = 0.0
    largest: float = 0.0
    changed: int = 0

    def add(self, wanted: NDArray[np.float32], found: NDArray[np.float32]) -> None:
        """Compare rows of logits; places where nothing can be said are left out."""
        left, right = (one.reshape(-1, one.shape[-1]) for one in (wanted, found))
        said = left[:, 0] > NEVER
        left, right = left[said], right[said]
        if not len(left):
            return
        self.rows += len(left)
        self.farthest = max(self.farthest, float(np.abs(left - right).max()))
        self.largest = max(self.largest, float(np.abs(left).max()))
        self.changed += int((left.argmax(axis=1) != right.argmax(axis=1)).sum()) if left.shape[1] > 1 else 0


class Beside:
    """A session that asks another one the same, and keeps how far apart they are at most."""

    def __init__(self, session: Session, other: Session) -> None:
        self.session, self.other = session, other
        self.heads: dict[str, Compared] = {}

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """What the first session says."""
        mine, theirs = self.session.run(batch), self.other.run(batch)
        for head in mine:
            self.heads.setdefault(head, Compared()).add(theirs[head], mine[head])
        return mine


def said(annotator: Annotator, documents: Sequence[Document], heads: Sequence[str]) -> set[tuple[Any, ...]]:
    """What every head says, by itself: entities, relations between them, classes, answers."""
    found: set[tuple[Any, ...]] = set()
    tagged = list(annotator.annotate(documents, heads=annotator.heads)) if annotator.heads else list(documents)
    others = [task.name for task in annotator.asking if task.name in heads]
    for document in annotator.answer(tagged, heads=others) if others else tagged:
        found |= {(document.id, one.start, one.end, one.type, one.head) for one in document.spans}
        found |= {(document.id, one.name, one.start, one.end, one.head) for one in document.labels if one.head}
        found |= {(document.id, one.type, str(one.arguments), one.head) for one in document.relations if one.head}
        asked = [answer for question in document.questions for answer in question.answers[:1]]
        found |= {(document.id, one.start, one.end, one.head) for one in asked if one.head}
    return found


def of_run(given: argparse.Namespace) -> tuple[Table, bool]:
    """A run's own heads, from documents to documents."""
    torch = biomux.load(given.run, threads=given.threads)
    trained = exportable.read(given.run)
    heads = [task.name for task in trained.tasks]
    torch = replace(torch, tasks=tuple(task for task in torch.tasks if task.name in heads))
    mixes = (quantization_check.FP32, trained.mixes[0])
    rows: list[tuple[Any, ...]] = []
    exact = True
    for name in given.corpus:
        bare = [replace(document, spans=(), relations=(), labels=()) for document in _documents(given, name)]
        wanted = said(torch, bare, heads)
        for mix in mixes:
            engine = trained.annotator(trained.graphs(mix), threads=given.threads)
            both = Beside(engine.session, torch.session)
            differ = len(said(replace(engine, session=both), bare, heads) ^ wanted)
            farthest = max((one.farthest for one in both.heads.values()), default=0.0)
            read = sum(one.rows for one in both.heads.values())
            rows.append((name, mix.name, len(bare), read, len(wanted), differ, f"{farthest:.1e}"))
            exact &= mix is not quantization_check.FP32 or not (differ or farthest > WITHIN)
    columns = ("corpus", "graph", "documents", "rows of logits", "said by torch", "said otherwise", "farthest logit")
    note = f"All {len(heads)} heads; what is said counts once for each head."
    return Table(f"Torch and the engine: {given.run.name}", columns, tuple(rows), (note,)), exact


def of_encoder(given: argparse.Namespace) -> tuple[Table, bool]:
    """Heads of every kind with random weights on a real encoder."""
    import torch

    from biomux.training.build import make_head
    from biomux.training.encoders import transformer
    from biomux.training.graph.head_parts import taken_apart
    from biomux.training.graph.heads import columns, hidden_matrices
    from biomux.training.model import Model, TorchSession

    if given.threads:
        torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    encoder, tokenizer, specials = transformer.load(given.encoder)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    heads = {
        name: make_head(HeadSettings(kind=kind, settings=settings), encoder, labels)
        for name, (_, kind, labels, settings) in HEADS.items()
    }
    model = Model(encoder, heads, {name: head[0] for name, head in HEADS.items()}).eval()
    parts = [taken_apart(name, head, model.units[name]) for name, head in heads.items()]
    places = {name: Place(*place) for name, place in columns(parts).items()}
    config = encoder.describe()
    ladder = quantization_check.ladder(graph.family_of(config).matrices(config), hidden_matrices(parts))
    sessions = {}
    for mix in (quantization_check.FP32, ladder[0]):
        made = graph.write(
            exportable.state_of(model), config, parts, segments=True, precision=mix.precision, keep=mix.keep
        )
        sessions[mix.name] = OnnxSession(made.graph, places, pairs=made.pairs, threads=given.threads)
    inputs = [
        one for name in given.corpus for document in _documents(given, name) for one in _inputs(document, tokenizer)
    ]
    expected = TorchSession(model)
    both = {name: Beside(session, expected) for name, session in sessions.items()}
    for batch in pack(inputs, specials=specials, budget=1024):
        for session in both.values():
            session.run(batch)
    exact, rounded = (session.heads for session in both.values())
    rows = [
        (
            name,
            HEADS[name][0],
            exact[name].rows,
            f"{exact[name].farthest:.1e}",
            exact[name].changed,
            f"{rounded[name].farthest:.2f}",
            f"{rounded[name].largest:.2f}",
            rounded[name].changed,
        )
        for name in HEADS
    ]
    head = ("head", "speaks about", "rows", "fp32: farthest", "changed", "int8: farthest", "largest logit", "changed")
    kind, used = config["model_type"], ", ".join(given.corpus)
    note = f"{len(inputs):,} inputs of {used}; a row is changed if another label is the likeliest. Heads have random weights."
    title = f"Torch and the engine: {Path(given.encoder).name} ({kind})"
    return Table(title, head, tuple(rows), (note,)), all(one.farthest <= WITHIN for one in exact.values())


def _inputs(document: Document, tokenizer: Tokenizer) -> Iterator[ModelInput]:
    """The sentences of a document, each with pairs of words; every second one with the sentence before it as first part."""
    found = [one for one in text_tokens.split(tokenizer, document.text, sentences.of(document)) if len(one)]
    for number, one in enumerate(found):
        before = found[number - 1] if number % 2 else None
        read = one.window(0, min(len(one), LIMIT // 2))
        if read.words:
            last = read.words - 1
            pairs = np.array([[0, min(1, last), last, last], [last // 2, last // 2, 0, last]], dtype=np.int32)
            yield ModelInput(read, None if before is None else before.window(0, min(len(before), LIMIT // 2)), pairs)


def _documents(given: argparse.Namespace, name: str) -> list[Document]:
    return list(islice(corpus.get(name, directory=given.corpora).documents(given.split), given.limit))


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--run", type=Path, help="a folder that `biomux train` made")
    which.add_argument("--encoder", help="a folder or hub name of an encoder with real weights")
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=100, help="documents of each corpus")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    described = describe()
    table, exact = of_run(given) if given.run else of_encoder(given)
    report([table], json_file=None, described=described)
    sys.exit(0 if exact else 1)


if __name__ == "__main__":
    main()
