"""Documents most worth annotating next: the least sure, unlike each other, the same whatever stands beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny

import biomux
from biomux import formats
from biomux.annotate.suggest import heads_of_types, suggest
from biomux.cli import run as command
from biomux.document import Document
from biomux.errors import UsageError
from biomux.tasks.softmax import softmax
from biomux.text import sentences, tokens

BUNDLE = Path(__file__).parent.parent / "fixtures" / "release-0.1.0" / "bundle"


def documents(number: int) -> list[Document]:
    return [Document(f"d{index}", tiny.text(30, seed=index)) for index in range(number)]


def unsure(annotator: biomux.engine.annotator.Annotator, document: Document) -> float:
    """The mean doubt about the five least sure words, the straight way: a sentence at a time."""
    from biomux.engine.packing import pack
    from biomux.tasks.examples import ModelInput

    doubts: list[float] = []
    for found in tokens.split(annotator.tokenizer, document.text, sentences.of(document)):
        (batch,) = pack([ModelInput(found)], specials=annotator.specials, budget=1)
        answers = annotator.session.run(batch)
        heats = annotator.temperatures or {}
        each = [1 - softmax(answers[name], heats.get(name, 1.0)).max(axis=1) for name in annotator.heads]
        doubts += np.max(each, axis=0).tolist()
    return sum(sorted(doubts, reverse=True)[:5]) / 5


def test_the_least_sure_documents_come_first() -> None:
    annotator = biomux.load(BUNDLE)
    found = suggest(annotator, documents(12), number=12)
    assert {one.document.id for one in found} == {f"d{index}" for index in range(12)}
    for one in found:
        assert one.unsure == pytest.approx(unsure(annotator, one.document), abs=1e-5)
        assert all(word in one.document.text for word in one.words)
    assert found[0].unsure == max(one.unsure for one in found)
    assert suggest(annotator, documents(12), number=3) == found[:3]


def test_a_document_without_words_is_not_suggested() -> None:
    found = suggest(biomux.load(BUNDLE), [Document("empty", ""), Document("blank", " \n "), *documents(2)], number=4)
    assert sorted(suggestion.document.id for suggestion in found) == ["d0", "d1"]


def test_documents_without_words_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats.write([Document("blank", " \n "), *documents(2)], tmp_path / "in.jsonl")
    assert command(["suggest", str(tmp_path / "in.jsonl"), "-n", "3", "--model", str(BUNDLE)]) == 0
    assert "left out: 1 document without words" in capsys.readouterr().err


def test_the_same_text_is_suggested_once() -> None:
    twice = [*documents(4), *(Document(f"again {one.id}", one.text) for one in documents(4))]
    found = suggest(biomux.load(BUNDLE), twice, number=8)
    assert len(found) == 4
    assert len({one.document.text for one in found}) == 4


def test_what_is_like_a_chosen_one_waits() -> None:
    first, *others = documents(6)
    near = Document("near", first.text + " the")
    found = suggest(biomux.load(BUNDLE), [first, near, *others], number=3)
    assert not {"d0", "near"} <= {one.document.id for one in found}


def test_an_unknown_head_is_told() -> None:
    with pytest.raises(UsageError, match=r"BX001.*no head 'drugz'"):
        suggest(biomux.load(BUNDLE), documents(2), number=1, heads=["drugz"])


def test_the_doubts_of_the_heads_that_find_some_types_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagger = biomux.load()
    found = heads_of_types(tagger, ["disease"])
    assert {"bc5cdr", "ncbi-disease"} <= set(found) < set(tagger.heads)
    plain = biomux.load(BUNDLE)
    assert heads_of_types(plain, plain.types[:1])
    (tmp_path / "a.txt").write_text("Aspirin causes ulcers in mice with TP53.")
    output = tmp_path / "next.doccano.jsonl"
    line = ["suggest", str(tmp_path / "a.txt"), "-n", "3", "-o", str(output)]
    assert command([*line, "--types", "disease,species"]) == 0
    assert "1 document as doccano, which is all" in capsys.readouterr().err
    types = {span.type for one in formats.read(output) for span in one.spans}
    assert types
    assert types <= {"disease", "species"}
    assert command([*line, "--types", "diseases", "--overwrite"]) == 2
    assert "unknown type 'diseases'; did you mean 'disease'" in capsys.readouterr().err
    assert command([*line, "--types", "disease", "--heads", "bc5cdr", "--overwrite"]) == 2
    assert "cannot use both --heads and --types" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["labelstudio", "doccano", "prodigy", "brat"])
def test_suggestions_are_pre_annotations_that_train(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    formats.write(documents(30), tmp_path / "new.jsonl")
    output = "next" if format == "brat" else f"next.{format}.json{'' if format == 'labelstudio' else 'l'}"
    line = ["suggest", "new.jsonl", "-n", "25", "--model", str(BUNDLE), "--format", format, "-o", output]
    assert command(line) == 0
    assert command(line) == 2  # it is there already
    assert command(["corpora", "check", output]) == 0
    assert command(["init", output, "-o", "my.yaml", "--no-estimate"]) == 0
    said = (tmp_path / "my.yaml").read_text()
    assert "kind: tagging" in said


def test_annotations_are_pre_annotations_that_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    formats.write(documents(30), tmp_path / "new.jsonl")
    for tool in ("labelstudio", "doccano", "prodigy", "brat"):
        output = f"out-{tool}" if tool == "brat" else f"out.{tool}.json{'' if tool == 'labelstudio' else 'l'}"
        assert command(["annotate", "new.jsonl", "--model", str(BUNDLE), "--format", tool, "-o", output]) == 0
        assert command(["corpora", "check", output]) == 0


def test_texts_that_are_annotated_already_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats.write(documents(6), tmp_path / "new.jsonl")
    formats.write(documents(4), tmp_path / "old.jsonl")
    line = ["suggest", str(tmp_path / "new.jsonl"), "--model", str(BUNDLE), "--without", str(tmp_path / "old.jsonl")]
    assert command(line) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == "document\tunsure\tleast sure of"
    assert {row.split("\t")[0] for row in rows} == {"d4", "d5"}
