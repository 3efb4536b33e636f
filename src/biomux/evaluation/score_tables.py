"""Tables of scores, ready to be printed: names of columns, and rows of text.

Figures are in percent. "85.2 ±0.4" is a figure with its standard error over documents; a bare figure has no defined error (one document,
or a macro average).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Table = tuple[list[str], list[tuple[str, ...]]]
"""Names of columns, and rows."""

SIDE_BY_SIDE = ("word", "boundary", "type", "overlap", "partial", "subword")
"""The matchings shown next to strict F1; "partial" is that of SemEval-2013."""
HEADINGS = {"partial": "F1 SemEval", "subword": "F1 sub-word"}
"""Short, with line breaks at spaces: twelve columns must fit on a terminal."""


def tables(column: Mapping[str, Any], *, bins: bool = True) -> list[tuple[str, Table]]:
    """The tables of one column, each with a title. Without `bins`, confidence is one row."""
    titled_tables: list[tuple[str, Table]] = []
    if "spans" in column:
        titled_tables.append(("spans", span_table(column["spans"])))
    if "relations" in column:
        titled_tables.append(("relations", relation_table(column["relations"])))
    if "labels" in column:
        titled_tables.append(("labels", label_table(column["labels"])))
    if "numbers" in column:
        titled_tables.append(("numbers", number_table(column["numbers"])))
    if "answers" in column:
        titled_tables.append(("answers", answer_table(column["answers"])))
    if "confidence" in column.get("spans", {}):
        titled_tables.append(("confidence", confidence_table(column["spans"]["confidence"], bins=bins)))
    if not titled_tables and "main" in column:
        titled_tables.append(("main figure", main_table([column])))
    return titled_tables


def span_table(spans: Mapping[str, Any]) -> Table:
    """Types, micro and macro; strict precision, recall and F1, and F1 by every other matching."""
    matchings = spans["matchings"]
    beside = [name for name in SIDE_BY_SIDE if name in matchings or (name == "partial" and "semeval" in spans)]
    head = ["spans", "gold", "found", "P", "R", "F1 strict"]
    head += [_heading(name) for name in beside]

    def row(title: str, strict: Mapping[str, Any], other_figures: Iterable[str]) -> tuple[str, ...]:
        counts = [f"{strict['tp'] + strict[side]:,}" for side in ("fn", "fp")] if "tp" in strict else ["", ""]
        return (
            title,
            *counts,
            percent(strict["precision"]),
            percent(strict["recall"]),
            with_error(strict),
            *other_figures,
        )

    rows = []
    for name, strict in matchings["strict"]["types"].items():
        other_figures = [
            percent(strict["semeval_partial"])
            if matching == "partial"
            else with_error(matchings[matching]["types"].get(name))
            for matching in beside
        ]
        rows.append(row(name, strict, other_figures))
    for average in ("micro", "macro"):
        partial = percent(spans["semeval"]["partial"]["f1"]) if average == "micro" and "semeval" in spans else ""
        other_figures = [
            partial if matching == "partial" else with_error(matchings[matching][average]) for matching in beside
        ]
        rows.append(row(average, matchings["strict"][average], other_figures))
    return head, rows


def summary(columns: Sequence[Mapping[str, Any]]) -> Table:
    """One row per column that has spans: micro F1 by every matching, and the plain mean of those that are not cross-corpus."""
    with_spans = [column for column in columns if "spans" in column]
    names = ["strict", *(name for name in SIDE_BY_SIDE if any(_micro(column, name) for column in with_spans))]
    head = ["corpus", "split", "heads", "documents", *map(_heading, names)]
    rows = [
        (
            column["corpus"] + (" (cross)" if column.get("cross") else ""),
            column["split"],
            "+".join(column.get("heads", ())),
            f"{column['documents']:,}",
            *(with_error(_micro(column, name)) for name in names),
        )
        for column in with_spans
    ]
    trained_on = [column for column in with_spans if not column.get("cross")]
    if len(trained_on) > 1:
        means = []
        for name in names:
            values = [figures["f1"] for column in trained_on if (figures := _micro(column, name))]
            means.append(percent(sum(values) / len(values)) if len(values) == len(trained_on) else "")
        rows.append((f"mean of {len(trained_on)}", "", "", "", *means))
    return head, rows


def relation_table(relations: Mapping[str, Any]) -> Table:
    """Types, micro and macro; precision, recall and F1 by the first matching, and F1 by the others."""
    matchings = list(relations["matchings"].values())

    def row(title: str, first: Mapping[str, Any], *beside: Mapping[str, Any] | None) -> tuple[str, ...]:
        counts = [f"{first['tp'] + first[side]:,}" for side in ("fn", "fp")] if "tp" in first else ["", ""]
        figures = (percent(first["precision"]), percent(first["recall"]), with_error(first), *map(with_error, beside))
        return (title, *counts, *figures)

    names = dict.fromkeys(name for table in matchings for name in table["types"])
    nothing = {"tp": 0, "fp": 0, "fn": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0}
    rows = [row(name, *(table["types"].get(name, nothing) for table in matchings)) for name in names]
    rows += [row(average, *(table[average] for table in matchings)) for average in ("micro", "macro")]
    return ["relations", "gold", "found", "P", "R", *(f"F1 {name}" for name in relations["matchings"])], rows


MAIN_NAMES = {
    "f1": "micro-F1",
    "macro_f1": "macro-F1",
    "document_f1": "micro-F1 by document",
    "exact": "whole sets right",
    "pearson": "Pearson",
}
"""What main figures of heads that do not tag are called; others by their own name."""


def main_figure(column: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the value of a column's main figure, with its standard error where there is one."""
    main = column["main"]
    name = MAIN_NAMES.get(main["metric"], str(main["metric"]))
    if "answers" in column:
        return "token F1", figure(column["answers"]["f1"]["value"], column["answers"]["f1"]["error"])
    if "numbers" in column:
        (scores,) = column["numbers"].values()
        return name, _plain(scores["pearson"], scores["pearson_error"])
    if "relations" in column:
        return name, with_error(column["relations"]["matchings"]["undirected"]["micro"])
    if "labels" not in column:
        return name, figure(main["value"], None)
    labels = column["labels"]
    error = {
        "accuracy": labels.get("accuracy_error"),
        "exact": labels.get("exact", {}).get("error"),
        "f1": labels["micro"]["f1_error"],
        "document_f1": labels.get("by_document", {}).get("f1_error"),
    }.get(main["metric"])
    return name, figure(main["value"], error)


