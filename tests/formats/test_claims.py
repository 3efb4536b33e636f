"""Claims and abstracts: SciFact, HealthVer and CovidFact."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from biomux import formats
from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats import of_bytes, of_path
from biomux.formats._conformance import check_reader
from biomux.formats.claims import FORMAT, read

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = [
    {"doc_id": 13, "title": "On tea", "abstract": ["Tea is hot. ", "It heals.", "It harms."], "structured": False},
    {"doc_id": 14, "title": "On milk", "abstract": ["Milk is white."]},
]
CLAIM: dict[str, Any] = {
    "id": 2,
    "claim": " Tea heals.",
    "cited_doc_ids": [13, 14],
    "evidence": {"13": [{"sentences": [1], "label": "SUPPORT"}, {"sentences": [0, 1], "label": "SUPPORT"}]},
}


def laid(folder: Path, *claims: Any, corpus: Any = CORPUS) -> Path:
    (folder / "corpus.jsonl").write_text("".join(json.dumps(record) + "\n" for record in corpus))
    path = folder / "claims_train.jsonl"
    path.write_text("".join(json.dumps(claim) + "\n" for claim in claims))
    return path


def test_a_claim_and_an_abstract_are_a_document(tmp_path: Path) -> None:
    first, second = read(of_path(laid(tmp_path, CLAIM)))
    assert first == Document(
        "2:13",
        "Tea is hot.  It heals. It harms.",
        sentences=((0, 12), (13, 22), (23, 32)),
        pair=" Tea heals.",
        labels=(Label("SUPPORT"), Label("rationale", start=0, end=12), Label("rationale", start=13, end=22)),
        metadata={
            "claim_id": "2",
            "doc_id": "13",
            "title": "On tea",
            "structured": False,
            "rationales": [[1], [0, 1]],
        },
    )
    assert (second.id, second.labels) == ("2:14", (Label("none"),))


def test_doc_ids_of_healthver_are_the_same_as_cited_doc_ids(tmp_path: Path) -> None:
    claim = {"id": 0, "claim": "x", "doc_ids": [14], "evidence": {}}
    assert [document.id for document in read(of_path(laid(tmp_path, claim)))] == ["0:14"]


def test_an_abstract_named_twice_gives_two_documents(tmp_path: Path) -> None:
    claim = {"id": 1, "claim": "x", "cited_doc_ids": [14, 14], "evidence": {}}
    documents = list(read(of_path(laid(tmp_path, claim))))
    assert [document.id for document in documents] == ["1:14", "1:14:2"]


def test_a_claim_without_abstracts_keeps_its_place_as_the_pair() -> None:
    line = b'{"id": 7, "claim": "Tea heals."}\n'
    assert list(read(of_bytes("claims_test.jsonl", line))) == [
        Document("7", "", pair="Tea heals.", metadata={"claim_id": "7"})
    ]


def test_the_corpus_gives_documents_only_when_asked_to(tmp_path: Path) -> None:
    laid(tmp_path, CLAIM)
    corpus = of_path(tmp_path / "corpus.jsonl")
    assert list(read(corpus)) == []
    assert [(document.id, document.pair) for document in read(corpus, abstracts=True)] == [("13", None), ("14", None)]
    assert [document.id for document in formats.read(tmp_path)] == ["2:13", "2:14"]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"id": 1, "claim": "x", "cited_doc_ids": [99]}, "names abstract '99', which is not in corpus.jsonl"),
        ({"id": 1, "cited_doc_ids": [13]}, "BX116: *:1: the field 'claim' is missing"),
        ({"claim": "x"}, "BX116: *:1: the field 'id' is missing"),
        ([], "BX113: *:1: expected a JSON object"),
        ({"id": 1, "claim": "x", "cited_doc_ids": "13"}, "BX113: *:1: the field 'cited_doc_ids' must be an array"),
        (
            {"id": 1, "claim": "x", "evidence": {"13": [{"sentences": [9], "label": "SUPPORT"}]}},
            "BX114: *:1 (claim '1'): rationale sentence 9 is not one of the 3 of abstract '13'",
        ),
        (
            {"id": 1, "claim": "x", "evidence": {"13": [{"sentences": ["0"], "label": "SUPPORT"}]}},
            "BX113: *:1 (claim '1'): an element of 'sentences' must be an integer",
        ),
        (
            {
                "id": 1,
                "claim": "x",
                "evidence": {"13": [{"sentences": [0], "label": "A"}, {"sentences": [1], "label": "B"}]},
            },
            "BX113: *:1 (claim '1'): the evidence of abstract '13' has 2 labels",
        ),
    ],
)
def test_malformed_claims_are_told_in_one_sentence(tmp_path: Path, claim: Any, message: str) -> None:
    with pytest.raises(FormatError) as told:
        list(read(of_path(laid(tmp_path, claim))))
    start, _, end = message.rpartition("*")
    assert str(told.value).startswith(start)
    assert end in str(told.value)


def test_missing_abstracts_and_broken_lines_are_told() -> None:
    line = json.dumps(CLAIM).encode()
    with pytest.raises(FormatError, match=r"BX119: claims.jsonl: the file of abstracts is missing"):
        list(read(of_bytes("claims.jsonl", line), on_error=lambda _: None))
    with pytest.raises(FormatError, match=r"BX117: claims.jsonl:1: not valid JSON"):
        list(read(of_bytes("claims.jsonl", line[:-1])))
    with pytest.raises(FormatError, match=r"BX111: claims.jsonl:1"):
        list(read(of_bytes("claims.jsonl", b'{"id": 1, "claim": "\xff"}')))


def test_a_malformed_abstract_can_be_skipped_and_its_pairs_are_told(tmp_path: Path) -> None:
    errors: list[FormatError] = []
    path = laid(tmp_path, CLAIM, corpus=[{"doc_id": 13, "abstract": [""]}])
    assert list(read(of_path(path), on_error=errors.append)) == []
    assert len(errors) == 2


def test_it_is_recognised() -> None:
    assert formats.guess(of_bytes("claims_dev.jsonl", json.dumps(CLAIM).encode())).name == "claims"


def test_it_keeps_the_promises_of_a_reader(tmp_path: Path) -> None:
    laid(tmp_path, CLAIM, {"id": 7, "claim": "Tea heals."})
    check_reader(
        FORMAT,
        {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()},
    )
