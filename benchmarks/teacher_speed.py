"""How fast what a teacher says is kept on disk: tokens a second, and the share of the matrix-multiply peak.

    python -m benchmarks.teacher_speed                       # a run of 6×384 with random weights; from the root of the project
    python -m benchmarks.teacher_speed --model runs/teacher  # and one of your own, a run or a bundle, beside it
    python -m benchmarks.teacher_speed --quick               # a tiny encoder: does it run?

Invented abstracts are cut into sentences and tokens, read by the encoder, and the head's logits written in half precision, as `teacher:` in a recipe does; then the same is asked for again, which only
maps the files. Speed counts tokens without padding and the whole time. The share of the peak counts the encoder's products forwards from the shapes of its parameters, against the best product that torch
reaches in this run; of a model of your own it is not known.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tokenizers import Tokenizer

import biomux
from benchmarks import models, peak
from benchmarks.contest import Table, describe, report
from benchmarks.invented import documents
from benchmarks.training import product
from biomux.annotate.bench import times
from biomux.engine.annotator import Annotator
from biomux.engine.threads import usable_cores
from biomux.tasks.tagging import Tagging
from biomux.training import teacher_outputs
from biomux.training.encoders.transformer import Transformer, specials
from biomux.training.heads import HEADS
from biomux.training.model import Model, TorchSession

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document

LIMIT = 254
TASK = Tagging("task", ("Chemical", "Disease"))


def teacher(size: models.Size) -> Annotator:
    """A run with random weights and the vocabulary of the bundle that comes with Biomux."""
    cutter = Tokenizer.from_file(str(Path(biomux.__file__).parent / "bundles" / "default" / "tokenizer.json"))
    cutter.no_padding()
    cutter.no_truncation()
    size = models.Size(size.name, size.layers, size.width, size.attention_heads, size.inner, cutter.get_vocab_size())
    encoder = Transformer(models.torch_body(size, models.weights(size)))
    head = HEADS["linear"](size.width, len(TASK.labels), dropout=0.0)
    session = TorchSession(Model(encoder, {TASK.name: head}))
    return Annotator.of_tasks(session, cutter, specials(cutter), [TASK], limit=LIMIT)


def read(annotator: Annotator, task: Any, found: Sequence[Document], *, rounds: int) -> tuple[float, float, int]:
    """Seconds of keeping the outputs, of asking for them again, and the bytes that they take."""
    spent: list[tuple[float, float, int]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            options: dict[str, Any] = {"place": Path(name), "checksum": "x", "listen": lambda _: None}
            begun = time.perf_counter()
            teacher_outputs.kept(annotator, [task], found, **options)
            kept = time.perf_counter()
            teacher_outputs.kept(annotator, [task], found, **options)
            again = time.perf_counter()
            size = sum(file.stat().st_size for file in Path(name).rglob("*") if file.is_file())
            spent.append((kept - begun, again - kept, size))
    return times([one[0] for one in spent]).median, times([one[1] for one in spent]).median, spent[0][2]


def compare(size: models.Size, model: str | None, *, number: int, rounds: int) -> Table:
    """The teacher, and a model of one's own beside it."""
    found = list(documents(number))
    contestants: dict[str, tuple[Any, Any, models.Size | None]] = {
        f"run of {size.name} (torch)": (made := teacher(size), made.tasks[0], size)
    }
    if model is not None:
        own = biomux.load(model)
        contestants[f"{Path(model).name} ({getattr(own.session, 'runtime', 'a session')})"] = (own, own.tasks[0], None)
    best = max(
        peak.best_rate(product(shape, bf16=False), operations=2.0 * float(np.prod(shape)), seconds=0.5)
        for shape in peak.SHAPES
    )
    rows: list[tuple[Any, ...]] = []
    for who, (annotator, task, shape) in contestants.items():
        inputs = [one for own in teacher_outputs.inputs_of(annotator, task, found) for one in own]
        tokens = sum(one.size for one in inputs)
        read(annotator, task, found[: max(1, number // 10)], rounds=1)  # warms up
        seconds, again, stored = read(annotator, task, found, rounds=rounds)
        work = 0.0 if shape is None else sum(one.size * shape.operations(one.size) for one in inputs)
        share = f"{100 * work / seconds / best:.1f}" if shape is not None else "not known"
        rows.append((who, tokens / seconds, share, again, stored / 1e6))
    note = (
        f"{number:,} invented abstracts, medians of {rounds} rounds. Peak in this run: {best / 1e9:,.0f} GFLOP/s "
        f"(fp32, torch, {torch.get_num_threads()} threads)."
    )
    header = ("", "tokens per second", "% of peak", "seconds to ask again", "MB kept")
    return Table("Keeping what a teacher says", header, tuple(rows), (note,))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="PATH", help="a run or bundle of your own beside it; default: none")
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--quick", action="store_true", help="a tiny encoder and few documents, to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there as well")
    given = parser.parse_args()
    described = describe()
    torch.set_num_threads(given.threads)
    size, number = (models.TINY, 20) if given.quick else (models.SMALL, given.documents)
    table = compare(size, given.model, number=number, rounds=given.rounds)
    report([table], json_file=given.json, described=described)


if __name__ == "__main__":
    main()
