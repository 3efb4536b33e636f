"""Our counts against conlleval's and seqeval's, on the real predictions of an evaluation.

    biomux evaluate first all --split test -o scores
    python -m benchmarks.agreement scores --corpora DIR
    python -m benchmarks.agreement scores --corpora DIR --columns FOLDER      # and files for the original conlleval script

Ours are the counts that `scores.json` has by type. Gold tags are read from the files of the corpora, predictions from `predictions.jsonl`, and both are counted
anew, by a reading of conlleval's rules below and by seqeval (mode strict, IOB2); nothing of `biomux.scoring` has a part in that. They must be equal to the last
mention, except where the definitions differ: what makes them differ is counted, and docs/reference/scores.md says why. Where tags cannot hold all mentions, ours are
counted once more without those, and must then be equal. Exit code 1: a difference that nothing explains.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.contest import Table
from biomux import formats
from biomux.corpora import catalogue, corpus
from biomux.scoring.spans import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Range = tuple[int, int]
Counted = dict[str, tuple[int, int, int]]
"""Type → right, found, gold."""

COLUMNS = ("corpus", "sentences", "gold", "found", "right", "conlleval", "seqeval", "strict", "what tags cannot say")


class Row(NamedTuple):
    """A word and both of its tags."""

    word: str
    gold: str
    said: str


@dataclass
class Tagged:
    """A test set as tags, and what tags cannot say."""

    sentences: list[list[Row]] = field(default_factory=list)
    inside: int = 0
    """Mentions that begin or end inside a word: a tag stands for the whole word."""
    lost: set[tuple[str, int, int, str]] = field(default_factory=set)
    """Predicted mentions that touch a word which another has already: a word has one tag."""
    bare: int = 0
    """Gold tags I that go on with nothing: conlleval repairs them, seqeval's strict mode drops them."""


def conlleval(sentences: Iterable[Sequence[Row]]) -> Counted:
    """conlleval's rules: mentions begin and end between two tags; one is right if both sides begin it, and end it, together with one type.

    >>> conlleval([[Row("IL", "B-gene", "B-gene"), Row("2", "I-gene", "O"), Row("up", "O", "I-gene")]])
    {'gene': (0, 2, 1)}
    """
    right, found, there = Counter[str](), Counter[str](), Counter[str]()
    for sentence in sentences:
        both_run = False
        before = ("O", "O")
        for now in (*((row.gold, row.said) for row in sentence), ("O", "O")):
            ended = [_ends(old, new) for old, new in zip(before, now, strict=True)]
            begun = [_begins(old, new) for old, new in zip(before, now, strict=True)]
            if both_run and all(ended):
                right[_type(before[0])] += 1
                both_run = False
            if any(ended) or _type(now[0]) != _type(now[1]):
                both_run = False
            if begun[0]:
                there[_type(now[0])] += 1
            if begun[1]:
                found[_type(now[1])] += 1
            if all(begun) and _type(now[0]) == _type(now[1]):
                both_run = True
            before = now
    return {name: (right[name], found[name], there[name]) for name in sorted({*found, *there})}


def _type(tag: str) -> str:
    return tag[2:]


def _ends(old: str, new: str) -> bool:
    """Whether a mention that `old` belongs to ends before `new`."""
    return old != "O" and (new == "O" or new.startswith("B") or _type(old) != _type(new))


def _begins(old: str, new: str) -> bool:
    """Whether `new` begins a mention: a B always, an I where there is none of its type to go on with."""
    return new != "O" and (new.startswith("B") or old == "O" or _type(old) != _type(new))


def seqeval_strict(sentences: Sequence[Sequence[Row]]) -> dict[str, tuple[float, float, int]]:
    """Type → precision, recall, gold, by seqeval's strict mode for IOB2."""
    from seqeval.metrics.v1 import precision_recall_fscore_support, unique_labels  # type: ignore[import-untyped,unused-ignore]
    from seqeval.scheme import IOB2  # type: ignore[import-untyped,unused-ignore]

    gold = [[row.gold for row in sentence] for sentence in sentences]
    said = [[row.said for row in sentence] for sentence in sentences]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of types that one side does not have
        precision, recall, _, support = precision_recall_fscore_support(gold, said, average=None, scheme=IOB2)
        names = unique_labels(gold, said, IOB2)
    return {name: (float(precision[at]), float(recall[at]), int(support[at])) for at, name in enumerate(sorted(names))}