def main_table(columns: Sequence[Mapping[str, Any]]) -> Table:
    """One row per column of a head that does not tag: its main figure."""
    rows: list[tuple[str, ...]] = [
        (
            column["corpus"] + (" (cross)" if column.get("cross") else ""),
            column["split"],
            "+".join(column.get("heads", ())),
            str(column.get("kind", "")),
            f"{column['documents']:,}",
            *main_figure(column),
        )
        for column in columns
    ]
    return ["corpus", "split", "head", "kind", "documents", "figure", "value"], rows


def label_table(labels: Mapping[str, Any]) -> Table:
    """Classes, micro (over positive classes) and macro, and accuracy: of sets, the share that is wholly right."""
    rows: list[tuple[str, ...]] = [
        (
            name,
            f"{scores['tp'] + scores['fn']:,}",
            percent(scores["precision"]),
            percent(scores["recall"]),
            with_error(scores),
        )
        for name, scores in labels["types"].items()
    ]
    for average in ("micro", "macro"):
        scores = labels[average]
        rows.append((average, "", percent(scores["precision"]), percent(scores["recall"]), with_error(scores)))
    if labels["kind"] == "one":
        accuracy = figure(labels["accuracy"], labels["accuracy_error"])
        rows.append(("accuracy", f"{labels['documents']:,}", "", "", accuracy))
    else:
        if "by_document" in labels:
            scores = labels["by_document"]
            rows.append(
                ("by document", "", percent(scores["precision"]), percent(scores["recall"]), with_error(scores))
            )
        for name, title in (("exact", "whole set right"), ("example_f1", "F1 by example")):
            rows.append(
                (title, f"{labels['documents']:,}", "", "", figure(labels[name]["value"], labels[name]["error"]))
            )
    return ["class", "gold", "precision", "recall", "F1"], rows


def number_table(numbers: Mapping[str, Mapping[str, Any]]) -> Table:
    """Correlations and error of each number; not percent."""
    rows = [
        (
            name,
            f"{scores['number']:,}",
            *(_plain(scores[metric], scores[f"{metric}_error"]) for metric in ("pearson", "spearman", "mse")),
        )
        for name, scores in numbers.items()
    ]
    return ["number", "pairs", "Pearson", "Spearman", "MSE"], rows


def answer_table(answers: Mapping[str, Any]) -> Table:
    """BioASQ's three figures and SQuAD's two."""
    names = {
        "strict": "strict accuracy",
        "lenient": "lenient accuracy",
        "mrr": "MRR",
        "exact": "exact match",
        "f1": "token F1",
    }
    row = (f"{answers['questions']:,}", *(figure(answers[name_]["value"], answers[name_]["error"]) for name_ in names))
    return ["questions", *names.values()], [row]


