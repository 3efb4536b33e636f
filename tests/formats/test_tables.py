"""CSV and TSV: texts in named columns are read, tables of entities are written."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest
from streams import endless

from biomux import formats
from biomux.document import Argument, Document, Passage, Relation, Span
from biomux.errors import FormatError
from biomux.formats import Loss, csv_table, tsv_table
from biomux.formats._conformance import check_garbage
from biomux.formats.entity_table import COLUMNS

if TYPE_CHECKING:
    from pathlib import Path


def read(data: str | bytes, name: str = "set.csv", **options: Any) -> list[Document]:
    raw = data.encode() if isinstance(data, str) else data
    return list(formats.read_source(formats.of_bytes(name, raw), **options))


def table(documents: list[Document], name: str, losses: list[Loss] | None = None) -> str:
    stream = io.BytesIO()
    write = formats.get(name).write
    assert write is not None
    write(documents, stream, on_loss=formats.ignore if losses is None else losses.append)
    return stream.getvalue().decode()


ENTITIES = Document(
    "PMC:1",
    'IL-2, "old"\nname',
    spans=(
        Span(0, 4, "gene", score=0.98765, head="jnlpba", identifiers=("ncbigene:3558", "x")),
        Span(0, 16, "odd\ttype"),
    ),
)


def test_an_entity_is_a_row_of_the_table() -> None:
    rows = [line.split("\t") for line in table([ENTITIES], "tsv").splitlines()]
    assert rows == [
        list(COLUMNS),
        ["PMC:1", "0", "4", "gene", "IL-2", "0.9877", "jnlpba", "ncbigene:3558;x"],
        ["PMC:1", "0", "16", "odd\\ttype", 'IL-2, "old"\\nname', "", "", ""],
    ]


def test_csv_is_the_same_table_quoted() -> None:
    rows = list(csv.reader(io.StringIO(table([ENTITIES], "csv"))))
    assert rows == [line.split("\t") for line in table([ENTITIES], "tsv").splitlines()]


def test_what_is_said_beside_entities_is_told_as_lost_and_the_text_is_not() -> None:
    relation = Relation("binds", (Argument("a", "T1"), Argument("b", "T1")))
    document = Document(
        "1", "TP53", spans=(Span(0, 4, "gene", id="T1"),), relations=(relation,), passages=(Passage(0, 4, "title"),)
    )
    losses: list[Loss] = []
    table([document], "tsv", losses)
    assert losses == [Loss("1", "relations", detail="the format relations has a table of them")]


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz", "x.tab"])
def test_tsv_is_the_suffix_of_the_table_and_not_of_conll(name: str, tmp_path: Path) -> None:
    assert formats.guess_target(tmp_path / name).name == "tsv"
    assert formats.guess_target(tmp_path / "x.conll").name == "conll"
    assert formats.guess_target(tmp_path / "x.iob").name == "conll"
    assert formats.guess_target(tmp_path / "x.csv").name == "csv"


def test_conll_in_a_tsv_is_still_recognised() -> None:
    assert formats.guess(formats.of_bytes("train.tsv", b"TP53\tB-gene\n\n")).name == "conll"


def test_columns_are_known_by_their_names() -> None:
    (document,) = read('pmid,Title,Abstract,journal,note\n7,Aspirin,"It ""helps"", mostly.\nEnd.",Nature,\n')
    assert document == Document(
        "7",
        'Aspirin\nIt "helps", mostly.\nEnd.',
        passages=(Passage(0, 7, "title"), Passage(8, 32, "abstract")),
        metadata={"journal": "Nature"},
    )


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("id\ttext\tyear\n7\tSo-called \"IL-2\"\t1998\n", "set.tsv"),
        ("id\ttext\tyear\n7\tSo-called \"IL-2\"\t1998\n", "set.txt"),
        ('"id"\t"text"\t"year"\n"7"\t"So-called ""IL-2"""\t"1998"\n', "set.tsv"),
        ('id;text;year\r\n7;"So-called ""IL-2""";1998\r\n', "set.csv"),
        ('\ufeffid,text,year\r\n\r\n7,"So-called ""IL-2""",1998', "set.csv"),
    ],
)  # fmt: skip
def test_tables_as_programs_write_them(data: str, name: str) -> None:
    assert read(data, name) == [Document("7", 'So-called "IL-2"', metadata={"year": "1998"})]


