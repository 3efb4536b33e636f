"""The report: one page that stands alone, says what it was given, and escapes everything."""

from __future__ import annotations

import doctest
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from biomux import __version__
from biomux.cli import run
from biomux.document import Document, Span
from biomux.errors import BiomuxError, ScoreError
from biomux.evaluation import score_folder
from biomux.evaluation.compare import systems_of
from biomux.evaluation.negative_transfer import contrasts
from biomux.evaluation.prediction_files import score_files
from biomux.recipes.run_folder import read_journal
from biomux.report import charts, cost, journal, report, report_inputs, score_sections
from biomux.report.beside_published import beside, comparable, ours
from biomux.report.page_html import html
from biomux.report.page_markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GOLDEN = Path(__file__).parent / "golden_report.md"
TEXT = "Bexol eases severe ulcer pain in mice."
GOLD = [Document(f"d{n}", TEXT, spans=(Span(0, 5, "drug"), Span(19, 29, "illness"))) for n in range(40)]
EVIL = "<script>alert(1)</script>&\"'|`[x](javascript:1)"
EMPTY = {"meta", "br", "img", "rect", "line", "circle", "path", "input", "hr", "link"}


class Checked(HTMLParser):
    """Fails on tags that do not nest; collects what the page would load, its tables and its drawings."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def checked(page: str) -> Checked:
    parser = Checked()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def said(right: int, *, score: float | None = 0.8) -> list[Document]:
    """A system that finds the drug in so many documents, and always half of the illness."""
    return [
        Document(
            gold.id,
            TEXT,
            spans=(
                Span(0, 5, "drug", score=score) if n < right else Span(6, 11, "drug", score=score),
                Span(25, 29, "illness", score=score),
            ),
        )
        for n, gold in enumerate(GOLD)
    ]


@pytest.fixture
def scores(tmp_path: Path) -> Callable[..., str]:
    def write(name: str, predicted: Sequence[Document], *, corpora: Sequence[str] = ("toy",), **more: Any) -> str:
        place = tmp_path / name
        place.mkdir()
        columns = [score_files(GOLD, predicted, name=corpus, folder=place) for corpus in corpora]
        score_folder.write_scores(place, score_folder.to_json(more.get("system", name), columns))
        return str(place)

    return write


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A run's folder as `biomux train` leaves it."""
    place = tmp_path / "tiny"
    place.mkdir()
    recipe = "name: tiny\nabout: Two invented tasks.\ntasks: {pills: {corpus: toy}, ills: {corpus: toy}}\n"
    recipe += "model: {encoder: {name: weights/small}}\nregime: {kind: mixed}\nloop: {seed: 7}\n"
    (place / "recipe.yaml").write_text(recipe)
    events: list[dict[str, Any]] = [{"event": "start", "resumed": False}]
    for step in (10, 20, 30, 40):
        losses = {"pills": 2.0 / step, "ills": 5.0 / step}
        events.append(
            {"event": "step", "total": 40, "step": step, "tokens": 100 * step, "seconds": step * 6.0, "losses": losses}
        )
        if step % 20 == 0:
            events.append(
                {
                    "event": "scores",
                    "mean": 50.0 + step,
                    "scores": {"pills": 55.0 + step, "ills": 45.0 + step},
                    "seconds": 1.0,
                }
            )
    events.append({"event": "end", "step": 40, "tokens": 4000, "seconds": 240.0})
    (place / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    tasks = {
        "pills": {"main": "f1", "f1": 0.95, "precision": 0.9, "recall": 1.0},
        "ills": {"main": "pearson", "pearson": 0.85},
    }
    (place / "scores.json").write_text(json.dumps({"mean": 0.9, "tasks": tasks}))
    header = json.dumps(
        {"__metadata__": {}, "a": {"dtype": "F32", "shape": [1000, 30], "data_offsets": [0, 120000]}}
    ).encode()
    (place / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(1000))
    return place


def test_a_report_is_made_of_a_run_and_scores(
    scores: Callable[..., str], trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["report", str(trained), scores("first", said(30)), "-o", str(out), "--examples", "1"]) == 0
    assert capsys.readouterr().out.strip() == str(out / "report.html")
    page = (out / "report.html").read_text(encoding="utf-8")
    found = checked(page)
    titles = [
        text
        for text in found.text
        if text in {"At a glance", "Scores: first", "Mistakes", "Calibration", "Training", "Cost"}
    ]
    assert set(titles) == {"At a glance", "Scores: first", "Mistakes", "Calibration", "Training", "Cost"}
    assert "matching:strict+boundary+type+overlap+word+semeval" in page
    assert "<td class=number>30,000</td>" in page  # 30,000 parameters, from the header of the weights
    assert '<mark class="gold said">' in page
    figures = sorted(path.name for path in (out / "figures").iterdir())
    linked = re.findall(r"\]\(figures/([^)]*)\)", (out / "report.md").read_text(encoding="utf-8"))
    assert sorted(linked) == figures
    for path in (out / "figures").iterdir():
        ElementTree.fromstring(path.read_bytes())


def test_the_page_loads_nothing_and_runs_nothing(scores: Callable[..., str], trained: Path) -> None:
    page, _ = report.make([str(trained), scores("a", said(30)), scores("b", said(20))])
    found = checked(html(page))
    for tag, attributes in found.tags:
        assert tag not in {"script", "link", "iframe", "object", "embed", "img", "base", "form", "foreignobject", "use"}
        assert not any(name.startswith("on") for name in attributes)
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")  # type: ignore[union-attr]
        assert "url(" not in (attributes.get("style") or "")
    style = html(page).partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in str([dict(attributes).get("content") for _, attributes in found.tags])


def test_the_page_can_be_read_without_seeing_it(scores: Callable[..., str], trained: Path) -> None:
    page, _ = report.make([str(trained), scores("a", said(30))])
    found = checked(html(page))
    tags = [tag for tag, _ in found.tags]
    assert dict(found.tags)["html"]["lang"] == "en"
    assert all(attributes.get("aria-label") for tag, attributes in found.tags if tag == "svg")
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in found.tags if tag == "th")
    assert tags.count("h1") == 1
    anchors = [attributes["id"] for tag, attributes in found.tags if tag == "section"]
    targets = [attributes["href"] for tag, attributes in found.tags if tag == "a"]
    assert [f"#{anchor}" for anchor in anchors] == targets[1:]
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)


