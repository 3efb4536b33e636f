"""The folder that `biomux train --with` writes.

RUN/
├── bundle/        the bundle with its new heads
├── added.json     the score of each way, which was chosen, and what changed
├── adding.json    from the start of light tuning: the options, so that it can be resumed
└── light/         during light tuning: its checkpoints
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux.errors import TrainingError, UsageError
from biomux.recipes.read import check
from biomux.recipes.run_folder import ADDED, ADDING, refuse_other_kind
from biomux.training import example_cache, teachers
from biomux.training.add_head import Added, Choice, add
from biomux.training.encoders.from_bundle import folder_of
from biomux.training.run import held, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.recipes.schema import Recipe

BUNDLE, LIGHT = "bundle", "light"


@dataclass(frozen=True)
class Asked:
    """What is to be added to which bundle, and how. `corpora` is the corpora directory, if one was named."""

    recipe: Recipe
    bundle: str
    choice: Choice
    corpora: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`, with checksums of the bundle and of the data."""
        return {
            "recipe": self.recipe.model_dump(mode="json"),
            "bundle": self.bundle,
            "way": self.choice.way,
            "tolerance": self.choice.tolerance,
            "corpora": str(self.corpora.resolve()) if self.corpora else None,
            "checksums": {
                "bundle": teachers.checksum(folder_of(self.bundle)),
                "corpora": example_cache.corpora_checksum(self.recipe, self.corpora),
            },
        }


def begun(folder: Path) -> Asked | None:
    """The options of the light tuning that was started in a folder; None if none was."""
    raw = _raw(folder)
    if raw is None:
        return None
    try:
        corpora = Path(raw["corpora"]) if raw["corpora"] else None
        choice = Choice(raw["way"], float(raw["tolerance"]))
        return Asked(check(raw["recipe"], where=ADDING), str(raw["bundle"]), choice, corpora)
    except (KeyError, TypeError, ValueError):
        raise _damaged(folder) from None


def finished(folder: Path) -> bool:
    """Whether the bundle is there."""
    return (folder / ADDED).is_file() and (folder / BUNDLE).is_dir()


def start(asked: Asked, folder: Path, *, listen: Callable[[str], None] = lambda _: None) -> Added:
    """Add the heads, or resume adding them. A folder in which something else was started is an error."""
    refuse_other_kind(folder, "biomux train --with")
    if (folder / BUNDLE).exists():
        raise UsageError("BX004", "already exists", where=str(folder / BUNDLE), hint="name another folder with --run")
    _refuse_unwritable(folder)
    before = _raw(folder)
    if before is not None and (changed := _difference(before, asked.to_json())):
        raise TrainingError(
            "BX405",
            f"cannot resume: {changed} changed since this was started",
            where=str(folder),
            hint="restore what it was started with, or name another folder with --run",
        )
    with ExitStack() as stack:

        def begin() -> None:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(held(folder))
            write_json(folder / ADDING, asked.to_json())

        choice = Choice(asked.choice.way, asked.choice.tolerance, folder / LIGHT)
        added = add(
            asked.recipe,
            asked.bundle,
            folder / BUNDLE,
            choice=choice,
            directory=asked.corpora,
            begin=begin,
            listen=listen,
        )
        write_json(folder / ADDED, added.to_json())
        shutil.rmtree(folder / LIGHT, ignore_errors=True)
    return added


def _refuse_unwritable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written before anything is trained for it."""
    absolute = folder.absolute()
    existing = next(path for path in (absolute, *absolute.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        reason = f"{existing} is not a folder" if not existing.is_dir() else f"no permission to write to {existing}"
        raise TrainingError(
            "BX405", f"cannot create the folder: {reason}", where=str(folder), hint="name another with --run"
        )


def _difference(before: dict[str, Any], current: dict[str, Any]) -> str:
    """What has changed since the start."""
    names = {"recipe": "the recipe", "way": "the way", "tolerance": "the tolerance"}
    for key, name in names.items():
        if before.get(key) != json.loads(json.dumps(current[key])):
            return name
    if before.get("checksums") != current["checksums"]:
        old = before.get("checksums") or {}
        return "the bundle" if old.get("bundle") != current["checksums"]["bundle"] else "the data"
    return ""


def _raw(folder: Path) -> dict[str, Any] | None:
    try:
        raw = json.loads((folder / ADDING).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        raise _damaged(folder) from None
    if not isinstance(raw, dict):
        raise _damaged(folder)
    return raw


def _damaged(folder: Path) -> TrainingError:
    return TrainingError(
        "BX406",
        "cannot read the settings that this was started with",
        where=str(folder / ADDING),
        hint="start again in another folder",
    )
