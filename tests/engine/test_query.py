"""A query is one value: it compares, travels between processes, and has JSON by which a job is resumed."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest
import stub

from biomux.document import Document
from biomux.engine.query import Query, resolved
from biomux.engine.thresholds import default_floors
from biomux.errors import UsageError

FULL = Query(("b", "a"), ["h"], {"b": 0.7, "*": 0.5}, None, True, True, False)


def test_ways_to_ask_for_the_same_are_equal() -> None:
    assert Query(types="gene") == Query(types=["gene"]) == Query(types=("gene",))
    assert Query(threshold=0.5) == Query(threshold={"*": 0.5})
    assert Query(threshold=0.5) != Query(threshold={"gene": 0.5})
    assert len({Query(types=["gene"], threshold={"gene": 0.5}), Query(types="gene", threshold={"gene": 0.5})}) == 1


def test_a_query_survives_pickling_and_replacing() -> None:
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    assert replace(FULL, resolve=False).thresholds == {"b": 0.7, "*": 0.5}
    assert replace(replace(FULL, resolve=False), resolve=True) == FULL


def test_the_json_does_not_depend_on_the_order_of_names() -> None:
    other = Query(("a", "b"), ("h",), {"*": 0.5, "b": 0.7}, None, True, True, False)
    assert json.dumps(FULL.to_json()) == json.dumps(other.to_json())
    assert FULL.to_json() == {
        "types": ["a", "b"],
        "heads": ["h"],
        "threshold": {"*": 0.5, "b": 0.7},
        "precision": None,
        "resolve": True,
        "abbreviations": True,
        "consistent": False,
    }
    assert set(Query().to_json().values()) == {None, False}


@pytest.mark.parametrize("option", ["types", "heads"])
def test_no_names_at_all_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match=option):
        Query(**{option: []})  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [1.5, -0.1, "high", [0.5], (0.5, 0.6), {"Chemical": 2}])
def test_a_threshold_that_is_no_share_is_refused_when_resolved(threshold: object) -> None:
    annotator = stub.annotator()
    with pytest.raises(UsageError, match="threshold"):
        resolved(Query(threshold=threshold), annotator.tasks, None, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [None, 0, 0.4, 1])
def test_a_single_threshold_is_that_of_all_types(threshold: float | None) -> None:
    tasks = stub.annotator().tasks
    defaults = {(tasks[0].name, name): 0.3 for name in tasks[0].types}
    single = resolved(Query(threshold=threshold), tasks, None, {}, defaults=defaults)
    assert single.default == (threshold or 0)
    assert single.thresholds == {}
    assert single.floors == ({} if threshold is not None else defaults)


def test_options_and_a_query_give_the_same_documents() -> None:
    annotator = stub.annotator()
    (type_, *_) = annotator.types
    documents = [Document("1", "aspirin and zolosis given, zolosis again")]
    expected = list(annotator.annotate(documents, types=[type_], resolve=True))
    assert list(annotator.annotate_query(documents, Query(types=type_, resolve=True))) == expected


def test_a_type_without_a_threshold_that_is_not_asked_for_is_never_given() -> None:
    (floor,) = default_floors({("head", "rare"): None}, None, [], everything=False).values()
    assert floor > 1  # a score may be 1
