"""Write the recipe of one task of a recipe by itself: the baseline of training it together with others.

    python scripts/alone.py default/heads chemprot --epochs 2 -o chemprot-alone.yaml [--set model.encoder.run=runs/teacher]

What stands in a development or test part of any of the recipe's corpora is left out here too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from biomux.recipes import read


def alone(name: str, task: str, settings: list[str], *, epochs: int) -> dict[str, object]:
    """The recipe as a mapping."""
    raw, _ = read.plain(name)
    for setting in settings:
        read.put(raw, *read.parsed(setting))
    raw.pop("teacher", None)
    return raw | {
        "name": f"{raw['name']}-{task}-alone",
        "about": f"{task} of {name} alone.",
        "hold_out": sorted({str(one["corpus"]) for one in raw["tasks"].values()}),
        "tasks": {task: raw["tasks"][task]},
        "model": raw["model"] | {"heads": "fresh"},
        "regime": {"kind": "single"},
        "loop": {name: value for name, value in raw["loop"].items() if name != "steps"} | {"epochs": epochs},
        "types": {},
        "levels": {},
        "development": raw.get("development", {}) | {"every": epochs},
    }


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("task")
    parser.add_argument("--epochs", type=int, required=True, help="about as often as the whole recipe reads the task")
    parser.add_argument("-o", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="A.B=VALUE")
    asked = parser.parse_args()
    recipe = alone(asked.recipe, asked.task, asked.settings, epochs=asked.epochs)
    read.check(recipe, where=asked.recipe)
    asked.o.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
