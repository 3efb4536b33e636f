"""Our training loop against transformers' own Trainer: the same model, examples and tokens in a batch, in one run, turn by turn.

    python -m benchmarks.training                               # 6×384, invented lengths; from the root of the project
    python -m benchmarks.training --corpus bc5cdr --tokenizer path/to/tokenizer.json
    python -m benchmarks.training --quick                       # a tiny encoder: does it run?

Both read the same examples once, with fused AdamW, clipping and a linear schedule, in fp32 unless the processor has bf16 instructions and --bf16 is
given. Speed is counted in tokens without padding; the time is that of the steps, without setting up and saving. The share of the peak counts
operations forwards and backwards (three times those forwards) from the shapes of the parameters, for tokens without padding, against the best product that torch
reaches in this run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmarks import models, peak
from benchmarks.contest import Table, describe, report
from biomux.annotate.bench import times
from biomux.engine.packing import Specials, padded
from biomux.engine.threads import usable_cores
from biomux.recipes.schema import Loop
from biomux.tasks.examples import MASKED, Example, Labels, ModelInput
from biomux.text.tokens import Tokens
from biomux.training import loop
from biomux.training.batches import collate, epoch_batches
from biomux.training.encoders.transformer import Transformer
from biomux.training.heads import HEADS
from biomux.training.model import Model
from biomux.training.regimes import REGIMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LABELS = 5
SPECIALS = Specials(pad=0, before=2, after=3)
KINDS = {
    "attention": ("scaled_dot_product", "bmm", "softmax"),
    "matrix products": ("aten::addmm", "aten::mm", "aten::linear", "mkldnn_linear", "aten::matmul"),
    "optimizer and clipping": ("adam", "Optimizer", "norm_", "_foreach", "linalg_vector_norm", "zero_grad"),
    "normalisation, GELU, embeddings": ("layer_norm", "gelu", "embedding", "index"),
}
"""Kind → what the names of its operators hold, looked at in this order."""


def invented_examples(number: int, size: models.Size, *, seed: int = 3) -> list[Example]:
    """Random tokens in sentences as long as those of abstracts (mean 37 tokens), each token a word."""
    chance = np.random.default_rng(seed)
    lengths = np.clip(np.exp(chance.normal(3.45, 0.5, number)), 4, 126).astype(int)
    return [
        _example(chance.integers(5, size.vocabulary, length), chance, index) for index, length in enumerate(lengths)
    ]


def _example(ids: Any, chance: np.random.Generator, index: int) -> Example:
    places = np.arange(len(ids), dtype=np.int32)
    labels = np.where(chance.random(len(ids)) < 0.1, chance.integers(1, LABELS, len(ids)), 0).astype(np.int32)
    reading = ModelInput(Tokens(ids.astype(np.int32), places, places, places + 1))
    return Example("task", reading, {"task": Labels("word", labels)}, (str(index), 0))


def corpus_examples(corpus: str, tokenizer: Path, size: models.Size, number: int) -> list[Example]:
    """The first sentences of a corpus, cut by a tokenizer; labels are random, since speed does not depend on them."""
    from tokenizers import Tokenizer

    from biomux.corpora import corpus as corpora
    from biomux.text import sentences, tokens

    cutter, chance = Tokenizer.from_file(str(tokenizer)), np.random.default_rng(3)
    cutter.no_padding()
    cutter.no_truncation()
    found: list[Example] = []
    for document in corpora.load(corpus, "train"):
        for one in tokens.split(cutter, document.text, sentences.of(document)):
            if len(one):
                found.append(_example(one.ids[:254] % size.vocabulary, chance, len(found)))
        if len(found) >= number:
            break
    return found[:number]


def ours(size: models.Size, made: Mapping[str, Any], examples: Sequence[Example], *, budget: int, bf16: bool) -> float:
    """Seconds of our loop over the examples."""
    with tempfile.TemporaryDirectory() as place:
        return loop.train(_run(Path(place), size, made, examples, budget=budget, bf16=bf16)).seconds


def _run(
    folder: Path, size: models.Size, made: Mapping[str, Any], examples: Sequence[Example], *, budget: int, bf16: bool
) -> loop.LoopInputs:
    model = Model(
        Transformer(models.torch_body(size, made)), {"task": HEADS["linear"](size.width, LABELS, dropout=0.0)}
    )
    settings = Loop(epochs=1, batch_tokens=budget, learning_rate=1e-5, precision="bf16" if bf16 else "fp32")
    return loop.LoopInputs(
        folder=folder,
        model=model,
        plan=REGIMES["single"]({"task": "cross-entropy"}),
        settings=settings,
        examples=examples,
        specials=SPECIALS,
        evaluate=lambda: None,
        journal=lambda _: None,
    )


def trainer(
    size: models.Size, made: Mapping[str, Any], examples: Sequence[Example], *, rows: int, bf16: bool, grouped: bool
) -> float:
    """Seconds of transformers' Trainer over the same examples, so many rows a batch."""
    from transformers import BertConfig, BertForTokenClassification, Trainer, TrainerCallback, TrainingArguments

    settings = {key: value for key, value in size.config().items() if key != "model_type"}
    model = BertForTokenClassification(BertConfig(**settings, num_labels=LABELS))
    model.bert.load_state_dict(models.torch_body(size, made).state_dict(), strict=False)

    class Clock(TrainerCallback):  # type: ignore[misc]
        """Times the steps alone."""

        begun = seconds = 0.0

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.begun = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.seconds = time.perf_counter() - self.begun

    clock = Clock()
    with tempfile.TemporaryDirectory() as place:
        arguments = TrainingArguments(
            output_dir=place,
            per_device_train_batch_size=rows,
            num_train_epochs=1,
            learning_rate=1e-5,
            optim="adamw_torch_fused",
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            bf16=bf16,
            dataloader_pin_memory=False,
            **({"train_sampling_strategy": "group_by_length"} if grouped else {}),
        )
        rows_of = [_row(example) for example in examples]
        Trainer(
            model=model, args=arguments, train_dataset=_Rows(rows_of), data_collator=_collate, callbacks=[clock]
        ).train()  # fmt: skip
    return clock.seconds


