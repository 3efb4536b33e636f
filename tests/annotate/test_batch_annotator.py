"""`biomux.annotator`: one callable for texts and batches of every kind, which travels and loads late."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from stub import RuleSettings

import biomux
from biomux.annotate.batch_annotator import BatchAnnotator
from biomux.engine.query import Query
from biomux.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["aspirin for fever", "nothing here", "bexol"]
RULES = BatchAnnotator(RuleSettings())
FOUND = [RULES(text) for text in TEXTS]


def test_a_text_has_its_entities() -> None:
    assert [(one["start"], one["end"], one["type"], one["text"]) for one in FOUND[0]] == [
        (0, 7, "Chemical", "aspirin"),
        (12, 17, "Disease", "fever"),
    ]
    assert all(0 < one["score"] <= 1 for one in FOUND[0])
    assert FOUND[1] == []


def test_lists_of_texts_and_of_dictionaries() -> None:
    assert RULES(TEXTS) == FOUND
    assert RULES([]) == []
    rows = [{"id": number, "text": text} for number, text in enumerate(TEXTS)]
    assert RULES(rows) == [{**row, "entities": found} for row, found in zip(rows, FOUND, strict=True)]


def test_columns() -> None:
    made = replace(RULES, output="found")({"id": np.arange(3), "text": np.array(TEXTS, dtype=object)})
    assert list(made) == ["id", "text", "found"]
    assert made["found"].tolist() == FOUND
    same = RULES({"text": ["bexol", "bexol"]})["entities"]  # lists of one length stay lists
    assert same.tolist() == [FOUND[2], FOUND[2]]


def test_a_data_frame_and_an_iterator_of_them() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"abstract": [*TEXTS, None]}, index=[7, 8, 9, 10])
    annotate = replace(RULES, text="abstract")
    made = annotate(frame)
    assert made["entities"].tolist() == [*FOUND, None]
    assert list(made.index) == [7, 8, 9, 10]
    assert "entities" not in frame
    assert [part["entities"].tolist() for part in annotate(iter([frame, frame[:1]]))] == [[*FOUND, None], FOUND[:1]]


def test_arrow_tables_and_batches() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"text": [*TEXTS, None]})
    assert RULES(table).column("entities").to_pylist() == [*FOUND, None]
    assert RULES(table.to_batches()[0]).column("entities").to_pylist() == [*FOUND, None]


def test_it_travels_without_its_model_and_says_the_same(tmp_path: Path) -> None:
    made = biomux.annotator(tiny.bundle(tmp_path / "bundle"), types=["Chemical"], threshold=0.0)
    before = made(TEXTS)
    packed = pickle.dumps(made)
    assert len(packed) < 2000
    assert pickle.loads(packed)(TEXTS) == before
    assert made.settings.query == Query(types=["Chemical"], threshold=0.0)


def test_nothing_is_loaded_before_it_is_called() -> None:
    biomux.annotator("nowhere/at/all")


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (7, "BX001: cannot annotate a builtins.int"),
        ([7], "text 0 of the batch: a text must be a string, got int"),
        ({"abstract": TEXTS}, r"BX001: the batch has no column 'text'.*annotator\(text=…\); the batch has abstract"),
        ([{"abstract": "x"}], "the batch has no column 'text'"),
    ],
)
def test_what_cannot_be_annotated_is_told(batch: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RULES(batch)


def test_an_unknown_option_is_told() -> None:
    with pytest.raises(UsageError, match=r"BX001: cannot make an annotator: .*'typos'"):
        biomux.annotator(typos=["gene"])  # type: ignore[call-arg]
