"""Which rule merges several heads into a plain type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import stub

from biomux.document import Document, Span
from biomux.engine.type_merging import Merge, parse
from biomux.errors import RecipeError
from biomux.tasks.crf_decoding import Chained
from biomux.tasks.tagging import Tagging
from biomux.training import merge_rule_choice

TEXT = "TP53 and aspirin and MDM2 and water"
SOURCES = (("one", "Gene"), ("two", "protein"))


def gold(type_: str, *mentions: str) -> Document:
    spans = tuple(Span(TEXT.index(mention), TEXT.index(mention) + len(mention), type_) for mention in mentions)
    return Document("1", TEXT, spans=spans)


def said(**by_head: list[str]) -> Document:
    types = dict(SOURCES)
    spans = tuple(
        replace(span, head=head, score=0.9)
        for head, mentions in by_head.items()
        for span in gold(types[head], *mentions).spans
    )
    return Document("1", TEXT, spans=spans)


def test_agreement_wins_where_each_head_errs_on_its_own() -> None:
    answer = said(one=["TP53", "MDM2", "aspirin"], two=["TP53", "MDM2", "water"])
    development = {"one": [(gold("Gene", "TP53", "MDM2"), answer)], "two": [(gold("protein", "TP53", "MDM2"), answer)]}
    chosen = merge_rule_choice.choose("gene", SOURCES, development)
    assert chosen.merge.rule == "vote:2"
    assert chosen.mean("vote:2") == 1.0
    assert chosen.mean("union") == pytest.approx(2 / 3)


def test_union_wins_where_each_head_misses_something() -> None:
    answer = said(one=["TP53"], two=["MDM2"])
    development = {"one": [(gold("Gene", "TP53", "MDM2"), answer)], "two": [(gold("protein", "TP53", "MDM2"), answer)]}
    assert merge_rule_choice.choose("gene", SOURCES, development).merge.rule == "union"


def test_one_head_alone_wins_over_rules_that_are_no_better_and_is_listed_first() -> None:
    answer = said(one=["aspirin"], two=["TP53", "MDM2"])
    development = {"one": [(gold("Gene", "TP53", "MDM2"), answer)], "two": [(gold("protein", "TP53", "MDM2"), answer)]}
    chosen = merge_rule_choice.choose("gene", SOURCES, development).merge
    assert (chosen.rule, chosen.used) == ("primary", (("two", "protein"),))


def test_every_candidate_is_measured_on_every_corpus() -> None:
    answer = said(one=["TP53"], two=["TP53"])
    development = {"one": [(gold("Gene", "TP53"), answer)], "two": [(gold("protein", "TP53"), answer)]}
    table = merge_rule_choice.choose("gene", SOURCES, development).table
    assert {label: sorted(row) for label, row in table.items()} == {
        label: ["one", "two"] for label in ("one alone", "two alone", "union", "vote:2")
    }


def test_a_source_that_no_head_has_is_told_with_its_place() -> None:
    with pytest.raises(RecipeError, match=r"BX305: types → gene: unknown source 'one/Gen'"):
        merge_rule_choice._sources("gene", ["one/Gen"], [Tagging("one", ("Gene",))])


def test_the_average_wins_where_heads_draw_boundaries_differently() -> None:
    answer = said(one=["aspirin and MDM2"], two=["MDM2"])
    mean = Merge("gene", SOURCES, "mean", outside=0.7)
    averaged = replace(gold("gene", "MDM2", "TP53").spans[0], head=mean.used[0][0], score=0.8)
    answer = replace(answer, spans=(*answer.spans, averaged, *(replace(averaged, start=0, end=4),)))
    development = {"one": [(gold("Gene", "TP53", "MDM2"), answer)], "two": [(gold("protein", "TP53", "MDM2"), answer)]}
    chosen = merge_rule_choice.choose("gene", SOURCES, development, means=[mean])
    assert chosen.merge.rule == "mean"
    assert chosen.mean("mean, outside 0.7") == 1.0
    entry = merge_rule_choice.to_json({"gene": chosen})["gene"]
    assert (entry["rule"], entry["outside"]) == ("mean", 0.7)
    assert parse({"gene": entry}, SOURCES)["gene"] == chosen.merge


def test_averages_are_tried_of_several_plain_heads_only() -> None:
    one, two = Tagging("one", ("Gene",)), Tagging("two", ("protein",))
    tried = merge_rule_choice._means("gene", SOURCES, (one, two))
    assert [rule.outside for rule in tried] == list(merge_rule_choice.OUTSIDE)
    assert not list(merge_rule_choice._means("gene", SOURCES[:1], (one, two)))
    assert not list(merge_rule_choice._means("gene", SOURCES, (one, Chained("two", ("protein",)))))
    assert not list(merge_rule_choice._means("gene", SOURCES, (one, replace(two, longest=30))))


def test_all_candidates_are_measured_in_one_pass_over_the_documents() -> None:
    model = replace(stub.annotator(), tasks=(stub.TASK, replace(stub.TASK, name="again")))
    session = model.session
    model = replace(model, session=_Twice(session))
    document = Document("1", "Aspirin and fever.", spans=(Span(0, 7, "Chemical"),))
    chosen = merge_rule_choice.choose_all(
        model, {"rule": [document], "again": [document]}, {"chemical": ["rule/Chemical", "again/Chemical"]}
    )
    assert set(chosen["chemical"].table) >= {"rule alone", "union", "vote:2", "mean", "mean, outside 0.5"}
    assert chosen["chemical"].mean("mean") == 1.0
    assert len(session.batches) == 2  # type: ignore[attr-defined]


class _Twice:
    """A session with two heads that say the same."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, batch: Any) -> Any:
        said = self._session.run(batch)
        return {**said, "again": said["rule"]}
