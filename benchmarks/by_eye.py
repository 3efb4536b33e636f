"""A sheet for reading a model's answers by eye: some texts, each with what one or several models find in it.

    python -m benchmarks.by_eye corpora/text/heldout.txt.gz --number 60 > sheet.md            # from the root of the project
    python -m benchmarks.by_eye texts.txt --models default other-bundle --types gene disease

Texts of 90 to 330 words are drawn with a seed, so that the same ones can be read again after a change. Mark each entity as right, false, of the
wrong extent, or inconsistent (the same name is treated otherwise elsewhere in the text), and note what is missing.
"""

from __future__ import annotations

import argparse
import random
import sys
from itertools import chain
from typing import TYPE_CHECKING

import biomux
from biomux.formats import lines, sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document

SHORTEST, LONGEST = 90, 330
"""Words of a text."""


def drawn(files: Sequence[str], *, number: int, seed: int) -> list[str]:
    """So many texts of the files, in random order."""
    texts = [line for source in chain.from_iterable(map(sources, files)) for _, line in lines(source)]
    usable = sorted(text for text in texts if SHORTEST <= len(text.split()) <= LONGEST)
    return random.Random(seed).sample(usable, min(number, len(usable)))


def sheet(document: Document) -> list[str]:
    """A line for each type: its names in order, and how often each was found."""
    by_type: dict[str, dict[str, list[float]]] = {}
    for span in document.spans:
        by_type.setdefault(span.type, {}).setdefault(document.mention(span), []).append(span.score or 0.0)
    return [
        f"  - {type_}: "
        + "; ".join(
            f"{name}{f' ×{len(scores)}' if len(scores) > 1 else ''} ({max(scores):.2f})"
            for name, scores in names.items()
        )
        for type_, names in sorted(by_type.items())
    ]


def main() -> None:
    """Print the sheet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="plain text, one document per line, gzipped or not")
    parser.add_argument("--models", nargs="+", default=["default"], help="bundles or runs; default: that of Biomux")
    parser.add_argument("--types", nargs="+", help="plain types; default: all")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    texts = drawn(given.files, number=given.number, seed=given.seed)
    answers = {model: list(biomux.load(model).pipe(texts, types=given.types)) for model in given.models}
    for at, text in enumerate(texts):
        sys.stdout.write(f"## {at + 1}\n\n{text}\n\n")
        for model, documents in answers.items():
            sys.stdout.write("\n".join([f"- {model}", *sheet(documents[at])]) + "\n")
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