def ratios(counted: Counted) -> dict[str, tuple[float, float, int]]:
    """Precision, recall and gold of counts, as seqeval gives them."""
    return {
        name: (right / found if found else 0.0, right / there if there else 0.0, there)
        for name, (right, found, there) in counted.items()
    }


def tags(
    words: Sequence[Range], mentions: Iterable[tuple[int, int, str]], tagged: Tagged, *, id: str = ""
) -> list[str]:
    """IOB2 tags of words; what they cannot say is kept in `tagged`.

    >>> tags([(0, 2), (3, 5)], [(0, 5, "gene")], Tagged())
    ['B-gene', 'I-gene']
    """
    made = ["O"] * len(words)
    for start, end, name in sorted(mentions):
        touched = [at for at, (first, after) in enumerate(words) if first < end and start < after]
        if not touched or any(made[at] != "O" for at in touched):
            tagged.lost.add((id, start, end, name))
            continue
        tagged.inside += words[touched[0]][0] != start or words[touched[-1]][1] != end
        for at in touched:
            made[at] = f"{'B' if at == touched[0] else 'I'}-{name}"
    return made


def from_columns(path: Path, documents: Iterable[Mapping[str, Any]], *, plain: str) -> Tagged:
    """Gold tags from a file of columns; `plain` is the type of tags that have none."""
    tagged = Tagged()
    gold = _gold_sentences(path, plain)
    for document in documents:
        words = [(start, end) for start, end in document.get("tokens", ())]
        said = tags(words, _mentions(document), tagged, id=document["id"])
        texts = [document["text"][start:end] for start, end in words]
        at = 0
        while at < len(words):
            sentence = next(gold)
            after = at + len(sentence)
            if [word for word, _ in sentence] != texts[at:after]:
                raise SystemExit(f"{document['id']}: its words are not those of {path}")
            rows = [Row(word, tag, other) for (word, tag), other in zip(sentence, said[at:after], strict=True)]
            tagged.sentences.append(rows)
            at = after
    if next(gold, None) is not None:
        raise SystemExit(f"{path} has more sentences than were predicted")
    tagged.bare = sum(
        row.gold.startswith("I") and _begins(before, row.gold)
        for rows in tagged.sentences
        for before, row in zip(["O", *(row.gold for row in rows)], rows, strict=False)
    )
    return tagged


def from_objects(path: Path, documents: Iterable[Mapping[str, Any]]) -> Tagged:
    """Gold mentions from a JSON file of texts and spans; words are runs of letters and digits, and single signs."""
    tagged = Tagged()
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        objects = json.load(stream)
    for document, one in zip(documents, objects, strict=True):
        if document["text"] != one["text"]:
            raise SystemExit(f"{document['id']}: its text is not that of {path}")
        words = [match.span() for match in re.finditer(r"\w+|[^\w\s]", one["text"])]
        gold = tags(words, {_object_mention(span) for span in one["spans"]}, tagged)
        if any(not id_ for id_, *_ in tagged.lost):
            raise SystemExit(f"{document['id']}: tags cannot hold its gold mentions")
        said = tags(words, _mentions(document), tagged, id=document["id"])
        texts = (one["text"][start:end] for start, end in words)
        tagged.sentences.append([Row(*row) for row in zip(texts, gold, said, strict=True)])
    return tagged


def _object_mention(span: Mapping[str, Any]) -> tuple[int, int, str]:
    return span["start"], span["end"], span["label"]


def _mentions(document: Mapping[str, Any]) -> set[tuple[int, int, str]]:
    return {(span["start"], span["end"], span["type"]) for span in document.get("spans", ())}


def _gold_sentences(path: Path, plain: str) -> Iterator[list[tuple[str, str]]]:
    rows: list[tuple[str, str]] = []
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            columns = line.rstrip("\r\n").split("\t")
            if len(columns) > 1 and not columns[0].startswith("-DOCSTART-"):
                rows.append((columns[0], f"{columns[-1]}-{plain}" if columns[-1] in {"B", "I"} else columns[-1]))
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def ours(column: Mapping[str, Any], matching: str) -> Counted:
    """The counts that `biomux evaluate` wrote."""
    found = column["spans"]["matchings"][matching]["types"]
    return {
        name: (row["tp"], row["tp"] + row["fp"], row["tp"] + row["fn"])
        for name, row in sorted(found.items())
        if row["tp"] + row["fp"] + row["fn"]
    }


