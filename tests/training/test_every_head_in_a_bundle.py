"""A bundle of a run with a head of every kind answers as the run does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from training import graphs

import biomux
from biomux.engine.bundle import reader, verify
from biomux.training.export import export

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.document import Document
    from biomux.engine.annotator import Annotator


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graphs.run(tmp_path_factory.mktemp("every") / "run")


@pytest.fixture(scope="module")
def bundle(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("every") / "bundle"
    export(run, folder, precision="fp32", measure=False)
    return folder


def answered(annotator: Annotator) -> list[Document]:
    tagged = annotator.annotate(graphs.documents(), heads=annotator.heads)
    return list(annotator.answer(tagged, heads=[task.name for task in annotator.asking if task.name != "words"]))


def rounded(document: Document) -> Any:
    """All that was said, without the last digits of scores."""
    labels = [(one.name, one.start, one.end, one.head, _near(one.score), _near(one.value)) for one in document.labels]
    relations = [(one.type, one.head, tuple(a.target for a in one.arguments)) for one in document.relations]
    answers = [(one.text, one.start) for question in document.questions for one in question.answers]
    return [(span.start, span.end, span.type) for span in document.spans], labels, relations, answers


def _near(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def test_it_answers_as_the_run_does(run: Path, bundle: Path) -> None:
    torch, engine = answered(biomux.load(run)), answered(biomux.load(bundle, threads=1))
    assert [rounded(document) for document in torch] == [rounded(document) for document in engine]
    heads = {label.head for document in engine for label in document.labels}
    assert heads == {"topics", "roles", "follows", "alike"}
    assert {one.head for document in engine for one in document.relations} == {"links", "tags"}
    assert all(question.answers for document in engine for question in document.questions)


def test_it_verifies_and_holds_what_it_says(bundle: Path) -> None:
    assert not any(check.error for check in verify.verify(bundle))
    found = reader.read(bundle)
    wanted = [task for task in graphs.tasks() if task.name != "words"]
    assert list(found.tasks) == wanted
    assert {name: place.output for name, place in found.places.items()} == {
        "drugs": "logits",
        "links": "pairs.0",
        "tags": "pooled",
        "topics": "pooled",
        "roles": "windows",
        "follows": "windows",
        "alike": "windows",
        "asked": "answers",
    }
    assert found.pairs is not None


def test_heads_of_windows_alone_are_a_bundle_too(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "bundle", precision="int8", measure=False, heads=["roles", "alike"])
    engine = biomux.load(tmp_path / "bundle", threads=1)
    assert engine.heads == ()
    assert not any(check.error for check in verify.verify(tmp_path / "bundle"))
    said = list(engine.answer(graphs.documents(2)))
    assert all({label.head for label in document.labels} == {"roles", "alike"} for document in said)


def test_segments_are_read_only_where_pairs_of_texts_are(run: Path, tmp_path: Path) -> None:
    for heads, wanted in ((["drugs", "topics"], False), (["drugs", "asked"], True)):
        export(run, tmp_path / heads[1], precision="fp32", measure=False, heads=heads)
        session: Any = biomux.load(tmp_path / heads[1], threads=1).session
        assert ("segments" in session._inputs) == wanted


def test_pairs_are_answered_from_the_pass_that_tagged(bundle: Path) -> None:
    """The states of words come with their tags: no second pass of the encoder."""
    from biomux.engine.packing import pack
    from biomux.tasks.examples import ModelInput
    from biomux.text import tokens as text_tokens

    engine = biomux.load(bundle, threads=1)
    text = graphs.documents(1)[0].text
    windows = text_tokens.split(engine.tokenizer, text, [(0, 80)])
    batch = next(pack([ModelInput(one) for one in windows], specials=engine.specials, budget=1024))
    session: Any = engine.session
    passes: list[Any] = []
    compute = session.compute

    def counted(feeds: Any, outputs: Any) -> Any:
        passes.append(outputs)
        return compute(feeds, outputs)

    session.compute = counted
    answers = session.run(replace(batch, heads=frozenset({"drugs", "links"})))
    assert answers["drugs"].shape == (len(batch.first), 5)
    pairs = np.array([[0, 1, 3, 3], [4, 4, 5, 6]])
    assert answers.pair_logits("links", pairs).shape == (2, 3)
    assert passes == [["logits", "states"]]
