"""What is remembered of a whole file behaves as a dictionary does, however little of it is in memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.errors import UsageError
from biomux.formats.shelf import Once, Shelf

KEYS = st.text(st.characters(), max_size=3)


@given(st.lists(st.tuples(KEYS, st.binary(max_size=3))), st.integers(0, 3))
def test_once_keeps_the_first_value(pairs: list[tuple[str, bytes]], in_memory: int) -> None:
    once = Once(in_memory=in_memory)
    expected: dict[str, bytes] = {}
    for key, value in pairs:
        assert once.put(key, value) == expected.get(key)
        assert (key in once) is True
        expected.setdefault(key, value)
    assert "none of them" not in once


@given(st.lists(st.tuples(KEYS, KEYS)), st.sampled_from([0, 500, 10_000]))
def test_a_shelf_keeps_all_values_in_order(pairs: list[tuple[str, str]], in_memory: int) -> None:
    shelf = Shelf(in_memory=in_memory)
    expected: dict[str, list[str]] = {}
    for key, value in pairs:
        shelf.add(key, value)
        expected.setdefault(key, []).append(value)
    assert list(shelf.groups()) == sorted(expected.items())
    assert list(shelf.keys()) == sorted(expected)
    assert list(shelf) == list(expected)
    assert all(shelf.get(key) == values for key, values in expected.items())
    assert all(key in shelf for key in expected)
    assert shelf.get("none of them") == []
    assert "none of them" not in shelf


def fill(kept: Once | Shelf) -> None:
    for number in range(10_000):
        if isinstance(kept, Once):
            kept.put(f"{number:1000}")
        else:
            kept.add(f"{number:1000}", "")


@pytest.mark.parametrize("kind", [Once, Shelf])
def test_a_temporary_file_that_cannot_grow_is_told(
    kind: type[Once] | type[Shelf], monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource", reason="a limit on the size of files is Unix's")
    monkeypatch.setattr("biomux.formats.shelf.CACHE_KB", 64)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(UsageError, match=r"BX002: a temporary file cannot be written: .*TMPDIR"):
            fill(kind(in_memory=0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