def test_columns_are_named_by_options() -> None:
    data = "nr,ti,ab,text\n7,Aspirin,It helps.,no\n"
    (document,) = read(data, format="csv", text="ti, ab", id="NR")
    assert (document.id, document.text) == ("7", "Aspirin\nIt helps.")
    assert [(passage.start, passage.end, passage.kind) for passage in document.passages] == [
        (0, 7, "ti"),
        (8, 17, "ab"),
    ]
    assert document.metadata == {"text": "no"}


def test_columns_without_names_have_numbers() -> None:
    first, second = read("7\tAspirin helps.\n8\tIt does.\n", "set.tsv", format="tsv", text="2", id="1")
    assert [(one.id, one.text) for one in (first, second)] == [("7", "Aspirin helps."), ("8", "It does.")]


def test_a_row_without_an_id_is_called_by_its_line_and_an_empty_part_is_no_passage() -> None:
    first, second = read('title,abstract\n"two\nlines",\n,Text.\n')
    assert (first.id, first.text, len(first.passages)) == ("set:2", "two\nlines", 1)
    assert (second.id, second.text) == ("set:4", "Text.")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("a,text\n", {"text": "abstract"}, "BX116: set.csv:1: there is no column 'abstract' among 'a', 'text'"),
        ("a,text\n", {"text": "a,b"}, "BX116: set.csv:1: there is no column 'b' among 'a', 'text'"),
        ("a,text\n", {"id": "pmid"}, "BX116: set.csv:1: there is no column 'pmid'"),
        ("id,text\n1,2,3\n", {}, "BX113: set.csv:2: the row has 3 cells, but the header has 2"),
        ('id,text\n1,"a"b\n', {}, "BX113: set.csv:2: a cell continues after its closing quote"),
        ('id,text\n\n1,"a\nb\n', {}, "BX113: set.csv:3: a quoted cell is not closed"),
        (b"id,text\n1,\xff\n", {}, "BX111: set.csv:2: byte 2"),
    ],
)
def test_what_is_wrong_with_a_table(data: str | bytes, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(data, **options)
    assert str(caught.value).startswith(message)


def test_reading_goes_on_after_a_bad_row() -> None:
    errors: list[FormatError] = []
    found = read(b'id,text\n1,a,b\n2,"c"d\n3,\xff\n4,good\n', on_error=errors.append)
    assert [document.id for document in found] == ["4"]
    assert [(error.code, error.where) for error in errors] == [
        ("BX113", "set.csv:2"),
        ("BX113", "set.csv:3"),
        ("BX111", "set.csv:4"),
    ]


def test_a_cell_may_be_long_and_rows_come_before_the_file_has_been_read() -> None:
    (document,) = read("id,text\n1," + "x" * 500_000 + "\n")
    assert len(document.text) == 500_000
    rows = csv_table.read(endless("a.csv", b"id,text\n", b"1,TP53 binds.\n"))
    assert [next(rows).text for _ in range(3)] == ["TP53 binds."] * 3


def test_tables_that_are_broken_give_documents_or_errors() -> None:
    files = {"check.csv": b'id,text\n1,"a, b"\n2,c\n'}
    check_garbage(csv_table.FORMAT, [files])
    check_garbage(tsv_table.FORMAT, [{"check.tsv": b"id\ttext\n1\ta\n"}])


@pytest.mark.parametrize("name", ["set.csv", "set.tsv"])
def test_lines_that_end_in_cr_alone_are_told(name: str) -> None:
    delimiter = "," if name == "set.csv" else "\t"
    data = f"id{delimiter}text\r1{delimiter}TP53\r2{delimiter}MDM2\r"
    with pytest.raises(FormatError, match=f"BX113: {name}:1: there is a carriage return outside quotes; if lines end"):
        read(data, name)
