"""NLI4CT: statements and trial reports."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from biomux import formats
from biomux.document import Label, Passage
from biomux.errors import FormatError
from biomux.formats import of_bytes, of_path
from biomux.formats._conformance import check_reader
from biomux.formats.nli4ct import FORMAT, read

if TYPE_CHECKING:
    from pathlib import Path

TRIALS = {
    "NCT1": {"Clinical Trial ID": "NCT1", "Results": ["Outcome: ", "  14 women", "", "  Unit: mm²"]},
    "NCT2": {"Clinical Trial ID": "NCT2", "Results": ["None"]},
}
STATEMENT: dict[str, Any] = {
    "Type": "Comparison",
    "Section_id": "Results",
    "Primary_id": "NCT1",
    "Secondary_id": "NCT2",
    "Statement": "Both have women.",
    "Label": "Contradiction",
    "Primary_evidence_index": [3, 1, 1, 2],
    "Secondary_evidence_index": [0],
}


def laid(folder: Path, record: Any, *, packed: bool = True) -> Path:
    if packed:
        with tarfile.open(folder / "CT_json.tar.gz", "w:gz") as archive:
            for name, report in TRIALS.items():
                data = json.dumps(report).encode()
                member = tarfile.TarInfo(f"CT json/{name}.json")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    else:
        (folder / "CT json").mkdir()
        for name, report in TRIALS.items():
            (folder / "CT json" / f"{name}.json").write_text(json.dumps(report))
    path = folder / "train.json"
    path.write_text(json.dumps({"u1": record}, indent=2))
    return path


@pytest.mark.parametrize("packed", [True, False])
def test_a_statement_is_paired_with_the_section_of_both_trials(tmp_path: Path, packed: bool) -> None:
    (document,) = read(of_path(laid(tmp_path, STATEMENT, packed=packed)))
    assert document.text == "Outcome: \n  14 women\n\n  Unit: mm²\nNone"
    assert document.passages == (
        Passage(0, 33, "Results", {"trial": "NCT1", "role": "primary"}),
        Passage(34, 38, "Results", {"trial": "NCT2", "role": "secondary"}),
    )
    assert document.sentences == ((0, 9), (10, 20), (22, 33), (34, 38))
    assert document.pair == "Both have women."
    assert document.labels == (
        Label("Contradiction"),
        Label("evidence", start=10, end=20),
        Label("evidence", start=22, end=33),
        Label("evidence", start=34, end=38),
    )
    assert document.metadata == {
        "Type": "Comparison",
        "Primary_evidence_index": [3, 1, 1, 2],
        "Secondary_evidence_index": [0],
    }


def test_a_single_trial_without_label() -> None:
    record = {"Type": "Single", "Section_id": "Results", "Primary_id": "NCT2", "Statement": "x"}
    with pytest.raises(FormatError, match=r"BX119: .*there is no report of trial 'NCT2'"):
        list(read(of_bytes("test.json", json.dumps({"u": record}).encode())))


def test_reports_in_the_folder_give_no_documents_of_their_own(tmp_path: Path) -> None:
    laid(tmp_path, STATEMENT)
    assert [document.id for document in formats.read(tmp_path)] == ["u1"]


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_statements_in_an_archive_find_their_reports_there(tmp_path: Path, kind: str) -> None:
    (tmp_path / "set").mkdir()
    laid(tmp_path / "set", STATEMENT, packed=False)
    archive = shutil.make_archive(str(tmp_path / "set"), kind, tmp_path / "set")
    assert [document.id for document in formats.read(archive)] == ["u1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Primary_id": "NCT9"}, "BX113: *(statement 'u1'): there is no report of trial 'NCT9'"),
        ({"Primary_id": None}, "BX113: *(statement 'u1'): the field 'Primary_id' must be a string"),
        ({"Section_id": "Costs"}, "BX116: *(trial 'NCT1'): the field 'Costs' is missing"),
        ({"Statement": 3}, "BX113: *(statement 'u1'): the field 'Statement' must be a string"),
        ({"Secondary_evidence_index": [7]}, "BX114: *(statement 'u1'): evidence line 7 is not one of the 1 of 'NCT2'"),
        ({"Secondary_evidence_index": ["0"]}, "BX113: *an element of 'Secondary_evidence_index' must be an integer"),
    ],
)
def test_malformed_statements_are_told_in_one_sentence(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError) as told:
        list(read(of_path(laid(tmp_path, {**STATEMENT, **change}))))
    start, _, end = message.partition("*")
    assert str(told.value).startswith(start)
    assert end in str(told.value)


def test_a_trial_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps(TRIALS["NCT1"]))
    path = laid(tmp_path, {**STATEMENT, "Primary_id": "../secret"}, packed=False)
    with pytest.raises(FormatError, match="BX119"):
        list(read(of_path(path)))


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    path = laid(tmp_path, STATEMENT)
    (tmp_path / "CT_json.tar.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(FormatError, match="BX112"):
        list(read(of_path(path)))
    (tmp_path / "CT_json.tar.gz").write_bytes(b"no archive at all" * 100)
    with pytest.raises(FormatError, match="BX112"):
        list(read(of_path(path)))


@pytest.mark.parametrize("packed", [True, False])
def test_it_keeps_the_promises_of_a_reader(tmp_path: Path, packed: bool) -> None:
    laid(tmp_path, STATEMENT, packed=packed)
    check_reader(
        FORMAT,
        {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()},
    )
