"""Pre-training and students against tagging: tokens a second and the share of the matrix-multiply peak, in one run, turn by turn.

    python -m benchmarks.pretrain_speed                    # 6×384 with 30,522 tokens; from the root of the project
    python -m benchmarks.pretrain_speed --vocabulary 8000  # a trimmed vocabulary
    python -m benchmarks.pretrain_speed --quick            # a tiny encoder: does it run?

All use the one loop with as many tokens in a batch, fused AdamW, clipping and a linear schedule. Tagging reads invented sentences (mean 37 tokens), sorted by length as always;
pre-training reads windows of 126 through the memory map, as `biomux pretrain` does, with 15 % of the tokens hidden. The student has half of the teacher's layers and learns hidden words, the teacher's guesses and
its last states. Speed is counted in tokens without padding. The share of the peak counts products forwards and backwards (three times those forwards; a teacher forwards alone) from the shapes of the
parameters, the head for hidden words at the hidden tokens only, against the best product that torch reaches in this run.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmarks import models, peak
from benchmarks.contest import Table, describe, report
from benchmarks.training import LABELS, SPECIALS, invented_examples, product
from biomux.annotate.bench import times
from biomux.engine.packing import padded
from biomux.engine.threads import usable_cores
from biomux.recipes.schema import Loop
from biomux.tasks.examples import Masking
from biomux.training import loop
from biomux.training.encoders.transformer import Transformer
from biomux.training.heads import HEADS
from biomux.training.model import Model
from biomux.training.plan import Draw, FeatureObjective, Objective, Plan
from biomux.training.regimes import REGIMES
from biomux.training.step_teacher import StepTeacher
from biomux.training.token_files import ShuffledBatches, TokenFile, Windows

if TYPE_CHECKING:
    from collections.abc import Callable


LIMIT = 126
SHARE = 0.15
MASK = 4


def tagging(size: models.Size, tokens: int, settings: Loop) -> Callable[[Path], tuple[float, int, float]]:
    """Seconds, tokens and operations of tagging sentences of so many tokens in all."""
    examples = invented_examples(max(1, tokens // 39), size)
    work = sum(3 * one.input.size * size.operations(one.input.size) for one in examples)

    def run(folder: Path) -> tuple[float, int, float]:
        encoder = Transformer(models.torch_body(size, models.weights(size)))
        model = Model(encoder, {"task": HEADS["linear"](size.width, LABELS, dropout=0.0)})
        plan = REGIMES["single"]({"task": "cross-entropy"})
        found = loop.train(
            loop.LoopInputs(folder, model, plan, settings, examples, SPECIALS, lambda: None, lambda _: None)
        )
        return found.seconds, found.tokens, work

    return run


def pretraining(
    size: models.Size, tokens: int, settings: Loop, place: Path, *, teacher: models.Size | None = None
) -> Callable[[Path], tuple[float, int, float]]:
    """The same of hidden words in windows; with a teacher, if one is given."""
    number = max(1, tokens // (LIMIT + 2))
    file = place / "tokens"
    chance = np.random.default_rng(3)
    chance.integers(5, size.vocabulary, number * LIMIT).astype(np.uint16).tofile(file)
    windows = Windows(
        TokenFile(np.memmap(file, dtype=np.uint16, mode="r")),
        limit=LIMIT,
        task="words",
        masking=Masking(MASK, size.vocabulary, SHARE),
    )
    rows = max(1, settings.batch_tokens // padded(LIMIT + 2))
    head = SHARE * LIMIT * 2 * (size.width**2 + size.width * size.vocabulary)
    work = number * (3 * (LIMIT + 2) * size.operations(LIMIT + 2) + 3 * head)
    if teacher is not None:
        work += number * ((LIMIT + 2) * teacher.operations(LIMIT + 2) + head)

    def run(folder: Path) -> tuple[float, int, float]:
        objectives = [Objective("cross-entropy", "words")]
        features: list[FeatureObjective] = []
        if teacher is not None:
            objectives.append(Objective("kl-divergence", "words", 5.0, "step-teacher", {"temperature": 2.0}))
            features.append(FeatureObjective("hidden-cosine", size.layers, teacher.layers))
        plan = Plan(Draw(), tuple(objectives), features=tuple(features))
        inputs = loop.LoopInputs(folder, _words(size), plan, settings, windows, SPECIALS, lambda: None, lambda _: None)
        inputs.batches = lambda epoch: ShuffledBatches(len(windows), rows=rows, seed=1, epoch=epoch)
        if teacher is not None:
            inputs.teacher = StepTeacher(_words(teacher).requires_grad_(False))
        found = loop.train(inputs)
        return found.seconds, found.tokens, work

    return run


def _words(size: models.Size) -> Model:
    encoder = Transformer(models.torch_body(size, models.weights(size)))
    return Model(
        encoder, {"words": HEADS["masked-words"](size.width, size.vocabulary, encoder=encoder)}, {"words": "token"}
    )


def compare(size: models.Size, *, budget: int, batches: int, rounds: int, bf16: bool) -> Table:
    """All in turn, so many rounds; the first, which warms up, does not count."""
    settings = Loop(epochs=1, batch_tokens=budget, learning_rate=1e-5, precision="bf16" if bf16 else "fp32")
    half = replace(size, name=f"{size.layers // 2}×{size.width}", layers=max(1, size.layers // 2))
    spent: dict[str, list[tuple[float, int, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        place, tokens = Path(name), batches * budget
        contestants: dict[str, Any] = {
            f"tagging, {size.name}": tagging(size, tokens, settings),
            f"hidden words, {size.name}": pretraining(size, tokens, settings, place),
            f"student of {half.name}, teacher of {size.name}": pretraining(half, tokens, settings, place, teacher=size),
        }
        for turn in range(rounds + 1):
            for who, run in contestants.items():
                with tempfile.TemporaryDirectory() as folder:
                    found = run(Path(folder))
                if turn:
                    spent.setdefault(who, []).append(found)
    best = max(
        peak.best_rate(product(shape, bf16=bf16), operations=2.0 * float(np.prod(shape)), seconds=0.5)
        for shape in peak.SHAPES
    )
    speeds = {
        who: (found[0][1] / (middle := times([one[0] for one in found]).median), 100 * found[0][2] / middle / best)
        for who, found in spent.items()
    }
    base = next(iter(speeds.values()))[0]
    rows = tuple((who, speed, speed / base, share) for who, (speed, share) in speeds.items())
    note = (
        f"{size.vocabulary:,} tokens in the vocabulary, {batches} batches of at most {budget} tokens, medians of {rounds} rounds. "
        f"Peak in this run: {best / 1e9:,.0f} GFLOP/s ({'bf16' if bf16 else 'fp32'}, torch, {torch.get_num_threads()} threads)."
    )
    return Table("Pre-training against tagging", ("", "tokens per second", "times tagging", "% of peak"), rows, (note,))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=2048, help="tokens of a batch")
    parser.add_argument("--batches", type=int, default=20, help="batches of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--vocabulary", type=int, default=30_522)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tiny encoder, to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there as well")
    given = parser.parse_args()
    described = describe()
    torch.set_num_threads(given.threads)
    size = models.TINY if given.quick else replace(models.SMALL, vocabulary=given.vocabulary)
    table = compare(size, budget=given.budget, batches=given.batches, rounds=given.rounds, bf16=given.bf16)
    report([table], json_file=given.json, described=described)


if __name__ == "__main__":
    main()
