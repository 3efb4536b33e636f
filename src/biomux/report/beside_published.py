"""Our figures beside published ones: only those of the same corpus, the same part of it and the same definition; what still differs is named.

Left out: cross-corpus columns (nobody published them), splits other than test, parts of a test set, heads of some of a corpus's types (papers score all of them), and
models that were trained on a fraction of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from biomux.corpora import catalogue, view
from biomux.errors import BiomuxError
from biomux.evaluation import published
from biomux.evaluation.score_tables import percent
from biomux.scoring.signature import read_signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from biomux.evaluation.published import Published
    from biomux.report.blocks import Cell

ONE_TYPE = {"bc5cdr-chemical": ("bc5cdr", "Chemical"), "bc5cdr-disease": ("bc5cdr", "Disease")}
"""Published corpora that are one type of one of ours."""

DIFFERS = {
    "A": "PubMedBERT (110 million parameters), trained on the development documents too; the same test files; strict F1.",
    "B": "BERT of base size (110 million parameters); sentences of more than 30 words are cut; strict F1 for mentions, micro-F1 over positive "
    "classes for relations.",
    "C": "F1 is counted on the tokens of their tokenizers, with a word's label on each of its tokens, so it is shown beside our sub-word figure, whose "
    "tokens are our tokenizer's; each type of BC5CDR had its own model.",
    "D": "BioBERT (110 million parameters) and others as named; development data was trained on too; BC5CDR's chemicals had their own model.",
    "E": "BiLSTM with word vectors; development data was trained on too; means of five seeds (Table 3: figures that E quotes from others).",
}
"""What a reader must know before comparing a paper's figure with ours."""


@dataclass(frozen=True, slots=True)
class Ours:
    """A figure of ours that may be compared with published ones of `corpus` by `metric`, with its standard error."""

    corpus: str
    metric: str
    system: str
    value: float
    error: float | None


@dataclass(frozen=True, slots=True)
class Beside:
    """A paper's figures by one metric: rows of corpora, our systems first."""

    paper: str
    metric: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    ranges: Mapping[str, tuple[float, float]]
    """Corpus → median and highest published figure, in percent."""


def ours(system: str, columns: Iterable[Mapping[str, Any]]) -> list[Ours]:
    """The figures of a system that may be compared with published ones."""
    figures: list[Ours] = []
    for column in columns:
        if comparable(column):
            figures += _figures(system, column)
    return figures


def comparable(column: Mapping[str, Any]) -> bool:
    """Whether a column is of a whole test part and of a head that was trained on the corpus."""
    if column.get("cross") or column.get("split") != "test" or "figure" in column:
        return False
    try:
        if view.parse(str(column.get("corpus", "")))[1] is not None:
            return False
        fields = read_signature(str(column.get("signature", "")))
    except BiomuxError:
        return False
    return "limit" not in fields and fields.get("removed", "0") == "0"


def beside(figures: Sequence[Ours]) -> list[Beside]:
    """One table per paper and metric, in the order of the papers."""
    systems = list(dict.fromkeys(figure.system for figure in figures))
    ours_by_key = {(figure.corpus, figure.metric, figure.system): figure for figure in figures}
    scored = {(figure.corpus, figure.metric) for figure in figures}
    groups: dict[tuple[str, str], list[Published]] = {}
    for figure in published.all_published():
        fraction = figure.note.startswith("training fraction")
        if not fraction and (figure.corpus, _metric(figure)) in scored:
            groups.setdefault((figure.paper, _metric(figure)), []).append(figure)
    comparisons = []
    for (paper, metric), rows in sorted(groups.items()):
        names = list(dict.fromkeys(row.system for row in rows))
        table = []
        ranges = {}
        for corpus in dict.fromkeys(row.corpus for row in rows):
            values = {row.system: _percent(row, rows) for row in rows if row.corpus == corpus}
            mine = [ours_by_key.get((corpus, metric, system)) for system in systems]
            table.append((corpus, *map(_shown, mine), *(_cell(values.get(name)) for name in names)))
            ranges[corpus] = (median(values.values()), max(values.values()))
        tables = tuple(dict.fromkeys(row.table for row in rows))
        comparisons.append(Beside(paper, metric, tables, ("corpus", *systems, *names), tuple(table), ranges))
    return comparisons


def _figures(system: str, column: Mapping[str, Any]) -> list[Ours]:
    corpus = str(column["corpus"])
    figures: list[Ours] = []

    def add(name: str, metric: str, row: Mapping[str, Any] | None, key: str = "f1") -> None:
        if row and row.get(key) is not None:
            figures.append(Ours(name, metric, system, float(row[key]), row.get(f"{key}_error", row.get("error"))))

    for matching, metric in (("strict", "f1-strict"), ("subword", "f1-subword")):
        table = column.get("spans", {}).get("matchings", {}).get(matching)
        if table:
            if _has_all_types(corpus, table["types"]):
                add(corpus, metric, table["micro"])
            for name, (base, type_) in ONE_TYPE.items():
                if base == corpus:
                    add(name, metric, table["types"].get(type_))
    linked = column.get("relations", {}).get("matchings", {})
    if "candidates" in linked:
        add(corpus, "f1", linked["candidates"]["micro"])
    if labels := column.get("labels"):
        add(corpus, "f1", labels["micro"])
        add(corpus, "f1-macro", labels["macro"])
        add(corpus, "accuracy", labels, "accuracy")
        if len(labels["types"]) == 1:
            add(corpus, "f1-binary", labels["micro"])
    for number in list(column.get("numbers", {}).values())[:1]:
        add(corpus, "pearson", number, "pearson")
    for name, metric in (("strict", "strict-accuracy"), ("lenient", "lenient-accuracy"), ("mrr", "mrr")):
        add(corpus, metric, column.get("answers", {}).get(name), "value")
    return figures


def _has_all_types(corpus: str, scored: Iterable[str]) -> bool:
    """Whether all types that a corpus's test part has were scored: papers do not print figures for one type of several."""
    card = catalogue.card(corpus)
    counted = card.splits["test"].counts.mentions if "test" in card.splits else None
    needed = set(card.types) if counted is None else {name for name, number in counted.items() if number}
    return len(needed) < 2 or needed <= {name for joined in scored for name in joined.split("+")}


def _metric(figure: Published) -> str:
    """B calls strict F1 of mentions plain F1."""
    return "f1-strict" if figure.metric == "f1" and figure.corpus in ONE_TYPE else figure.metric


def _percent(figure: Published, rows: Sequence[Published]) -> float:
    """Papers print shares or percent; a table of shares has no value above one."""
    return figure.value * (100 if all(row.value <= 1 for row in rows) else 1)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _shown(figure: Ours | None) -> str:
    if figure is None:
        return ""
    return percent(figure.value) if figure.error is None else f"{percent(figure.value)} ±{100 * figure.error:.2f}"
