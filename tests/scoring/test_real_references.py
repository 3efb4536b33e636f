"""Agreement with conlleval and seqeval on real gold tags: the test sets of all tagged corpora, with tags of a third of the sentences disturbed.

Needs the corpora directory in BIOMUX_CORPORA.
"""

from __future__ import annotations

import gzip
import os
import random
import warnings
from pathlib import Path

import pytest
from scoring.test_references import Sentence, conlleval, document, lenient_chunks, strict_chunks

from biomux.scoring.spans import score

ROOT = Path(os.environ.get("BIOMUX_CORPORA") or "/nowhere") / "ner"
FILES = sorted(ROOT.glob("*/test.tsv.gz"))

pytestmark = pytest.mark.skipif(not FILES, reason="BIOMUX_CORPORA names no corpora directory")


def gold_tags(path: Path) -> list[Sentence]:
    """Tags by sentence; a bare B or I (S800) gets a type."""
    sentences: list[Sentence] = [[]]
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) < 2:
                sentences.append([])
            else:
                sentences[-1].append(f"{fields[1]}-_" if fields[1] in {"B", "I"} else fields[1])
    return [sentence for sentence in sentences if sentence]


def disturbed(sentences: list[Sentence], seed: int) -> list[Sentence]:
    """Tags dropped, moved, broken and retyped; some become an I without its B, which the two readings see differently."""
    chance = random.Random(seed)
    known = sorted({tag for sentence in sentences for tag in sentence})
    return [
        [chance.choice(known) if wild and chance.random() < 0.15 else tag for tag in sentence]
        for sentence in sentences
        for wild in [chance.random() < 1 / 3]
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_counts_are_equal_on_a_real_test_set(path: Path) -> None:
    pytest.importorskip("seqeval", reason="seqeval is not installed")
    from seqeval.metrics.v1 import precision_recall_fscore_support  # type: ignore[import-untyped,unused-ignore]
    from seqeval.scheme import IOB2  # type: ignore[import-untyped,unused-ignore]

    gold = gold_tags(path)
    predicted = disturbed(gold, 1)
    pairs = list(zip(gold, predicted, strict=True))
    lenient, strict = (
        score(
            (
                (document(one, chunks(one), number), document(other, chunks(other), number))
                for number, (one, other) in enumerate(pairs)
            ),
            matchings=["strict", "word"],
        )
        for chunks in (lenient_chunks, strict_chunks)
    )
    assert lenient["word"].types == lenient["strict"].types == conlleval(pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        micro = precision_recall_fscore_support(gold, predicted, average="micro", scheme=IOB2)
        each = precision_recall_fscore_support(gold, predicted, average=None, scheme=IOB2)
    table = strict["strict"]
    assert (table.precision, table.recall, table.f1) == pytest.approx(micro[:3], abs=1e-12)
    assert [counts.f1 for counts in table.types.values()] == pytest.approx(list(each[2]), abs=1e-12)
    assert [counts.gold for counts in table.types.values()] == list(each[3])
    assert lenient["strict"].f1 != table.f1
