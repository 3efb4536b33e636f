"""Our figures beside published ones: only those of the same corpus, the same part of it and the same definition; what still differs is said.

Not set beside anything: cross-corpus columns (nobody published them), other splits than test, parts of a test set, heads of some of a corpus's types beside figures of all of them, and
figures of models that were trained on a fraction of the data.
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
    "C": "F1 is counted on the tokens of their tokenizers, with a word's label on each of its tokens, so it stands beside our sub-word figure, whose "
    "tokens are our tokenizer's; BC5CDR's types had a model each.",
    "D": "BioBERT (110 million parameters) and others as named; development data was trained on too; BC5CDR's chemicals had a model of their own.",
    "E": "BiLSTM with word vectors; development data was trained on too; means of five seeds (Table 3: figures that E quotes from others).",
}
"""What a reader must know before a figure of a paper is held against ours."""


@dataclass(frozen=True, slots=True)
class Ours:
    """A figure of ours that may stand beside published ones of `corpus` by `metric`, with its standard error."""

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
    """The figures of a system that something published may stand beside."""
    found: list[Ours] = []
    for column in columns:
        if comparable(column):
            found += _figures(system, column)
    return found


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
    """A table a paper and metric, in the order of the papers."""
    systems = list(dict.fromkeys(one.system for one in figures))
    own = {(one.corpus, one.metric, one.system): one for one in figures}
    known = {(one.corpus, one.metric) for one in figures}
    groups: dict[tuple[str, str], list[Published]] = {}
    for one in published.all_published():
        fraction = one.note.startswith("training fraction")
        if not fraction and (one.corpus, _metric(one)) in known:
            groups.setdefault((one.paper, _metric(one)), []).append(one)
    made = []
    for (paper, metric), rows in sorted(groups.items()):
        names = list(dict.fromkeys(row.system for row in rows))
        table = []
        ranges = {}
        for corpus in dict.fromkeys(row.corpus for row in rows):
            values = {row.system: _percent(row, rows) for row in rows if row.corpus == corpus}
            mine = [own.get((corpus, metric, system)) for system in systems]
            table.append((corpus, *map(_shown, mine), *(_cell(values.get(name)) for name in names)))
            ranges[corpus] = (median(values.values()), max(values.values()))
        found = tuple(dict.fromkeys(row.table for row in rows))
        made.append(Beside(paper, metric, found, ("corpus", *systems, *names), tuple(table), ranges))
    return made


def _figures(system: str, column: Mapping[str, Any]) -> list[Ours]:
    corpus = str(column["corpus"])
    made: list[Ours] = []

    def add(name: str, metric: str, row: Mapping[str, Any] | None, key: str = "f1") -> None:
        if row and row.get(key) is not None:
            made.append(Ours(name, metric, system, float(row[key]), row.get(f"{key}_error", row.get("error"))))

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
    for one in list(column.get("numbers", {}).values())[:1]:
        add(corpus, "pearson", one, "pearson")
    for name, metric in (("strict", "strict-accuracy"), ("lenient", "lenient-accuracy"), ("mrr", "mrr")):
        add(corpus, metric, column.get("answers", {}).get(name), "value")
    return made


def _has_all_types(corpus: str, scored: Iterable[str]) -> bool:
    """Whether all types that a corpus's test part has were scored: a head of one type of several is not what papers print."""
    card = catalogue.card(corpus)
    counted = card.splits["test"].counts.mentions if "test" in card.splits else None
    wanted = set(card.types) if counted is None else {name for name, number in counted.items() if number}
    return len(wanted) < 2 or wanted <= {name for joined in scored for name in joined.split("+")}


def _metric(one: Published) -> str:
    """B calls strict F1 of mentions plain F1."""
    return "f1-strict" if one.metric == "f1" and one.corpus in ONE_TYPE else one.metric


def _percent(one: Published, rows: Sequence[Published]) -> float:
    """Papers print shares or percent; a table of shares has none above one."""
    return one.value * (100 if all(row.value <= 1 for row in rows) else 1)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _shown(one: Ours | None) -> str:
    if one is None:
        return ""
    return percent(one.value) if one.error is None else f"{percent(one.value)} ±{100 * one.error:.2f}"
