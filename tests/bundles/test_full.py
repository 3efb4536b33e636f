"""The bundle with every kind of head that comes with Biomux, as a user has it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import biomux
from biomux import cli
from biomux.engine.bundle import verify
from biomux.engine.load import find

if TYPE_CHECKING:
    from biomux.engine.packing import Batch
    from biomux.tagger import Tagger

TWO_DRUGS = "Ketoconazole markedly increases the plasma concentrations of midazolam."
TEXT = f"{TWO_DRUGS} Patients with breast cancer were given tamoxifen. The incubation period was 5 days in children."


@pytest.fixture(scope="module")
def full() -> Tagger:
    return biomux.load("full")


def test_it_is_whole_and_small() -> None:
    folder = find("full")
    assert all(check.error is None for check in verify.verify(folder))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 25_000_000


def test_the_card_in_the_docs_is_the_bundles() -> None:
    docs = Path(__file__).parents[2] / "docs" / "explanation" / "full-card.md"
    assert docs.read_text(encoding="utf-8") == (find("full") / "card.md").read_text(encoding="utf-8")


def test_two_drugs_and_their_interaction_are_found_in_one_pass(full: Tagger) -> None:
    class Counted:
        def __init__(self) -> None:
            self.windows = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(full.session, name)

        def run(self, batch: Batch) -> Any:
            self.windows += len(batch.ids)
            return full.session.run(batch)

    counted = Counted()
    found = replace(full, session=counted)(TWO_DRUGS, tasks=["entities", "relations"])
    assert counted.windows == 1
    by_id = {span.id: found.mention(span) for span in found.spans}
    linked = {
        (relation.head, *(by_id[argument.target] for argument in relation.arguments)) for relation in found.relations
    }
    assert ("ddi", "Ketoconazole", "midazolam") in linked
    assert all(0 < (relation.score or 0) <= 1 for relation in found.relations)


def test_it_has_a_tagger_for_every_corpus_of_the_default_bundle(full: Tagger) -> None:
    default = biomux.load()
    assert set(default.heads) < set(full.heads)
    assert {"gene", "chemical", "disease", "species", "variant"} <= set(full.types)
    found = full("Mutations of BRCA1 cause breast cancer.", tasks=["entities"])
    assert ("BRCA1", "gene") in {(found.mention(span), span.type) for span in found.spans}


def test_classes_pairs_and_answers(full: Tagger) -> None:
    document = full(TEXT, tasks=["classes"])
    assert {label.head for label in document.labels} >= {"pico"}
    (compared,) = full.pairs([("Aspirin lowers fever.", "Fever falls with aspirin.")])
    assert {label.head for label in compared.labels} == {"biosses", "healthver"}
    answers = list(full.ask("What was the incubation period?", [TEXT]))
    assert answers
    assert all(answer.text == TEXT[answer.start : answer.end] for answer in answers)


def test_commands_take_it_by_themselves_where_default_has_no_head(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["annotate", TWO_DRUGS, "--tasks", "relations"]) == 0
    assert any(relation["head"] == "ddi" for relation in json.loads(capsys.readouterr().out)["relations"])
    assert cli.run(["pairs", "Aspirin lowers fever.", "Fever falls with aspirin.", "--format", "jsonl"]) == 0
    assert {label["head"] for label in json.loads(capsys.readouterr().out)["labels"]} == {"biosses", "healthver"}
    assert cli.run(["ask", "What was the incubation period?", TEXT, "--format", "jsonl"]) == 0
    assert capsys.readouterr().out
    assert cli.run(["annotate", TWO_DRUGS]) == 0
    assert "relations" not in json.loads(capsys.readouterr().out)
