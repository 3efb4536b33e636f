"""Large JSON arrays are read object by object."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import JSON, NAMES

from biomux.errors import FormatError
from biomux.formats import _json_array as json_array
from biomux.formats import of_bytes
from biomux.formats._json_array import items


def values(data: bytes, **options: Any) -> list[Any]:
    return [value for _, value in items(of_bytes("a.json", data), **options)]


objects = st.lists(st.dictionaries(NAMES | st.sampled_from(['"', "[", "\\", "}"]), JSON, max_size=3), max_size=4)


@settings(deadline=None)
@given(objects, st.booleans(), st.integers(1, 40))
def test_it_gives_what_a_parser_of_the_whole_gives(found: list[Any], spread: bool, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "_CHUNK", chunk)
        text = json.dumps(found, indent=2 if spread else None, ensure_ascii=spread)
        assert values(text.encode()) == found
        beside: dict[str, Any] = {}
        whole = json.dumps({"a": {"data": [1]}, "data": found, "z": [2, "]"]}, ensure_ascii=False)
        assert values(whole.encode(), key="data", beside=beside.update) == found
        assert beside == {"a": {"data": [1]}, "z": [2, "]"]}


def test_each_item_comes_with_its_line() -> None:
    assert [line for line, _ in items(of_bytes("a.json", b'\xef\xbb\xbf\n[\n{},\n\n{"a":\n1},{}]\n'))] == [3, 5, 6]


@pytest.mark.parametrize(
    ("data", "key", "code"),
    [
        (b"", None, "BX113"),
        (b"{}", None, "BX113"),
        (b'"[]"', None, "BX113"),
        (b"1 []", None, "BX113"),
        (b"[]", "data", "BX113"),
        (b"{}", "data", "BX113"),
        (b'{"data": {}}', "data", "BX113"),
        (b'{"data": ', "data", "BX117"),
        (b'[{"a": 1}', None, "BX117"),
        (b'[{"a": "', None, "BX117"),
        (b"[{}] x", None, "BX117"),
        (b"[{}, 1]", None, "BX117"),
        (b'[{} "a"]', None, "BX117"),
        (b'{"data": []', "data", "BX117"),
        (b'[{"a": tru}]', None, "BX117"),
        (b'[{"a": "\xff"}]', None, "BX111"),
    ],
)
def test_what_is_broken_is_told(data: bytes, key: str | None, code: str) -> None:
    with pytest.raises(FormatError) as caught:
        values(data, key=key)
    assert caught.value.code == code
    assert (caught.value.where or "").startswith("a.json")


def test_a_broken_item_does_not_take_the_others_with_it() -> None:
    errors: list[FormatError] = []
    assert values(b'[{"a": 1},\n{"a": nul},\n{"a": 3}]', on_error=errors.append) == [{"a": 1}, {"a": 3}]
    assert [error.where for error in errors] == ["a.json:2"]


def test_an_item_without_end_is_refused_before_memory_is_full() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "_CHUNK", 10)
        patch.setattr(json_array, "MAX_ITEM", 100)
        with pytest.raises(FormatError, match="BX121"):
            values(b'[{"a": "' + b"x" * 1000)
