"""Heads and objectives against what they say they do, written out."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tiny
import torch
from training import small

from biomux.engine.packing import lay_out
from biomux.errors import RecipeError
from biomux.recipes.schema import HeadSettings
from biomux.tasks.examples import MASKED, ModelInput
from biomux.text import tokens as text_tokens
from biomux.training import objectives, precision
from biomux.training.build import make_head
from biomux.training.heads import HEADS, masked_lm
from biomux.training.heads.answer import NEVER
from biomux.training.heads.features import Features
from biomux.training.heads.pooled import pool
from biomux.training.model import Model, rows_of
from biomux.training.objectives import OBJECTIVES

if TYPE_CHECKING:
    from biomux.engine.packing import Batch


def features() -> Features:
    torch.manual_seed(0)
    mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])
    return Features(torch.randn(3, 5, 4), mask, torch.tensor([1, 2, 6]))


def batch(*texts: str) -> Batch:
    readings = [ModelInput(text_tokens.split(tiny.tokenizer(), text, [(0, len(text))])[0]) for text in texts]
    return lay_out(readings, max(one.size for one in readings), small.SPECIALS, windows=range(len(readings)))


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_pooling_is_over_the_tokens_of_the_text(pooling: str) -> None:
    found = features()
    rows = torch.tensor([0, 5, 10])
    hidden = found.hidden
    inner = [hidden[0, 1:3], hidden[1, 1:2], hidden[2, 0:2]]  # a row of special tokens alone has nothing else
    expected = {
        "cls": [hidden[0, 0], hidden[1, 0], hidden[2, 0]],
        "mean": [one.mean(dim=0) for one in inner],
        "max": [one.amax(dim=0) for one in inner],
    }[pooling]
    assert torch.allclose(pool(found, rows, pooling), torch.stack(expected))  # type: ignore[arg-type]


def test_padding_and_neighbours_change_no_pooled_vector() -> None:
    body = small.encoder()
    network = Model(body, {"x": make_head(HeadSettings(kind="pooled"), body, 2)}, {"x": "window"}).eval()
    alone = network.heads["x"](network.features(batch("the liver")), torch.tensor([0]))
    together = network.features(batch("the liver", "severe ulcer after high dose of aspirin"))
    beside = network.heads["x"](together, torch.tensor([0]))
    assert torch.allclose(alone, beside, atol=1e-6)


def test_an_answer_begins_at_words_of_the_text_or_nowhere() -> None:
    question = text_tokens.split(tiny.tokenizer(), "which", [(0, 5)])[0]
    context = text_tokens.split(tiny.tokenizer(), "zolosis given", [(0, 13)])[0]
    reading = ModelInput(context, question)
    laid = lay_out([reading], reading.size + 2, small.SPECIALS, windows=[0])
    body = small.encoder()
    network = Model(body, {"qa": make_head(HeadSettings(kind="answer"), body, 2)}, {"qa": "answer"}).eval()
    logits = network.heads["qa"](network.features(laid), torch.from_numpy(rows_of("answer", laid)))
    allowed = (logits[0, :, 0] > NEVER).nonzero().flatten().tolist()
    assert allowed == [0, reading.begin, reading.begin + 4]


def test_a_pair_of_spans_reads_first_and_last_words_of_both() -> None:
    found = features()
    head = HEADS["pair-of-spans"](4, 3, dropout=0.0)
    rows = torch.tensor([[1, 2, 6, 6]])
    flat = found.hidden.reshape(-1, 4)
    left, right = (flat[1] + flat[2]) / 2, flat[6]
    expected = head.layers(torch.cat([left, right, left * right])[None])  # type: ignore[operator]
    assert torch.allclose(head(found, rows), expected)


def test_a_fresh_mix_is_the_mean_of_all_layers() -> None:
    body = small.encoder()
    head = make_head(HeadSettings(kind="mix", settings={"dropout": 0.0}), body, 3)
    network = Model(body, {"x": head}).eval()
    laid = batch("the liver", "high dose")
    found = network.features(laid)
    assert found.layers is not None
    assert len(found.layers) == 3
    mean = torch.stack(found.layers).mean(dim=0)
    rows = torch.from_numpy(laid.first)
    assert torch.allclose(head(found, rows), head.head(found.of(mean), rows), atol=1e-6)  # type: ignore[operator]


@pytest.mark.parametrize("tied", [True, False])
def test_masked_words_may_share_the_encoders_table(tied: bool) -> None:
    body = small.encoder()
    head = masked_lm.build(32, len(tiny.PIECES), encoder=body, tied=tied)
    names = {name for name, _ in head.named_parameters()}
    assert ("output.weight" in names) != tied
    network = Model(body, {"words": head}, {"words": "token"})
    laid = batch("the liver", "high dose")
    rows = torch.from_numpy(rows_of("token", laid))
    assert rows.tolist() == [1, 2, 5, 6]
    assert head(network.features(laid), rows).shape == (4, len(tiny.PIECES))
    assert len({name for name in network.state_dict() if "word_embeddings" in name}) == 1


def test_unknown_poolings_and_settings_are_refused() -> None:
    body = small.encoder()
    for head in (
        HeadSettings(kind="pooled", settings={"pooling": "min"}),
        HeadSettings(kind="linear", settings={"depth": 2}),
        HeadSettings(kind="x"),
    ):
        with pytest.raises(RecipeError, match="BX306"):
            make_head(head, body, 2)


def test_masked_classes_count_for_nothing() -> None:
    logits = torch.randn(2, 3)
    labels = torch.tensor([[1.0, 0.0, MASKED], [0.0, MASKED, MASKED]])
    found = OBJECTIVES["binary-cross-entropy"](logits, labels)
    parts = [
        torch.nn.functional.softplus(-logits[0, 0]),
        *(torch.nn.functional.softplus(logits[at]) for at in ((0, 1), (1, 0))),
    ]
    assert found.item() == pytest.approx(sum(part.item() for part in parts) / 3, abs=1e-6)


def test_objectives_are_sums_over_positions() -> None:
    """Two parts add up to the whole: what lets a step be split in batches."""
    generator = torch.Generator().manual_seed(0)
    cases = {
        "cross-entropy": (torch.randn(6, 4, generator=generator), torch.tensor([0, 1, 2, 3, 0, 1])),
        "mean-squared-error": (torch.randn(6, 1, generator=generator), torch.randn(6, generator=generator)),
        "binary-cross-entropy": (torch.randn(6, 4, generator=generator), torch.ones(6, 4)),
        "answers": (torch.randn(6, 5, 2, generator=generator), torch.tensor([[1, 2]] * 6)),
    }
    for name, (logits, labels) in cases.items():
        whole = OBJECTIVES[name](logits, labels)
        parts = OBJECTIVES[name](logits[:2], labels[:2]) + OBJECTIVES[name](logits[2:], labels[2:])
        assert torch.allclose(whole, parts, atol=1e-5), name


def test_examples_in_docstrings_run() -> None:
    folder = Path(objectives.__file__).parent
    for path in folder.glob("*.py"):
        if path.stem != "__init__":
            module = importlib.import_module(f"biomux.training.objectives.{path.stem}")
            assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("flags", "chosen"),
    [({"avx2"}, "fp32"), ({"avx512_bf16"}, "bf16"), ({"amx_bf16", "avx2"}, "bf16"), (set(), "fp32")],
)
def test_half_width_numbers_only_where_the_processor_has_them(
    monkeypatch: pytest.MonkeyPatch, flags: set[str], chosen: str
) -> None:
    monkeypatch.setattr(precision, "flags", lambda: frozenset(flags))
    assert precision.choose("auto", torch.device("cpu")) == chosen
    assert precision.choose("fp32", torch.device("cpu")) == "fp32"


def test_a_session_gives_every_unit_its_rows() -> None:
    laid = batch("zolosis given", "the liver")
    assert rows_of("word", laid).tolist() == laid.first.tolist()
    assert rows_of("window", laid).tolist() == [0, laid.ids.shape[1]]
    assert rows_of("pair", laid).shape == (0, 4)
    assert np.array_equal(laid.mask.reshape(-1)[rows_of("token", laid)], np.ones(7))
