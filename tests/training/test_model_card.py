"""What a card says of plain types and of training data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from biomux.engine.type_merging import Merge
from biomux.recipes.read import read
from biomux.training.merge_rule_choice import Chosen
from biomux.training.model_card import _encoder, _training, _types

if TYPE_CHECKING:
    from pathlib import Path


def chosen(name: str, strict: float) -> Chosen:
    merge = Merge(name, (("head", name),))
    return Chosen(merge, {"head alone": {"head": (strict, strict)}})


def test_types_that_found_nothing_are_named() -> None:
    said = _types({"gene": chosen("gene", 0.8), "operon": chosen("operon", 0.0), "organ": chosen("organ", 0.0)})
    assert "Not reliable: operon, organ." in said


def test_nothing_is_said_where_every_type_found_something() -> None:
    assert "Not reliable" not in _types({"gene": chosen("gene", 0.8)})


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        ("{bundle: default}", "started from that of the bundle `default`"),
        ("{name: some/encoder}", "`some/encoder`"),
        ("{kind: random}", "of kind random"),
    ],
)
def test_an_encoder_is_called_by_what_it_began_as(encoder: str, said: str) -> None:
    assert _encoder(read("default/chemicals-and-diseases", settings=[f"model.encoder={encoder}"])) == said


def test_counts_of_examples_are_a_table_with_a_column_for_each_count(tmp_path: Path) -> None:
    counts = {
        "drugs": {"documents": 1200, "mentions": 30},
        "genes": {"documents": 7, "mentions widened to whole words": 2},
    }
    (tmp_path / "counts.json").write_text(json.dumps({"examples": counts}))
    lines = _training(tmp_path, read("default/chemicals-and-diseases")).splitlines()
    assert "| head | documents | entities | entities widened to whole words |" in lines
    assert "| drugs | 1,200 | 30 |  |" in lines
    assert "| genes | 7 |  | 2 |" in lines
