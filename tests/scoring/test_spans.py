"""Span scores: what each matching counts, and what holds for any documents."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scoring.strategies import TEXT, pairs

from biomux.document import Document, Range, Span
from biomux.errors import UsageError
from biomux.scoring.counts import Counts
from biomux.scoring.spans import MATCHINGS, SpanScores, score, score_each

COUNTED = [name for name in MATCHINGS if name != "semeval"]


def tokens(text: str) -> list[Range]:
    """Tokens of three characters."""
    return [(start, min(start + 3, len(text))) for start in range(0, len(text), 3)]


def scored(gold: tuple[Span, ...], predicted: tuple[Span, ...], **options: object) -> SpanScores:
    return score([(Document("1", TEXT, spans=gold), Document("1", TEXT, spans=predicted))], **options)  # type: ignore[arg-type]


def f1s(gold: Span, predicted: Span) -> dict[str, float]:
    scores = scored((gold,), (predicted,))
    return {name: table.f1 for name, table in scores.tables.items()}


def test_each_matching_forgives_what_it_says() -> None:
    gold = Span(0, 7, "chemical")
    assert f1s(gold, Span(0, 7, "chemical")) == {"strict": 1, "boundary": 1, "type": 1, "overlap": 1, "word": 1}
    assert f1s(gold, Span(0, 7, "gene")) == {"strict": 0, "boundary": 1, "type": 0, "overlap": 1, "word": 0}
    assert f1s(gold, Span(0, 11, "chemical")) == {"strict": 0, "boundary": 0, "type": 1, "overlap": 1, "word": 0}
    assert f1s(gold, Span(2, 11, "gene")) == {"strict": 0, "boundary": 0, "type": 0, "overlap": 1, "word": 0}
    assert f1s(gold, Span(2, 5, "chemical")) == {"strict": 0, "boundary": 0, "type": 1, "overlap": 1, "word": 1}
    assert f1s(gold, Span(7, 11, "chemical")) == {"strict": 0, "boundary": 0, "type": 0, "overlap": 0, "word": 0}


def test_every_fragment_counts_and_a_gap_is_no_overlap() -> None:
    gold = Span(0, 16, "gene", fragments=((0, 7), (12, 16)))
    assert f1s(gold, Span(0, 16, "gene"))["strict"] == 0
    assert f1s(gold, Span(0, 16, "gene", fragments=((0, 7), (12, 16))))["strict"] == 1
    assert f1s(gold, Span(8, 11, "gene"))["overlap"] == 0


def test_fragments_that_touch_are_one() -> None:
    assert f1s(Span(0, 16, "gene", fragments=((0, 7), (7, 16))), Span(0, 16, "gene"))["strict"] == 1


def test_a_span_listed_twice_counts_once() -> None:
    span = Span(0, 7, "chemical")
    again = Span(0, 7, "chemical", score=0.3, head="other", id="T9")
    assert scored((span, span), (span, again))["strict"].micro == Counts(1, 0, 0)


def test_one_prediction_answers_one_gold_span() -> None:
    gold = (Span(0, 7, "gene"), Span(8, 16, "gene"))
    table = scored(gold, (Span(0, 16, "gene"),))["type"]
    assert table.micro == Counts(tp=1, fp=0, fn=1)


def test_pairs_are_as_many_as_can_be() -> None:
    gold = (Span(0, 11, "gene"), Span(12, 16, "gene"))
    predicted = (Span(5, 14, "gene"), Span(0, 3, "gene"))
    assert scored(gold, predicted)["type"].micro == Counts(2, 0, 0)


def test_a_pair_of_other_type_counts_for_the_gold_type() -> None:
    table = scored((Span(0, 7, "chemical"),), (Span(0, 7, "gene"),))["boundary"]
    assert table.types == {"chemical": Counts(1, 0, 0)}


def test_types_known_to_one_side_are_all_missed_or_all_spurious() -> None:
    table = scored((Span(0, 7, "chemical"),), (Span(0, 7, "gene"),))["strict"]
    assert table.types == {"chemical": Counts(fn=1), "gene": Counts(fp=1)}
    assert table.macro.f1 == 0


def test_types_limit_both_sides() -> None:
    gold = (Span(0, 7, "chemical"), Span(12, 16, "gene"))
    assert scored(gold, (Span(12, 16, "gene"), Span(0, 3, "cell")), types={"gene"})["strict"].micro == Counts(1, 0, 0)


def test_nothing_against_nothing_is_zero_and_says_so() -> None:
    for scores in (scored((), ()), score([])):
        micro = scores["strict"].micro
        assert micro.empty
        assert micro.defined == {"precision": False, "recall": False, "f1": False}
        assert (micro.precision, micro.recall, micro.f1, scores["strict"].macro.f1) == (0, 0, 0, 0)
        assert scores.semeval("partial").f1 == 0


def test_empty_gold_has_precision_zero_and_no_recall() -> None:
    micro = scored((), (Span(0, 7, "gene"),))["strict"].micro
    assert micro == Counts(fp=1)
    assert micro.defined == {"precision": True, "recall": False, "f1": True}


@given(pairs())
@settings(deadline=None, max_examples=30)
def test_one_side_empty_or_of_unknown_types_is_all_missed_or_all_spurious(
    made: list[tuple[Document, Document]],
) -> None:
    bare = [(Document(gold.id, gold.text), predicted) for gold, predicted in made]
    foreign = [
        (gold, Document(gold.id, gold.text, spans=tuple(replace(span, type="unheard") for span in gold.spans)))
        for gold, _ in made
    ]
    for name in COUNTED:
        for empty_gold, sides in ((True, bare), (False, [(right, left) for left, right in bare])):
            micro = score(sides, tokens=tokens)[name].micro
            assert (micro.tp, micro.gold if empty_gold else micro.predicted) == (0, 0)
            assert (micro.precision, micro.recall, micro.f1) == (0, 0, 0)
        table = score(foreign, tokens=tokens)[name]
        if name in {"boundary", "overlap"}:
            assert "unheard" not in {type_ for type_, counts in table.types.items() if not counts.predicted}
        else:
            assert table.micro.tp == 0
            assert {type_ for type_, counts in table.types.items() if counts.predicted} == (
                {"unheard"} if any(gold.spans for gold, _ in made) else set()
            )
            assert {type_ for type_, counts in table.types.items() if counts.gold} == {
                span.type for gold, _ in made for span in gold.spans
            }


def test_words_are_the_document_s_tokens_where_it_has_them() -> None:
    gold = Document("1", "IL-2 up", tokens=((0, 4), (5, 7)), spans=(Span(0, 4, "gene"),))
    predicted = Document("1", "IL-2 up", spans=(Span(0, 2, "gene"),))
    assert score([(gold, predicted)])["word"].f1 == 1
    untokenised = Document("1", "IL-2 up", spans=gold.spans)
    assert score([(untokenised, predicted)])["word"].f1 == 0


def test_a_span_on_no_word_is_still_counted() -> None:
    gold = Document("1", "a b", tokens=((0, 1),), spans=(Span(2, 3, "gene"),))
    assert score([(gold, Document("1", "a b"))])["word"].micro == Counts(fn=1)
    assert score([(gold, gold)])["word"].micro == Counts(tp=1)


def test_tokens_of_the_first_word_each_make_a_chunk() -> None:
    text = "abcdefgh ij"
    gold = Document("1", text, spans=(Span(0, 11, "gene"),))
    predicted = Document("1", text, spans=(Span(0, 8, "gene"),))
    cut = [(0, 3), (3, 6), (6, 8), (9, 11)]
    assert score([(gold, predicted)], tokens=lambda _: cut)["subword"].micro == Counts(tp=2, fp=1, fn=1)


def test_a_span_without_tokens_is_still_counted() -> None:
    document = Document("1", "☃ x", spans=(Span(0, 1, "gene"),))
    assert score([(document, document)], tokens=lambda _: [(2, 3)])["subword"].micro == Counts(tp=1)


def test_semeval_reads_one_alignment_in_four_ways() -> None:
    gold = (Span(0, 7, "chemical"), Span(12, 16, "gene"), Span(21, 30, "gene"), Span(41, 50, "cell"))
    predicted = (Span(0, 7, "chemical"), Span(12, 16, "chemical"), Span(21, 24, "gene"), Span(54, 56, "cell"))
    scores = scored(gold, predicted)
    got = {name: scores.semeval(name) for name in ("strict", "exact", "partial", "type")}
    assert {name: (f.correct, f.incorrect, f.partial, f.missed, f.spurious) for name, f in got.items()} == {
        "strict": (1, 2, 0, 1, 1),
        "exact": (2, 1, 0, 1, 1),
        "partial": (2, 0, 1, 1, 1),
        "type": (2, 1, 0, 1, 1),
    }
    assert got["partial"].f1 == 2.5 / 4


def test_an_unknown_matching_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="unknown matching 'fuzzy'"):
        score([], matchings=["fuzzy"])
    with pytest.raises(UsageError, match="cannot score 'subword' without tokens"):
        score([], matchings=["subword"])
    with pytest.raises(UsageError, match="not scored with matching 'word'"):
        score([], matchings=["strict"])["word"]


@given(pairs(), st.randoms(use_true_random=False), st.integers(0, 6))
@settings(deadline=None, max_examples=40)
def test_order_and_shards_do_not_matter(made: list[tuple[Document, Document]], random: object, cut: int) -> None:
    whole = score(made, tokens=tokens)
    assert score(made[:cut], tokens=tokens) + score(made[cut:], tokens=tokens) == whole
    assert sum((scores for _, scores in score_each(made, tokens=tokens)), score([], tokens=tokens)) == whole
    shuffled = list(made)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert score(shuffled, tokens=tokens) == whole


@given(pairs(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_order_of_spans_does_not_matter(made: list[tuple[Document, Document]], random: object) -> None:
    turned = []
    for gold, predicted in made:
        order = list(predicted.spans)
        random.shuffle(order)  # type: ignore[attr-defined]
        turned.append((gold, Document(predicted.id, predicted.text, spans=tuple(order))))
    assert score(turned, tokens=tokens) == score(made, tokens=tokens)


@given(pairs())
@settings(deadline=None, max_examples=40)
def test_gold_against_itself_is_perfect(made: list[tuple[Document, Document]]) -> None:
    scores = score([(gold, gold) for gold, _ in made], tokens=tokens)
    some = any(gold.spans for gold, _ in made)
    for name in COUNTED:
        micro = scores[name].micro
        assert (micro.fp, micro.fn) == (0, 0)
        assert micro.f1 == scores[name].macro.f1 == (1.0 if some else 0.0)
    assert all(scores.semeval(name).f1 == (1.0 if some else 0.0) for name in ("strict", "exact", "partial", "type"))


def swapped(counts: Counts) -> Counts:
    return Counts(counts.tp, counts.fn, counts.fp)


@given(pairs())
@settings(deadline=None, max_examples=40)
def test_exchanging_sides_exchanges_precision_and_recall(made: list[tuple[Document, Document]]) -> None:
    there = score(made, tokens=tokens)
    back = score([(predicted, gold) for gold, predicted in made], tokens=tokens)
    for name in COUNTED:
        assert swapped(there[name].micro) == back[name].micro
    for name in ("strict", "type", "word", "subword"):
        assert {type_: swapped(counts) for type_, counts in there[name].types.items()} == back[name].types


@given(pairs())
@settings(deadline=None, max_examples=40)
def test_lenient_is_never_below_strict(made: list[tuple[Document, Document]]) -> None:
    scores = score(made)
    right = {name: table.micro.tp for name, table in scores.tables.items()}
    assert right["strict"] <= right["boundary"] <= right["overlap"]
    assert right["strict"] <= right["type"] <= right["overlap"]
    assert {scores[name].micro.gold for name in ("strict", "boundary", "type", "overlap")} == {
        scores["strict"].micro.gold
    }
    semeval = {name: scores.semeval(name) for name in ("strict", "exact", "partial", "type")}
    assert semeval["strict"].correct == right["strict"]
    assert semeval["exact"].correct == right["boundary"]
    assert semeval["strict"].f1 <= semeval["exact"].f1 <= semeval["partial"].f1 + 1e-12


@given(pairs())
@settings(deadline=None, max_examples=40)
def test_scores_become_json(made: list[tuple[Document, Document]]) -> None:
    scores = score(made)
    rows = scores.to_json()
    assert rows["documents"] == len(made)
    assert rows["matchings"]["strict"]["micro"]["f1"] == scores["strict"].f1


def test_errors_need_two_documents() -> None:
    assert math.isnan(scored((Span(0, 7, "gene"),), ())["strict"].errors.f1)


def test_scores_of_nothing_are_of_no_documents() -> None:
    assert SpanScores().documents == 0