def confidence_table(confidence: Mapping[str, Any], *, bins: bool = True) -> Table:
    """The reliability bins, then everything together."""
    rows = [
        (
            f"{bin_['low']:.2f} to {bin_['high']:.2f}",
            f"{bin_['number']:,}",
            percent(bin_["score"]),
            percent(bin_["right"]),
            "",
            "",
        )
        for bin_ in (confidence["bins"] if bins else ())
    ]
    ece, aurc = (figure(confidence[name], confidence[f"{name}_error"]) for name in ("ece", "aurc"))
    overall = ("all", f"{confidence['number']:,}", percent(confidence["mean_score"]), percent(confidence["accuracy"]))
    return ["score", "spans", "mean score", "right", "ECE", "AURC"], [*rows, (*overall, ece, aurc)]


def mistake_table(mistakes: Mapping[str, Any]) -> Table:
    """How many mistakes there are of each class, and the most frequent pair of types."""
    rows: list[tuple[str, ...]] = []
    for kind, number in mistakes["kinds"].items():
        first = next((row for row in mistakes["counts"] if row["kind"] == kind), None)
        most = f"{first['gold'] or '–'} → {first['predicted'] or '–'} ({first['number']:,})" if first else ""
        rows.append((kind, f"{number:,}", most))
    return ["mistake", "number", "most often, gold → predicted"], rows


def mistake_lines(mistakes: Mapping[str, Any], *, most: int) -> list[str]:
    """Examples as lines: gold spans in [ ], predicted ones in { }."""
    lines = []
    shown: dict[str, int] = {}
    for example in mistakes["examples"]:
        shown[example["kind"]] = shown.get(example["kind"], 0) + 1
        if shown[example["kind"]] <= most:
            types = f"{types_of(example['gold'])} → {types_of(example['predicted'])}"
            lines.append(f"{example['kind']}: {types}: {marked(example)} ({example['document']})")
    return lines


def marked(mistake: Mapping[str, Any]) -> str:
    """The context with gold spans in [ ] and predicted ones in { }."""
    text, offset = mistake["context"], mistake["offset"]
    signs: list[tuple[int, int, str]] = []
    # At one place: closing before opening, and the predicted span inside the gold one.
    for side, opens, (opening, closing) in (("gold", 2, "[]"), ("predicted", 3, "{}")):
        for span in mistake[side]:
            for start, end in span["ranges"]:
                signs += [(start - offset, opens, opening), (end - offset, 3 - opens, closing)]
    for place, _, sign in sorted(signs, reverse=True):
        text = text[:place] + sign + text[place:]
    return str(text)


def remarks(column: Mapping[str, Any]) -> list[str]:
    """Remarks that a reader of a column's tables needs, as sentences without a full stop.

    >>> remarks({"left_out": {"list questions": 3}})
    ['3 list questions were not scored']
    """
    remarks_made = [f"{number:,} {noun} were not scored" for noun, number in column.get("left_out", {}).items()]
    removed = column.get("removed")
    if removed and removed["documents"]:
        places = ", ".join(f"{part} {number:,}" for part, number in sorted(removed["found_in"].items()))
        remarks_made.append(
            f"{removed['documents']:,} documents were left out: they are also in corpora that the model was trained on ({places})"
        )
    if column.get("unchecked"):
        names = ", ".join(column["unchecked"])
        remarks_made.append(
            f"the model may have seen some of these documents in training: the texts of {names} are not available to compare with"
        )
    return remarks_made


def percent(value: float) -> str:
    """A share as percent with two digits.

    >>> percent(0.85237)
    '85.24'
    """
    return f"{100 * value:.2f}"


def figure(value: float, error: float | None) -> str:
    """A share as percent, with its standard error where there is one."""
    return percent(value) if error is None or error != error else f"{percent(value)} ±{100 * error:.2f}"


def with_error(row: Mapping[str, Any] | None) -> str:
    """F1 of a row with its standard error; empty without a row."""
    return figure(row["f1"], row.get("f1_error")) if row else ""


def _heading(name: str) -> str:
    return HEADINGS.get(name, f"F1 {name}")


def _plain(value: float | None, error: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.4f}" if error is None else f"{value:.4f} ±{error:.4f}"


def _micro(column: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    spans = column["spans"]
    if name == "partial":
        scores = spans.get("semeval", {}).get("partial")
    else:
        scores = spans["matchings"].get(name, {}).get("micro")
    return dict(scores) if scores else None


def types_of(spans: Sequence[Mapping[str, Any]]) -> str:
    """The types of spans, each once; a dash for none."""
    return "+".join(dict.fromkeys(str(span["type"]) for span in spans)) or "–"
