"""Every kind of task from documents to a development score, through the annotator: what can be learned is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import tiny
from training import small

from biomux.document import Answer, Argument, Document, Label, Question, Relation, Span
from biomux.recipes.schema import HeadSettings
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.classification import Classification
from biomux.tasks.conformance import check_task
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.question_answering import Answers
from biomux.tasks.relation import Relations
from biomux.tasks.similarity import Similarity
from biomux.tasks.tagging import Tagging
from biomux.training import loop
from biomux.training.development_scores import evaluate

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = HeadSettings(settings={"dropout": 0.0})


def classes() -> list[Document]:
    """The class is whether the text has a drug."""
    return [
        Document(one.id, one.text, labels=(Label("yes" if any(s.type == "Chemical" for s in one.spans) else "no"),))
        for one in small.documents(36, seed=3, words=12)
    ]


def sentence_classes() -> list[Document]:
    made = []
    for one in small.documents(16, seed=4, words=20):
        labels = {
            (span.type, start, end) for span in one.spans for start, end in _sentences(one) if start <= span.start < end
        }
        made.append(
            Document(
                one.id,
                one.text,
                sentences=_sentences(one),
                labels=tuple(Label(name, start=start, end=end) for name, start, end in sorted(labels)),
            )
        )
    return made


def _sentences(document: Document) -> tuple[tuple[int, int], ...]:
    from biomux.text import sentences

    return sentences.of(document)


def pairs(*, number: bool) -> list[Document]:
    """Alike is a pair that begins with the same word."""
    made = []
    for index, word in enumerate(("aspirin", "fever", "liver", "kinase") * 12):
        other = word if index % 3 else "mice"
        label = (
            Label("similarity", value=float(word == other)) if number else Label("same" if word == other else "other")
        )
        made.append(Document(str(index), f"{word} given", pair=f"{other} level", labels=(label,)))
    return made


def relations() -> list[Document]:
    """A drug and an ill are linked where "treated" stands between them."""
    made = []
    for index in range(48):
        verb = ("treated", "and", "with", "treated")[index % 4]
        drug, ill = ("aspirin", "bexol", "zolmide")[index % 3], ("fever", "ulcer")[index % 2]
        text = f"{drug} {verb} {ill}."
        spans = (
            Span(0, len(drug), "Chemical", id="T1"),
            Span(len(text) - 1 - len(ill), len(text) - 1, "Disease", id="T2"),
        )
        links = (Relation("treats", (Argument("a", "T1"), Argument("b", "T2"))),) if verb == "treated" else ()
        made.append(Document(str(index), text, sentences=((0, len(text)),), spans=spans, relations=links))
    return made


def questions() -> list[Document]:
    """The answer is the word after "dose"."""
    made = []
    for index in range(48):
        answer = ("high", "low", "severe", "acute")[index % 4]
        text = f"{tiny.WORDS[index % 9]} {tiny.WORDS[index % 7]} dose {answer} {tiny.WORDS[index % 5]}"
        start = text.index(f"dose {answer}") + 5
        found = Answer(answer, start, start + len(answer))
        made.append(Document(str(index), text, questions=(Question("q", "dose", (found,)),)))
    return made


ILLS = small.documents(20, seed=6, words=16)

CASES: dict[str, tuple[Any, list[Document], HeadSettings, float]] = {
    "tagging": (Tagging("t", ("Chemical", "Disease")), ILLS, PLAIN, 0.9),
    "tagging all tokens": (Tagging("t", ("Chemical",), "bioes", learns="all"), ILLS, PLAIN, 0.7),
    "class of a document": (Classification("t", ("no", "yes")), classes(), HeadSettings(kind="pooled"), 0.9),
    "classes of sentences": (
        Classification("t", ("Chemical", "Disease"), "sentence", several=True),
        sentence_classes(),
        HeadSettings(kind="pooled", settings={"dropout": 0.0}),
        0.9,
    ),
    "class of a pair": (
        Classification("t", ("other", "same"), "pair"),
        pairs(number=False),
        HeadSettings(kind="pair"),
        0.9,
    ),
    "similarity": (Similarity("t"), pairs(number=True), HeadSettings(kind="regression"), 0.7),
    "relations by tags": (Relations("t", ("treats",)), relations(), PLAIN, 0.9),
    "relations by markers": (Relations("t", ("treats",), "markers"), relations(), PLAIN, 0.9),
    "relations in one pass": (
        Relations("t", ("treats",), "one-pass"),
        relations(),
        HeadSettings(kind="pair-of-spans"),
        0.9,
    ),
    "answers": (Answers("t"), questions(), HeadSettings(kind="answer", settings={"dropout": 0.0}), 0.9),
    "masked words": (MaskedWords("t"), ILLS, HeadSettings(kind="masked-words"), 0.03),
    "has": (Auxiliary("t", "has", ("Chemical",), of="n"), ILLS, HeadSettings(kind="pooled"), 0.85),
    "number": (Auxiliary("t", "number", ("Chemical",), of="n"), ILLS, HeadSettings(kind="pooled"), 0.6),
    "extent": (Auxiliary("t", "extent", ("Chemical", "Disease"), of="n"), ILLS, PLAIN, 0.8),
    "has-any": (Auxiliary("t", "has-any", ("Chemical",), of="n"), ILLS, HeadSettings(kind="pooled"), 0.8),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("limit", [small.LIMIT, 24])
def test_a_task_keeps_what_tasks_promise(name: str, limit: int) -> None:
    task, documents, _, _ = CASES[name]
    check_task(task, documents, tiny.tokenizer(), limit=limit)


@pytest.mark.parametrize("name", CASES)
def test_a_task_is_learned(tmp_path: Path, name: str) -> None:
    task, documents, head, least = CASES[name]
    network = small.model([task], {"t": head})
    made = small.examples([task], {"t": documents})
    loop.train(
        small.run(
            tmp_path, network, small.plan("single", [task]), made, epochs=14, learning_rate=5e-3, batch_tokens=200
        )
    )
    (scores,) = evaluate(small.annotator(network, [task]), [task], {"t": documents}).values()
    assert scores.value >= least, scores


def test_relations_between_the_mentions_that_the_same_pass_found(tmp_path: Path) -> None:
    tasks: list[Any] = [Tagging("ner", ("Chemical", "Disease")), Relations("re", ("treats",), "one-pass")]
    documents = relations()
    network = small.model(tasks, {"re": HeadSettings(kind="pair-of-spans")})
    made = small.examples(tasks, {"ner": documents, "re": documents})
    loop.train(
        small.run(
            tmp_path, network, small.plan("one-task", tasks), made, epochs=20, learning_rate=5e-3, batch_tokens=200
        )
    )
    passes: list[int] = []
    network.encoder.register_forward_hook(lambda *_: passes.append(1))
    annotator = small.annotator(network, tasks)
    bare = [Document(one.id, one.text) for one in documents]
    tagged = list(annotator.annotate(bare, tasks=["entities"]))
    alone = len(passes)
    found = list(annotator.annotate(bare))
    assert len(passes) == 2 * alone
    assert tasks[1].evaluate(documents, found).value > 0.9
    again = list(annotator.answer(tagged))
    assert len(passes) > 2 * alone
    for one, other in zip(found, again, strict=True):
        assert [(link.type, link.arguments) for link in one.relations] == [
            (link.type, link.arguments) for link in other.relations
        ]
        assert [link.score for link in one.relations] == pytest.approx(
            [link.score for link in other.relations], abs=1e-4
        )
