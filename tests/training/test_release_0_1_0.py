"""A run that 0.1.0 trained still loads, gives the answers that 0.1.0 gave, and can still be exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from releases import ANSWERS, FOLDER, TEXTS, check_entities

import biomux
from biomux import formats
from biomux.cli.runs import describe
from biomux.document import Document
from biomux.recipes.run_folder import RunFolder, read_journal
from biomux.report import journal
from biomux.training.export import export

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.engine.annotator import Annotator

RUN = FOLDER / "run"


@pytest.fixture(scope="module")
def tagger() -> Annotator:
    return biomux.load(RUN, threads=1)


def test_entities_are_the_same(tagger: Annotator) -> None:
    check_entities((tagger(text, heads=tagger.heads) for text in TEXTS), "run: heads", tolerance=2e-4)


def test_classes_of_sentences_are_the_same(tagger: Annotator) -> None:
    documents = [Document(str(number), text) for number, text in enumerate(TEXTS)]
    for document, recorded in zip(tagger.answer(documents, heads=["any"]), ANSWERS["any"], strict=True):
        assert [[label.name, label.head] for label in document.labels] == [row[:2] for row in recorded]
        scores = [label.score for label in document.labels]
        assert scores == pytest.approx([row[2] for row in recorded], abs=2e-4)


def test_the_similarity_of_a_pair_is_the_same(tagger: Annotator) -> None:
    text, other = ANSWERS["pair"]
    (document,) = tagger.answer([Document("1", text, pair=other)], heads=["alike"])
    assert [label.value for label in document.labels] == [pytest.approx(ANSWERS["alike"], abs=2e-4)]


def test_its_recipe_and_predictions_are_read() -> None:
    assert list(RunFolder(RUN).recipe.tasks) == ["drugs", "genes", "ills", "alike", "any"]
    for name in ("drugs", "genes", "ills"):
        predicted = list(formats.read(RUN / "predictions" / f"{name}.jsonl"))
        assert len(predicted) == 8
        assert {span.head for document in predicted for span in document.spans} == {name}


def test_a_bundle_exported_today_answers_as_the_run_did(tmp_path: Path) -> None:
    export(RUN, tmp_path / "bundle", precision="fp32", measure=False)
    tagger = biomux.load(tmp_path / "bundle")
    check_entities((tagger(text, heads=tagger.heads) for text in TEXTS), "run: heads", tolerance=2e-4)


def test_its_journal_is_read() -> None:
    assert describe(RUN)["tokens"] == journal.history(read_journal(RUN / "journal.jsonl")).tokens == 19215


def test_recipes_may_say_how_large_a_batch_is_as_they_did() -> None:
    assert RunFolder(RUN).recipe.loop.batch_tokens == 400
