"""Auxiliary labels against a literal reading of paper D, and paper A's has-any."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tiny

from biomux.document import Document, Passage, Span
from biomux.errors import RecipeError
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.examples import MASKED, make
from biomux.tasks.tagging import Tagging


def sentences(number: int) -> list[Document]:
    """Documents of one sentence each, with mentions of one to four words that do not overlap."""
    chance = random.Random(7)
    made = []
    for index in range(number):
        words = [chance.choice(tiny.WORDS) for _ in range(chance.randint(1, 20))]
        starts = [sum(len(word) + 1 for word in words[:at]) for at in range(len(words))]
        spans, at = [], 0
        while at < len(words):
            size = chance.randint(1, 4)
            if chance.random() < 0.2 and at + size <= len(words):
                spans.append(Span(starts[at], starts[at + size - 1] + len(words[at + size - 1]), chance.choice("XY")))
                at += size
            at += 1
        text = " ".join(words)
        made.append(Document(str(index), text, sentences=((0, len(text)),), spans=tuple(spans)))
    return made


DOCUMENTS = sentences(1000)


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_labels_are_a_literal_reading_of_paper_d(scheme: str) -> None:
    """bCLS: contains an entity. mCLS: 0, 1, 2, more. mtCLS: in a multi-token entity, in a single-token one, neither."""
    tasks = {
        which: Auxiliary(which, which, ("X", "Y"), of="ner", scheme=scheme)  # type: ignore[arg-type]
        for which in ("has", "number", "extent")
    }
    for document in DOCUMENTS:
        entities = [document.text[span.start : span.end].split(" ") for span in document.spans]
        wanted_has = "yes" if entities else "no"
        wanted_number = ["0", "1", "2", "more"][min(3, len(entities))]
        wanted_extent = []
        at = 0
        for word in document.text.split(" "):
            inside = [span for span in document.spans if span.start <= at < span.end]
            if not inside:
                wanted_extent.append("outside")
            elif len(document.text[inside[0].start : inside[0].end].split(" ")) > 1:
                wanted_extent.append("several words")
            else:
                wanted_extent.append("one word")
            at += len(word) + 1
        told = {}
        for which, task in tasks.items():
            (example,) = make(task, [document], tiny.tokenizer(), limit=128).examples
            told[which] = [task.labels[value] for value in example.labels[which].values]
        assert told == {"has": [wanted_has], "number": [wanted_number], "extent": wanted_extent}


def test_a_window_is_labelled_by_what_stands_in_it() -> None:
    document = next(one for one in DOCUMENTS if len(one.spans) >= 3)
    tagger = Tagging("ner", ("X", "Y"))
    task = Auxiliary("number", "number", ("X", "Y"), of="ner")
    made = make(tagger, [document], tiny.tokenizer(), limit=8, also=[task])
    assert made.counts["windows of long sentences"] == len(made.examples) > 1
    begun = 0
    for example in made.examples:
        words = example.tokens
        inside = sum(bool(((words.starts < span.end) & (words.ends > span.start)).any()) for span in document.spans)
        assert example.labels["number"].values.tolist() == [min(3, inside)]
        begun += int((example.labels["ner"].values > 0).sum())
    assert begun == sum(len(document.text[span.start : span.end].split()) for span in document.spans)


def test_the_extent_is_masked_where_the_tags_are() -> None:
    task = Auxiliary("extent", "extent", ("X",), of="ner")
    seen = np.array([1, 2, 0, 1], dtype=np.int32)
    own = np.array([MASKED, 2, 0, MASKED], dtype=np.int32)
    assert task.label(seen, own, "bio").values.tolist() == [MASKED, 1, 0, MASKED]


def test_has_any_reads_paragraphs() -> None:
    text = "The liver. It is high.\nNo dose."
    document = Document(
        "1", text, passages=(Passage(0, 22, "abstract"), Passage(23, 31, "abstract")), spans=(Span(4, 9, "tissue"),)
    )
    task = Auxiliary("any", "has-any", ("tissue",), of="tissue")
    made = make(task, [document], tiny.tokenizer(), limit=60)
    assert [example.labels["any"].values.tolist() for example in made.examples] == [[1], [0]]
    assert [example.source for example in made.examples] == [("1", 0), ("1", 1)]
    assert made.counts["documents"] == 1
    assert [reading.tokens.words for reading in tiny.inputs(task, document, limit=60)] == [7, 3]


def test_has_any_labels_the_very_reading_that_the_tagger_has() -> None:
    """Paper A reads a paragraph once, for its mentions and for whether it has any."""
    text = "The liver. It is high.\nNo dose."
    document = Document(
        "1", text, passages=(Passage(0, 22, "abstract"), Passage(23, 31, "abstract")), spans=(Span(4, 9, "tissue"),)
    )
    tagger, task = Tagging("tissue", ("tissue",), by="passage"), Auxiliary("any", "has-any", ("tissue",), of="tissue")
    assert tagger.reads == task.reads
    made = make(tagger, [document], tiny.tokenizer(), limit=60, also=[task])
    assert [example.labels["any"].values.tolist() for example in made.examples] == [[1], [0]]
    assert [example.labels["tissue"].values.tolist() for example in made.examples] == [[0, 1, 0, 0, 0, 0, 0], [0, 0, 0]]
    by_sentence = Auxiliary("any", "has-any", ("tissue",), of="tissue", by="sentence")
    assert by_sentence.reads == Tagging("tissue", ("tissue",)).reads != tagger.reads
    found = make(by_sentence, [document], tiny.tokenizer(), limit=60).examples
    assert [example.labels["any"].values.tolist() for example in found] == [[1], [0], [0]]


def test_mentions_of_a_passage_are_decoded_where_they_are() -> None:
    text = "The liver. It is high.\nNo dose."
    document = Document("1", text, passages=(Passage(0, 22, "abstract"), Passage(23, 31, "abstract")))
    task = Tagging("x", ("X",), by="passage")
    readings = tiny.inputs(task, document, limit=60)
    logits = [np.zeros((one.tokens.words, 3), dtype=np.float32) for one in readings]
    for rows, word in ((logits[0], 1), (logits[1], 1)):
        rows[:, 0] = 5
        rows[word] = (0, 9, 0)
    found = task.decode(document, readings, logits)
    assert [text[span.start : span.end] for span in found.spans] == ["liver", "dose"]


def test_gold_against_itself_scores_one() -> None:
    for which in ("has", "number", "has-any"):
        task = Auxiliary(which, which, ("X", "Y"), of="ner")
        answers = []
        for document in DOCUMENTS[:50]:
            readings = tiny.inputs(task, document, limit=128)
            (example,) = make(task, [document], tiny.tokenizer(), limit=128).examples
            logits = np.eye(len(task.labels), dtype=np.float32)[example.labels[which].values] * 9
            answers.append(task.decode(task.bare(document), readings, [logits]))
        assert task.evaluate(DOCUMENTS[:50], answers).value == 1.0


def test_extent_of_gold_scores_one_where_no_two_mentions_touch() -> None:
    task = Auxiliary("extent", "extent", ("X", "Y"), of="ner")
    apart = [
        one
        for one in DOCUMENTS[:200]
        if all(left.end + 1 < right.start for left, right in zip(one.spans, one.spans[1:], strict=False))
    ]
    answers = []
    for document in apart:
        (example,) = make(task, [document], tiny.tokenizer(), limit=128).examples
        logits = np.eye(3, dtype=np.float32)[example.labels["extent"].values] * 9
        answers.append(task.decode(task.bare(document), tiny.inputs(task, document, limit=128), [logits]))
    assert task.evaluate(apart, answers).value == 1.0


def test_an_unknown_auxiliary_is_refused() -> None:
    with pytest.raises(RecipeError, match="BX306"):
        Auxiliary.of_documents("x", DOCUMENTS[:1], which="bcls")
