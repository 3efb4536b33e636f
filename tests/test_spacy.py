"""Biomux in spaCy: offsets, one layer, saving, streams."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import stub
import tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import TEXT, documents

import biomux
from biomux import Argument, Document, Label, Relation, Span
from biomux.tagger import Tagger

spacy = pytest.importorskip("spacy", reason="the extra 'spacy' is not installed")

from biomux import spacy_component  # noqa: E402  needs spaCy

SENTENCE = "COX-2-dependent Metformin lowered  blood\u00a0glucose (𝛼-synuclein) in Sirt3-/- mice."
PROJECT = Path(__file__).parent.parent / "pyproject.toml"
WHITE = st.sampled_from([" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u2009", "\u3000", "\n \n", "\u2028"])
PIECES = st.sampled_from(
    [
        "aspirin",
        "fever",
        "aspirin-fever",
        "zolmide/bexol",
        "(ulcer)",
        "𝛼-fever",
        "🧬",
        "mice.",
        "non-fever-bexol",
        "e\u0301",
    ]
)
ODD = st.lists(st.tuples(PIECES, WHITE), max_size=12).map(lambda pairs: "".join(a + b for a, b in pairs))


def places(doc: Any) -> list[tuple[int, int, str]]:
    return [(span.start_char, span.end_char, span.label_) for span in doc.spans["biomux"]]


def spans(document: Document) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.type) for span in document.spans]


@pytest.fixture(scope="module")
def nlp() -> Any:
    made = spacy.blank("en")
    made.add_pipe("biomux", config={"threads": 1})
    return made


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return biomux.load(threads=1)


def ruled() -> Any:
    """A pipeline whose component answers by rule."""
    made = spacy.blank("en")
    component = made.add_pipe("biomux", config={"threads": 1})
    component._tagger = Tagger.of(stub.annotator(), None)
    return made


RULED = ruled()


def test_spacy_finds_the_component_by_its_entry_point() -> None:
    if not PROJECT.is_file():
        pytest.skip("needs the source tree, not the installed package")
    group = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]["spacy_factories"]
    assert group == {"biomux": "biomux.spacy_component:make_component"}
    assert spacy_component.make_component.__name__ == "make_component"


def test_all_entities_are_spans_and_one_layer_are_ents(nlp: Any, tagger: Tagger) -> None:
    doc, document = nlp(SENTENCE), tagger(SENTENCE)
    assert places(doc) == spans(document)
    assert [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents] == spans(tagger(SENTENCE, resolve=True))
    assert doc.spans["biomux"].attrs["scores"] == [span.score for span in document.spans]
    assert doc.spans["biomux"].attrs["heads"] == [span.head for span in document.spans]
    assert doc.text == SENTENCE


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ODD | TEXT, min_size=1, max_size=3))
def test_offsets_are_the_taggers_whatever_the_white_space(texts: list[str]) -> None:
    expected = RULED.get_pipe("biomux").tagger(texts)
    found = list(RULED.pipe(texts))
    assert [places(doc) for doc in found] == [spans(document) for document in expected]
    assert [doc.text for doc in found] == texts


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(documents(frozenset({"spans", "overlaps", "identifiers", "scores", "heads"})))
def test_any_document_goes_into_spacy_with_its_text(document: Document) -> None:
    doc = document.to_spacy(RULED)
    assert doc.text == document.text
    found = doc.spans["biomux"]
    assert len(found) == len(document.spans)
    for made, span in zip(found, document.spans, strict=True):
        text = document.text[span.start : span.end]
        if text[0].isspace() or text[-1].isspace():  # spaCy has no token for the blank between two
            assert text.strip() in made.text
            assert len(made) > 0
        else:
            assert (made.start_char, made.end_char) == (span.start, span.end)


def test_tokens_stay_where_they_are_if_asked(tagger: Tagger) -> None:
    document = Document("1", "COX-2-dependent", spans=(Span(0, 3, "gene"),))
    blank = spacy.blank("en")
    before = [token.text for token in blank(document.text)]
    expanded = document.to_spacy(blank, align="expand", key="found")
    assert [token.text for token in expanded] == before
    assert expanded.spans["found"][0].text == before[0]
    split = document.to_spacy(blank)
    assert [token.text for token in split][:2] == ["COX", before[0].removeprefix("COX")]
    with pytest.raises(biomux.UsageError, match="align must be 'split' or 'expand', got 'strict'"):
        document.to_spacy(blank, align="strict")  # type: ignore[arg-type]
    with pytest.raises(biomux.UsageError, match="nlp must be a spaCy pipeline, got str"):
        document.to_spacy("en")


def test_labels_relations_and_identifiers_go_along() -> None:
    document = Document(
        "1",
        "Warfarin and aspirin",
        spans=(Span(0, 8, "chemical", id="T1", identifiers=("mesh:D014859",)), Span(13, 20, "chemical", id="T2")),
        relations=(Relation("interaction", (Argument("a", "T1"), Argument("b", "T2"))),),
        labels=(Label("risk", score=0.75), Label("sure")),
    )
    doc = document.to_spacy(spacy.blank("en"))
    assert doc.cats == {"risk": 0.75, "sure": 1.0}
    assert doc.ents[0].kb_id_ == "mesh:D014859"
    assert doc.user_data["biomux_relations"] == document.to_dict()["relations"]
    assert spacy.tokens.Doc(doc.vocab).from_bytes(doc.to_bytes()).user_data == doc.user_data


def test_what_other_components_found_stays_where_there_is_room() -> None:
    made = spacy.blank("en")
    ruler = made.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "WORD", "pattern": "knockout"}, {"label": "WORD", "pattern": "Sirt3"}])
    made.add_pipe("biomux", config={"types": ["gene"], "threads": 1})
    doc = made("Sirt3-/- knockout mice")
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Sirt3", "gene"), ("knockout", "WORD")]
    quiet = spacy.blank("en")
    quiet.add_pipe("biomux", config={"set_ents": False, "spans_key": "mine", "threads": 1})
    doc = quiet("Sirt3 in mice")
    assert (list(doc.ents), len(doc.spans["mine"]) > 0) == ([], True)


def test_a_parse_survives_split_tokens() -> None:
    made = spacy.blank("en")
    made.add_pipe("sentencizer")
    component = made.add_pipe("biomux", config={"threads": 1})
    component._tagger = Tagger.of(stub.annotator(), None)
    doc = made("non-fever-bexol. aspirin-fever was high. The end.")
    assert [sentence.text for sentence in doc.sents] == ["non-fever-bexol.", "aspirin-fever was high.", "The end."]
    assert [span.text for span in doc.spans["biomux"]] == ["fever", "bexol", "aspirin", "fever"]


def test_settings_are_checked_when_the_component_is_added() -> None:
    with pytest.raises(biomux.UsageError, match="unknown type 'gen'; did you mean 'gene'"):
        spacy.blank("en").add_pipe("biomux", config={"types": ["gen"]})
    made = spacy.blank("en")
    made.add_pipe("biomux", config={"types": ["gene"], "threshold": {"gene": 0.5}, "threads": 1})
    assert {ent.label_ for ent in made(SENTENCE).ents} == {"gene"}


def test_a_pipeline_is_saved_and_loaded(nlp: Any, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    assert sum(path.stat().st_size for path in (tmp_path / "saved" / "biomux").rglob("*")) < 1_000
    back = spacy.load(tmp_path / "saved")
    assert places(back(SENTENCE)) == places(nlp(SENTENCE))
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert places(again(SENTENCE)) == places(nlp(SENTENCE))


def test_a_bundle_of_ones_own_travels_with_the_pipeline(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'train' is not installed")
    made = spacy.blank("en")
    made.add_pipe("biomux", config={"bundle": str(tiny.bundle(tmp_path / "mine")), "threads": 1})
    text = tiny.text(40)
    expected = places(made(text))
    assert expected
    made.to_disk(tmp_path / "saved")
    (tmp_path / "mine").rename(tmp_path / "gone")
    assert places(spacy.load(tmp_path / "saved")(text)) == expected
    note = tmp_path / "saved" / "biomux" / "biomux.json"
    note.write_text(note.read_text().replace('"checksum": "', '"checksum": "0'))
    with pytest.raises(biomux.BundleError, match="BX640"):
        spacy.load(tmp_path / "saved")


def test_a_bundle_that_is_not_there_is_told_with_the_first_text() -> None:
    made = spacy.blank("en")
    made.add_pipe("biomux", config={"bundle": "no/such/folder"})
    with pytest.raises(biomux.BundleError, match="BX501"):
        made("Aspirin.")


def test_spacys_error_handler_is_told(nlp: Any) -> None:
    made = ruled()
    told: list[str] = []
    made.set_error_handler(lambda name, component, docs, error: told.append(f"{name} {docs[0].text!r} {error.code}"))
    assert [doc.text for doc in made.pipe(["aspirin", "fever"])] == ["aspirin", "fever"]
    component = made.get_pipe("biomux")
    component._tagger = Tagger.of(_failing(), None)
    assert [doc.text for doc in made.pipe(["aspirin", "fever"])] == ["fever"]
    assert told == ["biomux 'aspirin' BX603"]


def test_several_processes_give_the_same(nlp: Any) -> None:
    texts = [SENTENCE, "TP53 in mice.", "Aspirin."] * 3
    assert [places(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=2)] == [places(nlp(text)) for text in texts]


def _failing() -> Any:
    from dataclasses import replace

    made = stub.annotator()
    inner = made.session

    class Failing:
        def run(self, batch: Any) -> Any:
            if tiny.PIECES.index("aspirin") in batch.ids:
                raise RuntimeError("no")
            return inner.run(batch)

    return replace(made, session=Failing())
