"""Spans scored by several definitions at once.

| matching | a predicted span is right if |
|---|---|
| strict | offsets (of all fragments) and type are those of a gold span |
| boundary | offsets are equal, whatever the type |
| type | it shares a character with a gold span of its type |
| overlap | it shares a character with a gold span, whatever the type |
| word | strict, after both are widened to whole words: what conlleval counts |
| subword | strict, on the chunks of tokens that carry their word's tag: paper C's figure, for comparison only |
| semeval | SemEval-2013's outcomes: `SpanScores.outcomes`, with four separate figures |

A span counts once, however often it is listed. Pairs are one to one by the rule in `biomux.scoring.span_matching`. Where a matching ignores
types, a pair counts for its gold type. A type that only one side knows is an ordinary type: all missed, or all spurious.

>>> from biomux.document import Document, Span
>>> gold = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "chemical"), Span(15, 21, "disease")))
>>> predicted = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "chemical"), Span(8, 21, "disease")))
>>> scores = score([(gold, predicted)])
>>> scores["strict"].f1, scores["type"].f1, scores.semeval("partial").f1
(0.5, 1.0, 0.75)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.document import Range
from biomux.errors import UsageError, did_you_mean
from biomux.scoring.align import align
from biomux.scoring.counts import CountTally, Table, merged
from biomux.scoring.semeval import FIGURES, Figure, Outcomes
from biomux.scoring.span_matching import Key, keys, largest_matching, overlapping, same_place, same_type, staged
from biomux.scoring.word_alignment import given_words, plain_words, to_tokens, to_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from biomux.document import Document

__all__ = ["MATCHINGS", "Rows", "Scorer", "SpanScores", "align", "count", "score", "score_each"]

MATCHINGS = ("strict", "boundary", "type", "overlap", "word", "subword", "semeval")
ALL_BUT_SUBWORD = tuple(name for name in MATCHINGS if name != "subword")

Ranges = Callable[[str], Sequence[Range]]
"""A text → the ranges of its words, or of its tokens."""

Rows = dict[str, list[int]]
"""Type → [tp, fp, fn]; for semeval, type → the six numbers of `Outcomes`."""


@dataclass(frozen=True, slots=True)
class SpanScores:
    """What `score` returns. Scores of shards add up to the scores of the whole."""

    documents: int = 0
    tables: Mapping[str, Table] = field(default_factory=dict)
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)

    def __getitem__(self, matching: str) -> Table:
        try:
            return self.tables[matching]
        except KeyError:
            raise UsageError(
                "BX001",
                f"the spans were not scored with matching {matching!r}",
                hint=f"choose from {', '.join(self.tables)}",
            ) from None

    def __add__(self, other: SpanScores) -> SpanScores:
        names = list(self.tables) + [name for name in other.tables if name not in self.tables]
        return SpanScores(
            self.documents + other.documents,
            {name: self.tables.get(name, Table()) + other.tables.get(name, Table()) for name in names},
            merged(self.outcomes, other.outcomes),
        )

    def semeval(self, figure: str) -> Figure:
        """SemEval-2013's strict, exact, partial or type figure, over all types."""
        return sum(self.outcomes.values(), Outcomes()).figure(figure)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        scores: dict[str, Any] = {
            "documents": self.documents,
            "matchings": {name: table.to_json() for name, table in self.tables.items()},
        }
        if self.outcomes:
            scores["semeval"] = {name: self.semeval(name).to_json() for name in FIGURES}
        return scores


def score(
    pairs: Iterable[tuple[Document, Document]],
    *,
    matchings: Sequence[str] | None = None,
    types: Collection[str] | None = None,
    words: Ranges = plain_words,
    tokens: Ranges | None = None,
) -> SpanScores:
    """Score (gold, predicted) pairs, one after the other; memory does not grow with their number.

    By default all `matchings` are scored, "subword" only if you give `tokens`, a function that cuts a text into tokens. `types` limits gold and predictions to these types: use it
    if gold was annotated for some types only. `words` cuts the texts of documents that have no tokens.
    """
    scorer = Scorer(matchings=matchings, types=types, words=words, tokens=tokens)
    for gold, predicted in pairs:
        scorer.add(gold, predicted)
    return scorer.scores()


class Scorer:
    """`score` for a stream of documents: each call returns what a document adds, and `scores` is available at any time."""

    def __init__(
        self,
        *,
        matchings: Sequence[str] | None = None,
        types: Collection[str] | None = None,
        words: Ranges = plain_words,
        tokens: Ranges | None = None,
    ) -> None:
        self.matchings = tuple(_chosen(matchings, tokens))
        self.documents = 0
        self._types, self._words, self._tokens = types, words, tokens
        self._tallies = {name: CountTally() for name in self.matchings if name != "semeval"}
        self._outcomes: dict[str, list[int]] = {}

    def add(self, gold: Document, predicted: Document) -> dict[str, Rows]:
        """Take one pair in; its own counts by matching and type, not to be changed."""
        self.documents += 1
        counted = count(
            gold, predicted, matchings=self.matchings, types=self._types, words=self._words, tokens=self._tokens
        )
        for name, rows in counted.items():
            if name == "semeval":
                for type_, row in rows.items():
                    sums = self._outcomes.setdefault(type_, [0] * 6)
                    for place, value in enumerate(row):
                        sums[place] += value
            else:
                self._tallies[name].add(rows)
        return counted

    def scores(self) -> SpanScores:
        """The scores of all documents so far."""
        return SpanScores(
            self.documents,
            {name: tally.table(self.documents) for name, tally in self._tallies.items()},
            {type_: Outcomes(*self._outcomes[type_]) for type_ in sorted(self._outcomes)},
        )


