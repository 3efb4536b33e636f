"""Read the folder of a run: the one place that knows the names of its files and what to say when they are missing or damaged.

`biomux.training.run` writes the folder and lists what is in it. Reading needs no torch, so reports and listings use this too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from biomux.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from biomux.recipes.schema import Recipe

RECIPE = "recipe.yaml"
BEGUN = "begun.json"
COUNTS = "counts.json"
JOURNAL = "journal.jsonl"
MACHINE = "machine.json"
MODEL = "model.json"
SCORES = "scores.json"
TOKENIZER = "tokenizer.json"
WEIGHTS = "model.safetensors"
PRETRAINING = "pretraining.yaml"
ADDED, ADDING = "added.json", "adding.json"
KINDS = {"biomux train": (RECIPE,), "biomux pretrain": (PRETRAINING,), "biomux train --with": (ADDED, ADDING)}
"""Command → the files that mark a folder as made by it."""


def refuse_other_kind(folder: Path, command: str) -> None:
    """Refuse a folder that holds a run of another command: the two would overwrite each other's files."""
    for other_command, marks in KINDS.items():
        if other_command != command and any((folder / mark).exists() for mark in marks):
            raise TrainingError(
                "BX405",
                f"the folder already contains a run of `{other_command}`",
                where=str(folder),
                hint="name another folder with --run",
            )


@dataclass(frozen=True)
class RunFolder:
    """A run on disk. Each file is read when it is first asked for, and once: make another `RunFolder` to see later changes.

    `recipe`, `recipe_mapping`, `description` and `weights` raise if the file is missing or damaged. `begun`, `counts`, `scores` and
    `machine` are empty then, since a run may be in the middle of writing them.
    """

    path: Path

    @property
    def exists(self) -> bool:
        """Whether the folder holds a run, finished or not."""
        return (self.path / RECIPE).is_file()

    @property
    def pretraining(self) -> bool:
        """Whether the folder holds a run of `biomux pretrain`."""
        return (self.path / PRETRAINING).is_file()

    @property
    def trained(self) -> bool:
        """Whether the run has weights and says what they are."""
        return (self.path / MODEL).is_file() and (self.path / WEIGHTS).is_file()

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe that the run was made with."""
        from biomux.recipes.read import read

        if not self.exists:
            raise TrainingError(
                "BX405",
                "not a run" if self.path.is_dir() else "no such folder",
                where=str(self.path),
                hint="name a folder that `biomux train` made",
            )
        return read(str(self.path / RECIPE))

    @cached_property
    def recipe_mapping(self) -> dict[str, Any]:
        """The recipe as it is in the file, unchecked: a run of another version can still be listed and reported."""
        import yaml

        path = self.path / (PRETRAINING if self.pretraining else RECIPE)
        try:
            recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise _unreadable_recipe(path, str(error).splitlines()[0]) from None
        if not isinstance(recipe, dict):
            raise _unreadable_recipe(path, "it has no keys")
        return recipe

    @cached_property
    def description(self) -> dict[str, Any]:
        """What the weights are: the encoder's configuration, special tokens, and the tasks with their labels."""
        path = self.path / MODEL
        if not path.is_file():
            raise self._untrained()
        description = _json_object(path)
        if description is None:
            raise TrainingError(
                "BX406",
                f"{MODEL} is damaged",
                where=str(self.path),
                hint="resume the run to write it again",
            )
        return description

    @property
    def weights(self) -> Path:
        """The file of the best weights."""
        if not self.trained:
            raise self._untrained()
        return self.path / WEIGHTS

    @property
    def tokenizer(self) -> Path:
        """The file of the tokenizer."""
        return self.path / TOKENIZER

    @cached_property
    def begun(self) -> dict[str, Any]:
        """The recipe and the checksum of the corpora that the run was started with."""
        return _json_object(self.path / BEGUN) or {}

    @cached_property
    def counts(self) -> dict[str, Any]:
        """How many examples there were, what was dropped and why."""
        return _json_object(self.path / COUNTS) or {}

    @cached_property
    def added(self) -> dict[str, Any] | None:
        """What `biomux train --with` recorded about the heads that it added to a bundle here; None if it did not."""
        return _json_object(self.path / ADDED)

    @cached_property
    def scores(self) -> dict[str, Any]:
        """Development scores, of the last epoch or, when the run is done, of the best."""
        return _json_object(self.path / SCORES) or {}

    @cached_property
    def machine(self) -> dict[str, Any]:
        """The machine that the run was trained on, and the versions of its packages."""
        return _json_object(self.path / MACHINE) or {}

    def events(self) -> Iterator[dict[str, Any] | None]:
        """The events of the journal, as `read_journal` gives them."""
        return read_journal(self.path / JOURNAL)

    def _untrained(self) -> TrainingError:
        if (self.path / "bundle").is_dir():
            return TrainingError(
                "BX405",
                "there is nothing left to export: this run added heads to a bundle",
                where=str(self.path),
                hint=f"use the new bundle, {self.path / 'bundle'}",
            )
        return TrainingError(
            "BX405",
            "this run has no trained model" if self.exists else "not a run" if self.path.is_dir() else "no such folder",
            where=str(self.path),
            hint="name a folder that `biomux train` made",
        )


def read_journal(path: Path) -> Iterator[dict[str, Any] | None]:
    """The events of a run's or a study's journal; None for a damaged line, such as one cut short by a crash. Empty if there is no journal."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    event = json.loads(line)
                except (ValueError, RecursionError):
                    event = None
                if isinstance(event, dict) and "pieces" in event:  # as 0.1.0 called tokens
                    event["tokens"] = event.pop("pieces")
                yield event if isinstance(event, dict) else None
    except OSError:
        return


def _json_object(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _unreadable_recipe(path: Path, reason: str) -> TrainingError:
    return TrainingError("BX405", f"cannot read the recipe: {reason}", where=str(path), hint="train again")
