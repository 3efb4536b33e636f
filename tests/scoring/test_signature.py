"""The line under a table."""

from __future__ import annotations

import pytest

from biomux.document import Document, Label, Span
from biomux.errors import UsageError
from biomux.scoring.signature import Checksum, read_signature, signature


def checksum(*documents: Document) -> str:
    one = Checksum()
    for _ in one.watch(documents):
        pass
    return one.value


def test_what_was_written_is_read() -> None:
    line = signature(matching="strict", corpus="a:b", checksum="c" * 64, split="test", documents=3, seed=7)
    fields = read_signature(line)
    assert (fields["corpus"], fields["sha256"], fields["seed"]) == ("a:b", "c" * 12, "7")
    assert "\n" not in line
    with pytest.raises(UsageError, match="into a signature"):
        signature(matching="a|b", corpus="a", checksum="c", split="test", documents=3)
    with pytest.raises(UsageError, match="not a signature"):
        read_signature("strict F1")


def test_a_checksum_sees_gold_and_not_order() -> None:
    first = Document("1", "IL-2", spans=(Span(0, 4, "gene"), Span(0, 2, "gene")))
    second = Document("2", "IL-4")
    whole = checksum(first, second)
    assert checksum(second, first) == whole
    assert checksum(Document("1", "IL-2", spans=first.spans[::-1]), second) == whole
    for other in (
        Document("1", "IL-2", spans=first.spans[:1]),
        Document("1", "IL-3", spans=first.spans),
        Document("1", "IL-2", spans=first.spans, labels=(Label("yes"),)),
        Document("1", "IL-2", spans=first.spans, labels=(Label("yes", start=0, end=1),)),
    ):
        assert checksum(other, second) != whole


def test_a_checksum_is_the_same_in_every_version() -> None:
    """Reports of last year are compared with those of today."""
    labels = (Label("trial"), Label("dose", 2.5, 0, 7))
    assert checksum(Document("1", "Aspirin.", spans=(Span(0, 7, "Drug"),), labels=labels)) == (
        "4c3909fbbb8162e69e310a3d5bedde329d0a00ee77a476ca2f8e72b104f93ac2"
    )
