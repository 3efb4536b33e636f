"""Which rule merges several heads into a plain type: measured on development data, not guessed.

Every possible rule (each head alone, the union, agreement of two, of three …, the average) is scored on the development part of every corpus that
annotates the type. The rule with the best mean strict F1 over those corpora wins, with equal weight for each corpus; on a tie, the simpler one.
What a head finds in the text of other corpora counts too: a rule that is good only on its own corpus does not win.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from biomux.engine.type_merging import Merge, Source, averaged, merge
from biomux.errors import RecipeError
from biomux.scoring.spans import score
from biomux.tasks.tagging import Tagging
from biomux.training import calibrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.tasks.task import SpanTask

OUTSIDE = (1.0, 0.7, 0.5)
"""What the probability of being outside is multiplied by in the averages that are tried."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rule that won, and the scores of every candidate: rule → corpus → (strict F1, overlap F1)."""

    merge: Merge
    table: Mapping[str, Mapping[str, tuple[float, float]]]

    def mean(self, rule: str) -> float:
        """The mean strict F1 of a rule over the corpora."""
        rows = self.table[rule].values()
        return sum(strict for strict, _ in rows) / len(rows)


def choose(
    name: str,
    sources: Sequence[Source],
    development: Mapping[str, Sequence[tuple[Document, Document]]],
    *,
    means: Sequence[Merge] = (),
) -> Chosen:
    """The best rule for a plain type. `development` has, for each head, pairs of gold documents and the same documents as all heads, and the averages `means`, annotate them."""
    table: dict[str, dict[str, tuple[float, float]]] = {}
    rules = {_label(rule): rule for rule in (*_candidates(name, sources), *means)}
    for label, rule in rules.items():
        table[label] = {}
        for head in dict.fromkeys(head for head, _ in sources):
            head_types = {type_ for source, type_ in sources if source == head}
            pairs = [
                (_only(gold, head_types, name), replace(predicted, spans=tuple(merge(predicted.spans, [rule]))))
                for gold, predicted in development[head]
            ]
            scores = score(pairs, matchings=("strict", "overlap"))
            table[label][head] = (scores["strict"].f1, scores["overlap"].f1)
    chosen = Chosen(next(iter(rules.values())), table)
    best = max(rules, key=chosen.mean)
    answers = _answers(name, rules[best], sources, development)
    curve = calibrate.curve(sum(answers, calibrate.TypeAnswers()))
    return replace(chosen, merge=replace(rules[best], curve=curve, threshold=calibrate.best_threshold(answers)))


def choose_all(
    annotator: Annotator,
    documents: Mapping[str, Sequence[Document]],
    types: Mapping[str, Sequence[str]],
    *,
    levels: Mapping[str, int] | None = None,
) -> dict[str, Chosen]:
    """The best rule and threshold for each plain type of a recipe (type → sources such as "bc5cdr/Chemical"), from each head's development documents."""
    sources = {name: _sources(name, written, annotator.tasks) for name, written in types.items()}
    development: dict[str, list[tuple[Document, Document]]] = {}
    averages = [
        averaged(rule, annotator.tasks)
        for name, type_sources in sources.items()
        for rule in _means(name, type_sources, annotator.tasks)
    ]
    reader = replace(annotator, tasks=(*annotator.tasks, *averages))
    for head in {head for type_sources in sources.values() for head, _ in type_sources}:
        gold = documents.get(head, ())
        bare = (replace(document, spans=(), relations=()) for document in gold)
        development[head] = list(zip(gold, reader.annotate(bare, heads=reader.heads, threshold=0), strict=True))
    chosen = {
        name: choose(name, type_sources, development, means=tuple(_means(name, type_sources, annotator.tasks)))
        for name, type_sources in sources.items()
    }
    for name, level in (levels or {}).items():
        if name in chosen:
            chosen[name] = replace(chosen[name], merge=replace(chosen[name].merge, level=level))
    return chosen


