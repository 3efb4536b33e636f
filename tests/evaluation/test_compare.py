"""Systems compared: seeds, documents, ranks, and the picture."""

from __future__ import annotations

import doctest
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from biomux.document import Answer, Document, Label, Question, Span
from biomux.errors import ScoreError, UsageError
from biomux.evaluation import compare as module
from biomux.evaluation import comparison_tables, score_folder, score_tables
from biomux.evaluation.compare import ComparedSystem, compare_systems, published_systems, systems_of
from biomux.evaluation.comparison_tables import difference_table, pair_table, rank_table, value_table
from biomux.evaluation.prediction_files import score_files
from biomux.scoring.signature import read_signature
from biomux.scoring.significance import holm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TEXT = "Aspirin causes ulcers."
RIGHT, WRONG = Span(0, 7, "drug"), Span(8, 14, "drug")
GOLD = [Document(str(number), TEXT, spans=(RIGHT,)) for number in range(60)]


def said(right: int, *, off: int = 0) -> list[Document]:
    """A system that is right in so many documents."""
    spans = [(RIGHT,) if (number + off) % len(GOLD) < right else (WRONG,) for number in range(len(GOLD))]
    return [Document(gold.id, TEXT, spans=found) for gold, found in zip(GOLD, spans, strict=True)]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., str]:
    def write(name: str, predicted: Sequence[Document], *, gold: Sequence[Document] = GOLD, corpora: int = 1) -> str:
        place = tmp_path / name
        place.mkdir()
        columns = [score_files(gold, predicted, name=f"toy{n}", folder=place) for n in range(corpora)]
        score_folder.write_scores(place, score_folder.to_json(name, columns))
        return str(place)

    return write


def test_two_systems_are_tested_document_by_document(folder: Callable[..., str]) -> None:
    result = compare_systems(systems_of([folder("good", said(55)), folder("bad", said(30))]))
    (test,) = result.tests
    assert (test.first, test.second) == ("good", "bad")
    assert test.found.difference == pytest.approx(25 / 60)
    assert test.p == test.found.p_randomisation < 0.01
    assert 0 < test.found.low < test.found.difference < test.found.high
    assert difference_table(result)[1][0][3] == "+41.67"
    assert result.ranking is None
    fields = read_signature(result.signature)
    assert (fields["corpus"], fields["split"], fields["figure"]) == ("toy0", "file", "strict f1")
    assert len(fields["sha256"]) == 12
    json.dumps(result.to_json())


def test_equal_systems_do_not_differ(folder: Callable[..., str]) -> None:
    result = compare_systems(systems_of([folder("a", said(40)), folder("b", said(40, off=20))]))
    assert result.tests[0].found.difference == 0
    assert result.tests[0].p == 1


def test_folders_of_one_label_are_seeds(folder: Callable[..., str]) -> None:
    paths = [
        folder("a1", said(50)),
        folder("a2", said(54)),
        folder("b1", said(30)),
        folder("b2", said(30)),
        folder("b3", said(30)),
    ]
    systems = systems_of([f"{label}={path}" for label, path in zip("aabbb", paths, strict=True)])
    assert [(system.name, len(system.seeds)) for system in systems] == [("a", 2), ("b", 3)]
    result = compare_systems(systems)
    assert result.values["toy0"]["a"] == pytest.approx((50 / 60, 54 / 60))
    assert value_table(result)[1][0][1] == "86.67 ±4.71 (83.33, 90.00)"
    assert result.tests[0].found.first == pytest.approx(52 / 60)
    assert result.tests[0].found.second == pytest.approx(0.5)


def test_seeds_of_one_system_alone_are_shown(folder: Callable[..., str]) -> None:
    result = compare_systems(systems_of([f"a={folder('x', said(50))}", f"a={folder('y', said(40))}"]))
    assert result.to_json()["values"]["toy0"]["a"]["sd"] == pytest.approx(0.11785, abs=1e-5)
    assert result.tests == ()


def test_three_systems_on_several_corpora_are_ranked(folder: Callable[..., str]) -> None:
    pytest.importorskip("scikit_posthocs", reason="the extra 'report' is not installed")
    paths = [folder(name, said(right), corpora=4) for name, right in (("a", 58), ("b", 40), ("c", 20))]
    result = compare_systems(systems_of(paths))
    assert result.ranking
    assert rank_table(result.ranking)[1][0] == ("a", "1.000")
    assert len(pair_table(result.ranking)[1]) == 3
    assert len(result.tests) == 8
    assert all(test.p >= test.found.p_randomisation for test in result.tests)


def test_p_is_corrected_over_all_corpora_and_systems(folder: Callable[..., str]) -> None:
    names = (("a", 50), ("b", 40), ("c", 46))
    both = systems_of([folder(name, said(right), corpora=3) for name, right in names[:2]])
    alone = compare_systems([ComparedSystem(one.name, one.seeds) for one in both], samples=200)
    assert [test.column for test in alone.tests] == ["toy0", "toy1", "toy2"]
    assert [test.p for test in alone.tests] == holm([test.found.p_randomisation for test in alone.tests])
    all_three = compare_systems([*both, *systems_of([folder("c", said(46), corpora=3)])], samples=200)
    assert [test.p for test in all_three.tests] == holm([test.found.p_randomisation for test in all_three.tests])
    assert len(all_three.tests) == 6


def test_so_many_samples_are_drawn_that_a_corrected_p_can_be_small(folder: Callable[..., str]) -> None:
    paths = [folder(name, said(right), corpora=8) for name, right in (("a", 58), ("b", 20))]
    result = compare_systems(systems_of(paths), samples=10)
    assert {test.found.samples for test in result.tests} == {320}
    assert all(test.p < 0.05 for test in result.tests)


