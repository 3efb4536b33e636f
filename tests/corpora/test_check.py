"""What lies in a directory is compared with its card."""

from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING

import pytest
from corpora.samples import CONLL, card, put

from biomux.corpora.check import check, damage

if TYPE_CHECKING:
    from pathlib import Path

PATH = "ner/Toy/train.tsv.gz"


@pytest.mark.parametrize("stored", [PATH, PATH.removesuffix(".gz")])
def test_what_is_right_is_ok(tmp_path: Path, stored: str) -> None:
    put(tmp_path, stored, CONLL)
    result = check(card(), tmp_path)
    assert (result.state, result.files, result.faults) == ("ok", 1, ())


def test_a_corpus_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    assert check(card(), tmp_path).state == "absent"


def test_a_file_that_lacks_is_missing(tmp_path: Path) -> None:
    put(tmp_path, PATH, CONLL)
    files = [{"path": PATH}, {"path": "ner/Toy/extra.tsv"}, {"path": "ner/Toy/more.tsv", "optional": True}]
    result = check(card(files=files), tmp_path)
    assert [(fault.kind, fault.what) for fault in result.faults] == [("missing", "ner/Toy/extra.tsv")]


def test_another_content_is_damage(tmp_path: Path) -> None:
    put(tmp_path, PATH, CONLL.replace("Aspirin", "aspirin"))
    (fault,) = check(card(), tmp_path).faults
    assert (fault.kind, fault.what) == ("damaged", PATH)
    assert "sha256" in fault.message


def test_a_cut_gzip_is_damage(tmp_path: Path) -> None:
    path = put(tmp_path, PATH, CONLL)
    path.write_bytes(gzip.compress(CONLL.encode())[:-12])
    (fault,) = check(card(), tmp_path).faults
    assert fault.kind == "damaged"
    assert "gzip" in fault.message


def test_other_counts_are_told(tmp_path: Path) -> None:
    put(tmp_path, PATH, CONLL)
    splits = {"train": {"files": [PATH], "counts": {"documents": 3, "mentions": {"Chemical": 2}}}}
    faults = check(card(splits=splits), tmp_path).faults
    assert [(fault.kind, fault.what, fault.message) for fault in faults] == [
        ("counts", "train", "2 documents, not 3"),
        ("counts", "train", "1 mentions of 'Disease', not 0"),
    ]
    assert check(card(splits=splits), tmp_path, counts=False).state == "ok"


def test_what_cannot_be_read_is_damage(tmp_path: Path) -> None:
    put(tmp_path, PATH, "one\ttwo\tthree\tfour\tfive\tsix\n")
    (fault,) = check(card(files=[{"path": PATH}]), tmp_path).faults
    assert (fault.kind, fault.what) == ("damaged", "train")


def test_without_sha256_the_git_blob_id_is_compared(tmp_path: Path) -> None:
    path = put(tmp_path, PATH, CONLL)
    data = CONLL.encode()
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    (file,) = card(files=[{"path": PATH, "blob": blob}]).files
    assert damage(file, path) is None
    (file,) = card(files=[{"path": PATH, "blob": "0" * 40}]).files
    assert "git blob id" in str(damage(file, path))
