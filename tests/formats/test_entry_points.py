"""Other packages can bring formats."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, BinaryIO

import pytest

from biomux import cli, formats
from biomux.document import Document
from biomux.errors import UsageError
from biomux.formats import FORMATS, Format, Loss, Source, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from biomux.errors import FormatError


def read(source: Source, *, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
    for number, text in lines(source):
        yield Document(str(number), text)


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    stream.writelines(document.text.encode() + b"\n" for document in documents)


TOY = Format(
    name="toy",
    title="A text a line",
    suffixes=(".toy",),
    holds=frozenset(),
    sniff=lambda name, head: name.endswith(".toy"),
    read=read,
    write=write,
)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, object], None]:
    """Pretends that a package with such an entry point is installed."""
    found: dict[str, EntryPoint] = {}

    def add(name: str, value: object) -> None:
        module = types.ModuleType("toy_package")
        module.FORMAT = value  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "toy_package", module)
        found[name] = EntryPoint(name, "toy_package:FORMAT", "biomux.formats")

    monkeypatch.setattr(formats, "_outside", lambda: found)
    return add


def test_a_format_from_outside_is_known_recognised_and_used(
    install: Callable[[str, object], None], tmp_path: Path
) -> None:
    install("toy", TOY)
    assert formats.names() == [*FORMATS, "toy"]
    assert formats.get("toy") is TOY
    (tmp_path / "a.toy").write_text("one\ntwo\n")
    assert cli.run(["convert", str(tmp_path / "a.toy"), str(tmp_path / "b.toy")]) == 0
    assert (tmp_path / "b.toy").read_text() == "one\ntwo\n"


def test_a_format_from_outside_cannot_replace_ours(install: Callable[[str, object], None]) -> None:
    install("jsonl", TOY)
    assert formats.get("jsonl") is not TOY
    assert formats.names() == [*FORMATS]


def test_what_is_wrong_with_a_package_is_told_as_its_fault(install: Callable[[str, object], None]) -> None:
    install("toy", "not a format")
    with pytest.raises(UsageError, match=r"toy_package:FORMAT: format 'toy' is not a Format"):
        formats.get("toy")
    install("toy", TOY)
    del sys.modules["toy_package"]
    with pytest.raises(UsageError, match="cannot load the format 'toy': ModuleNotFoundError"):
        formats.get("toy")


def test_formats_of_the_table_do_not_need_the_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_outside", lambda: pytest.fail("looked outside"))
    assert formats.get("jsonl").name == "jsonl"
