"""Data frames: what comes out is of the kind that went in, and points at the right rows."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import stub

import biomux
from biomux import Document, Span
from biomux.frames import COLUMNS
from biomux.tagger import Tagger

TEXTS = ["aspirin given", None, "no such thing", "fever and zolmide"]
IDS = [11, 12, 13, 14]
ROWS = [(0, 0, 7, "Chemical", "aspirin"), (3, 0, 5, "Disease", "fever"), (3, 10, 17, "Chemical", "zolmide")]
"""Row, place, type and mention of what the rules find."""


@pytest.fixture
def rules() -> Tagger:
    return Tagger.of(stub.annotator(), None)


def frame(library: str, columns: dict[str, list[Any]]) -> Any:
    if library == "pandas":
        return pytest.importorskip("pandas").DataFrame(columns)
    if library == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    return pytest.importorskip("pyarrow").table(columns)


def columns(made: Any) -> dict[str, list[Any]]:
    if hasattr(made, "to_pydict"):
        found: dict[str, list[Any]] = made.to_pydict()
        return found
    as_lists: dict[str, list[Any]] = made.to_dict("list") if hasattr(made, "iloc") else made.to_dict(as_series=False)
    return as_lists


every_library = pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])


@every_library
def test_a_frame_gives_a_row_for_each_entity(library: str, rules: Tagger) -> None:
    given = frame(library, {"id": IDS, "abstract": TEXTS})
    made = biomux.annotate_frame(given, text="abstract", tagger=rules)
    assert type(made) is type(given)
    found = columns(made)
    assert list(found) == ["row", *COLUMNS[1:]]
    assert list(zip(found["row"], found["start"], found["end"], found["type"], found["mention"], strict=True)) == ROWS
    assert all(0 < score <= 1 for score in found["score"])
    assert set(found["head"]) == {"rule"}


@every_library
def test_rows_can_be_called_by_a_column_which_keeps_its_kind(library: str, rules: Tagger) -> None:
    given = frame(library, {"pmid": IDS, "abstract": TEXTS})
    made = biomux.annotate_frame(given, text="abstract", id="pmid", tagger=rules)
    assert columns(made)["pmid"] == [11, 14, 14]
    kinds = made.dtypes if library == "pandas" else made.schema
    before = given.dtypes if library == "pandas" else given.schema
    kind, was = (
        (kinds.field("pmid").type, before.field("pmid").type) if library == "arrow" else (kinds["pmid"], before["pmid"])
    )
    assert kind == was


@every_library
def test_entities_can_go_into_a_column(library: str, rules: Tagger) -> None:
    given = frame(library, {"pmid": IDS, "abstract": TEXTS})
    made = biomux.annotate_frame(given, text="abstract", into="entities", tagger=rules)
    found = columns(made)
    assert list(found) == ["pmid", "abstract", "entities"]
    assert [[entity["mention"] for entity in row] for row in found["entities"]] == [
        ["aspirin"],
        [],
        [],
        ["fever", "zolmide"],
    ]
    assert set(found["entities"][0][0]) == set(COLUMNS[1:])


@every_library
def test_no_entities_are_a_table_with_the_same_columns(library: str, rules: Tagger) -> None:
    some = biomux.annotate_frame(frame(library, {"text": TEXTS}), text="text", tagger=rules)
    none = biomux.annotate_frame(frame(library, {"text": ["nothing"]}), text="text", tagger=rules)
    assert len(none) == 0
    assert list(columns(none)) == list(columns(some))
    if library != "pandas":
        assert none.schema == some.schema


@every_library
def test_options_reach_the_tagger(library: str, rules: Tagger) -> None:
    made = biomux.annotate_frame(frame(library, {"text": TEXTS}), text="text", tagger=rules, types=["Disease"])
    assert columns(made)["mention"] == ["fever"]


@every_library
def test_documents_become_a_table(library: Any) -> None:
    frame(library, {"a": [1]})
    documents = [
        Document("a", "TP53 of mice", spans=(Span(8, 12, "species"), Span(0, 4, "gene", 0.5, "h", ("7157",)))),
        Document("b", "nothing"),
    ]
    found = columns(biomux.to_dataframe(documents, library=library))
    assert list(found) == list(COLUMNS)
    assert found["document"] == ["a", "a"]
    assert found["mention"] == ["TP53", "mice"]
    assert [list(ids) for ids in found["identifiers"]] == [["7157"], []]
    assert found["score"][0] == 0.5


def test_pandas_rows_are_called_by_the_index(rules: Tagger) -> None:
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame({"text": TEXTS}, index=list("wxyz"))
    assert list(biomux.annotate_frame(given, text="text", tagger=rules)["row"]) == ["w", "z", "z"]
    made = biomux.annotate_frame(given[::-1], text="text", into="found", tagger=rules)
    assert list(made.index) == list("zyxw")
    assert [len(row) for row in made["found"]] == [2, 0, 0, 1]
    assert "found" not in given


def test_every_kind_of_missing_text_has_no_entities(rules: Tagger) -> None:
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame({"text": pandas.Series(["aspirin", None, float("nan"), pandas.NA], dtype=object)})
    assert len(biomux.annotate_frame(given, text="text", tagger=rules)) == 1


def test_a_cell_that_is_no_text_is_told_with_its_place(rules: Tagger) -> None:
    given = frame("pandas", {"text": ["aspirin", 7]})
    with pytest.raises(biomux.UsageError, match="BX001: text 1: a text must be a str"):
        biomux.annotate_frame(given, text="text", tagger=rules)
    with pytest.warns(biomux.SkipWarning, match="skipped 1 text, the first: BX001: text 1"):
        made = biomux.annotate_frame(given, text="text", into="found", tagger=rules, on_error="skip")
    assert made["found"][1] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "abstrct"}, "the frame has no column 'abstrct'; did you mean 'abstract'?"),
        ({"text": "abstract", "id": "nr"}, "the frame has no column 'nr'"),
        ({"text": "abstract", "into": "pmid"}, "the frame has a column 'pmid' already"),
        ({"text": "abstract", "id": "type"}, "the id column 'type' has the name of a column of the result"),
    ],
)
def test_columns_that_cannot_be(options: Any, message: str, rules: Tagger) -> None:
    given = frame("pandas", {"pmid": IDS, "abstract": TEXTS, "type": IDS})
    with pytest.raises(biomux.UsageError, match=f"BX641: {message}".replace("?", "\\?")):
        biomux.annotate_frame(given, tagger=rules, **options)


def test_what_is_no_frame_is_refused_with_a_way_out(rules: Tagger) -> None:
    polars = pytest.importorskip("polars")
    wrong: Any = polars.LazyFrame({"text": TEXTS})
    with pytest.raises(biomux.UsageError, match=r"BX641: .* got polars.LazyFrame; collect it first"):
        biomux.annotate_frame(wrong, text="text", tagger=rules)
    wrong = ["aspirin"]
    with pytest.raises(biomux.UsageError, match=r"BX641: .* got builtins.list; .* tagger.pipe"):
        biomux.annotate_frame(wrong, text="text", tagger=rules)
    wrong = ["aspirin"]
    with pytest.raises(biomux.UsageError, match="documents must be Document objects, got str"):
        biomux.to_dataframe(wrong)
    wrong = "panda"
    with pytest.raises(biomux.UsageError, match="unknown library 'panda'; did you mean 'pandas'"):
        biomux.to_dataframe([], library=wrong)


def test_a_library_that_is_not_there_is_named() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import biomux\n"
        "try: biomux.to_dataframe([])\n"
        "except biomux.UsageError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("BX003: the package 'pandas' is not installed; install it with: pip install pandas")


def test_no_library_is_imported_for_another() -> None:
    pytest.importorskip("polars")
    code = (
        "import sys, biomux, polars\n"
        "biomux.annotate_frame(polars.DataFrame({'text': ['Aspirin.']}), text='text')\n"
        "print({'pandas', 'pyarrow'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
