"""The recipe that is written for data of one's own: tasks by what the data hold, epochs by their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from biomux import formats
from biomux.document import Answer, Argument, Document, Label, Question, Relation, Span
from biomux.errors import BiomuxError
from biomux.recipes import initial
from biomux.recipes.read import check

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.recipes.schema import Recipe


def documents(number: int, **parts: Any) -> list[Document]:
    return [Document(f"d{index}", f"Zolmide {index} inhibits the kinase {index}.", **parts) for index in range(number)]


def recipe(path: Path, found: list[Document]) -> Recipe:
    formats.write(found, path / "notes.jsonl")
    data = initial.read(str(path / "notes.jsonl"))
    encoder, why = initial.encoder(at_hand=None)
    written = initial.text(data, encoder=encoder, said=why, seconds="1 min")
    assert written.startswith("# biomux train notes.yaml\n")
    return check(yaml.safe_load(written), where="notes.yaml")


SPANS = (Span(0, 7, "Drug: new", id="T1"), Span(23, 29, "protein", id="T2"))
LINK = Relation("inhibits", (Argument("a", "T1"), Argument("b", "T2")))


def test_mentions_become_a_tagger(tmp_path: Path) -> None:
    found = recipe(tmp_path, documents(30, spans=SPANS))
    assert list(found.tasks) == ["notes"]
    assert found.tasks["notes"].kind == "tagging"
    assert found.tasks["notes"].types == ("Drug: new", "protein")
    assert found.model.encoder.bundle == "default"
    assert found.regime.kind == "single"


def test_relations_stand_beside_the_tagger(tmp_path: Path) -> None:
    found = recipe(tmp_path, documents(30, spans=SPANS, relations=(LINK,)))
    assert {name: task.kind for name, task in found.tasks.items()} == {
        "notes": "tagging",
        "notes-relations": "relation",
    }
    settings = found.tasks["notes-relations"].settings
    assert (settings["types"], settings["first"], settings["second"]) == (["inhibits"], ["Drug: new"], ["protein"])
    assert found.regime.kind == "mixed"


def test_labels_become_classes(tmp_path: Path) -> None:
    made = [
        Document(f"d{n}", f"Text {n}", labels=(Label("ab"[n % 2]), *([Label("c")] if n % 3 else []))) for n in range(30)
    ]
    found = recipe(tmp_path, made).tasks["notes"]
    assert (found.kind, found.settings) == ("classification", {"several": True, "classes": ["a", "b", "c"]})


def test_pairs_become_classes_or_numbers(tmp_path: Path) -> None:
    made = [Document(f"d{n}", f"Text {n}", pair="Other", labels=(Label("ab"[n % 2]),)) for n in range(30)]
    assert recipe(tmp_path, made).tasks["notes"].settings["of"] == "pair"
    (tmp_path / "notes.jsonl").unlink()
    made = [Document(f"d{n}", f"Text {n}", pair="Other", labels=(Label("close", value=n / 10),)) for n in range(30)]
    found = recipe(tmp_path, made).tasks["notes"]
    assert (found.kind, found.settings) == ("similarity", {"label": "close"})


def test_questions_become_answers(tmp_path: Path) -> None:
    question = Question("q", "What is inhibited?", answers=(Answer("kinase", 23, 29),))
    assert recipe(tmp_path, documents(30, questions=(question,))).tasks["notes"].kind == "answers"


@pytest.mark.parametrize(("words", "epochs", "patience"), [(100, 40, 10), (10_000, 20, 5), (1_000_000, 4, 5)])
def test_epochs_and_patience_shrink_with_size(words: int, epochs: int, patience: int) -> None:
    data = initial.Data("x", "x", None, {}, 1, words)  # type: ignore[arg-type]
    assert (data.epochs, data.patience) == (epochs, patience)
    assert f"\n  patience: {patience} " in initial.text(data, encoder={"bundle": "default"}, said="why")


def test_a_test_part_is_cut_where_the_data_are_enough(tmp_path: Path) -> None:
    formats.write(documents(40, spans=SPANS), tmp_path / "a.jsonl")
    formats.write(documents(10, spans=SPANS), tmp_path / "b.jsonl")
    assert initial.read(str(tmp_path / "a.jsonl")).corpus == {
        "path": str(tmp_path / "a.jsonl"),
        "devel": 0.15,
        "test": 0.15,
    }
    few = initial.read(str(tmp_path / "b.jsonl"))
    assert few.corpus == str(tmp_path / "b.jsonl")
    assert "too few to cut a test part" in few.notes[0]


def test_data_without_annotations_are_refused(tmp_path: Path) -> None:
    formats.write(documents(30), tmp_path / "a.jsonl")
    with pytest.raises(BiomuxError, match="BX213"):
        initial.read(str(tmp_path / "a.jsonl"))


def test_a_folder_without_a_slash_is_not_taken_for_a_corpus_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("notes", "bc5cdr"):
        (tmp_path / name).mkdir()
        for part in ("train", "devel", "test"):
            formats.write(documents(3, spans=SPANS), tmp_path / name / f"{part}.jsonl")
        assert initial.read(name).corpus == f"./{name}"
    assert initial.read("notes/").corpus == "notes/"
