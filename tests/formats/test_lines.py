"""Lines of a source: only LF ends one, whatever the size of the blocks that the bytes come in."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.errors import FormatError
from biomux.formats import _source as module
from biomux.formats import lines, of_bytes

PIECES = st.sampled_from(["a", "é", "𝛼", "\n", "\r\n", "\r", "\x0c", "\u2028", "\ufeff", "\t", " "])


class _Drops(io.BytesIO):
    """A pipe that gives a few bytes at a time."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(3)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_lines_are_what_stands_between_line_feeds(text: str) -> None:
    expected = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    if text.encode().endswith(b"\n") or not text:
        del expected[-1]
    source = of_bytes("x", text.encode())
    assert list(lines(source)) == list(enumerate(expected, 1))
    assert list(lines(replace(source, open=lambda: _Drops(text.encode())))) == list(lines(source))


def test_lines_before_bytes_that_are_not_utf8_are_still_read() -> None:
    found = lines(of_bytes("x", b"a\nb\xff\nc\n"))
    assert next(found) == (1, "a")
    with pytest.raises(FormatError, match=r"BX111: x:2: byte 1 \(0xff\)"):
        next(found)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 10)
    assert len(list(lines(of_bytes("x", b"0123456789\n" * 9)))) == 9
    source = replace(of_bytes("x", b""), open=lambda: _Drops(b"ok\n" + b"x" * 99))
    with pytest.raises(FormatError, match="BX121: x:2"):
        list(lines(source))
