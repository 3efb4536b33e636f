"""Every format in the table keeps the promises of `biomux.formats._conformance`.

Ten examples a format and promise; BIOMUX_EXAMPLES=200 asks for more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import LINE_TEXT, NAMES, ODD_NAMES, TEXT, XML_TEXT, collections

from biomux import formats
from biomux.document import Document
from biomux.errors import UsageError
from biomux.formats._conformance import check_format, check_round_trip

if TYPE_CHECKING:
    from pathlib import Path

quick = settings(
    max_examples=int(os.environ.get("BIOMUX_EXAMPLES", "10")),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
every_format = pytest.mark.parametrize("name", list(formats.FORMATS))
WRITTEN = [name for name in formats.FORMATS if formats.get(name).writable]
written_format = pytest.mark.parametrize("name", WRITTEN)
read_only_format = pytest.mark.parametrize("name", sorted(set(formats.FORMATS) - set(WRITTEN)))


@written_format
@quick
@given(data=st.data())
def test_a_format_keeps_what_it_says_it_holds(name: str, data: st.DataObject) -> None:
    chosen = formats.get(name)
    text = data.draw(st.sampled_from([TEXT, XML_TEXT, LINE_TEXT]))
    check_format(chosen, data.draw(collections(chosen.holds, text=text)))


@written_format
@quick
@given(data=st.data())
def test_a_format_tells_what_it_cannot_hold(name: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([TEXT, XML_TEXT, LINE_TEXT]))
    names = data.draw(st.sampled_from([NAMES, NAMES | ODD_NAMES]))
    check_round_trip(formats.get(name), data.draw(collections(text=text, names=names)))


@written_format
def test_a_format_takes_texts_of_a_megabyte_in_one_line(name: str) -> None:
    check_round_trip(formats.get(name), [Document("long", "tumour suppressor " * 60_000)])


@every_format
def test_a_format_is_named_and_filed_under_one_name(name: str) -> None:
    chosen = formats.get(name)
    assert chosen.name == name
    assert all(suffix.startswith(".") for suffix in chosen.suffixes)
    assert chosen.title


@read_only_format
def test_writing_a_format_that_is_only_read_names_those_that_can_be_written(name: str, tmp_path: Path) -> None:
    documents = [Document("1", "TP53")]
    own_suffix = tmp_path / f"a{formats.get(name).suffixes[0]}"
    for path, chosen in ((tmp_path / "a", name), (own_suffix, None)):
        with pytest.raises(
            UsageError,
            match=f"BX120: cannot write the format '{name}': it is read-only; choose from: bioc-json, bioc-xml,",
        ) as error:
            formats.write(documents, path, format=chosen)
        offered = str(error.value.hint).partition(": ")[2].split(", ")
        assert offered == sorted(WRITTEN)
        assert not path.exists()
