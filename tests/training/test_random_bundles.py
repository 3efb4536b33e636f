"""Bundles of random heads on random documents: what is answered follows from the text alone, nothing is lost, and what cannot be asked is refused with its code."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import tiny
from training import graphs

import biomux
from biomux.document import Document, Question, Span
from biomux.errors import UsageError
from biomux.tasks.tagging import Tagging
from biomux.training.export import export

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.engine.annotator import Annotator

STRANGE = ("", " \n\t ", "\u00e9\U0001f9ec", "aspirin" * 60, "(" * 40, "a\u0301\u200d b", "\r\nfever\r\n\r\nfever.")
GROUPS = {
    "relations": {"links", "tags"},
    "classes": {"topics", "roles"},
    "pairs": {"follows", "alike"},
    "questions": {"asked"},
}


@pytest.fixture(scope="module", params=["bert", "distilbert", "mpnet", "bilstm", "convolution"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graphs.run(tmp_path_factory.mktemp("random") / "run", encoder=request.param)


def documents(chance: random.Random) -> list[Document]:
    """Documents of random sizes, with and without entities, a second text and a question; some hold strange characters only."""
    made = []
    for number in range(chance.randint(1, 9)):
        text = (
            chance.choice(STRANGE)
            if chance.random() < 0.3
            else tiny.text(chance.randint(1, 90), seed=chance.randrange(10**6))
        )
        spans: tuple[Span, ...] = ()
        if len(text) > 8 and chance.random() < 0.5:
            spans = (Span(0, 4, "chemical", id="T1"), Span(2, 7, "disease", id="T2"))
        pair = tiny.text(chance.randint(1, 60), seed=chance.randrange(10**6)) if chance.random() < 0.7 else None
        asked = (Question("q", "Which dose of aspirin was given?"),) if chance.random() < 0.7 else ()
        made.append(Document(str(number), text, spans=spans, pair=pair, questions=asked))
    return made


def answered(engine: Annotator, given: list[Document]) -> dict[Any, list[Any]]:
    """Everything that a user can ask the bundle about these documents, each with its score."""
    names = {task.name for task in (*engine.tasks, *engine.asking)}
    tasks = [group for group in ("relations", "classes") if GROUPS[group] & names] + (
        ["entities"] if engine.tasks else []
    )
    found: dict[Any, list[Any]] = {}
    if tasks:
        for document in engine.annotate(given, tasks=tasks, threshold=0, keep_entities=not engine.tasks):
            found[document.id] = [document.text, document.coverage, *everything(document)]
    paired = [document for document in given if document.pair is not None]
    if GROUPS["pairs"] & names:
        for document in engine.pairs(paired, threshold=0):
            found[document.id, "pair"] = [document.text, document.pair, *everything(document)]
    if GROUPS["questions"] & names:
        for document in given:
            answers = engine.ask("Which dose of aspirin was given?", [document], n=5)
            found[document.id, "asked"] = [(answer.text, answer.start, Score(answer.score)) for answer in answers]
    return found


class Score(float):
    """A score; equal to others that differ in their last digit, where another order of additions may round it the other way."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(self - other) < 1.5e-4

    __hash__ = float.__hash__


def everything(document: Document) -> list[Any]:
    """What was said about a document."""
    return [
        [(span.start, span.end, span.type, span.head, Score(span.score or 0)) for span in document.spans],
        [(one.type, one.head, one.arguments, Score(one.score or 0)) for one in document.relations],
        [(one.name, one.head, one.start, one.end, Score(one.score or one.value or 0)) for one in document.labels],
    ]


@pytest.mark.parametrize("seed", range(4))
def test_answers_follow_from_the_text_alone(run: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    known = [task for task in graphs.tasks() if task.name != "words"]
    chosen = chance.sample(known, chance.randint(1, len(known)))
    names = [task.name for task in known if task in chosen]
    precision = chance.choice(["fp32", "int8"])
    export(run, tmp_path / "bundle", precision=precision, measure=False, heads=names)  # type: ignore[arg-type]
    engine = biomux.load(tmp_path / "bundle", threads=1)
    given = documents(chance)
    expected = answered(engine, given)
    assert expected
    assert all(expected[document.id][0] == document.text for document in given if document.id in expected)
    for threads in (1, 2):
        varied = replace(
            biomux.load(tmp_path / "bundle", threads=threads),
            budget=chance.choice([8, 60, 4096]),
            chunk=chance.choice([1, 200, 100_000]),
        )
        order = chance.sample(given, len(given))
        assert answered(varied, order) == expected
        for document in given:
            alone = answered(varied, [document])
            assert alone == {key: expected[key] for key in alone}


@pytest.mark.parametrize("seed", range(4))
def test_what_a_bundle_has_no_head_for_is_refused_with_its_code(run: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(100 + seed)
    known = [task for task in graphs.tasks() if task.name != "words"]
    chosen = chance.sample(known, chance.randint(1, 3))
    export(run, tmp_path / "bundle", precision="fp32", measure=False, heads=[task.name for task in chosen])
    engine = biomux.load(tmp_path / "bundle", threads=1)
    has = {group for group, names in GROUPS.items() if names & {task.name for task in chosen}}
    has |= {"entities"} if any(isinstance(task, Tagging) for task in chosen) else set()
    for group in ("entities", "relations", "classes"):
        if group not in has:
            with pytest.raises(UsageError) as caught:
                engine("Aspirin lowers fever.", tasks=[group])
            assert caught.value.code == "BX610"
    if "pairs" not in has:
        with pytest.raises(UsageError) as caught:
            engine.pairs([("a", "b")])
        assert caught.value.code == "BX610"
    if "questions" not in has:
        with pytest.raises(UsageError) as caught:
            engine.ask("Which?", ["Text."])
        assert caught.value.code == "BX610"
    with pytest.raises(UsageError) as caught:
        engine("Aspirin.", tasks=["nosuch"])
    assert caught.value.code == "BX001"
