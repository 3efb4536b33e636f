"""What is said about data before they are trained on."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from biomux.corpora.survey import look, survey
from biomux.document import Argument, Document, Label, Relation, Span
from biomux.errors import CorpusError

TEXT = "The receptor of the kinase binds zolmide. It was found in all of the cells that were looked at."


def one(id: str, *spans: Span, text: str = TEXT, **parts: object) -> Document:
    return Document(id, text, spans=spans, **parts)  # type: ignore[arg-type]


def test_types_are_counted_by_split() -> None:
    link = Relation("binds", (Argument("a", "T1"), Argument("b", "T2")))
    whole = one("1", Span(4, 12, "protein", id="T1"), Span(33, 40, "drug", id="T2"), relations=(link,))
    found = survey({"train": [whole, replace(whole, id="2")], "test": [replace(whole, id="3", labels=(Label("new"),))]})
    assert dict(found.counts) == {
        ("mentions", "drug"): {"train": 2, "test": 1},
        ("mentions", "protein"): {"train": 2, "test": 1},
        ("relations", "binds"): {"train": 2, "test": 1},
        ("labels", "new"): {"test": 1},
    }
    assert "documents" in str(found)
    assert "  relation binds" in str(found)
    assert found.to_json()["splits"]["train"]["documents"] == 2


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ((Span(4, 12, "a"), Span(4, 26, "b")), "1 mention overlaps another, .* document '1' at 4-26|at 4-12"),
        ((Span(4, 10, "a"),), "1 mention begins or ends inside a word.*'recept'"),
        ((Span(33, 44, "a"),), "1 mention crosses the end of a sentence"),
        ((Span(4, 26, "a", fragments=((4, 12), (20, 26))),), "1 mention is discontinuous"),
    ],
)
def test_mentions_that_cannot_be_learned_are_told(spans: tuple[Span, ...], said: str) -> None:
    assert any(re.search(said, line) for line in survey({"train": [one("1", *spans)]}).warnings)


def test_duplicates_leaks_and_rare_types_are_told() -> None:
    first = one("1", Span(4, 12, "protein"))
    found = survey(
        {"train": [first, replace(first, id="2"), one("3")], "test": [replace(first, id="4", spans=())]}, few=3
    )
    said = "\n".join(found.warnings)
    assert "train has 2 duplicate documents, for instance '1' and '2'" in said
    assert "train has 1 duplicate that is annotated differently, for instance '1' and '3'" in said
    assert "2 of 2 sentences of test also occur in train" in said
    assert "fewer than 3 mentions): protein (2)" in said
    assert "test has no mentions of protein" in said
    assert survey({"train": [first]}, few=1).warnings == ()


def test_documents_that_share_an_id_are_told() -> None:
    found = survey({"train": [one("a/train:7", text="One."), one("a/train:7#2", text="Two."), one("a/train:8#2")]})
    said = [line for line in found.warnings if "the id of an earlier one" in line]
    assert len(said) == 1
    assert said[0].startswith("1 document of train has the id")
    assert "'a/train:7' and 'a/train:7#2'" in said[0]


def test_ids_that_two_splits_share_are_reported_unless_they_are_running_numbers() -> None:
    train = [one("a/train:PMC7", text="One."), one("a/train:1", text="Two."), one("a/train:PMC8", text="Same.")]
    test = [one("a/test:PMC7", text="Three."), one("a/test:1", text="Four."), one("a/test:PMC8", text="Same.")]
    reported = [line for line in survey({"train": train, "test": test}).warnings if "the same id" in line]
    assert len(reported) == 1
    assert reported[0].startswith(
        "1 document has the same id in train and test but different texts, for instance 'PMC7'"
    )
    assert not any("the same id" in line for line in survey({"train": train, "test": test[1:]}).warnings)


def test_only_the_first_errors_are_printed_and_json_has_all() -> None:
    found = survey({"train": [one("1", Span(4, 12, "protein"))]}, errors=[f"line {number}" for number in range(1, 24)])
    assert "error: line 20\nerror: … and 3 more; --json lists them all" in str(found)
    assert "line 21" not in str(found)
    assert found.to_json()["errors"][-1] == "line 23"


def test_a_rare_type_that_is_spelled_nearly_as_a_frequent_one_is_told() -> None:
    many = [one(str(n), Span(4, 12, "protein"), text=f"{TEXT} {n}") for n in range(20)]
    slip = one("x", Span(4, 12, "protien"), text=f"{TEXT} x")
    said = "\n".join(survey({"train": [*many, slip]}).warnings)
    assert "'protien' (1) is spelled almost like 'protein' (20)" in said
    assert "rename: {protien: protein}" in said
    other = one("x", Span(4, 12, "drug"), text=f"{TEXT} x")
    assert "spelled almost" not in "\n".join(survey({"train": [*many, other]}).warnings)


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([], "train has no documents"),
        ([one("1")], "nothing to learn from"),
        (
            [one("1", labels=(Label("a"),)), one("2", labels=(Label("a"),))],
            "every document of train has the class 'a'",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_refused(documents: list[Document], said: str) -> None:
    with pytest.raises(CorpusError, match=f"BX213.*{said}"):
        look({"train": documents})


def test_a_type_that_is_not_there_is_refused_with_its_nearest() -> None:
    with pytest.raises(CorpusError, match=r"BX213.*no type 'protien'.*did you mean 'protein'"):
        look({"train": [one("1", Span(4, 12, "protein"))]}, types=["protien"])
