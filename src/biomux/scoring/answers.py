"""Answers to questions scored, as BioASQ and SQuAD do.

BioASQ's figures (strict: the first answer is right; lenient: one of the first five is; MRR: one over the place of the first right one, 0 beyond
five) compare without regard to case and outer blanks. SQuAD's (exact match, token F1 of the first answer) compare after
`normalised`. A question without a right answer is answered rightly by no answer, or by an empty one.

>>> scores = score_answers([(["Interleukin 2", "IL-2"], ["TNF", "il-2"])])
>>> scores.strict.value, scores.lenient.value, scores.mrr.value
(0.0, 1.0, 0.5)
"""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.scoring.counts import Counts
from biomux.scoring.means import Mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BEST = 5
"""How many answers BioASQ looks at."""

NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, single blanks.

    >>> normalised("The  TNF-alpha.")
    'tnfalpha'
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def plain(text: str) -> str:
    """Without regard to case, and without outer blanks."""
    return text.strip().casefold()


def exact_match(predicted: str, gold: Sequence[str]) -> bool:
    """Whether the answer is one of the right ones, normalised."""
    return normalised(predicted) in {normalised(answer) for answer in gold or [""]}


def token_f1(predicted: str, gold: Sequence[str]) -> float:
    """The best F1 of words in common with a right answer; 1 if both have no words."""
    return max(_token_f1(normalised(predicted).split(), normalised(answer).split()) for answer in gold or [""])


def _token_f1(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    common = (Counter(predicted) & Counter(gold)).total()
    return Counts(common, len(predicted) - common, len(gold) - common).f1


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Five figures, each a mean over questions with its standard error. Shards add up."""

    strict: Mean = field(default_factory=Mean)
    lenient: Mean = field(default_factory=Mean)
    mrr: Mean = field(default_factory=Mean)
    exact: Mean = field(default_factory=Mean)
    f1: Mean = field(default_factory=Mean)

    def __add__(self, other: AnswerScores) -> AnswerScores:
        return AnswerScores(
            self.strict + other.strict,
            self.lenient + other.lenient,
            self.mrr + other.mrr,
            self.exact + other.exact,
            self.f1 + other.f1,
        )

    @property
    def questions(self) -> int:
        return self.strict.number

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        return {name: getattr(self, name).to_json() for name in ("strict", "lenient", "mrr", "exact", "f1")}


def score_answers(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> AnswerScores:
    """Score (right answers, predicted answers best first) of each question.

    Right answers are alternatives: each is right on its own. Answers that differ in case only are one answer of the n best.
    """
    scores = AnswerScores()
    for gold, best in pairs:
        right = {plain(answer) for answer in gold or [""]}
        first = best[0] if best else ""
        ranked = list(dict.fromkeys(plain(answer) for answer in best or [""]))[:BEST]
        place = next((number for number, answer in enumerate(ranked, start=1) if answer in right), 0)
        scores += AnswerScores(
            Mean.of(float(place == 1)),
            Mean.of(float(place > 0)),
            Mean.of(1 / place if place else 0.0),
            Mean.of(float(exact_match(first, gold))),
            Mean.of(token_f1(first, gold)),
        )
    return scores
