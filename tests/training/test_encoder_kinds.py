"""Every kind of encoder, and heads over sequences, through a whole run: trained, scored, loaded, exported, taken over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import tiny
import torch
from safetensors.torch import load_file
from training import invented

from biomux.engine.load import load
from biomux.training import run
from biomux.training.encoders import from_run
from biomux.training.export import export
from biomux.training.load_run import load_run

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.recipes.schema import Recipe

BILSTM: dict[str, Any] = {
    "kind": "bilstm",
    "bilstm": {"word_width": 24, "hidden": 16, "character_width": 6, "character_hidden": 5},
}
LEXICAL: dict[str, Any] = {
    "kind": "lexical",
    "layers": 2,
    "lexical": {"width": 24, "word_rows": 500, "gram_rows": 2000},
}
KINDS: dict[str, dict[str, Any]] = {
    "bilstm": {"encoder": BILSTM, "head": {"kind": "bilstm", "settings": {"hidden": 12, "dropout": 0.0}}},
    "crf": {"encoder": BILSTM, "head": {"kind": "crf", "settings": {"dropout": 0.0}}},
    "convolution": {"encoder": {"kind": "convolution", "layers": 2, "convolution": {"width": 24}}},
    "lexical": {"encoder": LEXICAL},
}


def recipe(kind: str, folder: Path) -> Recipe:
    model = {**KINDS[kind], "encoder": dict(KINDS[kind]["encoder"])}
    if kind == "convolution":
        tiny.tokenizer().save(str(folder / "tokenizer.json"))
        model["encoder"]["name"] = str(folder)
    return invented.recipe(
        tasks={"drugs": {"corpus": "bc5cdr"}},
        regime={"kind": "single"},
        model=model,
        loop={"epochs": 5, "learning_rate": 3e-2, "batch_tokens": 64},
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_learns_and_loads(kind: str, tmp_path: Path) -> None:
    directory, folder = invented.corpora(tmp_path / "corpora"), tmp_path / "run"
    run.start(recipe(kind, tmp_path), folder, directory=directory)
    scores = json.loads((folder / "scores.json").read_text())
    assert scores["tasks"]["drugs"]["f1"] > 0.5
    found = load_run(folder)("Mice given zolmide had a fever, and ZOLMIDE2 was high.")
    assert ("zolmide", "Chemical") in {(found.text[span.start : span.end], span.type) for span in found.spans}
    export(folder, tmp_path / "bundle", measure=False)
    again = load(tmp_path / "bundle")(found.text, heads=["drugs"], threshold=0)
    assert {(span.start, span.end, span.type) for span in again.spans} == {
        (span.start, span.end, span.type) for span in found.spans
    }
    encoder, tokenizer, _ = from_run.load(folder)
    kept = load_file(folder / "model.safetensors")
    assert all(torch.equal(kept[f"encoder.{name}"], value) for name, value in encoder.state_dict().items())
    assert encoder.describe()["vocabulary"] == tokenizer.get_vocab_size()  # type: ignore[operator]


@pytest.mark.parametrize("encoder", [BILSTM, LEXICAL])
def test_a_stopped_run_goes_on_to_the_same_weights(encoder: dict[str, Any], tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=20)
    model = {
        "encoder": {**encoder, "dropout": 0.2},
        "head": {"kind": "crf", "settings": {"head": "bilstm", "hidden": 6}},
    }
    chosen = invented.recipe(model=model, loop={"epochs": 2})

    def stop(event: dict[str, Any]) -> None:
        if event["event"] == "scores":
            raise KeyboardInterrupt

    run.start(chosen, tmp_path / "whole", directory=directory)
    with pytest.raises(KeyboardInterrupt):
        run.start(chosen, tmp_path / "stopped", directory=directory, listen=stop)
    half = load_file(tmp_path / "stopped" / "checkpoints/last/model.safetensors")
    run.start(chosen, tmp_path / "stopped", directory=directory)
    last = "checkpoints/last/model.safetensors"
    one, other = (load_file(tmp_path / name / last) for name in ("whole", "stopped"))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not torch.equal(one["heads.drugs.between"], half["heads.drugs.between"])
