"""One more head on a bundle, in each way: how good is the new type, how many old answers change, how long does it take, how large is the bundle?

    python -m benchmarks.added_head RECIPE --bundle default --texts ABSTRACTS --number 500 --alone
    python -m benchmarks.added_head RECIPE --texts ABSTRACTS --alone --encoder weights/minilm

RECIPE is a recipe with one tagging task; TEXTS any file that Biomux reads. The head is added to the frozen encoder, whose old answers must be the same to the bit, and with light tuning. With
--alone the recipe is also trained by itself, which takes as long as it takes; with --encoder once more, beginning with that encoder in place of its own. Figures are F1 (strict) on the test part of
the recipe's corpus, or on devel where there is none. Light tuning that changes more than --tolerance allows is reported as refused.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import biomux
from biomux import formats
from biomux.engine import machine
from biomux.errors import TrainingError
from biomux.recipes.read import check, read
from biomux.tasks.tagging import Tagging
from biomux.training.add_head import Choice, add, score
from biomux.training.encoders.from_bundle import folder_of
from biomux.training.light_tuning import TOLERANCE, changes
from biomux.training.task_documents import Library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document
    from biomux.recipes.schema import Recipe


def compare(recipe: str, given: argparse.Namespace) -> dict[str, Any]:
    """What is measured, as plain data."""
    chosen = read(recipe)
    (name, part), *_ = chosen.tasks.items()
    library = Library(given.corpora, chosen.documents)
    split = "test" if "test" in library.splits(part) else "devel"
    gold = library.part(part, split)
    bare = [replace(one, spans=(), relations=()) for one in islice(formats.read(given.texts), given.number)]
    told: dict[str, Any] = {"split": split, "documents": len(gold), "texts": len(bare), "seed": chosen.loop.seed}
    with tempfile.TemporaryDirectory() as folder:
        ways = [one for one in (Choice("frozen"), Choice("light", given.tolerance / 100)) if one.way in given.ways]
        for choice in ways:
            place, busy = Path(folder) / choice.way, time.process_time()
            try:
                found = add(chosen, given.bundle, place, choice=choice, directory=given.corpora, listen=print)
            except TrainingError as error:
                told[choice.way] = {"refused": str(error)}
                continue
            spent = round(time.process_time() - busy, 1)
            measured = _measured(given.bundle, place, name, gold, bare)
            told[choice.way] = {**found.to_json(), "cpu_seconds": spent, **measured}
            print(json.dumps(told[choice.way]))
        beginnings = [None] * given.alone + given.encoder
        for number, encoder in enumerate(beginnings):
            place = Path(folder) / f"run-{number}"
            told[f"alone, from {encoder or 'its own encoder'}"] = _alone(chosen, encoder, place, split, given.corpora)
    return {**told, "machine": machine.describe()}


def _measured(
    bundle: str, place: Path, name: str, gold: Sequence[Document], bare: Sequence[Document]
) -> dict[str, Any]:
    """The new type's F1, the old answers before and after, and the sizes."""
    old, new = biomux.load(folder_of(bundle)), biomux.load(place)
    task = next(task for task in new.tasks if task.name == name)
    if not isinstance(task, Tagging):
        raise TypeError(name)
    before = old.annotate(bare, heads=old.heads, threshold=0)
    after = new.annotate(bare, heads=old.heads, threshold=0)
    now = (
        replace(one, spans=tuple(span for span in one.spans if span.type in old.types)) for one in new.annotate(bare)
    )
    plain = changes(old.annotate(bare), now)
    sizes = [sum(one.stat().st_size for one in path.iterdir()) for path in (folder_of(bundle), place)]
    return {
        "f1": round(100 * score(new, task, gold).value, 2),
        "texts_with_equal_answers_of_all_heads": sum(one == other for one, other in zip(before, after, strict=True)),
        "entities_of_old_types": plain.to_json(),
        "bytes": {"before": sizes[0], "after": sizes[1]},
    }


def _alone(recipe: Recipe, encoder: str | None, place: Path, split: str, corpora: Path | None) -> dict[str, Any]:
    """The recipe trained by itself, from its own encoder or another."""
    if encoder is not None:
        raw = recipe.model_dump(mode="json")
        raw["model"]["encoder"] |= {"name": encoder, "bundle": None}
        recipe = check(raw, where="--encoder")
    begun, busy = time.monotonic(), time.process_time()
    run = biomux.train(recipe, run=place, corpora=corpora)
    seconds, spent = round(time.monotonic() - begun, 1), round(time.process_time() - busy, 1)
    ((_, found),) = run.evaluate(split).items()
    devel = round(100 * run.scores["mean"], 2)
    return {"f1": round(100 * found.value, 2), "development_f1": devel, "seconds": seconds, "cpu_seconds": spent}


def main() -> None:
    """Print what was measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--bundle", default="default")
    parser.add_argument("--texts", required=True)
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--tolerance", type=float, default=100 * TOLERANCE, help="per cent")
    parser.add_argument("--ways", nargs="*", choices=["frozen", "light"], default=["frozen", "light"])
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--encoder", action="append", default=[], help="train alone from this encoder too; repeatable")
    parser.add_argument("--corpora", type=Path)
    given = parser.parse_args()
    print(json.dumps(compare(given.recipe, given), indent=1))


if __name__ == "__main__":
    main()
