"""Agreement with seqeval, and with conlleval as its manual and output describe it, on random tag sequences."""

from __future__ import annotations

import random
import warnings

import pytest

from biomux.document import Document, Range, Span
from biomux.scoring.counts import Counts
from biomux.scoring.spans import score

TYPES = ("Gene", "Regulon-operon", "Cell")
Sentence = list[str]


def sentences(seed: int, *, valid: bool, number: int = 60) -> list[tuple[Sentence, Sentence]]:
    """Gold tags and tags that differ from them here and there; `valid` has no I without its B."""
    chance = random.Random(seed)

    def tags(size: int) -> Sentence:
        made: Sentence = []
        while len(made) < size:
            kind = chance.choice(TYPES)
            run = [f"B-{kind}"] + [f"I-{kind}"] * chance.randrange(3)
            if not valid and chance.random() < 0.3:
                run = run[1:]
            made += chance.choice([["O"], run])
        return made[:size]

    pairs = []
    for _ in range(number):
        gold = tags(chance.randrange(1, 15))
        other = tags(len(gold))
        cut = chance.randrange(len(gold) + 1)
        predicted = gold[:cut] + other[cut:]
        if valid and cut < len(gold) and predicted[cut].startswith("I-"):
            predicted[cut] = predicted[cut].replace("I-", "B-", 1)
        pairs.append((gold, predicted))
    return pairs


def document(tags: Sentence, chunks: list[tuple[int, int, str]], number: int) -> Document:
    """A text of one word a tag, with the chunks (first word, after last, type) as spans."""
    words: list[Range] = [(4 * place, 4 * place + 3) for place in range(len(tags))]
    spans = tuple(Span(words[first][0], words[after - 1][1], kind) for first, after, kind in chunks)
    return Document(str(number), " ".join(["abc"] * len(tags)), tokens=tuple(words), spans=spans)


def strict_chunks(tags: Sentence) -> list[tuple[int, int, str]]:
    """IOB2 taken at its word: a mention is a B and the I of its type that follow; any other I is nothing."""
    found: list[tuple[int, int, str]] = []
    place = 0
    while place < len(tags):
        if tags[place].startswith("B-"):
            kind, end = tags[place][2:], place + 1
            while end < len(tags) and tags[end] == f"I-{kind}":
                end += 1
            found.append((place, end, kind))
            place = end
        else:
            place += 1
    return found


def lenient_chunks(tags: Sentence) -> list[tuple[int, int, str]]:
    """conlleval's reading: an I after O, or after another type, begins a mention as well."""
    found: list[tuple[int, int, str]] = []
    start = None
    for place, tag in enumerate([*tags, "O"]):
        before = tags[place - 1] if place else "O"
        goes_on = tag.startswith("I-") and before != "O" and before[2:] == tag[2:]
        if start is not None and not goes_on:
            found.append((start, place, before[2:]))
            start = None
        if tag != "O" and start is None:
            start = place
    return found


