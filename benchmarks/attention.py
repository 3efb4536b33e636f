"""How long attention takes in a training step: torch's fused kernel against plain matrix products, in bf16 and in fp32.

    python -m benchmarks.attention            # from the root of the project; 3 minutes
    python -m benchmarks.attention --quick    # a tiny encoder: does it run?

A BERT encoder with random weights reads batches of about 1,024 tokens of different lengths, forwards and backwards, without dropout.
"""

from __future__ import annotations

import argparse
import copy
from functools import partial
from pathlib import Path

import torch

from benchmarks import models
from benchmarks.contest import Table, alternate, describe, report
from biomux.engine.threads import usable_cores
from biomux.training import precision
from biomux.training.encoders.transformer import Transformer

SHAPES = ((32, 32), (8, 128), (4, 254))
"""Rows and length of the batches."""
LARGE = models.Size("12×384", 12, 384, 12, 1536)


def step(encoder: Transformer, numbers: precision.Numbers, rows: int, length: int) -> None:
    """Forwards and backwards, without an update."""
    ids = torch.randint(1, encoder.config.vocab_size, (rows, length))
    mask = torch.ones(rows, length, dtype=torch.long)
    mask[:, -2:] = 0
    with precision.autocast(numbers, ids.device):
        loss = encoder(ids, mask).float().square().mean()
    loss.backward()
    encoder.zero_grad(set_to_none=True)


def compare(size: models.Size, *, seconds: float) -> Table:
    """Milliseconds of each way."""
    fused = Transformer(models.torch_body(size, models.weights(size))).train()
    plain = copy.deepcopy(fused)
    fused.body.set_attn_implementation("sdpa")
    plain.use_plain_attention()
    kinds: tuple[precision.Numbers, ...] = ("bf16", "fp32")
    rows = []
    for numbers in kinds:
        for number, length in SHAPES:
            contestants = {
                "fused": partial(step, fused, numbers, number, length),
                "plain": partial(step, plain, numbers, number, length),
            }
            spent = alternate(contestants, seconds=seconds)
            before, after = (1000 * spent[name].median for name in ("fused", "plain"))
            rows.append((numbers, number, length, before, after, before / after))
    columns = ("", "rows", "tokens in each", "fused, ms", "plain products, ms", "times as fast")
    return Table(f"Attention in a training step, {size.name}", columns, tuple(rows))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--seconds", type=float, default=20.0, help="for each comparison")
    parser.add_argument("--quick", action="store_true", help="a tiny encoder, to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there as well")
    given = parser.parse_args()
    described = describe()
    torch.set_num_threads(given.threads)
    table = compare(models.TINY if given.quick else LARGE, seconds=0.1 if given.quick else given.seconds)
    report([table], json_file=given.json, described=described)


if __name__ == "__main__":
    main()
