"""A run's cache gives back the very examples; what is not whole, or of other corpora, is not used."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from training import invented

from biomux.document import Document, Label, Span
from biomux.tasks.examples import Example, Labels, Masking, ModelInput
from biomux.text.tokens import Tokens
from biomux.training import example_cache
from biomux.training.build import build

if TYPE_CHECKING:
    from pathlib import Path


def numbers(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


def tokens(size: int) -> Tokens:
    places = np.arange(size, dtype=np.int32)
    return Tokens(places + 7, places, places * 2, places * 2 + 1)


EVERY = [
    Example("ner", ModelInput(tokens(3)), {"ner": Labels("word", numbers(0, 1, 2))}, ("d1", 0)),
    Example("ner", ModelInput(tokens(0)), {"ner": Labels("word", numbers())}, ("d1", 1)),
    Example("sts", ModelInput(tokens(2), tokens(4)), {"sts": Labels("window", np.array([2.5], np.float32))}, ("d2", 0)),
    Example(
        "re",
        ModelInput(tokens(5), pairs=numbers(0, 1, 3, 4).reshape(1, 4)),
        {"re": Labels("pair", numbers(1))},
        ("d3", 4),
    ),
    Example("hoc", ModelInput(tokens(1)), {"hoc": Labels("window", numbers(0, 1, 1).reshape(1, 3))}),
    Example("words", ModelInput(tokens(6)), {}, ("d3", 5), Masking(4, 100)),
    Example(
        "ner",
        ModelInput(tokens(2)),
        {"ner": Labels("word", numbers(1, -100)), "has": Labels("window", numbers(1))},
        ("d9", 0),
    ),
]
GOLD = {
    "ner/x": [Document("1", "HeLa cells.", sentences=((0, 11),), tokens=((0, 4),), spans=(Span(0, 4, "cell"),))],
    "sts": [Document("2", "a", pair="b", labels=(Label("similarity", value=1.5),))],
}


def same(left: Any, right: Any) -> bool:
    """Equal to the last value and type."""
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and bool((left == right).all())
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if hasattr(left, "__slots__"):
        return type(left) is type(right) and all(
            same(getattr(left, one), getattr(right, one)) for one in left.__slots__
        )
    return bool(left == right)


def test_every_kind_of_example_comes_back(tmp_path: Path) -> None:
    counts = {"ner": Counter({"sentences": 3})}
    example_cache.save(tmp_path / "cache", own="k", examples=EVERY, counts=counts, development=GOLD)
    found = example_cache.load(tmp_path / "cache", own="k")
    assert found is not None
    assert all(same(left, right) for left, right in zip(found[0], EVERY, strict=True))
    assert found[1:] == (counts, GOLD)


@pytest.mark.parametrize("file", ["examples.npz", "examples.json", "development/1.jsonl"])
def test_a_cache_that_is_not_whole_is_not_used(tmp_path: Path, file: str) -> None:
    example_cache.save(tmp_path / "cache", own="k", examples=EVERY, counts={}, development=GOLD)
    assert example_cache.load(tmp_path / "cache", own="another") is None
    path = tmp_path / "cache" / file
    path.write_bytes(path.read_bytes()[:-20])
    assert example_cache.load(tmp_path / "cache", own="k") is None
    path.unlink()
    assert example_cache.load(tmp_path / "cache", own="k") is None


def test_the_key_follows_the_recipe_and_the_content_of_the_corpora(tmp_path: Path) -> None:
    directory, recipe = invented.corpora(tmp_path), invented.recipe()
    first = example_cache.key(recipe, directory)
    assert example_cache.key(invented.recipe(loop={"seed": 9}), directory) != first
    with (directory / "ner/BC2GM/train.tsv").open("a") as stream:
        stream.write("more\tO\n\n")
    assert example_cache.key(recipe, directory) != first


def test_what_a_recipe_makes_comes_back(tmp_path: Path) -> None:
    built = build(invented.recipe(), directory=invented.corpora(tmp_path))
    example_cache.save(
        tmp_path / "c", own="k", examples=built.examples, counts=built.counts, development=built.development
    )
    found = example_cache.load(tmp_path / "c", own="k")
    assert found is not None
    assert all(same(left, right) for left, right in zip(found[0], built.examples, strict=True))
    assert found[2] == built.development
