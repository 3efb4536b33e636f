"""Classes of mistakes: each as named, and every wrong span in exactly one."""

from __future__ import annotations

import random

from hypothesis import given, settings
from scoring.strategies import TEXT, pairs

from biomux.document import Document, Span
from biomux.scoring.error_analysis import MARGIN, MistakeTable, mistakes, tally
from biomux.scoring.spans import score


def kinds(gold: tuple[Span, ...], predicted: tuple[Span, ...]) -> list[str]:
    found = mistakes(Document("1", TEXT, spans=gold), Document("1", TEXT, spans=predicted))
    return [mistake.kind for mistake in found]


def test_each_class_is_what_it_says() -> None:
    gene = Span(12, 16, "gene")
    assert kinds((gene,), (gene,)) == []
    assert kinds((gene,), (Span(12, 16, "cell"),)) == ["type"]
    assert kinds((gene,), (Span(12, 20, "gene"),)) == ["boundary"]
    assert kinds((gene,), (Span(12, 20, "cell"),)) == ["boundary+type"]
    assert kinds((gene,), ()) == ["missed"]
    assert kinds((), (gene,)) == ["spurious"]
    assert kinds((gene,), (Span(12, 14, "gene"), Span(15, 16, "gene"))) == ["split"]
    assert kinds((Span(0, 7, "gene"), gene), (Span(0, 16, "gene"),)) == ["merged"]


def test_parts_of_other_types_are_not_a_split() -> None:
    assert kinds((Span(12, 16, "gene"),), (Span(12, 14, "gene"), Span(15, 16, "cell"))) == ["boundary", "spurious"]


def test_nested_gold_spans_are_not_merged() -> None:
    assert kinds((Span(0, 16, "gene"), Span(0, 7, "gene")), (Span(0, 11, "gene"),)) == ["boundary", "missed"]


def test_a_right_span_explains_nothing_else() -> None:
    gene = Span(12, 16, "gene")
    assert kinds((gene,), (gene, Span(12, 20, "gene"))) == ["spurious"]


def test_an_example_can_be_shown() -> None:
    text = "x" * 100 + "IL-2" + "y" * 100
    found = mistakes(Document("7", text, spans=(Span(100, 104, "gene"),)), Document("7", text))[0]
    assert (found.document, found.offset) == ("7", 100 - MARGIN)
    span = found.gold[0]
    assert found.context[span.start - found.offset : span.end - found.offset] == "IL-2"
    assert found.to_json()["gold"] == [{"ranges": [[100, 104]], "type": "gene"}]


@given(pairs())
@settings(deadline=None, max_examples=40)
def test_every_wrong_span_is_in_one_mistake(made: list[tuple[Document, Document]]) -> None:
    strict = score(made, matchings=["strict"])["strict"].micro
    found = [mistake for gold, predicted in made for mistake in mistakes(gold, predicted)]
    assert sum(len(mistake.gold) for mistake in found) == strict.fn
    assert sum(len(mistake.predicted) for mistake in found) == strict.fp
    assert len({(m.document, s.ranges, s.type) for m in found for s in m.gold}) == strict.fn


@given(pairs())
@settings(deadline=None, max_examples=40)
def test_shards_and_order_do_not_matter(made: list[tuple[Document, Document]]) -> None:
    whole = tally(made, examples=2)
    parts = sum((tally([pair], examples=2) for pair in reversed(made)), MistakeTable(limit=2))
    assert parts.counts == whole.counts
    assert parts.examples == whole.examples


def test_examples_are_few_however_many_mistakes() -> None:
    gold = Document("0", TEXT, spans=(Span(0, 7, "gene"),))
    many = [(Document(str(number), TEXT, spans=gold.spans), Document(str(number), TEXT)) for number in range(500)]
    table = tally(many)
    random.Random(0).shuffle(many)
    assert table.of("missed") == table.counts["missed", "gene", ""] == 500
    assert len(table.examples["missed"]) == 5
    assert tally(many).examples == table.examples
