"""Heads of every kind, scored on corpora: figures are those of the run itself, rows can be compared, and what cannot be scored is said."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from corpora.samples import put

from biomux import formats
from biomux.cli import run as command
from biomux.scoring.document_rows import figure_of, read_rows
from biomux.scoring.signature import read_signature

pytest.importorskip("torch", reason="the extra 'train' is not installed")

from training import invented

from biomux.training.run import start

if TYPE_CHECKING:
    from pathlib import Path

HALLMARKS = 10
RELATIONS: dict[str, Any] = {
    variant: {
        "kind": "relation",
        "corpus": "chemprot",
        "settings": {"variant": variant, "types": ["CPR:3", "CPR:4"]},
        "head": {"kind": "pair-of-spans" if variant == "one-pass" else "pooled"},
    }
    for variant in ("replace", "markers", "one-pass")
}
TASKS: dict[str, Any] = {
    "drugs": {"corpus": "bc5cdr"},
    **RELATIONS,
    "marks": {
        "kind": "classification",
        "corpus": "hoc",
        "settings": {"of": "sentence", "several": True, "main": "document_f1"},
        "head": {"kind": "pooled"},
    },
    "roles": {
        "kind": "classification",
        "corpus": "nicta-piboso",
        "settings": {"of": "sentence"},
        "head": {"kind": "pooled"},
    },
    "linked": {
        "kind": "classification",
        "corpus": "gad",
        "settings": {"negative": ["0"], "main": "f1"},
        "head": {"kind": "pooled"},
    },
    "same": {"kind": "classification", "corpus": "mqp", "settings": {"of": "pair"}, "head": {"kind": "pooled"}},
    "alike": {"kind": "similarity", "corpus": "biosses"},
    "asked": {"kind": "answers", "corpus": "covid-qa"},
    "has": {"kind": "auxiliary", "of": "drugs", "settings": {"which": "has"}, "head": {"kind": "pooled"}},
    "words": {"kind": "masked-words", "corpus": "bc5cdr"},
}
SCORED = [name for name in TASKS if name not in ("has", "words")]


def corpora(root: Path) -> Path:
    """Invented content as the cards want it; relations, classes and answers are drawn at random."""
    invented.corpora(root, number=10)
    for number, split in enumerate(("train", "devel", "test")):
        chance = random.Random(number)
        chemprot(root, split, chance)
        dev = "dev" if split == "devel" else split
        rows = "".join(f"{at}\taspirin given\t{chance.choice(DRUGS)} level\t{chance.random()}\n" for at in range(12))
        put(root, f"pairs/BIOSSES/blurb/{dev}.tsv", "index\tsentence1\tsentence2\tscore\n" + rows)
        lines = ["labels\tsentence\tindex"]
        for at in range(24):
            marks = ",".join(f"{one}_{int(chance.random() < (0.1 if one else 0.8))}" for one in range(HALLMARKS))
            lines.append(f"{marks}\t{sentence(chance)}\t{at // 3}_s{at % 3}")
        put(root, f"classification/HoC/blurb/{dev}.tsv.gz", "\n".join(lines) + "\n")
        abstracts = [
            "\n".join([f"###{at}", *(f"{chance.choice(('aim', 'outcome'))}\t{sentence(chance)}" for _ in range(3))])
            for at in range(6)
        ]
        put(root, f"classification/NICTA-PIBOSO/{dev}_clean.txt.gz", "\n\n".join(abstracts) + "\n\n")
        rows = "".join(f"{at}\t@GENE$ in @DISEASE$ {sentence(chance)}\t{chance.randint(0, 1)}\n" for at in range(12))
        ending = "" if split == "devel" else ".gz"
        put(root, f"relations/GAD/blurb/{dev}.tsv{ending}", "index\tsentence\tlabel\n" + rows)
    chance = random.Random(9)
    rows = "".join(f"{at // 2},{sentence(chance)},{sentence(chance)},{chance.randint(0, 1)}\n" for at in range(160))
    put(root, "pairs/MQP/mqp.csv.gz", rows)
    paragraphs = []
    for at in range(60):
        text = f"{sentence(chance)} case {at}"
        word = text.split()[chance.randrange(4)]
        answer = {"text": word, "answer_start": text.index(word)}
        questions = [{"id": f"{at}", "question": "which one", "answers": [answer], "is_impossible": False}]
        paragraphs.append({"title": "", "paragraphs": [{"context": text, "document_id": at, "qas": questions}]})
    put(root, "qa/COVID-QA/200423_covidQA.json.gz", json.dumps({"version": "1", "data": paragraphs}))
    return root


DRUGS, GENES = invented.DRUGS, invented.GENES


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choice((*DRUGS, *GENES, *invented.ILLS, "given", "treated")) for _ in range(6)) + " ."


def chemprot(root: Path, split: str, chance: random.Random) -> None:
    """Two sentences an abstract; some relations cross from one to the other, so no candidate pair holds them."""
    tables: dict[str, list[str]] = {"abstracts": [], "entities": [], "relations": [], "gold_standard": []}
    for at in range(8):
        title, text = "On them.", ""
        spans: list[tuple[int, int, str, str]] = []
        for half in range(2):
            drug, gene = chance.choice(DRUGS), chance.choice(GENES)
            begin = len(title) + 1 + len(text)
            text += f"{drug.capitalize()} treated {gene}. "
            spans.append((begin, begin + len(drug), "CHEMICAL", f"T{2 * half + 1}"))
            spans.append((begin + len(drug) + 9, begin + len(drug) + 9 + len(gene), "GENE-Y", f"T{2 * half + 2}"))
        text = text.strip()
        whole = f"{title} {text}"
        tables["abstracts"].append(f"{at}\t{title}\t{text}")
        tables["entities"] += [f"{at}\t{id_}\t{type_}\t{a}\t{b}\t{whole[a:b]}" for a, b, type_, id_ in spans]
        for left, right in (("T1", "T2"), ("T3", "T4"), ("T1", "T4")):
            if chance.random() < 0.85:
                type_ = chance.choice(("CPR:3", "CPR:3", "CPR:3", "CPR:4", "CPR:9"))
                tables["relations"].append(f"{at}\t{type_}\tY \tX\tArg1:{left}\tArg2:{right}")
                tables["gold_standard"].append(f"{at}\t{type_}\tArg1:{left}\tArg2:{right}")
    name = {"train": "training", "devel": "development", "test": "test"}[split]
    folder = f"relations/ChemProt/chemprot_{name}{'_gs' if split == 'test' else ''}"
    for kind, lines in tables.items():
        plain = kind == "gold_standard" and split == "devel"
        tail = "_gs" if split == "test" and kind != "gold_standard" else ""
        put(root, f"{folder}/chemprot_{name}_{kind}{tail}.tsv{'' if plain else '.gz'}", "\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora(tmp_path_factory.mktemp("corpora"))


def trained(folder: Path, root: Path, *, seed: int = 1) -> Path:
    recipe = invented.recipe(
        tasks=TASKS,
        regime={"kind": "one-task"},
        leaks="ignore",
        loop={"epochs": 3, "seed": seed, "learning_rate": 1e-2},
    )
    start(recipe, folder, directory=root)
    return folder


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("runs") / "run", root)


@pytest.fixture(scope="module")
def scored(root: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scores") / "devel"
    line = ["evaluate", str(folder), "all", "--split", "devel", "--corpora", str(root), "--no-cross", "-o", str(out)]
    assert command(line) == 0
    return out


def columns(out: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((out / "scores.json").read_bytes())["columns"]
    return {column["heads"][0]: column for column in found}


def figures(column: dict[str, Any]) -> dict[str, float]:
    """A column's figures under the names that a run's scores.json has."""
    if "spans" in column:
        return {name: column["spans"]["matchings"]["strict"]["micro"][name] for name in ("precision", "recall", "f1")}
    if "relations" in column:
        table = column["relations"]["matchings"]["undirected"]
        made = {name: table["micro"][name] for name in ("precision", "recall", "f1")}
        return {**made, "macro_f1": table["macro"]["f1"]}
    if "numbers" in column:
        (one,) = column["numbers"].values()
        return {name: one[name] for name in ("pearson", "spearman", "mse")}
    if "answers" in column:
        return {name: column["answers"][name]["value"] for name in ("strict", "lenient", "mrr", "exact", "f1")}
    labels = column["labels"]
    made = {"f1": labels["micro"]["f1"], "macro_f1": labels["macro"]["f1"]}
    if labels["kind"] == "one":
        return {**made, "accuracy": labels["accuracy"]}
    return {**made, "exact": labels["exact"]["value"], "document_f1": labels["by_document"]["f1"]}


def test_every_head_is_scored_as_the_run_scored_it(folder: Path, scored: Path) -> None:
    told = json.loads((folder / "scores.json").read_bytes())["tasks"]
    found = columns(scored)
    assert set(found) == set(SCORED)
    for name, column in found.items():
        main = told[name].pop("main")
        assert figures(column) == pytest.approx({figure: told[name][figure] for figure in figures(column)}), name
        assert set(figures(column)) == set(told[name]), name
        if "main" in column:
            assert column["main"]["metric"] == main
            assert column["main"]["value"] == pytest.approx(told[name][main])
    values = {name: column["main"]["value"] for name, column in found.items() if "main" in column}
    assert sum(0 < value < 1 for value in values.values()) >= 5, values
    assert any(0 < values[name] < 1 for name in RELATIONS), values


def test_rows_of_documents_give_the_main_figure(scored: Path) -> None:
    for name, column in columns(scored).items():
        rows = [json.loads(line) for line in (scored / column["name"] / "counts.jsonl").read_text().splitlines()]
        predicted = list(formats.read(scored / column["name"] / "predictions.jsonl"))
        assert [row["id"] for row in rows] == [document.id for document in predicted]
        assert len(rows) == column["documents"]
        if name == "drugs":
            continue
        main = column["main"]
        content = {"figure": main["rows"], "classes": main["classes"], "ids": [row["id"] for row in rows]}
        read = read_rows({**content, "rows": [row["row"] for row in rows]})
        assert figure_of([read]) == pytest.approx(main["value"], abs=1e-6), name


def test_relations_are_scored_on_candidate_pairs_too(scored: Path) -> None:
    """What crosses a sentence is a miss over all relations, and no question on candidate pairs; other types are left out and counted."""
    for name in RELATIONS:
        column = columns(scored)[name]
        whole, pairs = (column["relations"]["matchings"][one]["micro"] for one in ("undirected", "candidates"))
        assert (whole["tp"], whole["fp"]) == (pairs["tp"], pairs["fp"])
        assert whole["fn"] > pairs["fn"]
        assert (column["relations"]["pairs"], column["relations"]["pairs_too_far_apart"]) == (16, 32)
        assert column["left_out"]["relations of other types"] > 0
        fields = read_signature(column["signature"])
        assert (fields["matching"], fields["kind"], fields["mentions"]) == ("candidates+undirected", "relation", "gold")


def test_tables_and_notes(root: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["evaluate", str(folder), "chemprot", "hoc", "biosses", "--split", "devel", "--corpora", str(root)]
    assert command(line) == 0
    shown = capsys.readouterr()
    assert "relations\tgold\tfound\tP\tR\tF1 candidates\tF1 undirected" in shown.out
    assert "\nby document\t" in shown.out
    assert "corpus\tsplit\thead\tkind\tdocuments\tfigure\tvalue" in shown.out
    assert "head 'has' is not scored" in shown.err
    assert "head 'words' is not scored" in shown.err


def test_systems_are_compared_by_their_main_figures(
    root: Path, scored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = trained(tmp_path / "other", root, seed=2)
    line = ["evaluate", str(other), "all", "--split", "devel", "--corpora", str(root), "--no-cross"]
    assert command([*line, "-o", str(tmp_path / "scores")]) == 0
    capsys.readouterr()
    compare = ["compare", str(scored), f"other={tmp_path / 'scores'}", "--json", "--samples", "50"]
    assert command(compare) == 0
    found = json.loads(capsys.readouterr().out)
    left, right = columns(scored), columns(tmp_path / "scores")
    tested = {test["column"]: test for test in found["tests"]}
    assert set(tested) == {column["name"] for column in left.values()}
    for name, column in left.items():
        if "main" in column:
            test = tested[column["name"]]
            assert test["first_value"] == pytest.approx(column["main"]["value"], abs=1e-6), name
            assert test["second_value"] == pytest.approx(right[name]["main"]["value"], abs=1e-6), name
    assert command([*compare, "--matching", "candidates"]) == 0
    shown = capsys.readouterr()
    pairs = {column["name"] for column in left.values() if "relations" in column}
    assert set(json.loads(shown.out)["values"]) == pairs
    assert "not compared, since there are no relations: " in shown.err
    seeds = ["compare", f"a={scored}", f"a={tmp_path / 'scores'}", f"b={scored}", "--json", "--samples", "50"]
    capsys.readouterr()
    assert command(seeds) == 0
    assert len(json.loads(capsys.readouterr().out)["tests"]) == len(left)


def test_candidate_pairs_can_be_compared(
    root: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["evaluate", str(folder), "chemprot", "--split", "devel", "--corpora", str(root), "-o", str(tmp_path / "a")]
    assert command(line) == 0
    capsys.readouterr()
    line = ["compare", str(tmp_path / "a"), f"b={tmp_path / 'a'}", "--matching", "candidates", "--samples", "20"]
    assert command([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    column = columns(tmp_path / "a")["markers"]
    micro = column["relations"]["matchings"]["candidates"]["micro"]
    assert found["values"][column["name"]]["a"]["values"] == [pytest.approx(micro["f1"])]
    assert len(found["tests"]) == 3


def test_a_report_shows_them(scored: Path, tmp_path: Path) -> None:
    assert command(["report", str(scored), "-o", str(tmp_path / "page")]) == 0
    page = next(path for path in (tmp_path / "page").rglob("*.md")).read_text()
    assert "on candidate pairs" in page
    assert "Heads that do not tag" in page
    assert "Pearson" in page


def test_a_head_is_asked_about_another_corpus_by_name(
    root: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["evaluate", str(folder), "--corpora", str(root), "--split", "devel", "--keep-seen"]
    assert command([*line, "mqp", "--heads", "alike"]) == 2
    assert "has nothing that head 'alike' answers" in capsys.readouterr().err
    assert command([*line, "rqe"]) == 2
    assert "name a head that fits with --heads" in capsys.readouterr().err
    assert command([*line, "gad", "--heads", "same", "--json"]) == 0
    (column,) = json.loads(capsys.readouterr().out)["columns"]
    assert (column["name"], column["cross"]) == ("gad~same", True)


def test_a_run_without_any_head_to_score_is_told(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = invented.recipe(tasks={"words": TASKS["words"]}, regime={"kind": "single"}, loop={"epochs": 1})
    start(recipe, tmp_path / "run", directory=root)
    assert command(["evaluate", str(tmp_path / "run"), "bc5cdr", "--corpora", str(root)]) == 2
    assert "no head of the model can be scored" in capsys.readouterr().err
