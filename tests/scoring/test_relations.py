"""Relations scored: what makes two the same, and what adds up."""

from __future__ import annotations

import doctest
import json
import math
import random
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.cli import run
from biomux.document import Argument, Document, Relation, Span
from biomux.scoring import relations
from biomux.scoring.relations import links, score
from biomux.scoring.score_sheet import Sheet

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "Aspirin and bexol block COX1 and COX2."
PLACES = {"a": (0, 7, "Chemical"), "b": (12, 17, "Chemical"), "c": (24, 28, "Gene"), "d": (33, 37, "Gene")}


def document(*linked: Relation, id: str = "1", prefix: str = "", shift: int = 0) -> Document:
    """Four mentions; ids may be other ones on each side."""
    spans = tuple(Span(start, end - shift, type_, id=prefix + name) for name, (start, end, type_) in PLACES.items())
    return Document(id, TEXT, spans=spans, relations=linked)


def link(
    type_: str, left: str, right: str, *, roles: tuple[str, str] = ("Arg1", "Arg2"), id: str | None = None
) -> Relation:
    return Relation(type_, (Argument(roles[0], left), Argument(roles[1], right)), id=id)


def f1(gold: Document, predicted: Document, **how: bool) -> tuple[float, float]:
    found = score([(gold, predicted)], **how)  # type: ignore[arg-type]
    return found["strict"].f1, found["undirected"].f1


@pytest.mark.parametrize("module", [relations])
def test_the_examples_run(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_ids_do_not_matter_but_type_and_places_and_their_types_do() -> None:
    gold = document(link("blocks", "a", "c"))
    assert f1(gold, document(link("blocks", "xa", "xc"), prefix="x")) == (1, 1)
    assert f1(gold, document(link("raises", "a", "c"))) == (0, 0)
    assert f1(gold, document(link("blocks", "a", "d"))) == (0, 0)
    assert f1(gold, document(link("blocks", "a", "c"), shift=1)) == (0, 0)
    other = Document(
        "1", TEXT, spans=(Span(0, 7, "Drug", id="a"), Span(24, 28, "Gene", id="c")), relations=gold.relations
    )
    assert f1(gold, other) == (0, 0)


def test_a_relation_listed_twice_counts_once() -> None:
    gold = document(link("blocks", "a", "c"), link("blocks", "a", "c"))
    assert score([(gold, gold)])["strict"].micro.tp == 1


def test_direction_counts_where_roles_are_named_and_numbers_where_that_is_asked_for() -> None:
    named = document(link("blocks", "a", "c", roles=("Agent", "Target")))
    turned = document(link("blocks", "c", "a", roles=("Agent", "Target")))
    assert f1(named, turned) == (0, 1)
    numbered, other = document(link("blocks", "a", "c")), document(link("blocks", "c", "a", roles=("e1", "e2")))
    assert f1(numbered, other) == (1, 1)
    assert f1(numbered, document(link("blocks", "c", "a")), directed=True) == (0, 1)


def test_arguments_that_are_concepts_or_relations() -> None:
    concept = Relation("treats", (Argument("arg1", "mesh:D1", "concept"), Argument("arg2", "mesh:D2", "concept")))
    assert f1(document(concept), document(concept)) == (1, 1)

    def event(target: str) -> Document:
        inner = link("binds", "a", target, id="E1")
        return document(inner, Relation("causes", (Argument("Cause", "E1", "relation"),), id="E2"))

    found = score([(event("c"), event("d"))])["strict"].types
    assert (found["causes"].tp, found["binds"].tp) == (0, 0)
    assert f1(event("c"), event("c")) == (1, 1)


def test_a_ring_of_relations_ends() -> None:
    ring = tuple(
        Relation("r", tuple(Argument("Of", f"R{other}", "relation") for other in range(20)), id=f"R{number}")
        for number in range(20)
    )
    assert len(links(document(*ring))) == 1


def test_negative_types_are_not_counted_and_empty_sides_are_zero() -> None:
    gold = document(link("none", "a", "c"), link("blocks", "a", "d"))
    table = score([(gold, document(link("none", "a", "c")))], negative=("none",))["strict"]
    assert (table.micro.tp, table.micro.fp, table.micro.fn) == (0, 0, 1)
    assert score([(document(), document())])["strict"].micro.empty


def test_order_and_rows_add_up_and_errors_are_over_documents() -> None:
    chance = random.Random(1)
    pairs = []
    for number in range(40):
        sides = [
            document(
                *(
                    link(chance.choice(("r", "s")), left, right)
                    for left, right in (("a", "c"), ("a", "d"), ("b", "c"))
                    if chance.random() < 0.5
                ),
                id=str(number),
            )
            for _ in range(2)
        ]
        pairs.append((sides[0], sides[1]))
    sheet, turned = Sheet(), Sheet()
    rows = [sheet.add(*pair) for pair in pairs]
    for pair in reversed(pairs):
        turned.add(*pair)
    assert sheet.to_json()["relations"] == turned.to_json()["relations"]
    micro = sheet.to_json()["relations"]["matchings"]["strict"]["micro"]
    sums = [sum(each[at] for row in rows for each in row["counts"].get("relations", {}).values()) for at in range(3)]
    assert [micro[name] for name in ("tp", "fp", "fn")] == sums
    assert 0 < micro["f1_error"] < 0.2
    assert not math.isnan(score(pairs)["strict"].errors.f1)


def test_relations_in_files_are_scored_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = [document(link("blocks", "a", "c"), link("none", "b", "c"), id=str(at)) for at in range(6)]
    said = [document(link("blocks", "a", "c" if at % 2 else "d"), id=str(at)) for at in range(6)]
    formats.write(gold, tmp_path / "gold.jsonl")
    formats.write(said, tmp_path / "said.jsonl")
    line = ["score", str(tmp_path / "gold.jsonl"), str(tmp_path / "said.jsonl"), "--negative", "none"]
    assert run([*line, "-o", str(tmp_path / "mine")]) == 0
    shown = capsys.readouterr().out
    assert "relations\tgold\tfound\tP\tR\tF1 strict\tF1 undirected" in shown
    assert "|relations:strict+undirected" in shown
    assert "|direction:named" in shown
    gold_again = [str(tmp_path / "gold.jsonl")] * 2
    assert run(["score", *gold_again, "--name", "gold", "--negative", "none", "-o", str(tmp_path / "best")]) == 0
    capsys.readouterr()
    line = ["compare", str(tmp_path / "mine"), str(tmp_path / "best"), "--matching", "relations", "--json"]
    assert run([*line, "--samples", "50"]) == 0
    found = json.loads(capsys.readouterr().out)
    (test,) = found["tests"]
    assert (test["first_value"], test["second_value"]) == (0.5, 1.0)
    assert run([*line[:-3], "--matching", "candidates"]) == 2
    told = capsys.readouterr().err
    assert "the relations of column 'gold' were not scored by 'candidates'" in told
    assert "choose --matching from relations, undirected" in told


def test_a_map_is_of_spans_and_leaves_relations_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats.write([document(link("blocks", "a", "c"))], tmp_path / "gold.jsonl")
    assert run(["score", *([str(tmp_path / "gold.jsonl")] * 2), "--map", "Gene=Gene"]) == 0
    assert "1 relations (a map is of spans) were not scored" in capsys.readouterr().err


def test_every_document_is_counted_once() -> None:
    scorer = relations.RelationScorer()
    for linked in ((), (link("binds", "a", "b"),)):
        scorer.add(document(*linked), document(*linked))
    assert scorer.documents == 2
