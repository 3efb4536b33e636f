"""ChemProt's four tables."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.document import Argument, Passage, Relation
from biomux.errors import FormatError
from biomux.formats import of_bytes, of_path
from biomux.formats._conformance import check_reader
from biomux.formats.chemprot import FORMAT, read

if TYPE_CHECKING:
    from pathlib import Path

TABLES = {
    "abstracts": "2\tNothing here\tNo drug.\n1\tAspirin 𝛼\tIt blocks COX.\n",
    "entities": "1\tT9\tGENE-Y\t20\t23\tCOX\n1\tT1\tCHEMICAL\t0\t7\tAspirin\n",
    "relations": (
        "1\tCPR:4\tY \tINHIBITOR\tArg1:T1\tArg2:T9\n"
        "1\tCPR:4\tY \tDOWNREGULATOR\tArg1:T1\tArg2:T9\n"
        "1\tCPR:10\tN \tNOT\tArg1:T1\tArg2:T9\n"
    ),
    "gold_standard": "1\tCPR:4\tArg1:T1\tArg2:T9\n",
}


def laid(folder: Path, tables: dict[str, str], *, name: str = "chemprot_training_{}.tsv") -> Path:
    for kind, content in tables.items():
        (folder / name.format(kind)).write_bytes(content.encode())
    return folder / name.format("abstracts")


def test_entities_and_relations_come_from_the_files_beside(tmp_path: Path) -> None:
    plain, document = read(of_path(laid(tmp_path, TABLES)))
    assert plain.spans == ()
    assert document.text == "Aspirin 𝛼 It blocks COX."
    assert document.passages == (Passage(0, 9, "title"), Passage(10, 24, "abstract"))
    assert {span.id: document.mention(span) for span in document.spans} == {"T9": "COX", "T1": "Aspirin"}
    arguments = (Argument("Arg1", "T1"), Argument("Arg2", "T9"))
    assert document.relations == (
        Relation("CPR:4", arguments, extra={"evaluated": True, "fine": "INHIBITOR", "gold": True}),
        Relation("CPR:4", arguments, extra={"evaluated": True, "fine": "DOWNREGULATOR", "gold": True}),
        Relation("CPR:10", arguments, extra={"evaluated": False, "fine": "NOT", "gold": False}),
    )


def test_the_test_sets_names_have_gs_after_the_kind_and_files_may_be_gzipped(tmp_path: Path) -> None:
    for kind, content in TABLES.items():
        end = "" if kind == "gold_standard" else "_gs"
        (tmp_path / f"chemprot_test_{kind}{end}.tsv.gz").write_bytes(gzip.compress(content.encode()))
    documents = list(formats.read(tmp_path))
    assert [len(document.relations) for document in documents] == [0, 3]
    assert documents[1].relations[0].extra["gold"] is True


def test_a_gold_row_without_relation_line_is_a_relation_too(tmp_path: Path) -> None:
    tables = {kind: content for kind, content in TABLES.items() if kind != "relations"}
    _, document = read(of_path(laid(tmp_path, tables)))
    assert [(relation.type, relation.extra) for relation in document.relations] == [("CPR:4", {"gold": True})]


def test_without_relations_there_are_none_but_entities_must_be_there(tmp_path: Path) -> None:
    path = laid(tmp_path, {"abstracts": TABLES["abstracts"], "entities": TABLES["entities"]})
    assert [len(document.relations) for document in read(of_path(path))] == [0, 0]
    with pytest.raises(FormatError, match=r"BX119: a_abstracts.tsv: there is no table of entities beside it"):
        list(read(of_bytes("a_abstracts.tsv", b"")))
    with pytest.raises(FormatError, match=r"BX119: a_relations.tsv: there is no table of abstracts beside it"):
        list(read(of_bytes("a_relations.tsv", b"")))


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("abstracts", "1\tAspirin 𝛼\n", "BX116: *abstracts.tsv:1: a row of abstracts must have 3 columns, got 2"),
        ("abstracts", "1\tAspirin 𝛼\tIt blocks COX.\n" * 2, "BX113: *abstracts.tsv:2: the abstract '1' occurs twice"),
        ("entities", "1\tT1\tCHEMICAL\t0\n", "BX116: *entities.tsv:1: a row of entities must have 6 columns, got 4"),
        (
            "entities",
            "1\tT1\tCHEMICAL\t-1\t7\tAspirin\n",
            "BX113: *entities.tsv:1: offsets must be whole numbers from 0, got '-1' and '7'",
        ),
        ("entities", "1\tT1\tCHEMICAL\t1\t8\tAspirin\n", "BX115: *entities.tsv:1 (document '1'): entity T1 is"),
        ("entities", "1\tT1\tCHEMICAL\t90\t97\tAspirin\n", "BX114: *entities.tsv:1 (document '1'): entity T1 is"),
        ("entities", "3\tT1\tGENE\t0\t1\tA\n", "BX113: *abstracts.tsv:2 (document '1'): relation 'CPR:4' points"),
        ("relations", "1\tCPR:4\tY \tX\tT1\tArg2:T9\n", "BX113: *relations.tsv:1: 'T1' is not an argument"),
        (
            "relations",
            "7\tCPR:4\tY \tX\tArg1:T1\tArg2:T9\n",
            "BX113: *abstracts.tsv: there are entities or relations for '7'",
        ),
    ],
)
def test_malformed_tables_are_told_in_one_sentence(tmp_path: Path, kind: str, content: str, message: str) -> None:
    with pytest.raises(FormatError) as told:
        list(read(of_path(laid(tmp_path, {**TABLES, kind: content}))))
    start, _, end = message.partition("*")
    assert str(told.value).startswith(start)
    assert end in str(told.value)


def test_it_keeps_the_promises_of_a_reader(tmp_path: Path) -> None:
    laid(tmp_path, TABLES)
    check_reader(
        FORMAT,
        {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()},
    )