def test_scores_of_other_documents_are_not_compared(folder: Callable[..., str]) -> None:
    paths = [folder("a", said(40)), folder("b", said(40)[:50], gold=GOLD[:50])]
    with pytest.raises(ScoreError) as caught:
        compare_systems(systems_of(paths))
    assert caught.value.code == "BX706"


def test_columns_that_one_lacks_are_told(folder: Callable[..., str]) -> None:
    result = compare_systems(systems_of([folder("a", said(40), corpora=2), folder("b", said(40))]))
    assert list(result.values) == ["toy0"]
    assert compare_systems(systems_of([folder("c", said(40), corpora=2)])).signature.endswith(
        "|columns:2|figure:strict f1"
    )
    assert result.remarks == ("a: not compared, since not all systems have it: toy1",)


def test_other_matchings_and_metrics_can_be_asked_for(folder: Callable[..., str]) -> None:
    wide = [Document(gold.id, TEXT, spans=(Span(0, 14, "drug"),)) for gold in GOLD]
    systems = systems_of([folder("strict", said(30)), folder("wide", wide)])
    result = compare_systems(systems, matching="overlap", metric="macro-recall")
    assert result.values["toy0"] == {"strict": (0.5,), "wide": (1.0,)}
    assert compare_systems(systems, matching="semeval").values["toy0"]["wide"] == (0.5,)
    with pytest.raises(UsageError, match="the spans of column 'toy0' were not scored by 'subword'") as caught:
        compare_systems(systems, matching="subword")
    assert caught.value.hint == "choose --matching from strict, boundary, type, overlap, word, semeval"
    with pytest.raises(UsageError, match="--matching candidates compares relations, but no column"):
        compare_systems(systems, matching="candidates")


def test_labels_and_answers_are_compared_too(folder: Callable[..., str]) -> None:
    def labels(right: int) -> list[Document]:
        return [Document(str(n), TEXT, labels=(Label("yes" if n < right else "no"),)) for n in range(40)]

    systems = systems_of([folder("a", labels(38), gold=labels(40)), folder("b", labels(10), gold=labels(40))])
    assert compare_systems(systems).tests[0].p < 0.01
    assert compare_systems(systems, metric="accuracy").values["toy0"]["b"] == (0.25,)

    def answers(right: int) -> list[Document]:
        texts = ["aspirin" if n < right else "ulcers" for n in range(40)]
        return [
            Document(str(n), TEXT, questions=(Question("q", "?", (Answer(text),)),)) for n, text in enumerate(texts)
        ]

    systems = systems_of([folder("c", answers(38), gold=answers(40)), folder("d", answers(10), gold=answers(40))])
    assert compare_systems(systems, metric="strict").tests[0].found.difference == pytest.approx(0.7)


def test_scores_of_a_run_of_a_study_are_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(json.dumps({"format": "biomux-member-scores", "version": 1, "tasks": {}}))
    with pytest.raises(
        ScoreError, match=r"BX704: .*: these are the scores of one run of a study; the study's own report"
    ):
        score_folder.read(tmp_path)


def test_runs_bring_their_development_scores(tmp_path: Path) -> None:
    for name, f1 in (("one", 0.8), ("two", 0.7)):
        (tmp_path / name).mkdir()
        tasks = {"bc5cdr": {"f1": f1, "precision": f1, "recall": f1}}
        (tmp_path / name / "scores.json").write_text(json.dumps({"mean_f1": f1, "tasks": tasks}))
    result = compare_systems(systems_of([str(tmp_path / "one"), str(tmp_path / "two")]))
    assert result.values == {"bc5cdr": {"one": (0.8,), "two": (0.7,)}}
    assert result.tests == ()


@pytest.mark.parametrize("content", ["", "[]", '{"format": "biomux-scores", "version": 9}', '{"tasks": 3}'])
def test_damaged_scores_are_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "scores.json").write_text(content)
    with pytest.raises(ScoreError) as caught:
        systems_of([str(tmp_path)])
    assert caught.value.code == "BX705"


def ranking(**options: Any) -> Any:
    pytest.importorskip("scikit_posthocs", reason="the extra 'report' is not installed")
    return compare_systems(published_systems("E", ["1", "2"]), **options).ranking


def test_paper_e_is_reproduced_and_drawn() -> None:
    found = ranking()
    assert found.p < 1e-11
    assert all(
        found.conover[f"student-ensemble-alpha-{alpha}", other] < 0.001
        for alpha in ("0", "0.5", "1")
        for other in ("mtm", "stm")
    )


@pytest.mark.parametrize("test", ["conover", "nemenyi"])
def test_the_picture_has_every_system_and_bars(test: str) -> None:
    from biomux.report.rank_diagram import BAR, rank_diagram

    found = ranking()
    picture = ElementTree.fromstring(rank_diagram(found, test=test, title="A & B <x>"))
    texts = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert all(any(text.startswith(f"{name} ") for text in texts) for name in found.systems)
    assert any("critical difference" in text for text in texts) == (test == "nemenyi")
    bars = [line for line in picture.iter("{http://www.w3.org/2000/svg}line") if line.get("stroke") == BAR]
    assert len(bars) == len(found.cliques(test=test))


def test_published_tables_that_are_not_there_are_told() -> None:
    with pytest.raises(UsageError, match="E:1"):
        published_systems("E", ["99"])


def test_examples_run() -> None:
    for one in (module, comparison_tables, score_tables):
        assert doctest.testmod(one).failed == 0


def test_marks_nest() -> None:
    mistake = {
        "context": "of PPH.",
        "offset": 10,
        "gold": [{"ranges": [[13, 16]], "type": "Disease"}],
        "predicted": [{"ranges": [[13, 16]], "type": "Chemical"}],
    }
    assert score_tables.marked(mistake) == "of [{PPH}]."