def conlleval(pairs: list[tuple[Sentence, Sentence]]) -> dict[str, Counts]:
    """One walk over the words, as conlleval does it: a chunk is right if both sides begin it together, keep equal types, and end it together."""
    found_gold: dict[str, int] = {}
    found_predicted: dict[str, int] = {}
    right: dict[str, int] = {}

    def split(tag: str) -> tuple[str, str]:
        return ("O", "") if tag == "O" else (tag[0], tag[2:])

    def ends(before: tuple[str, str], now: tuple[str, str]) -> bool:
        return before[0] != "O" and (now[0] in "BO" or before[1] != now[1])

    def begins(before: tuple[str, str], now: tuple[str, str]) -> bool:
        return now[0] != "O" and (now[0] == "B" or before[0] == "O" or before[1] != now[1])

    for gold, predicted in pairs:
        running = False
        last_gold = last_predicted = ("O", "")
        for gold_tag, predicted_tag in zip([*gold, "O"], [*predicted, "O"], strict=True):
            now_gold, now_predicted = split(gold_tag), split(predicted_tag)
            gold_ends, predicted_ends = ends(last_gold, now_gold), ends(last_predicted, now_predicted)
            if running and gold_ends and predicted_ends:
                right[last_gold[1]] = right.get(last_gold[1], 0) + 1
                running = False
            elif running and (gold_ends != predicted_ends or now_gold[1] != now_predicted[1]):
                running = False
            gold_begins, predicted_begins = begins(last_gold, now_gold), begins(last_predicted, now_predicted)
            if gold_begins and predicted_begins and now_gold[1] == now_predicted[1]:
                running = True
            if gold_begins:
                found_gold[now_gold[1]] = found_gold.get(now_gold[1], 0) + 1
            if predicted_begins:
                found_predicted[now_predicted[1]] = found_predicted.get(now_predicted[1], 0) + 1
            last_gold, last_predicted = now_gold, now_predicted
    counts = {}
    for kind in sorted({*found_gold, *found_predicted}):
        tp = right.get(kind, 0)
        counts[kind] = Counts(tp, found_predicted.get(kind, 0) - tp, found_gold.get(kind, 0) - tp)
    return counts


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("valid", [True, False])
def test_words_count_as_conlleval(seed: int, valid: bool) -> None:
    pairs = sentences(seed, valid=valid)
    scores = score(
        (document(gold, lenient_chunks(gold), number), document(predicted, lenient_chunks(predicted), number))
        for number, (gold, predicted) in enumerate(pairs)
    )
    assert scores["word"].types == conlleval(pairs)
    assert scores["strict"].types == scores["word"].types


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("valid", [True, False])
def test_strict_is_seqeval_strict_iob2(seed: int, valid: bool) -> None:
    pytest.importorskip("seqeval", reason="seqeval is not installed")
    from seqeval.metrics.sequence_labeling import precision_recall_fscore_support  # type: ignore[import-untyped,unused-ignore]
    from seqeval.metrics.v1 import precision_recall_fscore_support as strict_scores  # type: ignore[import-untyped,unused-ignore]
    from seqeval.scheme import IOB2  # type: ignore[import-untyped,unused-ignore]

    pairs = sentences(seed, valid=valid)
    for reading, chunks in (("strict", strict_chunks), ("lenient", lenient_chunks)):
        table = score(
            (document(gold, chunks(gold), number), document(predicted, chunks(predicted), number))
            for number, (gold, predicted) in enumerate(pairs)
        )["strict"]
        options = {"scheme": IOB2} if reading == "strict" else {}
        measure = strict_scores if reading == "strict" else precision_recall_fscore_support
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gold_tags, predicted_tags = [gold for gold, _ in pairs], [predicted for _, predicted in pairs]
            micro = measure(gold_tags, predicted_tags, average="micro", **options)
            macro = measure(gold_tags, predicted_tags, average="macro", **options)
            each = measure(gold_tags, predicted_tags, average=None, **options)
        assert (table.precision, table.recall, table.f1) == pytest.approx(micro[:3])
        assert (table.macro.precision, table.macro.recall, table.macro.f1) == pytest.approx(macro[:3])
        assert [counts.f1 for counts in table.types.values()] == pytest.approx(list(each[2]))
        assert [counts.gold for counts in table.types.values()] == list(each[3])


@pytest.mark.parametrize("seed", range(10))
def test_tokens_count_as_seqeval_on_copied_tags(seed: int) -> None:
    pytest.importorskip("seqeval", reason="seqeval is not installed")
    from seqeval.metrics.sequence_labeling import precision_recall_fscore_support  # type: ignore[import-untyped,unused-ignore]

    pairs = sentences(seed, valid=True)
    chance = random.Random(seed)
    cuts = [[chance.randrange(1, 4) for _ in gold] for gold, _ in pairs]

    def copied(tags: Sentence, cut: list[int]) -> Sentence:
        return [tag for tag, number in zip(tags, cut, strict=True) for _ in range(number)]

    total = None
    for number, ((gold, predicted), cut) in enumerate(zip(pairs, cuts, strict=True)):
        ranges = [
            (4 * word + part, 4 * word + (part + 1 if part + 1 < size else 3))
            for word, size in enumerate(cut)
            for part in range(size)
        ]
        one = score(
            [
                (
                    document(gold, strict_chunks(gold), number),
                    document(predicted, strict_chunks(predicted), number),
                )
            ],
            tokens=lambda _, ranges=ranges: ranges,  # type: ignore[misc]
        )
        total = one if total is None else total + one
    assert total is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = precision_recall_fscore_support(
            [copied(gold, cut) for (gold, _), cut in zip(pairs, cuts, strict=True)],
            [copied(predicted, cut) for (_, predicted), cut in zip(pairs, cuts, strict=True)],
            average="micro",
        )
    assert (total["subword"].precision, total["subword"].recall, total["subword"].f1) == pytest.approx(wanted[:3])
    assert total["subword"].f1 != total["strict"].f1