class _Rows(torch.utils.data.Dataset[dict[str, list[int]]]):
    """Rows as the Trainer wants them."""

    def __init__(self, rows: list[dict[str, list[int]]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return self.rows[index]


def _row(example: Example) -> dict[str, list[int]]:
    ids = [SPECIALS.before, *example.tokens.ids.tolist(), SPECIALS.after]
    return {"input_ids": ids, "labels": [MASKED, *example.labels["task"].values.tolist(), MASKED]}


def _collate(rows: list[dict[str, list[int]]]) -> dict[str, Any]:
    """Padding to the longest row, as transformers' own collator does, to a multiple of 8."""
    length = -(-max(len(row["input_ids"]) for row in rows) // 8) * 8
    ids = torch.full((len(rows), length), SPECIALS.pad)
    labels, mask = torch.full((len(rows), length), MASKED), torch.zeros(len(rows), length, dtype=torch.long)
    for at, row in enumerate(rows):
        size = len(row["input_ids"])
        ids[at, :size], labels[at, :size] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"])
        mask[at, :size] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def operations(size: models.Size, examples: Sequence[Example]) -> float:
    """Forwards and backwards, of all tokens of all examples."""
    return sum(3 * example.input.size * size.operations(example.input.size) for example in examples)


def where_time_goes(
    size: models.Size, made: Mapping[str, Any], examples: Sequence[Example], *, budget: int, bf16: bool
) -> Table:
    """A profile of our loop: each kind of operator's share of the steps' time; what no operator has is Python and the making of batches."""
    plan = REGIMES["single"]({"task": "cross-entropy"})
    begun = time.perf_counter()
    for members in epoch_batches(examples, plan.draw, epoch=0, epochs=1, budget=budget, seed=1):
        collate([examples[index] for index in members], SPECIALS)
    data = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as place:
        run = _run(Path(place), size, made, examples, budget=budget, bf16=bf16)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            seconds = loop.train(run).seconds
    spent: dict[str, float] = defaultdict(float)
    for event in profile.key_averages():
        spent[kind(event.key)] += event.self_cpu_time_total / 1e6
    spent["making batches"] = data
    spent["the rest (Python)"] = max(0.0, seconds - sum(spent.values()))
    total = sum(spent.values())
    rows = tuple((name, 100 * took / total) for name, took in sorted(spent.items(), key=lambda item: -item[1]))
    note = "Self time of operators by torch's profiler, which itself costs time; writing the last checkpoint is among the other operators."
    return Table(f"Where the time of our loop goes, {size.name}", ("", "% of the time"), rows, (note,))


def kind(operator: str) -> str:
    """The kind of an operator.

    >>> kind("aten::addmm"), kind("aten::_scaled_dot_product_flash_attention_for_cpu"), kind("aten::copy_")
    ('matrix products', 'attention', 'other operators')
    """
    return next((name for name, parts in KINDS.items() if any(part in operator for part in parts)), "other operators")


def laid_out(examples: Sequence[Example], drawn: Sequence[Sequence[int]]) -> int:
    """The tokens of all batches, padding included."""
    return sum(len(batch) * padded(max(examples[member].input.size for member in batch)) for batch in drawn)


def compare(size: models.Size, examples: Sequence[Example], *, budget: int, rounds: int, bf16: bool) -> Table:
    """All in turn, so many rounds."""
    made = models.weights(size)
    total = sum(example.input.size for example in examples)
    drawn = epoch_batches(examples, REGIMES["single"]({"task": "cross-entropy"}).draw, epoch=0, epochs=1, budget=budget, seed=1)  # fmt: skip
    batches, padding = len(drawn), 1 - total / laid_out(examples, drawn)
    rows = max(1, round(len(examples) / batches))
    spent: dict[str, list[float]] = {"Biomux": [], "Trainer": [], "Trainer, grouped by length": []}
    for turn in range(rounds + 1):
        found = {
            "Biomux": ours(size, made, examples, budget=budget, bf16=bf16),
            "Trainer": trainer(size, made, examples, rows=rows, bf16=bf16, grouped=False),
            "Trainer, grouped by length": trainer(size, made, examples, rows=rows, bf16=bf16, grouped=True),
        }
        for name, seconds in found.items():
            if turn:  # the first round warms up
                spent[name].append(seconds)
    best = max(
        peak.best_rate(product(shape, bf16=bf16), operations=2.0 * float(np.prod(shape)), seconds=0.5)
        for shape in peak.SHAPES
    )
    work = operations(size, examples)
    base = times(spent["Trainer"]).median
    table = [
        (name, total / (middle := times(found).median), base / middle, 100 * work / middle / best)
        for name, found in spent.items()
    ]
    notes = (
        f"{len(examples):,} sentences, {total:,} tokens, {batches} batches of at most {budget} tokens, {100 * padding:.1f} % of them padding; the Trainer: {rows} rows a batch. "
        f"Medians of {rounds} rounds. Peak in this run: {best / 1e9:,.0f} GFLOP/s ({'bf16' if bf16 else 'fp32'}, torch, {torch.get_num_threads()} threads).",
    )
    return Table(
        f"Training, {size.name}", ("", "tokens per second", "times the Trainer", "% of peak"), tuple(table), notes
    )


def product(shape: tuple[int, int, int], *, bf16: bool) -> Any:
    """A matrix product of that shape, to be timed."""
    kind_ = torch.bfloat16 if bf16 else torch.float32
    one, other = torch.randn(shape[0], shape[1], dtype=kind_), torch.randn(shape[1], shape[2], dtype=kind_)
    return lambda: one @ other


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=1024, help="tokens of a batch")
    parser.add_argument("--batches", type=int, default=40, help="batches of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--corpus", help="sentences of a corpus of BIOMUX_CORPORA; needs --tokenizer")
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tiny encoder, to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all tables there as well")
    given = parser.parse_args()
    described = describe()
    if given.corpus and not given.tokenizer:
        parser.error("--corpus needs --tokenizer")
    torch.set_num_threads(given.threads)
    size = models.TINY if given.quick else models.SMALL
    number = given.batches * given.budget // 40
    examples = (
        corpus_examples(given.corpus, given.tokenizer, size, number)
        if given.corpus
        else invented_examples(number, size)
    )
    tables = [
        compare(size, examples, budget=given.budget, rounds=given.rounds, bf16=given.bf16),
        where_time_goes(size, models.weights(size), examples, budget=given.budget, bf16=given.bf16),
    ]
    report(tables, json_file=given.json, described=described)


if __name__ == "__main__":
    main()