def test_evil_names_and_texts_are_escaped(tmp_path: Path, trained: Path) -> None:
    gold = [Document("x<b>", f"{EVIL} helps", spans=(Span(0, 8, EVIL),))]
    wrong = [Document("x<b>", f"{EVIL} helps", spans=(Span(0, 25, EVIL, score=0.5),))]
    place = tmp_path / "scores"
    place.mkdir()
    column = {
        **score_files(gold, wrong, name="toy", folder=place),
        "name": EVIL,
        "corpus": EVIL,
        "signature": f"biomux:1|x:{EVIL}",
    }
    score_folder.write_scores(place, score_folder.to_json(EVIL, [column]))
    entries = trained / "journal.jsonl"
    entries.write_text(entries.read_text().replace('"pills"', json.dumps(EVIL)))
    (trained / "recipe.yaml").write_text(json.dumps({"name": EVIL, "about": EVIL, "tasks": {EVIL: {}}}))
    page, _ = report.make([str(place), f"{EVIL}={trained}"], title=EVIL)
    shown = html(page)
    assert "<script" not in shown
    assert all(tag != "b" or not attributes for tag, attributes in checked(shown).tags)
    text = re.sub(r"^`[^`]*`$", "", markdown(page), flags=re.MULTILINE)  # signatures, as code
    assert "<" not in text
    assert "](javascript" not in text.replace("\\]", "")
    for picture in page.pictures():
        ElementTree.fromstring(picture.svg)


def test_a_tiny_run_gives_the_page_that_is_kept(trained: Path, scores: Callable[..., str]) -> None:
    page, _ = report.make([str(trained), scores("first", said(30))], examples=1)
    assert markdown(page).replace(__version__, "VERSION") == GOLDEN.read_text(encoding="utf-8")


