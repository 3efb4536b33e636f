"""Which rule makes a plain type of several heads: measured on development data, not guessed.

Every rule that could be (each head alone, the union, agreement of two, of three …) is scored on the development part of every corpus that
annotates the type. The rule with the best mean strict F1 over those corpora wins, each corpus counting alike; on a tie the simpler one.
What a head says about another corpus's text counts here: a rule that is good at home only does not win.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from biomux.engine.entity_types import Merge, Source, merge
from biomux.errors import RecipeError
from biomux.scoring.spans import score
from biomux.training import calibrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.tasks.task import SpanTask


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rule that won, and what every candidate reached: rule → corpus → (strict F1, overlap F1)."""

    merge: Merge
    table: Mapping[str, Mapping[str, tuple[float, float]]]

    def mean(self, rule: str) -> float:
        """The mean strict F1 of a rule over the corpora."""
        rows = self.table[rule].values()
        return sum(strict for strict, _ in rows) / len(rows)


def choose(
    name: str, sources: Sequence[Source], development: Mapping[str, Sequence[tuple[Document, Document]]]
) -> Chosen:
    """The best rule for a plain type. `development` has, for each head, gold documents with what all heads say about them."""
    table: dict[str, dict[str, tuple[float, float]]] = {}
    rules = {_label(rule): rule for rule in _candidates(name, sources)}
    for label, rule in rules.items():
        table[label] = {}
        for head in dict.fromkeys(head for head, _ in sources):
            own = {type_ for source, type_ in sources if source == head}
            pairs = [
                (_only(gold, own, name), replace(said, spans=tuple(merge(said.spans, [rule]))))
                for gold, said in development[head]
            ]
            found = score(pairs, matchings=("strict", "overlap"))
            table[label][head] = (found["strict"].f1, found["overlap"].f1)
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
    for head in {head for found in sources.values() for head, _ in found}:
        gold = documents.get(head, ())
        bare = (replace(document, spans=(), relations=()) for document in gold)
        development[head] = list(zip(gold, annotator.annotate(bare, heads=annotator.heads, threshold=0), strict=True))
    chosen = {name: choose(name, found, development) for name, found in sources.items()}
    for name, level in (levels or {}).items():
        if name in chosen:
            chosen[name] = replace(chosen[name], merge=replace(chosen[name].merge, level=level))
    return chosen


def of_heads(types: Mapping[str, Sequence[str]], left_out: Sequence[str]) -> dict[str, list[str]]:
    """The plain types of a recipe without the sources that are left out; those with no other source go too.

    >>> of_heads({"gene": ["bc2gm/Gene", "craft/Gene"], "taxon": ["craft/Taxon"]}, ["craft"])
    {'gene': ['bc2gm/Gene']}
    """
    kept = {name: [one for one in sources if one.partition("/")[0] not in left_out] for name, sources in types.items()}
    return {name: sources for name, sources in kept.items() if sources}


def to_json(chosen: Mapping[str, Chosen]) -> dict[str, Any]:
    """`types.json` of a bundle."""
    return {
        name: {
            "sources": [list(source) for source in found.merge.sources],
            "rule": found.merge.rule,
            "threshold": found.merge.threshold,
            "calibration": [list(point) for point in found.merge.curve],
            **({"level": found.merge.level} if found.merge.level else {}),
        }
        for name, found in chosen.items()
    }


def _candidates(name: str, sources: Sequence[Source]) -> Iterator[Merge]:
    """Simplest first."""
    heads = list(dict.fromkeys(head for head, _ in sources))
    for head in heads:
        own = [source for source in sources if source[0] == head]
        yield Merge(name, (*own, *(source for source in sources if source[0] != head)), "primary")
    if len(heads) > 1:
        yield Merge(name, tuple(sources), "union")
    for least in range(2, min(len(heads), 4) + 1):
        yield Merge(name, tuple(sources), f"vote:{least}", least)


def _label(rule: Merge) -> str:
    return f"{rule.sources[0][0]} alone" if rule.rule == "primary" else rule.rule


def _only(document: Document, types: set[str], name: str) -> Document:
    """A gold document with the mentions of some types, called by the plain name."""
    return replace(
        document, spans=tuple(replace(span, type=name) for span in document.spans if span.type in types), relations=()
    )


def _answers(
    name: str, rule: Merge, sources: Sequence[Source], development: Mapping[str, Sequence[tuple[Document, Document]]]
) -> list[calibrate.TypeAnswers]:
    """What the rule finds in the development documents of each corpus of the type."""
    corpora = []
    for head in dict.fromkeys(head for head, _ in sources):
        own = {type_ for source, type_ in sources if source == head}
        scores: list[float] = []
        right: list[bool] = []
        wanted = 0
        for gold, said in development[head]:
            places = {(span.start, span.end) for span in _only(gold, own, name).spans}
            wanted += len(places)
            for span in merge(said.spans, [rule]):
                scores.append(span.score or 0.0)
                right.append((span.start, span.end) in places)
        corpora.append(calibrate.TypeAnswers(tuple(scores), tuple(right), wanted))
    return corpora


def _sources(name: str, written: Sequence[str], tasks: Sequence[SpanTask]) -> tuple[Source, ...]:
    known = {(task.name, type_) for task in tasks for type_ in task.types}
    found = []
    for source in written:
        head, _, type_ = source.partition("/")
        if (head, type_) not in known:
            raise RecipeError(
                "BX305",
                f"unknown source {source!r}",
                where=f"types → {name}",
                hint="write a head of the recipe and one of its types, as in bc5cdr/Chemical",
            )
        found.append((head, type_))
    return tuple(found)
