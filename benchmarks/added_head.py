"""One more head on a bundle: are old answers the same to the bit, how good is the new type, how long does it take, how large is the bundle?

    python -m benchmarks.added_head RECIPE --bundle default --texts ABSTRACTS --number 500 --alone

RECIPE is a recipe with one tagging task; TEXTS any file that Biomux reads. With --alone the recipe is also trained by itself, which takes as long as it takes. Figures are
F1 (strict) on the test part of the recipe's corpus, or on devel where there is none.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import biomux
from biomux import formats
from biomux.engine import machine
from biomux.recipes.read import read
from biomux.tasks.tagging import Tagging
from biomux.training.add_head import add, score
from biomux.training.encoders.from_bundle import folder_of
from biomux.training.task_documents import Library


def compare(recipe: str, bundle: str, texts: str, *, number: int, alone: bool, corpora: Path | None) -> dict[str, Any]:
    """What is measured, as plain data."""
    chosen = read(recipe)
    (name, part), *_ = chosen.tasks.items()
    library = Library(corpora, chosen.documents)
    split = "test" if "test" in library.splits(part) else "devel"
    gold = library.part(part, split)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = add(chosen, bundle, place / "grown", directory=corpora, listen=print)
        old, new = biomux.load(folder_of(bundle)), biomux.load(place / "grown")
        bare = [replace(one, spans=(), relations=()) for one in islice(formats.read(texts), number)]
        before = old.annotate(bare, heads=old.heads, threshold=0)
        after = new.annotate(bare, heads=old.heads, threshold=0)
        same = sum(left == right for left, right in zip(before, after, strict=True))
        task = next(task for task in new.tasks if task.name == name)
        if not isinstance(task, Tagging):
            raise TypeError(name)
        sizes = [sum(one.stat().st_size for one in path.iterdir()) for path in (folder_of(bundle), place / "grown")]
        told: dict[str, Any] = {
            **found.to_json(),
            "documents_with_equal_answers": f"{same} of {len(bare)}",
            "split": split,
            "f1_added": round(100 * score(new, task, gold).value, 2),
            "bytes": {"before": sizes[0], "after": sizes[1]},
        }
        if alone:
            begun = time.monotonic()
            run = biomux.train(chosen, run=place / "run", corpora=corpora)
            told["alone"] = {
                "f1": round(100 * run.evaluate(split)[name].value, 2),
                "seconds": round(time.monotonic() - begun, 1),
            }
    return {**told, "machine": machine.describe()}


def main() -> None:
    """Print what was measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--bundle", default="default")
    parser.add_argument("--texts", required=True)
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--corpora", type=Path)
    given = parser.parse_args()
    told = compare(
        given.recipe,
        given.bundle,
        given.texts,
        number=given.number,
        alone=given.alone,
        corpora=given.corpora,
    )
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
