"""Every format in the table keeps the promises of `biomux.formats.check`.

Ten examples a format and promise; BIOMUX_EXAMPLES=200 asks for more.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import LINE_TEXT, NAMES, ODD_NAMES, TEXT, XML_TEXT, collections

from biomux import formats
from biomux.document import Document
from biomux.formats.check import check_format, check_round_trip

quick = settings(
    max_examples=int(os.environ.get("BIOMUX_EXAMPLES", "10")),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
every_format = pytest.mark.parametrize("name", list(formats.FORMATS))


@every_format
@quick
@given(data=st.data())
def test_a_format_keeps_what_it_says_it_holds(name: str, data: st.DataObject) -> None:
    chosen = formats.get(name)
    text = data.draw(st.sampled_from([TEXT, XML_TEXT, LINE_TEXT]))
    check_format(chosen, data.draw(collections(chosen.holds, text=text)))


@every_format
@quick
@given(data=st.data())
def test_a_format_tells_what_it_cannot_hold(name: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([TEXT, XML_TEXT, LINE_TEXT]))
    names = data.draw(st.sampled_from([NAMES, NAMES | ODD_NAMES]))
    check_round_trip(formats.get(name), data.draw(collections(text=text, names=names)))


@every_format
def test_a_format_takes_texts_of_a_megabyte_in_one_line(name: str) -> None:
    check_round_trip(formats.get(name), [Document("long", "tumour suppressor " * 60_000)])


@every_format
def test_a_format_is_named_and_filed_under_one_name(name: str) -> None:
    chosen = formats.get(name)
    assert chosen.name == name
    assert all(suffix.startswith(".") for suffix in chosen.suffixes)
    assert chosen.title