def test_a_fall_below_the_baseline_is_an_alarm(
    scores: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    together, alone = scores("together", said(10), corpora=("toy", "toy2")), scores("alone", said(40))
    assert run(["report", together, "--baseline", alone, "-o", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err
    assert "alarm: together is 37.50 points below alone on toy (12.50 against 50.00, p = " in told
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count('class="notice alarm"') == 1
    assert run(["compare", together, "--baseline", alone]) == 0
    shown = capsys.readouterr()
    assert "\thurts\n" in shown.out
    assert "alarm: together" in shown.err
    assert run(["compare", together, "--baseline", alone, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["baselines"][0]["alarm"] is True


def test_an_alarm_sounds_however_many_tests_and_few_samples_there_are(scores: Callable[..., str]) -> None:
    corpora = [f"toy{n}" for n in range(12)]
    models = systems_of([scores("together", said(5), corpora=corpora)])
    found = contrasts(models, systems_of([scores("alone", said(40), corpora=corpora)]), samples=10)
    assert [one.alarm for one in found] == [True] * 12


def test_no_fall_is_no_alarm(scores: Callable[..., str], trained: Path) -> None:
    models = systems_of([scores("together", said(30))])
    (same,) = contrasts(models, systems_of([scores("alone", said(30))]))
    assert (same.alarm, same.verdict) == (False, "no difference shown")
    (better,) = contrasts(models, systems_of([scores("worse", said(0))]))
    assert (better.alarm, better.verdict) == (False, "helps")
    with pytest.raises(ScoreError, match="no column in common"):
        contrasts(models, systems_of([str(trained)]))


def test_development_scores_are_told_but_not_tested(trained: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    tasks = {"pills": {"main": "f1", "f1": 0.99, "precision": 1.0, "recall": 0.98}}
    (alone / "scores.json").write_text(json.dumps({"mean": 0.99, "tasks": tasks}))
    page, found = report.make([str(trained)], baselines=[str(alone)])
    assert [(one.verdict, one.alarm) for one in found] == [("not tested", False)]
    assert "could not be tested" in markdown(page)


def test_three_systems_on_two_corpora_get_a_rank_diagram(scores: Callable[..., str]) -> None:
    pytest.importorskip("scikit_posthocs", reason="the extra 'report' is not installed")
    paths = [scores(name, said(right), corpora=("x", "y", "z")) for name, right in (("a", 38), ("b", 20), ("c", 3))]
    page, _ = report.make(paths)
    assert "compared-ranks" in [picture.name for picture in page.pictures()]
    assert "Friedman" in markdown(page)


def test_published_figures_stand_beside_ours_where_they_can() -> None:
    micro = {"tp": 1, "fp": 1, "fn": 1, "precision": 0.8, "recall": 0.8, "f1": 0.8, "f1_error": 0.01}
    column = {
        "name": "bc2gm",
        "corpus": "bc2gm",
        "split": "test",
        "cross": False,
        "signature": "biomux:0.1.0|matching:strict|corpus:bc2gm",
        "spans": {"matchings": {"strict": {"micro": micro, "types": {}}, "subword": {"micro": micro, "types": {}}}},
    }
    tables = beside(ours("mine", [column]))
    assert [(one.paper, one.metric) for one in tables] == [("C", "f1-subword"), ("D", "f1-strict"), ("E", "f1-strict")]
    row = dict(zip(tables[2].columns, tables[2].rows[0], strict=True))
    assert (row["mine"], row["mtm"]) == ("80.00 ±1.00", "79.68")
    assert "joint-max" in tables[1].columns
    assert not comparable({**column, "cross": True})
    assert not comparable({**column, "split": "devel"})
    assert not comparable({**column, "signature": column["signature"] + "|limit:50"})  # type: ignore[operator]
    assert not comparable({**column, "signature": column["signature"] + "|removed:35"})  # type: ignore[operator]
    assert not comparable({**column, "corpus": "bc2gm[GENE=gene]"})


def test_a_head_of_one_type_stands_only_beside_figures_of_that_type() -> None:
    micro = {"tp": 1, "fp": 1, "fn": 1, "precision": 0.8, "recall": 0.8, "f1": 0.8, "f1_error": 0.01}

    def column(*types: str) -> dict[str, Any]:
        table = {"micro": micro, "types": dict.fromkeys(types, micro)}
        signature = "biomux:0.1.0|matching:strict|corpus:bc5cdr"
        return {
            "name": "bc5cdr",
            "corpus": "bc5cdr",
            "split": "test",
            "cross": False,
            "signature": signature,
            "spans": {"matchings": {"strict": table, "subword": table}},
        }

    def corpora(*types: str) -> set[str]:
        return {one.corpus for one in ours("mine", [column(*types)])}

    assert corpora("Chemical", "Disease") == {"bc5cdr", "bc5cdr-chemical", "bc5cdr-disease"}
    assert corpora("Disease") == {"bc5cdr-disease"}
    assert corpora("Chemical") == {"bc5cdr-chemical"}


def test_a_study_without_a_report_says_so(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps({"format": "biomux-study", "study": {"name": "pairs"}}))
    page, _ = report.make([str(tmp_path)])
    assert page.sections[-1].title == "Study: pairs"
    assert "not finished" in markdown(page)
    (tmp_path / "report.json").write_text(json.dumps({"kind": "transfer"}))
    with pytest.raises(ScoreError, match="cannot read the study's report"):
        report.make([str(tmp_path)])


def test_a_measurement_becomes_cost(tmp_path: Path) -> None:
    found = {
        "text": "invented abstracts",
        "threads": 2,
        "throughput": {"words_per_second": 1234.5},
        "latency": {"median": 0.0123},
        "memory": {"many": 2.5e8},
        "bundle": {"bytes": 24_700_000},
    }
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(found))
    page, _ = report.make([f"first={path}"])
    for figure in ("1,234", "12.3 ms", "250.0 MB", "24.7 MB"):
        assert figure in markdown(page)


def test_a_run_that_added_a_head_stands_for_its_bundle(tmp_path: Path) -> None:
    inner = tmp_path / "added" / "bundle"
    inner.mkdir(parents=True)
    (inner / "manifest.json").write_text('{"format": "biomux-bundle"}')
    (found,) = report_inputs.read([str(tmp_path / "added")]).bundles
    assert (found.name, found.folder) == ("added", inner)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "neither a run nor scores"),
        ({"scores.json": "{"}, "cannot read"),
        ({"recipe.yaml": "a: [", "journal.jsonl": ""}, "cannot read the recipe"),
        ({"recipe.yaml": "- 1"}, "cannot read the recipe"),
        ({"manifest.json": "[]"}, "cannot read the manifest"),
        ({"manifest.json": '{"format": "x"}'}, "not a bundle"),
        ({"study.json": "x"}, "cannot read"),
    ],
)
def test_what_is_broken_is_told_in_a_sentence(
    files: dict[str, str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "given"
    place.mkdir()
    for name, content in files.items():
        (place / name).write_text(content)
    assert run(["report", str(place), "-o", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr().err
    assert told in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_is_not_there_or_no_measurement_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for argument in (tmp_path / "nothing", tmp_path / "x.json"):
        with pytest.raises(BiomuxError):
            report.make([str(argument)])
    with pytest.raises(BiomuxError):
        report.make([])


def test_a_journal_that_is_cut_short_is_shown_as_far_as_it_goes(trained: Path) -> None:
    path = trained / "journal.jsonl"
    path.write_text(path.read_text()[:-150] + "\n[3]\n" + '{"event": "scores"}\n')
    found = journal.history(read_journal(path))
    assert found.unread == 3
    assert found.losses["pills"][0] == (10.0, 0.2)
    page, _ = report.make([str(trained)])
    assert "3 lines of the journal could not be read" in markdown(page)


def test_a_run_that_has_just_begun_is_shown(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("name: young\n")
    page, _ = report.make([str(tmp_path)])
    assert "The journal holds no losses" in markdown(page)


def test_marks_cover_text_and_overlap() -> None:
    one = {"context": "abcdef", "offset": 2, "gold": [{"ranges": [[3, 6]]}], "predicted": [{"ranges": [[5, 40]]}]}
    assert score_sections.pieces(one) == [
        ("a", False, False),
        ("bc", True, False),
        ("d", True, True),
        ("ef", False, True),
    ]


def test_examples_run() -> None:
    for module in (charts, cost, journal, score_sections):
        assert doctest.testmod(module).failed == 0
