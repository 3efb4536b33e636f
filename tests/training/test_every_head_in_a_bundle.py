"""A bundle of a run with a head of every kind answers as the run does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from training import graphs

import biomux
from biomux.document import Argument, Document, Relation, Span
from biomux.engine.bundle import reader, verify
from biomux.errors import BundleError
from biomux.tasks.classification import Classification
from biomux.tasks.relation import Relations
from biomux.training import calibrate, quantization_check
from biomux.training.export import export

if TYPE_CHECKING:
    from pathlib import Path

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


def as_gold(document: Document) -> Document:
    """What heads said, as if people had annotated it."""
    return replace(
        document,
        spans=tuple(replace(span, head=None, score=None) for span in document.spans),
        labels=tuple(replace(label, head=None, score=None) for label in document.labels),
        relations=tuple(replace(one, head=None, score=None) for one in document.relations),
        questions=tuple(
            replace(one, answers=tuple(replace(answer, head=None, score=None) for answer in one.answers[:1]))
            for one in document.questions
        ),
    )


@pytest.fixture(scope="module")
def development(bundle: Path) -> dict[str, list[Document]]:
    """Development data that the fp32 heads answer without a mistake: they are their own answers."""
    engine = biomux.load(bundle, threads=1)
    given = graphs.documents(30)
    tagged = list(engine.annotate(given, heads=engine.heads))
    found = {"drugs": [as_gold(document) for document in tagged]}
    for task in engine.asking:
        found[task.name] = [as_gold(one) for one in engine.answer(map(as_gold, tagged), heads=[task.name])]
    return found


def test_every_head_is_measured_and_calibrated(
    run: Path, development: dict[str, list[Document]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantization_check, "development", lambda *_, **__: development)
    measured = export(run, tmp_path / "bundle", tolerance=100, threads=1)
    assert measured.chosen == "int8"
    assert measured.unmeasured == ()
    assert measured.figures == {
        **dict.fromkeys(("drugs", "links", "tags", "topics", "asked"), "f1"),
        **dict.fromkeys(("roles", "follows"), "accuracy"),
        "alike": "pearson",
    }
    assert all(value == pytest.approx(1.0) for value in measured.fp32.values())
    losses = {head: loss.points for head, loss in measured.losses.items()}
    assert all(loss < 60 for loss in losses.values())
    assert any(losses.values())
    found = reader.read(tmp_path / "bundle")
    fitted = {head for head, heat in found.temperatures.items() if heat != 1.0}
    assert {"drugs", "asked", "follows"} <= fitted <= set(losses) - {"alike"}  # one that is never wrong keeps 1
    assert {head for head, _ in found.curves} >= {"drugs", "links", "roles"}
    assert {head for head, _ in found.thresholds} == {"drugs", "links", "tags", "topics"}
    assert not any(check.error for check in verify.verify(tmp_path / "bundle"))
    card = (tmp_path / "bundle" / "card.md").read_text()
    assert "| alike | pearson | 30 | 100.00 |" in card
    assert "| links | bc5cdr | relation | causes, cures |" in card


def test_int8_that_costs_a_head_of_texts_too_much_is_refused(
    run: Path, development: dict[str, list[Document]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantization_check, "development", lambda *_, **__: {"follows": development["follows"]})
    with pytest.raises(BundleError, match="BX542"):
        export(run, tmp_path / "bundle", precision="int8", tolerance=-200, heads=["follows"], threads=1)


def test_answers_about_each_label_are_scored_by_themselves() -> None:
    task = Relations("links", ("causes", "cures"), variant="one-pass")
    spans = tuple(Span(at, at + 1, "Chemical", id=f"T{at}") for at in range(4))

    def link(type_: str, left: int, right: int, score: float | None = None) -> Relation:
        ends = (Argument("Arg1", f"T{left}"), Argument("Arg2", f"T{right}"))
        return Relation(type_, ends, score=score, head=None if score is None else "links")

    gold = Document("1", "abcd", spans=spans, relations=(link("causes", 0, 1), link("cures", 1, 2)))
    said = replace(gold, relations=(link("causes", 0, 1, 0.9), link("causes", 0, 2, 0.6), link("causes", 1, 2, 0.3)))
    assert calibrate.answers_of(task, [gold], [said]) == {
        "causes": calibrate.TypeAnswers((0.9, 0.6, 0.3), (True, False, False), 1)
    }
    assert calibrate.leaves_out(task)
    assert not calibrate.leaves_out(Classification("roles", ("aim", "result")))
    assert calibrate.leaves_out(Classification("topics", ("aim", "result"), several=True))