def compared(column: Mapping[str, Any], tagged: Tagged, *, held: Callable[[], Counted]) -> tuple[tuple[Any, ...], bool]:
    """A row of the table, and whether everything is as it should be. `held` counts anew without the mentions that tags cannot hold."""
    word, strict = ours(column, "word"), ours(column, "strict")
    by_walk, by_seqeval = conlleval(tagged.sentences), seqeval_strict(tagged.sentences)
    can_hold = held() if tagged.lost else word
    fine = (
        can_hold == by_walk
        and (ratios(can_hold) == by_seqeval or tagged.bare > 0)
        and (strict == word or tagged.inside > 0 or bool(tagged.lost))
    )
    reasons = {"inside a word": tagged.inside, "second in a word": len(tagged.lost), "I without B": tagged.bare}
    right, found, there = (sum(row[at] for row in word.values()) for at in range(3))
    by_seqeval_right = round(sum(recall * support for _, recall, support in by_seqeval.values()))
    cells = (
        column["corpus"],
        len(tagged.sentences),
        there,
        found,
        right,
        _said(word == by_walk, sum(row[0] for row in by_walk.values()) - right, can_hold == by_walk),
        _said(ratios(word) == by_seqeval, by_seqeval_right - right, ratios(can_hold) == by_seqeval),
        _said(strict == word, sum(row[0] for row in strict.values()) - right, False),
        ", ".join(f"{number} {reason}" for reason, number in reasons.items() if number),
    )
    return cells, fine


def _said(equal: bool, more: int, equal_without: bool) -> str:
    told = "equal" if equal else f"{more:+d} right" if more else "differs"
    return f"{told}; equal without second ones" if equal_without and not equal else told


def counted_without(
    column: Mapping[str, Any], scores: Path, corpora: Path, lost: set[tuple[str, int, int, str]]
) -> Counted:
    """Our counts by `word`, of predictions without some mentions."""
    predicted = formats.read(scores / column["name"] / "predictions.jsonl")
    gold = corpus.get(column["corpus"], directory=corpora).documents(column["split"])
    pairs = (
        (
            left,
            replace(right, spans=tuple(s for s in right.spans if (right.id, s.start, s.end, s.type) not in lost)),
        )
        for left, right in zip(gold, predicted, strict=True)
    )
    found = score(pairs, matchings=["word"])["word"].types
    return {name: (one.tp, one.predicted, one.gold) for name, one in found.items() if not one.empty}


def tagged_column(column: Mapping[str, Any], scores: Path, corpora: Path) -> Tagged:
    """The tags of a column's test set."""
    card = catalogue.card(column["corpus"])
    (name,) = card.splits[column["split"]].files
    with (scores / column["name"] / "predictions.jsonl").open("rb") as stream:
        documents = [json.loads(line) for line in stream]
    if card.format is not None and card.format.name == "conll":
        return from_columns(corpora / name, documents, plain=card.format.options.get("type", "entity"))
    return from_objects(corpora / name, documents)


def main() -> None:
    """Count anew, compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path, help="a folder that biomux evaluate -o wrote")
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("BIOMUX_CORPORA", ".")))
    parser.add_argument("--columns", type=Path, help="write word, gold tag and predicted tag here, a file a corpus")
    chosen = parser.parse_args()
    content = json.loads((chosen.scores / "scores.json").read_bytes())
    rows, wrong = [], []
    for column in content["columns"]:
        if column["cross"]:
            continue
        tagged = tagged_column(column, chosen.scores, chosen.corpora)
        again = partial(counted_without, column, chosen.scores, chosen.corpora, tagged.lost)
        cells, fine = compared(column, tagged, held=again)
        rows.append(cells)
        if not fine:
            wrong.append(column["corpus"])
        if chosen.columns:
            chosen.columns.mkdir(parents=True, exist_ok=True)
            text = "\n".join("".join(f"{' '.join(row)}\n" for row in rows_) for rows_ in tagged.sentences)
            (chosen.columns / f"{column['name']}.txt").write_text(text, encoding="utf-8")
    print(Table("Agreement", COLUMNS, tuple(rows)).markdown())
    if wrong:
        sys.exit(f"not explained: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