def of_heads(types: Mapping[str, Sequence[str]], left_out: Sequence[str]) -> dict[str, list[str]]:
    """The plain types of a recipe without the sources that are left out; those with no other source are left out too.

    >>> of_heads({"gene": ["bc2gm/Gene", "craft/Gene"], "taxon": ["craft/Taxon"]}, ["craft"])
    {'gene': ['bc2gm/Gene']}
    """
    remaining = {
        name: [source for source in sources if source.partition("/")[0] not in left_out]
        for name, sources in types.items()
    }
    return {name: sources for name, sources in remaining.items() if sources}


def to_json(chosen: Mapping[str, Chosen]) -> dict[str, Any]:
    """`types.json` of a bundle."""
    return {
        name: {
            "sources": [list(source) for source in choice.merge.sources],
            "rule": choice.merge.rule,
            "threshold": choice.merge.threshold,
            "calibration": [list(point) for point in choice.merge.curve],
            **({"outside": choice.merge.outside} if choice.merge.outside != 1 else {}),
            **({"level": choice.merge.level} if choice.merge.level else {}),
        }
        for name, choice in chosen.items()
    }


def _candidates(name: str, sources: Sequence[Source]) -> Iterator[Merge]:
    """Simplest first."""
    heads = list(dict.fromkeys(head for head, _ in sources))
    for head in heads:
        head_sources = [source for source in sources if source[0] == head]
        yield Merge(name, (*head_sources, *(source for source in sources if source[0] != head)), "primary")
    if len(heads) > 1:
        yield Merge(name, tuple(sources), "union")
    for least in range(2, min(len(heads), 4) + 1):
        yield Merge(name, tuple(sources), f"vote:{least}", least)


def _means(name: str, sources: Sequence[Source], tasks: Sequence[SpanTask]) -> Iterator[Merge]:
    """Averages of the heads, if there are several and they can be averaged."""
    heads = {head for head, _ in sources}
    averaging = {(task.longest, task.by) if type(task) is Tagging else None for task in tasks if task.name in heads}
    if len(heads) > 1 and len(averaging) == 1 and None not in averaging:
        for outside in OUTSIDE:
            yield Merge(name, tuple(sources), "mean", outside=outside)


def _label(rule: Merge) -> str:
    if rule.rule == "mean":
        return "mean" if rule.outside == 1 else f"mean, outside {rule.outside:g}"
    return f"{rule.sources[0][0]} alone" if rule.rule == "primary" else rule.rule


def _only(document: Document, types: set[str], name: str) -> Document:
    """A gold document with the mentions of some types, under the plain name."""
    return replace(
        document, spans=tuple(replace(span, type=name) for span in document.spans if span.type in types), relations=()
    )


def _answers(
    name: str, rule: Merge, sources: Sequence[Source], development: Mapping[str, Sequence[tuple[Document, Document]]]
) -> list[calibrate.TypeAnswers]:
    """What the rule finds in the development documents of each corpus of the type."""
    corpora = []
    for head in dict.fromkeys(head for head, _ in sources):
        head_types = {type_ for source, type_ in sources if source == head}
        scores: list[float] = []
        right: list[bool] = []
        gold_number = 0
        for gold, predicted in development[head]:
            places = {(span.start, span.end) for span in _only(gold, head_types, name).spans}
            gold_number += len(places)
            for span in merge(predicted.spans, [rule]):
                scores.append(span.score or 0.0)
                right.append((span.start, span.end) in places)
        corpora.append(calibrate.TypeAnswers(tuple(scores), tuple(right), gold_number))
    return corpora


def _sources(name: str, written: Sequence[str], tasks: Sequence[SpanTask]) -> tuple[Source, ...]:
    available = {(task.name, type_) for task in tasks for type_ in task.types}
    sources = []
    for source in written:
        head, _, type_ = source.partition("/")
        if (head, type_) not in available:
            raise RecipeError(
                "BX305",
                f"unknown source {source!r}",
                where=f"types → {name}",
                hint="write a head of the recipe and one of its types, as in bc5cdr/Chemical",
            )
        sources.append((head, type_))
    return tuple(sources)
