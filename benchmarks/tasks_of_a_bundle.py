"""What relations and classes cost beside entities: the same bundle asked for less and for more, on the same texts in one run.

    python -m benchmarks.tasks_of_a_bundle BUNDLE --text abstracts.jsonl
    python -m benchmarks.tasks_of_a_bundle BUNDLE --text abstracts.txt.gz --from lines --number 500

Texts are invented unless named.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import biomux
from benchmarks import contest, invented

if TYPE_CHECKING:
    from collections.abc import Sequence

ASKED: dict[str, list[str]] = {
    "entities": ["entities"],
    "entities and relations": ["entities", "relations"],
    "entities, relations and classes": ["entities", "relations", "classes"],
}


def annotate(tagger: biomux.Tagger, texts: Sequence[str], tasks: Sequence[str]) -> tuple[int, int, int]:
    """How many entities, relations and labels there are."""
    entities = relations = labels = 0
    for document in tagger.pipe(texts, tasks=tasks):
        entities += len(document.spans)
        relations += len(document.relations)
        labels += len(document.labels)
    return entities, relations, labels


def main() -> None:
    """Take turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="a bundle with heads for relations")
    parser.add_argument("--text", help="texts to read, in any format; else invented abstracts")
    parser.add_argument(
        "--from", dest="format", help="their format, if it is not recognised: lines for one text per line"
    )
    parser.add_argument("--number", type=int, default=500, help="texts")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long they take turns")
    parser.add_argument("--threads", type=int, help="threads of the tagger; else one per core")
    parser.add_argument("--json", type=Path, help="also write the table here")
    given = parser.parse_args()
    described = contest.describe()
    read = biomux.read(given.text, format=given.format) if given.text else invented.documents(given.number)
    texts = [document.text for document in islice(read, given.number)]
    tagger = biomux.load(given.bundle, threads=given.threads)
    answers = {name: annotate(tagger, texts, tasks) for name, tasks in ASKED.items()}
    measured = contest.alternate(
        {name: partial(annotate, tagger, texts, tasks) for name, tasks in ASKED.items()}, seconds=given.seconds
    )
    words = sum(len(text.split()) for text in texts)
    base = measured["entities"].median
    rows = tuple(
        (name, words / turns.median, turns.median / base - 1, *answers[name], turns.runs)
        for name, turns in measured.items()
    )
    note = f"{len(texts):,} texts of {words:,} words, medians of turns."
    columns = ("asked for", "words per second", "slower by", "entities", "relations", "labels", "runs")
    contest.report(
        [contest.Table("Tasks of one bundle", columns, rows, (note,))], json_file=given.json, described=described
    )


if __name__ == "__main__":
    main()
