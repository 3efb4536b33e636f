"""The papers' figures, and what paper E concludes from its own."""

from __future__ import annotations

import doctest

import pytest

from biomux.errors import ScoreError
from biomux.evaluation import published as module
from biomux.evaluation.published import SOURCES, all_published, published, score_table

MTM_AND_STM = ("mtm", "stm")


def ranking(correction: str | None) -> object:
    pytest.importorskip("scikit_posthocs", reason="the extra 'report' is not installed")
    from biomux.scoring.ranks import rank_systems

    _, systems, scores = score_table("E", ["1", "2"], metric="f1-strict")
    return rank_systems(scores, systems, correction=correction)


def test_every_figure_has_a_source() -> None:
    figures = all_published()
    assert len(figures) == 742
    assert {figure.paper for figure in figures} == set(SOURCES)
    assert published(paper="A", table="2", system="stl")[0].source == "A, table 2"


def test_examples_run() -> None:
    assert doctest.testmod(module).failed == 0


def test_paper_e_has_eight_systems_on_fifteen_corpora() -> None:
    corpora, systems, scores = score_table("E", ["1", "2"], metric="f1-strict")
    assert (len(corpora), len(systems)) == (15, 8)
    assert "average" not in corpora
    for place, system in enumerate(systems):
        printed = next(f.value for f in published(paper="E", system=system, corpus="average"))
        assert sum(row[place] for row in scores) / 15 == pytest.approx(printed, abs=0.011)


def test_tables_that_do_not_make_one_table_are_refused() -> None:
    with pytest.raises(ScoreError, match="BX704"):
        score_table("E", ["9"], metric="f1-strict")
    with pytest.raises(ScoreError, match="several published figures for"):
        score_table("D", ["3"], metric="f1-strict")
    with pytest.raises(ScoreError, match=r"has none on .*; choose among A:"):
        score_table("A", ["2", "4.2"], metric="f1-strict")


@pytest.mark.parametrize("correction", ["holm", "bonferroni", None])
def test_paper_e_students_of_the_ensemble_beat_teachers_and_single_tasks(correction: str | None) -> None:
    """As the paper says: Friedman significant, Conover p < 0.001, whatever the correction."""
    result = ranking(correction)
    from biomux.scoring.ranks import Ranking

    assert isinstance(result, Ranking)
    assert result.p < 1e-11
    assert result.significant
    students = [name for name in result.systems if name.startswith("student-ensemble-")]
    assert len(students) == 3
    for student in students:
        for other in MTM_AND_STM:
            assert result.average_ranks[student] < result.average_ranks[other]
            assert result.conover[student, other] < 0.001


def test_paper_e_by_nemenyi_is_weaker() -> None:
    """The paper does not use Nemenyi's test. By it the students still beat MTM, but at 0.01, not at 0.001."""
    from biomux.scoring.ranks import Ranking

    result = ranking("holm")
    assert isinstance(result, Ranking)
    for student in (name for name in result.systems if name.startswith("student-ensemble-")):
        assert 0.001 < result.nemenyi[student, "mtm"] < 0.01
        assert result.nemenyi[student, "stm"] < 0.001


def test_paper_e_students_of_one_teacher_do_not_beat_it() -> None:
    from biomux.scoring.ranks import Ranking

    result = ranking("holm")
    assert isinstance(result, Ranking)
    for student in ("student-alpha-0", "student-alpha-0.5", "student-alpha-1"):
        assert result.conover[student, "mtm"] > 0.05
