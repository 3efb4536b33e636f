"""The bundle that comes with Biomux, as a user has it."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import biomux
from biomux import cli
from biomux.document import Document
from biomux.engine.bundle import verify
from biomux.engine.load import find

if TYPE_CHECKING:
    from biomux.engine.annotator import Annotator

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLDEN = Path(__file__).with_name("default.golden.jsonl")
AGREEMENT = 0.97
"""The share of the golden mentions that another processor's arithmetic must give too: int8 rounds differently here and there."""


@pytest.fixture(scope="module")
def tagger() -> Annotator:
    return biomux.load()


def texts() -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.txt"))}


def rows(document: Document) -> list[tuple[int, int, str, str]]:
    return [(span.start, span.end, span.type, document.mention(span)) for span in document.spans]


def test_it_is_whole_and_small() -> None:
    folder = find(None)
    assert all(check.error is None for check in verify.verify(folder))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 25_000_000


@pytest.mark.parametrize(
    ("text", "mention", "type_"),
    [
        ("Aspirin and ibuprofen inhibit cyclooxygenase.", "Aspirin", "chemical"),
        ("Patients with breast cancer were given tamoxifen.", "tamoxifen", "chemical"),
        ("Patients with breast cancer were given tamoxifen.", "breast cancer", "disease"),
        ("Mutations of BRCA1 and TP53 were found.", "BRCA1", "gene"),
        ("Mutations of BRCA1 and TP53 were found.", "TP53", "gene"),
        ("Escherichia coli was grown overnight.", "Escherichia coli", "species"),
        ("C57BL/6 mice were purchased.", "C57BL/6", "strain"),
        ("HeLa cells were transfected.", "HeLa", "cell line"),
    ],
)
def test_easy_mentions_are_found(tagger: Annotator, text: str, mention: str, type_: str) -> None:
    document = tagger(text)
    assert (text.index(mention), type_) in {(span.start, span.type) for span in document.spans}


def test_mentions_are_slices_and_scores_are_shares(tagger: Annotator) -> None:
    for document in tagger.annotate(Document(name, text) for name, text in texts().items()):
        assert document.spans
        for span in document.spans:
            assert (
                document.mention(span)
                == document.text[span.start : span.end]
                == document.text[span.start : span.end].strip()
            )
            assert span.score is not None
            assert 0 <= span.score <= 1
            averaged = tagger.merges is not None and tagger.merges[span.type].rule == "mean"
            assert span.head == "mean" if averaged else span.head in tagger.heads


def test_nothing_below_its_default_threshold_and_a_threshold_of_0_gives_everything(tagger: Annotator) -> None:
    assert tagger.merges
    never = {name for name, merge in tagger.merges.items() if merge.threshold is None}
    assert never == {
        *("operon", "amino acid", "pathological formation", "body part", "body system", "body space"),
        "embryonic structure",
    }
    by_default = lowest = 0
    for text in texts().values():
        spans, everything = tagger(text, consistent=False).spans, tagger(text, threshold=0).spans
        assert not [span for span in spans if (span.score or 0.0) < (tagger.merges[span.type].threshold or 2.0)]
        assert set(map(str, spans)) <= set(map(str, everything))
        by_default, lowest = by_default + len(spans), lowest + len(everything)
    assert by_default < lowest
    assert tagger("Aspirin.", types=["operon"]).spans == ()  # can be asked for


def test_a_name_gets_one_answer_throughout_a_document(tagger: Annotator) -> None:
    text = texts()["abstract"]
    places = {match.start() for match in re.finditer("T2DM", text)}

    def diseases(**options: Any) -> set[int]:
        return {span.start for span in tagger(text, types=["disease"], **options).spans if span.start in places}

    assert diseases(consistent=False) < places
    assert diseases() == diseases(consistent=True) == places
    options: dict[str, Any]
    for options in ({"threshold": 0}, {"precision": 0.8}, {"heads": ["jnlpba"]}):
        assert tagger(text, **options) == tagger(text, consistent=False, **options)


def test_the_command_asks_for_one_answer_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    added = {}
    for option in ("--consistent", "--no-consistent"):
        assert cli.run(["annotate", str(EXAMPLES / "abstract.txt"), "--types", "disease", option]) == 0
        spans = json.loads(capsys.readouterr().out)["spans"]
        added[option] = [span for span in spans if span.get("extra", {}).get("from") == "consistency"]
    assert added["--consistent"]
    assert not added["--no-consistent"]


def test_cells_components_are_no_processes(tagger: Annotator) -> None:
    assert "process" not in tagger.types
    text = "The nucleus and the mitochondria of yeast cells were stained."
    found = {text[span.start : span.end] for span in tagger(text, types=["cellular component"]).spans}
    assert {"nucleus", "mitochondria"} <= found


@pytest.mark.parametrize("cancer", ["breast cancer", "lung adenocarcinoma", "colorectal cancer", "prostate cancer"])
def test_one_layer_calls_a_cancer_a_cancer_or_a_disease(tagger: Annotator, cancer: str) -> None:
    text = f"Patients with {cancer} were given tamoxifen."
    document = tagger(text, resolve=True)
    assert {span.type for span in document.spans if document.mention(span) == cancer} <= {"cancer", "disease"}
    assert [span for span in document.spans if document.mention(span) == cancer]


