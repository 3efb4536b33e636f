"""Models scored on corpora: columns, cross-corpus pairs, documents that were seen, and what is written."""

from __future__ import annotations

import doctest
import json
from typing import TYPE_CHECKING

import pytest
from corpora.samples import CONLL, put
from report.fakes import Words

from biomux import formats
from biomux.corpora import corpus
from biomux.errors import ScoreError, UsageError
from biomux.evaluation import model_heads, score_folder
from biomux.evaluation.columns import plan
from biomux.evaluation.evaluate import evaluate
from biomux.evaluation.model_heads import EvaluatedHead, heads_of
from biomux.scoring.align import align
from biomux.scoring.mapping import parse
from biomux.scoring.signature import read_signature
from biomux.scoring.spans import score

if TYPE_CHECKING:
    from pathlib import Path

HEADS = (
    EvaluatedHead("bc5cdr", ("Chemical", "Disease"), "bio", "bc5cdr"),
    EvaluatedHead("ncbi-disease", ("Disease",), "bio", "ncbi-disease"),
    EvaluatedHead("cell-line", ("CELLLINE",), "bioes", "elucidata-cell-line"),
)
MODEL = Words({"bc5cdr": {"Aspirin": "Chemical", "works": "Disease"}, "ncbi-disease": {"headache": "Disease"}})
SEEN = "Bexol lowered the pressure of blood in all of the patients."
BIORED = f"""\
1|t|Headache after aspirin.
1|a|A headache came after Aspirin was given.
1\t0\t8\tHeadache\tDiseaseOrPhenotypicFeature\tD1
1\t26\t34\theadache\tDiseaseOrPhenotypicFeature\tD1
1\t46\t53\tAspirin\tChemicalEntity\tC1

2|t|A title.
2|a|{SEEN}
2\t9\t14\tBexol\tChemicalEntity\tC2

"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("BC5CDR", "NCBI-disease"):
        for split in ("train", "devel", "test"):
            put(
                tmp_path, f"ner/{name}/{split}.tsv", CONLL if name == "BC5CDR" else CONLL.replace("Chemical", "Disease")
            )
    words = "\n".join(f"{word}\tO" for word in SEEN.replace(".", " .").split())
    put(tmp_path, "ner/BC5CDR/train.tsv", f"{CONLL}{words}\n\n")
    put(tmp_path, "relations/BioRED/Test.PubTator", BIORED)
    return tmp_path


def names(corpora: list[str], **options: object) -> list[str]:
    return [column.name for column in plan(HEADS, corpora, **options)]  # type: ignore[arg-type]


def test_a_corpus_is_scored_with_its_own_head_and_with_those_that_mean_the_same() -> None:
    own, other = plan(HEADS, ["bc5cdr"])
    assert (own.name, own.heads, own.cross) == ("bc5cdr", ("bc5cdr",), False)
    assert (other.name, str(other.types), other.cross) == ("bc5cdr~ncbi-disease", "Disease=ncbi-disease/Disease", True)
    assert names(["bc5cdr"], with_cross=False) == ["bc5cdr"]
    assert names(["bc5cdr"], chosen=["ncbi-disease"]) == ["bc5cdr~ncbi-disease"]


def test_all_means_every_corpus_a_head_was_trained_on() -> None:
    assert names(["all"], with_cross=False) == ["bc5cdr", "ncbi-disease", "elucidata-cell-line"]


def test_a_foreign_corpus_gets_a_column_for_each_head_that_fits() -> None:
    assert names(["biored"]) == ["biored~bc5cdr", "biored~ncbi-disease", "biored~cell-line"]


def test_a_map_makes_one_column_of_the_heads_that_it_names() -> None:
    (column,) = plan(HEADS, ["tmvar3"], types=parse("Gene=Chemical,CellLine=cell-line/CELLLINE"))
    assert (column.name, column.heads, column.scheme) == (
        "tmvar3~bc5cdr+cell-line",
        ("bc5cdr", "cell-line"),
        "bio+bioes",
    )


def test_a_view_limits_the_types() -> None:
    (column,) = plan(HEADS, ["bc5cdr[Chemical]"])
    assert column.types.types == ("Chemical",)


def test_views_of_one_corpus_have_names_of_their_own() -> None:
    assert names(["bc5cdr[Chemical]", "bc5cdr[Disease]"]) == ["bc5cdr", "bc5cdr.2"]


@pytest.mark.parametrize(
    ("corpora", "options", "said"),
    [
        (["craft"], {}, "no head of the model can be scored on corpus 'craft'"),
        (["bc5cdr"], {"chosen": ["bc5"]}, "did you mean 'bc5cdr'"),
        (["tmvar3"], {"types": parse("Gene=Chemicals")}, "did you mean 'Chemical'"),
        (["tmvar3"], {"plain": ["gene"], "types": parse("Gene=genes")}, "no type 'genes'"),
        (["bc5cdr"], {"plain": ["gen"], "known": ["gene"]}, "the model has no type 'gen'; did you mean 'gene'"),
        (["bc5cdr"], {"plain": ["gene"], "known": ["gene"]}, "corpus 'bc5cdr' has no type called gene"),
        (["biosses"], {}, "score a corpus with entities, or another model"),
    ],
)
def test_what_does_not_fit_is_told(corpora: list[str], options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        names(corpora, **options)
    assert said in str(caught.value)


def test_heads_know_their_corpus_by_recipe_table_or_name(tmp_path: Path) -> None:
    model = Words({"strain": {"x": "STRAIN"}, "mine": {"x": "Chemical"}})
    assert [head.corpus for head in heads_of(model)] == ["elucidata-strain", None]
    (tmp_path / "heads.json").write_text(json.dumps({"heads": [{"name": "mine", "corpus": "bc5cdr[Chemical]"}]}))
    found = heads_of(model, tmp_path)
    assert [(head.corpus, head.base) for head in found][1] == ("bc5cdr[Chemical]", "bc5cdr")
    assert doctest.testmod(model_heads).failed == 0


def test_scores_predictions_and_counts_fit_together(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    ticks: list[int] = []
    heads = heads_of(MODEL)
    columns = plan(heads, ["bc5cdr"])
    found = list(evaluate(MODEL, columns, heads, directory=root, folder=out, tick=lambda: ticks.append(1)))
    assert [one["name"] for one in found] == ["bc5cdr", "bc5cdr~ncbi-disease"]
    micro = found[0]["spans"]["matchings"]["strict"]["micro"]
    assert [micro[name] for name in ("tp", "fp", "fn")] == [1, 1, 2]
    assert found[1]["spans"]["matchings"]["strict"]["micro"]["f1"] == 1
    assert len(ticks) == 2
    score_folder.write_scores(out, score_folder.to_json("words", found))
    kept = score_folder.read(out)
    assert kept.system == "words"
    assert sum(sum(row["counts"]["strict"].get("Disease", [0, 0, 0])) for row in kept.rows("bc5cdr")) == 2
    gold = corpus.load("bc5cdr", "test", directory=root)
    again = score(align(gold, formats.read(out / "bc5cdr" / "predictions.jsonl")))
    assert (again["strict"].micro.tp, again["strict"].micro.fp) == (1, 1)


def test_the_signature_names_corpus_split_heads_and_checksum(root: Path) -> None:
    heads = heads_of(MODEL)
    columns = plan(heads, ["bc5cdr"], split="devel")
    first, second = evaluate(MODEL, columns, heads, directory=root, limit=1)
    fields = read_signature(first["signature"])
    wanted = {"corpus": "bc5cdr", "split": "devel", "documents": "1", "scheme": "bio", "heads": "bc5cdr", "limit": "1"}
    assert wanted.items() <= fields.items()
    assert fields["sha256"] == first["checksum"][:12] == second["checksum"][:12]
    assert "types" not in fields
    assert read_signature(second["signature"])["types"] == "Disease=ncbi-disease/Disease"


def test_documents_of_the_training_text_are_left_out_and_counted(root: Path) -> None:
    heads = heads_of(MODEL)
    columns = plan(heads, ["biored"])
    found = list(evaluate(MODEL, columns, heads, directory=root))
    assert [one["documents"] for one in found] == [1, 1]
    assert found[0]["removed"] == {"documents": 1, "found_in": {"bc5cdr train": 1}}
    assert read_signature(found[0]["signature"])["removed"] == "1"
    assert found[0]["spans"]["matchings"]["strict"]["types"]["ChemicalEntity"]["tp"] == 1
    kept = list(evaluate(MODEL, columns, heads, directory=root, keep_seen=True))
    assert kept[0]["documents"] == 2
    assert kept[0]["removed"] is None


def test_training_text_that_is_not_here_is_told(root: Path) -> None:
    (root / "ner/NCBI-disease/devel.tsv").unlink()
    heads = heads_of(MODEL)
    found = list(evaluate(MODEL, plan(heads, ["biored"]), heads, directory=root))
    assert found[0]["unchecked"] == ["ncbi-disease"]
    assert read_signature(found[0]["signature"])["unchecked"] == "ncbi-disease"


def test_no_document_left_is_an_error(root: Path) -> None:
    put(root, "relations/BioRED/Test.PubTator", BIORED[BIORED.index("2|t|") :])
    heads = heads_of(MODEL)
    with pytest.raises(ScoreError) as caught:
        list(evaluate(MODEL, plan(heads, ["biored"]), heads, directory=root))
    assert caught.value.code == "BX704"


def test_plain_types_are_scored_by_their_own_names(root: Path) -> None:
    heads = heads_of(MODEL)
    (found,) = evaluate(MODEL, plan(heads, ["bc5cdr"], plain=["Chemical"]), heads, directory=root)
    assert found["spans"]["matchings"]["strict"]["micro"]["tp"] == 1
    assert list(found["spans"]["matchings"]["strict"]["types"]) == ["Chemical"]
