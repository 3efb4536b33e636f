"""Tagging: words in tokens, long sentences, mentions that cannot be expressed."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Document, Span
from biomux.errors import TrainingError
from biomux.tasks import restored
from biomux.tasks.best_tags import BAN, best_sequence, search, transitions
from biomux.tasks.crf_decoding import Chained
from biomux.tasks.examples import MASKED, make
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import Tagging
from biomux.tasks.text_inputs import sentence_ranges
from biomux.tasks.word_spans import decoded
from biomux.text import tokens as text_tokens

TASK = Tagging("ner", ("X", "Y"))


def one_sentence(text: str, *spans: Span) -> Document:
    return Document("1", text, sentences=((0, len(text)),), spans=spans)


def test_a_word_in_tokens_is_labelled_at_its_first() -> None:
    (example,) = make(TASK, [one_sentence("zolosis given", Span(0, 7, "Y"))], tiny.tokenizer(), limit=40).examples
    assert example.tokens.first.tolist() == [0, 4]
    assert example.labels["ner"].unit == "word"
    assert example.labels["ner"].values.tolist() == [3, 0]


def test_all_tokens_of_a_word_have_its_label_on_request() -> None:
    task = Tagging("ner", ("X", "Y"), learns="all")
    (example,) = make(task, [one_sentence("zolosis given", Span(0, 7, "Y"))], tiny.tokenizer(), limit=40).examples
    assert example.labels["ner"].unit == "token"
    assert example.labels["ner"].values.tolist() == [3, 3, 3, 3, 0]


def test_each_word_of_a_long_sentence_is_learned_once() -> None:
    text = " ".join(tiny.WORDS)
    made = make(TASK, [one_sentence(text, Span(0, 3, "X"))], tiny.tokenizer(), limit=10)
    assert all(len(example.tokens) <= 10 for example in made.examples)
    places = [
        int(start)
        for example in made.examples
        for start, label in zip(example.tokens.starts, example.labels["ner"].values, strict=True)
        if label != MASKED
    ]
    assert sorted(places) == [match for match in range(len(text)) if match == 0 or text[match - 1] == " "]
    assert made.counts["windows of long sentences"] == len(made.examples)


@pytest.mark.parametrize(("limit", "windows"), [(12, 1), (11, 1), (10, 1), (9, 2)])
def test_a_sentence_as_long_as_the_limit_is_not_a_long_one(limit: int, windows: int) -> None:
    text = " ".join(tiny.WORDS[:10])
    made = make(TASK, [one_sentence(text)], tiny.tokenizer(), limit=limit)
    assert len(made.examples) == windows
    assert made.counts["windows of long sentences"] == (windows if windows > 1 else 0)
    assert sum(int((example.labels["ner"].values != MASKED).sum()) for example in made.examples) == 10


def test_what_cannot_be_expressed_is_counted() -> None:
    document = Document(
        "1",
        "the liver dose. high fever",
        sentences=((0, 15), (16, 26)),
        spans=(
            Span(4, 14, "X"),
            Span(4, 9, "Y"),  # within the one before
            Span(10, 20, "X"),  # over a sentence's end
            Span(22, 25, "Y"),  # within a word
        ),
    )
    counts = make(TASK, [document], tiny.tokenizer(), limit=40).counts
    assert counts["mentions"] == 4
    assert counts["mentions overlaps a longer one"] >= 1
    assert counts["mentions cut by a sentence end"] == 1
    assert counts["mentions widened to whole words"] >= 1


def test_sentences_of_many_words_are_split_as_in_paper_b() -> None:
    text = " ".join(["dose"] * 70)
    ranges = sentence_ranges(Document("1", text), 30)
    assert [len(text[start:end].split()) for start, end in ranges] == [30, 30, 10]
    made = make(
        Tagging("ner", ("X",), longest=30),
        [one_sentence(text, Span(29 * 5, 30 * 5 + 4, "X"))],
        tiny.tokenizer(),
        limit=100,
    )
    assert made.counts["sentences"] == 3
    assert made.counts["mentions cut by a sentence end"] == 1


@given(st.integers(1, 90), st.integers(1, 40))
def test_splitting_loses_no_word(words: int, longest: int) -> None:
    text = tiny.text(words, seed=words)
    ranges = sentence_ranges(Document("1", text), longest)
    assert "".join(text[start:end].replace(" ", "") for start, end in ranges) == text.replace(" ", "")


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
@given(data=st.data())
def test_what_is_encoded_is_decoded(scheme: str, data: st.DataObject) -> None:
    words = data.draw(st.lists(st.sampled_from(tiny.WORDS), min_size=1, max_size=15))
    text = " ".join(words)
    starts = [sum(len(word) + 1 for word in words[:at]) for at in range(len(words))]
    spans, at = [], 0
    while at < len(words):
        size = data.draw(st.integers(0, 3))
        if size and at + size <= len(words):
            spans.append(
                Span(starts[at], starts[at + size - 1] + len(words[at + size - 1]), data.draw(st.sampled_from("XY")))
            )
        at += max(1, size)
    task = Tagging("ner", ("X", "Y"), scheme)  # type: ignore[arg-type]
    (example,) = make(task, [one_sentence(text, *spans)], tiny.tokenizer(), limit=200).examples
    rows = np.eye(len(task.labels), dtype=np.float32)[example.labels["ner"].values]
    found = task.entities(5 * rows, example.tokens, text)
    assert [(span.start, span.end, span.type) for span in found] == [
        (span.start, span.end, span.type) for span in spans
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [("growth ( level", ["growth"]), ("growth ) level", ["growth"]), ("( growth", ["growth"]), ("-", []), ("( )", [])],
)
@pytest.mark.parametrize("kind", [Tagging, Chained])
def test_no_entity_has_a_bracket_without_its_partner_or_no_letter(
    kind: type[Tagging], words: str, expected: list[str]
) -> None:
    task, text = kind("ner", ("X",)), f"the {words} of"
    tokens = text_tokens.split(tiny.tokenizer(), text, [(0, len(text))])[0]
    tags = [0, 1, *[2] * (len(words.split()) - 1), 0]
    found = task.entities(5 * np.eye(3, dtype=np.float32)[tags], tokens, text)
    assert [text[span.start : span.end] for span in found] == expected


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
@given(seed=st.integers(0, 10_000))
def test_the_best_sequence_is_that_of_brute_force(scheme: str, seed: int) -> None:
    from itertools import pairwise, product

    labels = 5
    chance_of = np.random.default_rng(seed)
    rows = chance_of.dirichlet(np.full(labels, chance_of.choice([0.1, 1.0])), size=5).astype(np.float32)
    allowed, start, stop = transitions(labels, scheme)

    def valid(tags: tuple[int, ...]) -> bool:
        inner = all(allowed[left, right] for left, right in pairwise(tags))
        return bool(start[tags[0]] and stop[tags[-1]] and inner)

    def chance(tags: tuple[int, ...]) -> float:
        return float(np.prod([rows[at, tag] for at, tag in enumerate(tags)]))

    best = max((tags for tags in product(range(labels), repeat=5) if valid(tags)), key=chance)
    found = tuple(best_sequence(rows, scheme).tolist())
    assert valid(found)
    assert chance(found) == pytest.approx(chance(best), rel=1e-4)


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
@given(seed=st.integers(0, 10_000))
def test_the_search_around_faults_finds_what_a_search_of_all_words_finds(scheme: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    task = Tagging("", tuple("WXYZ"[: chance.integers(1, 5)]), scheme)  # type: ignore[arg-type]
    labels = len(task.labels)
    rows = chance.dirichlet(np.full(labels, chance.choice([0.2, 1.0, 5.0])), size=chance.integers(1, 40))
    between, first, last = (np.where(part, np.float32(0), BAN) for part in transitions(labels, scheme))
    scores = np.log(np.maximum(rows.astype(np.float32), 1e-30))
    wanted = search(scores, between=between, first=first, last=last)
    found = best_sequence(rows.astype(np.float32), scheme)
    places = np.arange(len(rows))
    assert scores[places, found].sum() == pytest.approx(scores[places, wanted].sum(), rel=1e-5, abs=1e-5)
    again = search(100 * np.eye(labels, dtype=np.float32)[found], between=between, first=first, last=last)
    assert again.tolist() == found.tolist()  # it is a valid sequence


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
@given(seed=st.integers(0, 10_000))
def test_rows_decoded_together_are_those_decoded_alone(scheme: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    task = Tagging("ner", ("X", "Y"), scheme)  # type: ignore[arg-type]
    words = chance.integers(0, 6, size=chance.integers(1, 8))
    logits = chance.normal(scale=2, size=(int(words.sum()), len(task.labels))).astype(np.float32)
    logits[:, 0] += 1
    together = task.word_spans(logits, words)
    for row, end in enumerate(np.cumsum(words).tolist()):
        own = logits[end - int(words[row]) : end]
        assert together.get(row, []) == (task.word_spans(own, words[row : row + 1]).get(0, []) if len(own) else [])
        tags = best_sequence(softmax(own), scheme).tolist() if len(own) else []
        covered = {at for begin, stop, _, _ in together.get(row, []) for at in range(begin, stop)}
        assert covered == {at for at, tag in enumerate(tags) if tag}
        for begin, stop, type_, score in together.get(row, []):
            assert type_ == task.labels[tags[begin]][2:]
            assert score == min(softmax(own)[at, tags[at]] for at in range(begin, stop))


@given(seed=st.integers(0, 10_000))
def test_heads_decoded_together_are_those_decoded_alone(seed: int) -> None:
    chance = np.random.default_rng(seed)
    words = chance.integers(0, 6, size=chance.integers(1, 8))
    tasks = [
        Tagging(f"head{place}", tuple("UVWXYZ"[: chance.integers(1, 7)]), scheme)
        for place, scheme in enumerate(chance.choice(["bio", "bioes"], 5))
    ]
    logits = [chance.normal(scale=2, size=(int(words.sum()), len(task.labels))).astype(np.float32) for task in tasks]
    alone = [task.word_spans(rows, words) for task, rows in zip(tasks, logits, strict=True)]
    assert decoded(tasks, logits, words) == alone


def test_a_task_is_restored_from_what_was_written_down() -> None:
    import json
    from dataclasses import asdict

    for task in (TASK, Tagging("x", ("A",), "bioes", learns="all", longest=30)):
        assert restored(json.loads(json.dumps(asdict(task)))) == task


def test_documents_without_mentions_make_no_task() -> None:
    with pytest.raises(TrainingError, match="BX404"):
        Tagging.of_documents("x", [Document("1", "no mention")])


def test_searches_around_neighbouring_faults_are_joined() -> None:
    for seed in range(100):
        chance = np.random.default_rng(seed)
        rows = chance.dirichlet(np.ones(5), size=80).astype(np.float32)
        between, first, last = (np.where(part, np.float32(0), BAN) for part in transitions(5, "bioes"))
        wanted = search(np.log(np.maximum(rows, 1e-30)), between=between, first=first, last=last)
        assert best_sequence(rows, "bioes").tolist() == wanted.tolist()


def test_of_a_row_that_reads_more_than_its_part_the_mentions_that_begin_in_the_part_are_taken() -> None:
    text = "aspirin given after fever"
    tokens = text_tokens.split(tiny.tokenizer(), text, [(0, len(text))])[0]
    words = [(at, at + 1, "X", 0.5) for at in range(4)]
    assert [span.start for span in TASK.placed(text, tokens, (8, 20), words)] == [8, 14]
    assert [span.start for span in TASK.placed(text, tokens, (0, 25), words)] == [0, 8, 14, 20]
