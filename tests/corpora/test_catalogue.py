"""The catalogue reads no more than it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from biomux.corpora import catalogue
from biomux.errors import CorpusError

if TYPE_CHECKING:
    from biomux.corpora.card import Card


def test_reading_one_card_parses_one_card(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = catalogue.read

    def counting(text: str, *, where: str, **options: Any) -> Card:
        parsed.append(where)
        return real(text, where=where, **options)

    monkeypatch.setattr(catalogue, "read", counting)
    catalogue._shipped_card.cache_clear()
    catalogue.names()
    catalogue.card("bc5cdr")
    catalogue.card("bc5cdr")
    assert parsed == ["cards/bc5cdr.yaml"]


@pytest.mark.parametrize(
    ("asked", "near"), [("bc5cd", "bc5cdr"), ("NCBI_disease", "ncbi-disease"), ("elucidata", "elucidata-")]
)
def test_an_unknown_name_is_told_with_its_nearest(asked: str, near: str) -> None:
    with pytest.raises(CorpusError, match=rf"BX201.*did you mean '{near}"):
        catalogue.card(asked)


@pytest.mark.parametrize("asked", ["../card", "", "a/b", "cards", "bc5cdr.yaml", "\0"])
def test_a_name_is_never_a_path(asked: str) -> None:
    with pytest.raises(CorpusError, match="BX201"):
        catalogue.card(asked)
