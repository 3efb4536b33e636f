"""Students: which layers of a teacher they begin as, and shapes with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import tiny
import torch
from training import small
from transformers import BertConfig, BertModel

from biomux.errors import RecipeError
from biomux.recipes.schema import EncoderSettings
from biomux.training import encoders
from biomux.training.encoders.layer_maps import layer_map

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.training.encoders.encoder import BuiltEncoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A BERT of six layers, as transformers saves it."""
    torch.manual_seed(4)
    config = tiny.config(layers=6)
    config.pop("model_type")
    body = BertModel(BertConfig(**config))
    body.save_pretrained(tmp_path / "six")
    tiny.tokenizer().save(str(tmp_path / "six" / "tokenizer.json"))
    return tmp_path / "six"


def _made(folder: Path, **settings: Any) -> BuiltEncoder:
    described = EncoderSettings(name=str(folder), limit=30, **settings)
    return encoders.of_kind(described.kind).make(described, ["Aspirin treats fever."])


@pytest.mark.parametrize(
    ("take", "layers", "wanted"),
    [
        ("first", 3, [1, 2, 3]),
        ("last", 3, [4, 5, 6]),
        ("uniform", 3, [2, 4, 6]),
        ("every-other-0", 3, [1, 3, 5]),
        ("every-other-1", 3, [2, 4, 6]),
        ("uniform", 4, [2, 3, 4, 6]),
        ([6, 1], None, [6, 1]),
    ],
)
def test_a_student_begins_as_layers_of_its_teacher(
    folder: Path, take: Any, layers: int | None, wanted: list[int]
) -> None:
    teacher, student = _made(folder).encoder, _made(folder, take=take, layers=layers).encoder
    assert student.depth == len(wanted)
    ours, theirs = student.state_dict(), teacher.state_dict()
    for place, layer in enumerate(wanted):
        for part in ("attention.self.query.weight", "output.dense.bias"):
            name = f"body.encoder.layer.{{}}.{part}"
            assert torch.equal(ours[name.format(place)], theirs[name.format(layer - 1)])
    name = "body.embeddings.word_embeddings.weight"
    assert torch.equal(ours[name], theirs[name])


@pytest.mark.parametrize("which", ["first", "last", "uniform", "every-other-0", "every-other-1"])
def test_maps_name_as_many_different_layers_as_the_student_has(which: Any) -> None:
    for teacher in range(1, 25):
        for student in range(1, teacher + 1):
            found = layer_map(which, teacher=teacher, student=student)
            assert len(set(found)) == student
            assert list(found) == sorted(found)
            assert 1 <= found[0] <= found[-1] <= teacher
            if which in ("last", "uniform"):
                assert found[-1] == teacher


@pytest.mark.parametrize(
    ("take", "student"), [("first", 7), ([1, 2], 3), ([1, 9], 2)], ids=["too many", "too few", "no such layer"]
)
def test_layers_that_a_teacher_does_not_have_are_refused(take: Any, student: int) -> None:
    with pytest.raises(RecipeError, match="layer"):
        layer_map(take, teacher=6, student=student)


@pytest.mark.parametrize("family", ["bert", "distilbert", "mobilebert"])
def test_a_shape_is_built_with_random_weights_and_again_from_its_description(folder: Path, family: str) -> None:
    shape = {"family": family, "layers": 3, "width": 32, "heads": 4, "feed_forward": 48, "bottleneck": 16}
    made = _made(folder, kind="shaped", shape=shape)
    encoder: Any = made.encoder
    assert (encoder.width, encoder.depth) == (32, 3)
    ids, mask = torch.tensor([[2, 7, 8, 3]]), torch.ones(1, 4, dtype=torch.long)
    encoder.eval()
    assert encoder(ids, mask).shape == (1, 4, 32)
    assert len(encoder.layers(ids, mask)) == 4
    again = encoders.build(encoder.describe())
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again.eval()(ids, mask), encoder(ids, mask))
    assert small.SPECIALS.before == made.specials.before


def test_a_shape_that_cannot_be_is_refused(folder: Path) -> None:
    with pytest.raises(RecipeError, match="cannot build this shape"):
        _made(folder, kind="shaped", shape={"layers": 1, "width": 30, "heads": 4, "feed_forward": 48})
    with pytest.raises(RecipeError, match="needs a shape"):
        _made(folder, kind="shaped")
