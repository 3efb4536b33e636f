"""What a written file does not hold is never lost without a word."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.document import Document, Span
from biomux.formats import Loss, LossWarning

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = [Document(name, "TP53", spans=(Span(0, 4, "gene", score=0.5),)) for name in ("1", "2")]


def test_losses_are_summed_up_in_one_warning(tmp_path: Path) -> None:
    with pytest.warns(
        LossWarning, match=r"a\.pubtator does not hold: scores \(2\), for instance in document '1'"
    ) as told:
        formats.write(DOCUMENTS, tmp_path / "a.pubtator")
    assert len(told) == 1
    assert told[0].filename == __file__


def test_who_takes_losses_is_not_warned(tmp_path: Path) -> None:
    losses: list[Loss] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        formats.write(DOCUMENTS, tmp_path / "a.pubtator", on_loss=losses.append)
        formats.write(DOCUMENTS, tmp_path / "b.pubtator", on_loss=formats.ignore)
        formats.write(DOCUMENTS, tmp_path / "c.jsonl")
    assert losses == [Loss("1", "scores"), Loss("2", "scores")]
