"""brat stand-off: what its lines mean, pairs of files, what is refused, what is told when written."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.document import Argument, Document, Relation, Span
from biomux.errors import FormatError
from biomux.formats import Loss, of_bytes, of_path
from biomux.formats.brat import read

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "TNF and IL-6\nactivate heart cells.\r\n"
ANN = """T1\tGene 0 3\tTNF
T2\tGene 8 12\tIL-6
T3\tActivation 13 21\tactivate
T4\tCell 0 3;28 33\tTNF cells
T5\tOdd 8 21\tIL-6 activate
R1\tBinds Arg1:T1 Arg2:T2
E1\tActivation:T3 Theme:T1 Cause:E2
E2\tActivation:T3 Theme:T2
A1\tNegation E1
M2\tConfidence T1 L 1
N1\tReference T1 Entrez:7124\tTNF
N2\tReference T1 Entrez:7125\ttumor necrosis factor
#1\tAnnotatorNotes T1\tsure?\tyes
#2\tOther T1\tkept as it is
*\tEquiv T1 T2
X9\twhatever
"""


def pair(folder: Path, text: str = TEXT, ann: str = ANN, name: str = "doc") -> Path:
    (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / f"{name}.ann").write_bytes(ann.encode())
    return folder / f"{name}.ann"


def test_every_kind_of_line(tmp_path: Path) -> None:
    (document,) = read(of_path(pair(tmp_path)))
    assert (document.id, document.text) == ("doc", TEXT)
    spans = {span.id: span for span in document.spans}
    assert spans["T1"].identifiers == ("Entrez:7124", "Entrez:7125")
    assert spans["T1"].extra == {
        "attributes": {"Confidence": "L 1"},
        "references": {"Entrez:7125": "tumor necrosis factor"},
        "notes": ["sure?\tyes"],
        "line ids": {"attributes": {"Confidence": "M2"}},
    }
    assert spans["T4"].fragments == ((0, 3), (28, 33))
    assert (spans["T5"].start, spans["T5"].end) == (8, 21)
    assert document.relations == (
        Relation("Binds", (Argument("Arg1", "T1"), Argument("Arg2", "T2")), id="R1"),
        Relation(
            "Activation",
            (Argument("trigger", "T3"), Argument("Theme", "T1"), Argument("Cause", "E2", "relation")),
            id="E1",
            extra={"attributes": {"Negation": True}, "line ids": {"attributes": {"Negation": "A1"}}},
        ),
        Relation("Activation", (Argument("trigger", "T3"), Argument("Theme", "T2")), id="E2"),
    )
    assert document.metadata == {"brat": ["#2\tOther T1\tkept as it is", "*\tEquiv T1 T2", "X9\twhatever"]}


def test_what_was_read_is_written_and_read_again_as_it_was(tmp_path: Path) -> None:
    before = list(read(of_path(pair(tmp_path))))
    losses: list[Loss] = []
    formats.write(before, tmp_path / "out.brat", on_loss=losses.append)
    assert losses == []
    assert list(formats.read(tmp_path / "out.brat")) == before
    assert (tmp_path / "out.brat" / "doc.txt").read_bytes() == TEXT.encode()
    assert set((tmp_path / "out.brat" / "doc.ann").read_text().splitlines()) == set(ANN.splitlines())


def test_ids_of_attributes_notes_and_references_come_back_as_they_were(tmp_path: Path) -> None:
    ann = (
        "T7\tGene 0 3\tTNF\nT9\tGene 8 12\tIL-6\nE3\tGene:T9 Theme:T7\n"
        "M1\tNegation E3\nA5\tFocus T7\nA4\tFocus T9\nN8\tReference T9 X:2\tIL-6\nN2\tReference T7 X:1\tTNF\n"
        "#6\tAnnotatorNotes T7\tsure\n#1\tAnnotatorNotes M1\tabout the attribute\n"
    )
    before = list(read(of_path(pair(tmp_path, ann=ann))))
    losses: list[Loss] = []
    formats.write(before, tmp_path / "out.brat", on_loss=losses.append)
    assert losses == []
    assert sorted((tmp_path / "out.brat" / "doc.ann").read_text().splitlines()) == sorted(ann.splitlines())
    assert list(formats.read(tmp_path / "out.brat")) == before


def test_lines_numbered_as_we_number_them_need_no_ids(tmp_path: Path) -> None:
    ann = "T1\tGene 0 3\tTNF\nN1\tReference T1 X:1\tTNF\nA1\tFocus T1\n#1\tAnnotatorNotes T1\tsure\n"
    (document,) = read(of_path(pair(tmp_path, ann=ann)))
    assert document.spans[0].extra == {"attributes": {"Focus": True}, "notes": ["sure"]}


@pytest.mark.parametrize(
    "ids",
    [
        "M1",
        {"attributes": {"Other": "M1"}},
        {"attributes": {"Focus": "T1"}},
        {"attributes": {"Focus": 1}},
        {"notes": ["#1"]},
        {"else": {}},
    ],
)
def test_ids_that_fit_no_line_are_told(tmp_path: Path, ids: object) -> None:
    span = Span(0, 1, "X", extra={"attributes": {"Focus": True}, "line ids": ids})
    losses: list[Loss] = []
    formats.write([Document("1", "a", spans=(span,))], tmp_path / "out.brat", on_loss=losses.append)
    assert [(loss.feature, loss.detail) for loss in losses] == [("span extra", "line ids")]
    assert (tmp_path / "out.brat" / "1.ann").read_text() == "T1\tX 0 1\ta\nA1\tFocus T1\n"


def test_companions_of_a_folder_are_left_out_and_told(tmp_path: Path) -> None:
    pair(tmp_path)
    names = [
        "annotation.conf",
        "visual.conf",
        "tools.conf",
        "kb_shortcuts.conf",
        "acl.conf",
        "annotation.log",
        "doc.ann~",
    ]
    for name in [*names, ".stats_cache"]:
        (tmp_path / name).write_text("[entities]\nGene\n")
    left: list[str] = []
    assert [source.plain_name for source in formats.sources(tmp_path, on_left_out=left.append)] == ["doc.ann"]
    assert sorted(left) == sorted(str(tmp_path / name) for name in names)
    assert [document.id for document in formats.read(tmp_path)] == ["doc"]
    with zipfile.ZipFile(tmp_path / "corpus.zip", "w") as archive:
        for name in ["doc.txt", "doc.ann", *names]:
            archive.write(tmp_path / name, f"corpus/{name}")
    assert [document.id for document in formats.read(tmp_path / "corpus.zip")] == ["doc"]


def test_either_file_names_the_pair_and_a_folder_has_it_once(tmp_path: Path) -> None:
    ann = pair(tmp_path)
    pair(tmp_path, name="other", ann="")
    assert list(formats.read(ann.with_suffix(".txt"), format="brat")) == list(formats.read(ann))
    assert [document.id for document in formats.read(tmp_path)] == ["doc", "other"]
    assert [document.id for document in formats.read(tmp_path / "*.*", format="brat")] == ["doc", "other"]


def test_pairs_are_found_in_zip_archives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "corpus.zip", "w") as archive:
        archive.writestr("a/doc.txt", TEXT)
        archive.writestr("a/doc.ann", ANN)
    (document,) = formats.read(tmp_path / "corpus.zip")
    assert (document.id, len(document.spans)) == ("doc", 5)


def test_a_file_without_its_other_half_is_told() -> None:
    for name in ("doc.ann", "doc.txt", "doc"):
        with pytest.raises(FormatError, match="BX1"):
            list(read(of_bytes(name, b"")))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("T1\tGene 0 99\tTNF", "BX114"),
        ("T1\tGene -1 3\tTNF", "BX114"),
        ("T1\tGene 3 3\t", "BX114"),
        ("T1\tGene 0 3;1 5\tTNF NF a", "BX114"),
        ("T1\tGene 0 3\tTNG", "BX115"),
        ("T1\tGene 0 3", "BX116"),
        ("T1\tGene 0\tTNF", "BX113"),
        ("T1", "BX113"),
        ("R1\tBinds Arg1:T1 Arg2:T9", "BX113"),
        ("R1\tBinds", "BX113"),
        ("R1\tBinds Arg1", "BX113"),
        ("E1\tActivation", "BX113"),
        ("T1\tGene 0 3\tTNF\nT1\tGene 0 3\tTNF", "BX113"),
    ],
)
def test_a_malformed_document_is_told(tmp_path: Path, line: str, code: str) -> None:
    errors: list[FormatError] = []
    assert list(read(of_path(pair(tmp_path, ann=line + "\n")), on_error=errors.append)) == []
    assert [error.code for error in errors] == [code]
    assert "doc.ann" in (errors[0].where or "")


def test_text_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "doc.txt").write_bytes(b"\xe9")
    (tmp_path / "doc.ann").write_bytes(b"")
    with pytest.raises(FormatError, match="BX111"):
        list(read(of_path(tmp_path / "doc.ann")))


def test_what_brat_cannot_hold_is_told(tmp_path: Path) -> None:
    document = Document(
        "PMC/1",
        "a b",
        spans=(
            Span(0, 1, "cell line", id="x", score=0.5, extra={"more": 1}),
            Span(2, 3, "Y", identifiers=("NCBI Gene:1",)),
        ),
        relations=(Relation("r", (Argument("a", "x"), Argument("b", "7157", "concept"))),),
        metadata={"year": 2020},
    )
    losses: list[Loss] = []
    formats.write([document], tmp_path / "out", format="brat", on_loss=losses.append)
    assert {loss.feature for loss in losses} == {
        "id",
        "span ids",
        "span types",
        "span extra",
        "scores",
        "identifiers",
        "relations",
        "metadata",
    }
    assert (tmp_path / "out" / "PMC_1.ann").read_text() == "T1\tcell_line 0 1\ta\nT2\tY 2 3\tb\n"


def test_documents_of_one_name_get_files_of_their_own_and_that_is_told(tmp_path: Path) -> None:
    documents = [Document("a", "one"), Document("A", "two"), Document("a", "three"), Document("a~2", "four")]
    losses: list[Loss] = []
    formats.write(documents, tmp_path / "out", format="brat", on_loss=losses.append)
    texts = {document.id: document.text for document in formats.read(tmp_path / "out")}
    assert texts == {"a": "one", "A~2": "two", "a~3": "three", "a~2~2": "four"}
    assert [loss.detail for loss in losses] == [f"its file is called {name}" for name in ("A~2", "a~3", "a~2~2")]
