"""Where the gap between paper C's sub-word figure and the strict figure comes from, on the real predictions of an evaluation.

    biomux evaluate first all --split test -o scores
    python -m benchmarks.subword scores --corpora DIR --tokenizer BUNDLE/tokenizer.json
    python -m benchmarks.subword scores --corpora DIR --tokenizer BUNDLE/tokenizer.json --detail linnaeus bc2gm ncbi-disease

A mention whose first word has k tokens makes k chunks of tokens. So the way from strict to sub-word has three steps, which add up exactly:

    widening    both sides are widened to whole words
    weight      a mention counts k times, right or wrong
    part        a mention with the right first word and type, but another end, has k - 1 of its k chunks right

`--detail` splits the step "weight" by k: F1 is the mean of the F1 of mentions with the same k, weighted by their share; weighting by chunks changes the
shares and nothing else. docs/explanation/subword-scores.md reads the tables.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.contest import Table
from biomux import formats
from biomux.corpora import corpus
from biomux.evaluation.prediction_files import tokenizer_tokens
from biomux.scoring.counts import Counts
from biomux.scoring.mapping import parse
from biomux.scoring.span_matching import keys
from biomux.scoring.word_alignment import given_words, plain_words, to_tokens, to_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from biomux.document import Document
    from biomux.scoring.spans import Ranges

LONGEST = 5
"""First words of this many tokens and more are shown together."""


@dataclass
class Steps:
    """What the steps need: counts by definition, and counts of mentions by the number k of their chunks."""

    strict: Counts = field(default_factory=Counts)
    word: Counts = field(default_factory=Counts)
    token: Counts = field(default_factory=Counts)
    right: Counter[int] = field(default_factory=Counter)
    found: Counter[int] = field(default_factory=Counter)
    gold: Counter[int] = field(default_factory=Counter)

    @property
    def weighted(self) -> Counts:
        """Whole mentions, right or wrong, each counted k times."""
        right, found, gold = (sum(k * n for k, n in one.items()) for one in (self.right, self.found, self.gold))
        return Counts(right, found - right, gold - right)

    def add(self, gold: Document, predicted: Document, *, tokens: Ranges) -> None:
        """Take one document in."""
        wanted, given = keys(gold.spans), keys(predicted.spans)
        if not wanted and not given:
            return
        words = given_words(gold, predicted)
        words = plain_words(gold.text) if words is None else words
        cut = tokens(gold.text)
        self.strict += _counts(wanted, given)
        wanted, given = to_words(wanted, words), to_words(given, words)
        self.word += _counts(wanted, given)
        self.token += _counts(to_tokens(wanted, words, cut), to_tokens(given, words, cut))
        for side, counter in ((wanted, self.gold), (given, self.found), (wanted & given, self.right)):
            counter.update(len(to_tokens({key}, words, cut)) for key in side)


def _counts(wanted: set[Any], given: set[Any]) -> Counts:
    right = len(wanted & given)
    return Counts(right, len(given) - right, len(wanted) - right)


def steps_of(pairs: Iterable[tuple[Document, Document]], *, tokens: Ranges) -> Steps:
    """The steps over all documents."""
    steps = Steps()
    for gold, predicted in pairs:
        steps.add(gold, predicted, tokens=tokens)
    return steps


def step_row(name: str, steps: Steps) -> tuple[Any, ...]:
    """A row of the first table: figures in percent, and how many points each step adds."""
    strict, word, weighted, token = (100 * one.f1 for one in (steps.strict, steps.word, steps.weighted, steps.token))
    chunks = sum(k * n for k, n in steps.gold.items()) / max(1, sum(steps.gold.values()))
    moves = (word - strict, weighted - word, token - weighted, token - strict)
    return (
        name,
        f"{chunks:.2f}",
        f"{strict:.2f}",
        *(f"{move:+.2f}" for move in moves[:3]),
        f"{token:.2f}",
        f"{moves[3]:+.2f}",
    )


def detail_rows(steps: Steps) -> list[tuple[Any, ...]]:
    """By k: mentions on both sides, their F1, their share of mentions and of chunks, and what the change of share adds."""
    mentions = {k: steps.gold[k] + steps.found[k] for k in sorted({*steps.gold, *steps.found})}
    all_mentions, all_chunks = sum(mentions.values()), sum(k * n for k, n in mentions.items())
    mean = 2 * sum(steps.right.values()) / max(1, all_mentions)
    rows = []
    for k in range(1, LONGEST + 1):
        held = [one for one in mentions if one == k or (k == LONGEST and one > k)]
        if not held:
            continue
        number, chunks = sum(mentions[one] for one in held), sum(one * mentions[one] for one in held)
        f1 = 2 * sum(steps.right[one] for one in held) / number
        adds = sum(
            (one * mentions[one] / all_chunks - mentions[one] / all_mentions)
            * (2 * steps.right[one] / mentions[one] - mean)
            for one in held
        )
        name = f"{k} and more" if k == LONGEST else str(k)
        shares = (f"{100 * number / all_mentions:.1f}", f"{100 * chunks / all_chunks:.1f}")
        rows.append((name, sum(steps.gold[one] for one in held), f"{100 * f1:.2f}", *shares, f"{100 * adds:+.2f}"))
    return rows


def pairs_of(column: Mapping[str, Any], scores: Path, corpora: Path) -> Iterable[tuple[Document, Document]]:
    """Gold and predicted documents of a column, as they were scored."""
    types = parse(column["map"])
    predicted = formats.read(scores / column["name"] / "predictions.jsonl")
    gold = corpus.get(column["corpus"], directory=corpora).documents(column["split"])
    for left, right in zip(gold, predicted, strict=True):
        yield types.of_gold(left), types.of_predicted(right)


def main() -> None:
    """Take the gap apart, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path, help="a folder that biomux evaluate -o wrote")
    parser.add_argument("--tokenizer", type=Path, required=True, help="the model's tokenizer.json")
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    parser.add_argument("--detail", nargs="*", default=[], metavar="CORPUS", help="only these, and their first words")
    chosen = parser.parse_args()
    tokens = tokenizer_tokens(chosen.tokenizer)
    content = json.loads((chosen.scores / "scores.json").read_bytes())
    rows, tables = [], []
    for column in content["columns"]:
        if column["cross"] or (chosen.detail and column["corpus"] not in chosen.detail):
            continue
        steps = steps_of(pairs_of(column, chosen.scores, chosen.corpora), tokens=tokens)
        written = column["spans"]["matchings"]
        for matching, counts in (("strict", steps.strict), ("word", steps.word), ("subword", steps.token)):
            micro = written[matching]["micro"]
            if (micro["tp"], micro["fp"], micro["fn"]) != (counts.tp, counts.fp, counts.fn):
                raise SystemExit(
                    f"{column['corpus']}: {matching} is not what scores.json says; is it the same tokenizer?"
                )
        rows.append(step_row(column["corpus"], steps))
        if chosen.detail:
            head = ("tokens of the first word", "gold", "F1", "% of mentions", "% of chunks", "adds")
            tables.append(Table(column["corpus"], head, tuple(detail_rows(steps))))
    columns = ("corpus", "chunks a mention", "strict", "widening", "weight", "part", "sub-word", "gap")
    for table in (Table("From strict to sub-word", columns, tuple(rows)), *tables):
        print(table.markdown())


if __name__ == "__main__":
    main()
