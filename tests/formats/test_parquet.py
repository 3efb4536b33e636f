"""Parquet: one row a document."""

from __future__ import annotations

import builtins
import gzip
import io
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from strategies import ODD_NAMES, documents

from biomux import formats
from biomux.document import Document, Span
from biomux.errors import FormatError, UsageError
from biomux.formats import parquet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def written(*documents: Document) -> bytes:
    stream = io.BytesIO()
    parquet.write(documents, stream, on_loss=lambda loss: pytest.fail(str(loss)))
    return stream.getvalue()


def read(data: bytes, **options: Any) -> list[Document]:
    return list(parquet.read(formats.of_bytes("a.parquet", data), **options))


def table(rows: list[dict[str, Any]], *, version: str | None = "1") -> bytes:
    import pyarrow.parquet

    made = pyarrow.Table.from_pylist(rows)
    made = made if version is None else made.replace_schema_metadata({"biomux": version})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(made, stream)
    return stream.getvalue()


@settings(max_examples=40, deadline=None)
@given(documents(names=ODD_NAMES))
def test_any_document_comes_back_equal(document: Document) -> None:
    assert read(written(document)) == [document]


def test_no_sentences_and_unknown_sentences_are_two_things() -> None:
    made = [Document("1", "TP53", sentences=(), coverage=()), Document("2", "TP53")]
    assert read(written(*made)) == made


def test_columns_can_be_used_without_biomux(tmp_path: Path) -> None:
    import pyarrow.parquet

    formats.write([Document("1", "TP53", spans=(Span(0, 4, "gene", score=0.5),))], tmp_path / "a.parquet")
    (row,) = pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert (row["id"], row["text"], row["spans"][0]["type"], row["pair"]) == ("1", "TP53", "gene", None)


def test_rows_are_written_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet

    monkeypatch.setattr(parquet, "GROUP_DOCUMENTS", 10)
    asked: list[int] = []

    def many() -> Iterator[Document]:
        for number in range(25):
            asked.append(number)
            yield Document(str(number), "TP53")

    data = written(*many())
    assert pyarrow.parquet.ParquetFile(io.BytesIO(data)).num_row_groups == 3
    assert len(read(data)) == 25


@pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 20, 21, 45])
def test_groups_of_several_tables_lose_nothing(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group is made of tables of few rows: no row is lost or doubled where either ends."""
    import pyarrow.parquet

    monkeypatch.setattr(parquet, "GROUP_DOCUMENTS", 20)
    monkeypatch.setattr(parquet, "BATCH", 8)
    given = [Document(str(place), f"text {place}") for place in range(number)]
    data = written(*given)
    assert read(data) == given
    assert pyarrow.parquet.ParquetFile(io.BytesIO(data)).num_row_groups == -(-number // 20)


def test_documents_come_before_all_rows_have_been_read() -> None:
    many = [Document(str(number), "TP53 " * 10) for number in range(parquet.BATCH * 3)]
    documents = parquet.read(formats.of_bytes("a.parquet", written(*many)))
    assert next(documents) == many[0]
    assert len(list(documents)) == len(many) - 1


def test_gzip_is_taken_though_it_cannot_be_read_out_of_order() -> None:
    made = [Document("1", "TP53")]
    assert read(gzip.compress(written(*made))) == made


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([{"id": "1"}], "BX116"),
        ([{"id": 1, "text": "x"}], "BX113"),
        ([{"id": "1", "text": "x", "colour": "red"}], "BX113"),
        ([{"id": "1", "text": "x", "metadata": "{"}], "BX117"),
        ([{"id": "1", "text": "x", "metadata": 7}], "BX117"),
        ([{"id": "1", "text": "x", "sentences": [1]}], "BX113"),
        ([{"id": "1", "text": "x", "sentences": [{"start": 0, "stop": 1}]}], "BX113"),
        ([{"id": "1", "text": "x", "spans": [{"start": 0, "end": 2, "type": "gene"}]}], "BX114"),
    ],
)
def test_a_broken_row_is_told_with_its_number(rows: list[dict[str, Any]], code: str) -> None:
    errors: list[FormatError] = []
    assert read(table(rows), on_error=errors.append) == []
    assert [error.code for error in errors] == [code]
    assert "row 1" in (errors[0].where or "")


def test_other_files_and_later_versions_are_refused() -> None:
    for version, code in ((None, "BX116"), ("x", "BX116"), ("2", "BX122")):
        with pytest.raises(FormatError) as caught:
            read(table([{"id": "1", "text": "x"}], version=version))
        assert caught.value.code == code


def test_damage_is_told() -> None:
    with pytest.raises(FormatError) as caught:
        read(written(Document("1", "TP53"))[:-20])
    assert caught.value.code == "BX113"


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(FormatError) as caught:
        written(Document("1", "\ud800"))
    assert caught.value.code == "BX120"


def test_without_pyarrow_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError) as caught:
        read(b"PAR1")
    assert caught.value.code == "BX003"
    assert "biomux[parquet]" in (caught.value.hint or "")
