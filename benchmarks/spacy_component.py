"""Biomux in spaCy: `nlp.pipe` with the component against `tagger.pipe`, on the same texts in one run; and whether their offsets agree.

    python -m benchmarks.spacy_component --number 1000 --text abstracts.jsonl
    python -m benchmarks.spacy_component --number 1000 --text abstracts.txt.gz --from lines

Texts are invented unless named. Every third gets odd white space and characters beyond the basic plane, where offsets go wrong first.
"""

from __future__ import annotations

import argparse
import random
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import spacy

import biomux
import biomux.spacy_component
from benchmarks import contest, invented

if TYPE_CHECKING:
    from collections.abc import Sequence

ODD = (" \u00a0", "  ", "\n\n", "\t", "\u2009", " \U0001d6fc ", " \U0001f9ec ", "\r\n", " e\u0301 ", "\u3000")


def oddly(text: str, seed: int) -> str:
    """The text with some blanks changed into others, and with signs between words that careless software miscounts."""
    chance = random.Random(seed)
    return "".join(chance.choice(ODD) if sign == " " and chance.random() < 0.1 else sign for sign in text)


def differing(tagger: biomux.Tagger, nlp: Any, texts: Sequence[str]) -> tuple[int, int]:
    """How many entities there are, and in how many texts spaCy's spans are not the tagger's."""
    entities = wrong = 0
    for document, doc in zip(tagger.pipe(texts), nlp.pipe(texts), strict=True):
        ours = [(span.start, span.end, span.type) for span in document.spans]
        theirs = [(span.start_char, span.end_char, span.label_) for span in doc.spans["biomux"]]
        entities += len(ours)
        wrong += ours != theirs or doc.text != document.text
    return entities, wrong


def main() -> None:
    """Compare offsets, then take turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="a bundle's folder or name; else the one included")
    parser.add_argument("--text", help="texts to read, in any format; else invented abstracts")
    parser.add_argument("--from", dest="format", help="their format, if it is not recognised: lines for a text a line")
    parser.add_argument("--number", type=int, default=1000, help="texts")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long they take turns")
    parser.add_argument("--threads", type=int, help="threads of the tagger; else one a core")
    parser.add_argument("--json", type=Path, help="also write the table here")
    given = parser.parse_args()
    described = contest.describe()
    read = biomux.read(given.text, format=given.format) if given.text else invented.documents(given.number)
    plain = [document.text for document in islice(read, given.number)]
    odd = [oddly(text, seed) if seed % 3 == 0 else text for seed, text in enumerate(plain)]
    nlp = spacy.blank("en")
    config = {"bundle": given.bundle, "threads": given.threads}
    tagger = nlp.add_pipe("biomux", config=config).tagger
    blank = spacy.blank("en")
    entities, wrong = differing(tagger, nlp, odd)
    found = contest.alternate(
        {
            "tagger.pipe": lambda: sum(1 for _ in tagger.pipe(plain)),
            "nlp.pipe, with the component": lambda: sum(1 for _ in nlp.pipe(plain)),
            "nlp.pipe, tokenizer alone": lambda: sum(1 for _ in blank.pipe(plain)),
        },
        seconds=given.seconds,
    )
    words = sum(len(text.split()) for text in plain)
    base = found["tagger.pipe"].median
    rows = tuple((name, words / one.median, base / one.median, one.runs) for name, one in found.items())
    note = (
        f"{len(plain):,} texts of {words:,} words, medians. Offsets: {entities:,} entities in as many texts, a third of them with odd white space and "
        f"astral characters; texts whose spans differ: {wrong:,}."
    )
    table = contest.Table("Biomux in spaCy", ("", "words per second", "share of tagger.pipe", "runs"), rows, (note,))
    contest.report([table], json_file=given.json, described=described)


if __name__ == "__main__":
    main()
