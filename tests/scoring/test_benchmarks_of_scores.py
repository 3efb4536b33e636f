"""benchmarks/agreement.py and benchmarks/subword.py: what they count, and that their parts add up."""

from __future__ import annotations

import gzip
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from scoring.strategies import pairs
from scoring.test_references import conlleval, sentences

from biomux.document import Document, Range, Span
from biomux.scoring.spans import score

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]


@pytest.fixture
def agreement(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    return import_module("benchmarks.agreement")


@pytest.fixture(scope="module")
def subword() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        return import_module("benchmarks.subword")


@pytest.mark.parametrize("valid", [True, False])
def test_two_readings_of_conlleval_agree(agreement: ModuleType, valid: bool) -> None:
    made = sentences(3, valid=valid)
    rows = [[agreement.Row("w", gold, said) for gold, said in zip(*pair, strict=True)] for pair in made]
    wanted = {name: (one.tp, one.predicted, one.gold) for name, one in conlleval(made).items()}
    assert agreement.conlleval(rows) == wanted
    if valid:
        pytest.importorskip("seqeval", reason="seqeval is not installed")
        assert agreement.seqeval_strict(rows) == agreement.ratios(wanted)


def test_what_tags_cannot_say_is_counted(agreement: ModuleType) -> None:
    tagged = agreement.Tagged()
    words = [(0, 9), (10, 17)]
    assert agreement.tags(words, [(0, 4, "gene"), (5, 9, "gene"), (10, 17, "cell")], tagged, id="d") == [
        "B-gene",
        "B-cell",
    ]
    assert (tagged.inside, tagged.lost) == (1, {("d", 5, 9, "gene")})


def test_gold_tags_are_read_from_the_file_and_must_be_of_the_same_words(agreement: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "test.tsv.gz"
    path.write_bytes(gzip.compress(b"-DOCSTART-\tO\n\nIL-2\tI\nrose\tO\n\nIt\tO\n"))
    document = {"id": "1", "text": "IL-2 rose It", "tokens": [[0, 4], [5, 9], [10, 12]]}
    tagged = agreement.from_columns(path, [document], plain="gene")
    assert [[tuple(row) for row in rows] for rows in tagged.sentences] == [
        [("IL-2", "I-gene", "O"), ("rose", "O", "O")],
        [("It", "O", "O")],
    ]
    assert tagged.bare == 1
    with pytest.raises(SystemExit, match="its words are not those of"):
        agreement.from_columns(path, [{**document, "text": "IL-3 rose It"}], plain="gene")


def test_a_difference_that_nothing_explains_is_seen(agreement: ModuleType) -> None:
    pytest.importorskip("seqeval", reason="seqeval is not installed")
    tagged = agreement.Tagged([[agreement.Row("IL-2", "B-gene", "B-gene")]])

    def column(right: int) -> dict[str, Any]:
        types = {"gene": {"tp": right, "fp": 1 - right, "fn": 1 - right}}
        return {"corpus": "made", "spans": {"matchings": {name: {"types": types} for name in ("strict", "word")}}}

    assert agreement.compared(column(1), tagged, held=dict)[1]
    assert not agreement.compared(column(0), tagged, held=dict)[1]


def tokens(text: str) -> list[Range]:
    return [(start, min(start + 3, len(text))) for start in range(0, len(text), 3)]


@given(made=pairs())
@settings(deadline=None, max_examples=30)
def test_the_steps_begin_and_end_at_the_figures(subword: ModuleType, made: list[tuple[Document, Document]]) -> None:
    steps = subword.steps_of(made, tokens=tokens)
    scores = score(made, tokens=tokens)
    assert (steps.strict, steps.word, steps.token) == tuple(
        scores[name].micro for name in ("strict", "word", "subword")
    )


def test_weight_and_part_are_what_they_say(subword: ModuleType) -> None:
    text = "mice and Quellensia minor"
    cut = [(0, 4), (5, 8), (9, 12), (12, 15), (15, 17), (17, 19), (20, 25)]
    gold = Document("1", text, spans=(Span(0, 4, "s"), Span(9, 25, "s")))
    found = Document("1", text, spans=(Span(0, 4, "s"), Span(9, 19, "s")))
    steps = subword.steps_of([(gold, found)], tokens=lambda _: cut)
    assert subword.step_row("made", steps) == ("made", "2.50", "50.00", "+0.00", "-30.00", "+60.00", "80.00", "+30.00")
    rows = subword.detail_rows(steps)
    assert [row[:3] for row in rows] == [("1", 1, "100.00"), ("4", 1, "0.00")]
    assert sum(float(row[-1]) for row in rows) == pytest.approx(-30)
