"""Write the recipe of one task of a recipe by itself: the baseline of training it together with others.

    python scripts/alone.py default/heads chemprot -o chemprot-alone.yaml [--set model.encoder.name=weights/minilm]

The task is read as often as in the whole recipe, and what stands in a development or test part of any of its corpora is left out here too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from biomux.recipes import read


def alone(name: str, task: str, settings: list[str]) -> dict[str, object]:
    """The recipe as a mapping."""
    raw, _ = read.plain(name)
    for setting in settings:
        read.put(raw, *read.parsed(setting))
    boost = raw.get("regime", {}).get("settings", {}).get("boost", {}).get(task, 1.0)
    epochs = max(1, round(raw["loop"]["epochs"] * boost))
    return raw | {
        "name": f"{raw['name']}-{task}-alone",
        "about": f"{task} of {name} alone.",
        "hold_out": sorted({str(one["corpus"]) for one in raw["tasks"].values()}),
        "tasks": {task: raw["tasks"][task]},
        "regime": {"kind": "single"},
        "loop": raw["loop"] | {"epochs": epochs},
        "development": raw.get("development", {}) | {"every": epochs},
    }


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("task")
    parser.add_argument("-o", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="A.B=VALUE")
    asked = parser.parse_args()
    recipe = alone(asked.recipe, asked.task, asked.settings)
    read.check(recipe, where=asked.recipe)
    asked.o.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