def test_no_entity_has_half_a_pair_of_brackets_or_no_letter(tagger: Annotator) -> None:
    for document in tagger.annotate((Document(name, text) for name, text in texts().items()), heads=tagger.heads):
        for span in document.spans:
            mention = document.mention(span)
            assert any(map(str.isalnum, mention))
            assert all(mention.count(left) == mention.count(right) for left, right in ("()", "[]", "{}"))


def test_every_head_can_be_asked_alone(tagger: Annotator) -> None:
    text = texts()["abstract"]
    everything = tagger(text, heads=tagger.heads)
    for head in tagger.heads:
        alone = tagger(text, heads=[head])
        assert [span for span in everything.spans if span.head == head] == list(alone.spans)


def test_answers_do_not_depend_on_batch_threads_or_order(tagger: Annotator) -> None:
    documents = [Document(name, text) for name, text in texts().items()]
    expected = {document.id: document for document in tagger.annotate(documents)}
    for threads in (1, 2):
        other = biomux.load(threads=threads)
        for budget in (64, 700, 4096):
            varied = replace(other, budget=budget)
            for document in varied.annotate(reversed(documents)):
                assert document == expected[document.id]


def test_threads_share_a_tagger(tagger: Annotator) -> None:
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(tagger, texts().values()))
    assert together == [tagger(text) for text in texts().values()]


def test_a_precision_takes_the_thresholds_of_the_bundle(tagger: Annotator, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(EXAMPLES / f"{name}.txt") for name in texts()]
    assert cli.run(["annotate", *paths, "--precision", "0.95"]) == 0
    out, err = capsys.readouterr()
    assert tagger.merges
    reaching = {
        name: next((score for score, reached in merge.curve if reached >= 0.95), None)
        for name, merge in tagger.merges.items()
    }
    never = tagger.imprecise(0.95)
    assert set(never) == {name for name, score in reaching.items() if score is None}
    assert f"left out, since they never reached a precision of 0.95 on development data: {', '.join(never)}\n" in err
    for line in out.splitlines():
        sure = {(span["start"], span["end"], span["type"]) for span in json.loads(line)["spans"]}
        everything = tagger(json.loads(line)["text"], threshold=0).spans
        assert sure == {
            (span.start, span.end, span.type)
            for span in everything
            if (span.score or 0.0) >= (reaching[span.type] or 2.0)
        }


def test_an_abbreviation_takes_the_type_of_its_long_form(tagger: Annotator) -> None:
    text = (
        "Patients with primary sclerosing cholangitis (PSC) were seen. Of those with PSC, ten were women. PSC is rare."
    )
    places = [match.start() for match in re.finditer("PSC", text)]
    document = tagger(text, abbreviations=True)
    diseases = [span for span in document.spans if span.type == "disease"]
    assert {"primary sclerosing cholangitis", "PSC"} <= {document.mention(span) for span in diseases}
    assert set(places) <= {span.start for span in diseases}


def test_a_document_of_fifty_thousand_words_is_read_whole(tagger: Annotator) -> None:
    joined = "\n\n".join(texts().values())
    text = "\n\n".join([joined] * (50_000 // len(joined.split()) + 1))
    document = tagger(text, consistent=False)  # a name that stands once in the text has a vote in its repetition only
    assert document.coverage is not None
    read = sum(end - start for start, end in document.coverage)
    assert read == len(text) - sum(map(str.isspace, text)) + sum(
        sum(map(str.isspace, text[start:end])) for start, end in document.coverage
    )
    period = len(joined) + 2
    once = [(span.start, span.end, span.type) for span in tagger(joined, consistent=False).spans]
    again = {
        (span.start - period, span.end - period, span.type)
        for span in document.spans
        if period <= span.start < 2 * period
    }
    assert set(once) == again


def test_the_card_in_the_docs_is_the_bundles() -> None:
    docs = Path(__file__).parents[2] / "docs" / "explanation" / "model-card.md"
    assert docs.read_text(encoding="utf-8") == (find(None) / "card.md").read_text(encoding="utf-8")


def test_the_examples_get_the_answers_that_were_looked_at(tagger: Annotator) -> None:
    """Rewrite the golden file with BIOMUX_GOLDEN=write after looking at the difference."""
    found = {
        document.id: rows(document)
        for document in tagger.annotate(Document(name, text) for name, text in texts().items())
    }
    if os.environ.get("BIOMUX_GOLDEN") == "write":
        lines = [json.dumps({"id": name, "spans": spans}, ensure_ascii=False) for name, spans in found.items()]
        GOLDEN.write_text("\n".join(lines) + "\n", encoding="utf-8")
    golden = {
        row["id"]: [tuple(span) for span in row["spans"]]
        for row in map(json.loads, GOLDEN.read_text(encoding="utf-8").splitlines())
    }
    assert golden.keys() == found.keys()
    wanted = {(name, *span) for name, spans in golden.items() for span in spans}
    given = {(name, *span) for name, spans in found.items() for span in spans}
    assert len(wanted & given) >= AGREEMENT * len(wanted | given), sorted(wanted ^ given)
    stop = {"the", "of", "and", "in", "with", "a", "was", "were", "for", "to", "by"}
    assert not [row for row in given if row[4].lower() in stop]
