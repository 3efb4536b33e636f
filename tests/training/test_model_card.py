"""What a card says of plain types."""

from __future__ import annotations

from biomux.engine.entity_types import Merge
from biomux.training.model_card import _types
from biomux.training.type_merging import Chosen


def chosen(name: str, strict: float) -> Chosen:
    merge = Merge(name, (("head", name),))
    return Chosen(merge, {"head alone": {"head": (strict, strict)}})


def test_types_that_found_nothing_are_named() -> None:
    said = _types({"gene": chosen("gene", 0.8), "operon": chosen("operon", 0.0), "organ": chosen("organ", 0.0)})
    assert "Not to be counted on: operon, organ." in said


def test_nothing_is_said_where_every_type_found_something() -> None:
    assert "Not to be counted on" not in _types({"gene": chosen("gene", 0.8)})
