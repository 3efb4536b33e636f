"""What pydantic finds wrong is told in our words, wherever it is found."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from biomux.validation import mistakes, mistakes_of_value, yaml_mistake


class Wheel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int = 1


class Cart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    horses: tuple[str, ...] = Field((), min_length=1)
    wheels: dict[str, Wheel] = {}
    spare: list[Wheel] | None = None
    source: str = Field("", alias="from")

    @model_validator(mode="after")
    def _rolls(self) -> Cart:
        if self.source == "nowhere":
            raise ValueError("GmbH carts come from somewhere")
        return self


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"weels": {}}, "weels: unknown key (did you mean 'wheels'?)"),
        ({"fron": "x"}, "fron: unknown key (did you mean 'from'?)"),
        ({"zzzzzz": 1}, "zzzzzz: unknown key"),
        ({"horses": "Rosinante"}, "horses: must be a list"),
        ({"horses": [1]}, "horses → 0: must be a string"),
        ({"horses": []}, "horses: the list must have at least 1, got 0"),
        ({"wheels": {"left": {"sice": 1}}}, "wheels → left → sice: unknown key (did you mean 'size'?)"),
        ({"spare": [{"sice": 1}]}, "spare → 0 → sice: unknown key (did you mean 'size'?)"),
        ({"wheels": {"left": {"size": "x"}}}, "wheels → left → size: must be a whole number"),
        ({"from": "nowhere"}, "cart: GmbH carts come from somewhere"),
    ],
)
def test_a_mistake_has_its_path_and_what_was_meant(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Cart.model_validate(raw)
    (sentence,) = mistakes(caught.value, Cart)
    assert sentence.startswith(said)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        Cart.model_validate({"weels": {}, "spare": [{"size": "x"}]})
    assert len(mistakes(caught.value, Cart)) == 2


def test_the_members_of_a_union_are_not_part_of_the_path() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(dict[str, int] | list[int]).validate_python(["x"])
    assert mistakes_of_value(caught.value, "boost") == [
        "boost: must be a mapping",
        "boost → 0: must be a whole number, got 'x'",
    ]


def test_a_mistake_in_yaml_is_told_in_a_line() -> None:
    with pytest.raises(yaml.YAMLError) as caught:
        yaml.safe_load("tasks: [\n")
    assert yaml_mistake(caught.value).endswith("at line 2, column 1")
    assert yaml_mistake(yaml.YAMLError("odd\n text")) == "odd text"