def score_each(
    pairs: Iterable[tuple[Document, Document]],
    *,
    matchings: Sequence[str] | None = None,
    types: Collection[str] | None = None,
    words: Ranges = plain_words,
    tokens: Ranges | None = None,
) -> Iterator[tuple[str, SpanScores]]:
    """The scores of each document on its own, with its id; their sum is what `score` returns."""
    chosen = _chosen(matchings, tokens)
    for gold, predicted in pairs:
        yield gold.id, score([(gold, predicted)], matchings=chosen, types=types, words=words, tokens=tokens)


def _chosen(matchings: Sequence[str] | None, tokens: Ranges | None) -> Sequence[str]:
    if matchings is None:
        return MATCHINGS if tokens is not None else ALL_BUT_SUBWORD
    for name in matchings:
        if name not in MATCHINGS:
            raise UsageError("BX001", f"unknown matching {name!r}", hint=did_you_mean(name, MATCHINGS))
    if "subword" in matchings and tokens is None:
        raise UsageError(
            "BX001",
            "cannot score 'subword' without tokens",
            hint="pass `tokens`, which gives the token ranges of a text",
        )
    return matchings


def count(
    gold: Document,
    predicted: Document,
    *,
    matchings: Sequence[str],
    types: Collection[str] | None = None,
    words: Ranges = plain_words,
    tokens: Ranges | None = None,
) -> dict[str, Rows]:
    """One document's counts by matching and type. Matchings that agree may share their rows: do not change them."""
    wanted, answered = keys(gold.spans, types), keys(predicted.spans, types)
    if not wanted and not answered:
        return {name: {} for name in matchings}
    equal = wanted & answered
    missed, spurious = sorted(wanted - equal), sorted(answered - equal)
    edges = overlapping(missed, spurious) if missed and spurious else None
    if edges is not None and not any(edges):
        edges = None
    cut: Sequence[Range] | None = None
    unpaired: Rows | None = None
    counted: dict[str, Rows] = {}
    for name in matchings:
        if name in {"word", "subword"}:
            if cut is None:
                given_cut = given_words(gold, predicted)
                cut = words(gold.text) if given_cut is None else given_cut
            counted[name] = _snapped(
                name, wanted, answered, cut, tokens(gold.text) if name == "subword" and tokens else ()
            )
        elif name == "semeval":
            pairs = {} if edges is None else staged(missed, spurious, edges)
            counted[name] = _outcome_rows(equal, missed, spurious, pairs)
        else:
            pairs = _pairs(name, missed, spurious, edges) if edges is not None and name != "strict" else {}
            if not pairs and unpaired is None:
                unpaired = _rows(equal, missed, spurious, {})
            counted[name] = _rows(equal, missed, spurious, pairs) if pairs or unpaired is None else unpaired
    return counted


def _snapped(name: str, wanted: set[Key], answered: set[Key], words: Sequence[Range], tokens: Sequence[Range]) -> Rows:
    if name == "word":
        gold_units = to_words(wanted, words)
        predicted_units = gold_units if wanted == answered else to_words(answered, words)
    else:
        gold_units, predicted_units = to_tokens(wanted, words, tokens), to_tokens(answered, words, tokens)
    return _rows(gold_units & predicted_units, gold_units - predicted_units, predicted_units - gold_units, {})


def _pairs(name: str, missed: list[Key], spurious: list[Key], edges: list[list[int]]) -> dict[int, int]:
    if name == "boundary":
        return same_place(missed, spurious)
    if name == "type":
        return same_type(missed, spurious, edges)
    return largest_matching(edges)


def _rows(equal: Iterable[Key], missed: Iterable[Key], spurious: Iterable[Key], pairs: Mapping[int, int]) -> Rows:
    rows: Rows = {}
    for key in equal:
        _row(rows, key[2])[0] += 1
    for place, key in enumerate(missed):
        _row(rows, key[2])[0 if place in pairs else 2] += 1
    taken = set(pairs.values())
    for place, key in enumerate(spurious):
        if place not in taken:
            _row(rows, key[2])[1] += 1
    return rows


def _row(rows: Rows, type: str, size: int = 3) -> list[int]:
    row = rows.get(type)
    if row is None:
        row = rows[type] = [0] * size
    return row


def _outcome_rows(equal: set[Key], missed: list[Key], spurious: list[Key], pairs: Mapping[int, int]) -> Rows:
    rows: Rows = {}
    for key in equal:
        _row(rows, key[2], 6)[0] += 1
    for place, key in enumerate(missed):
        if place in pairs:
            partner = spurious[pairs[place]]
            same = (key[0], key[1], key[3]) == (partner[0], partner[1], partner[3])
            kind = 1 if same else 2 if key[2] == partner[2] else 3
        else:
            kind = 4
        _row(rows, key[2], 6)[kind] += 1
    taken = set(pairs.values())
    for place, key in enumerate(spurious):
        if place not in taken:
            _row(rows, key[2], 6)[5] += 1
    return rows
