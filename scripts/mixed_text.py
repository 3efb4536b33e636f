r"""Mix text for teachers to label: documents drawn from files of plain text, and the training text of a recipe's corpora, shuffled.

    python scripts/mixed_text.py corpora/text/*.txt.gz --without heldout.txt.gz --documents 8000 \
        --recipe default/teacher --labelled 50000 -o text.txt

The result has one document per line. With a recipe, each different text of the training parts of its corpora is in it once, so that
all heads learn what the teachers say about text that was labelled for one of them. What is held out is left out by `biomux train`; with --held-out
it is left out here already, so that a recipe and its last fit, which holds out less, read the same text and the teachers label it once.
"""

from __future__ import annotations

import argparse
import random
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from biomux.corpora.leaks import filter_leaks
from biomux.document import Document
from biomux.errors import BiomuxError
from biomux.files import whole_file
from biomux.formats import lines, sources
from biomux.recipes.read import read as read_recipe
from biomux.training.build import held_out_parts
from biomux.training.task_documents import Library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def main(arguments: list[str] | None = None) -> int:
    """Draw, shuffle, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", help="files of plain text, one document per line, gzipped or not")
    parser.add_argument("--without", nargs="*", default=[], help="names of files among them to leave out")
    parser.add_argument("--documents", type=int, help="how many documents to draw from the files; default: all")
    parser.add_argument(
        "--skip", type=int, default=0, help="draw those that come after so many, for other text than before"
    )
    parser.add_argument("--recipe", help="add the training text of this recipe's corpora")
    parser.add_argument("--labelled", type=int, help="how many texts of these corpora to draw; default: all")
    parser.add_argument("--held-out", help="leave out what also stands in the held-out parts of this recipe's corpora")
    parser.add_argument("--corpora", type=Path, help="the corpora directory")
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    order = random.Random(chosen.seed)
    drawn = list(documents(file for file in sorted(chosen.texts) if Path(file).name not in chosen.without))
    order.shuffle(drawn)
    drawn = drawn[chosen.skip :][: chosen.documents]
    labelled = list(training_text(chosen.recipe, chosen.corpora)) if chosen.recipe else []
    order.shuffle(labelled)
    labelled = labelled[: chosen.labelled]
    mixed = [*drawn, *labelled]
    order.shuffle(mixed)
    mixed = without_leaks(mixed, chosen.held_out, chosen.corpora) if chosen.held_out else mixed
    with whole_file(chosen.output) as fresh:
        fresh.write_text("".join(f"{text}\n" for text in mixed), encoding="utf-8")
    words = sum(len(text.split()) for text in mixed)
    print(f"{len(drawn):,} documents of files and {len(labelled):,} of corpora, {words:,} words: {chosen.output}")
    return 0


def documents(files: Iterable[str]) -> Iterator[str]:
    """The lines of files, each a document."""
    for source in chain.from_iterable(sources(file) for file in files):
        for _, line in lines(source):
            yield line


def training_text(recipe: str, directory: Path | None) -> Iterator[str]:
    """The different texts of the training parts of a recipe's corpora."""
    library = Library(directory)
    texts = (
        " ".join(document.text.split())
        for name, task in read_recipe(recipe).tasks.items()
        for document in library.training(name, task)
    )
    yield from dict.fromkeys(texts)


def without_leaks(texts: Iterable[str], recipe: str, directory: Path | None) -> list[str]:
    """The texts without their sentences that also stand in a held-out part of the recipe; what is left of a text is in one piece or several."""
    held_out = held_out_parts(read_recipe(recipe), Library(directory))
    kept, _ = filter_leaks({"text": (Document(str(number), text) for number, text in enumerate(texts))}, held_out)
    return [document.text for document in kept["text"]]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BiomuxError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
