"""A job: inputs, settings and a target. What a run leaves in its folder, and how it is resumed, stands in `resume`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux import __version__, formats
from biomux.annotate import store
from biomux.engine.asked_tasks import CLASSES, ENTITIES, PAIRS, QUESTIONS, RELATIONS
from biomux.engine.query import Query
from biomux.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.annotate.inputs import Inputs
    from biomux.annotate.settings import AnnotateSettings

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Goal:
    """Where the output goes, and as what. `parts`: a folder of parts; else one file (or, for formats of several files, a folder)."""

    path: Path
    format: str
    parts: bool
    suffix: str

    @property
    def work(self) -> Path:
        """The hidden folder of what is not yet whole."""
        return self.path / ".biomux" if self.parts else self.path.with_name(f".{self.path.name}.biomux")

    @property
    def errors(self) -> Path:
        """Where failures are told."""
        return self.path.with_name(f"{self.path.name}.errors.jsonl")

    @property
    def manifest(self) -> Path:
        """What a whole folder of parts is: its job, its parts with size and sha256, what it counts."""
        return self.work / MANIFEST


def goal(where: str, format: str | None, *, gzip: bool = False, query: Query | None = None) -> Goal:
    """What a target's name and a format ask for. A folder (it exists, or its name ends in /) is filled with parts. The format must hold what a query finds."""
    path = store.place(where)
    if not where or not path.resolve().name:
        raise UsageError("BX002", f"cannot write to {where!r}", hint="name a file or a folder")
    folder = where.endswith(("/", os.sep)) or path.is_dir()
    if gzip and not folder:
        raise UsageError(
            "BX001", "cannot use --gzip with a single output file", hint="give the file a name that ends in .gz"
        )
    chosen = formats.get(format or "jsonl") if folder or format else _by_name(path)
    chosen = must_hold(chosen, query or Query())
    if store.is_url(path) and chosen.write is None:
        raise UsageError(
            "BX120",
            f"cannot write the format {chosen.name!r} to a URL: it consists of several files",
            where=where,
            hint="choose another format, for instance jsonl or parquet",
        )
    parts = folder and chosen.write is not None
    return Goal(_real(path), chosen.name, parts, chosen.suffixes[0] + (".gz" if gzip else ""))


def must_hold(chosen: formats.Format, query: Query) -> formats.Format:
    """The format, if it can be written and can hold something of what a query finds: said before the work, not after it."""
    wanted = _wanted(query)
    if query.tasks is None and chosen.one_way:
        wanted |= {"relations", "labels"}
    if wanted and not wanted & formats.to_write(chosen).holds:
        named = {"spans": "entities", "labels": "classes"}.get(min(wanted), min(wanted))
        able = (name for name in formats.names() if formats.get(name).writable and wanted & formats.get(name).holds)
        hint = f"choose from: {', '.join(sorted(able))}"
        raise UsageError("BX120", f"format {chosen.name!r} cannot hold {named}", hint=hint)
    return chosen


def _wanted(query: Query) -> frozenset[formats.Feature]:
    """What a format must hold one of; nothing is known of heads that are named."""
    features: set[formats.Feature] = set()
    for name in (ENTITIES,) if query.tasks is None else query.tasks:
        group = name.partition(":")[0]
        features |= {_HELD[group]} if group in _HELD else {"spans", "relations", "labels"}
    return frozenset(features)


_HELD: dict[str, formats.Feature] = {
    ENTITIES: "spans",
    RELATIONS: "relations",
    CLASSES: "labels",
    PAIRS: "labels",
    QUESTIONS: "questions",
}


def describe(
    inputs: Inputs, settings: AnnotateSettings, goal: Goal, *, part_size: int, stretches: int = 0
) -> dict[str, Any]:
    """What decides the output's bytes, as JSON values."""
    return {
        "biomux": __version__,
        "bundle": settings.fingerprint(),
        "inputs": inputs.fingerprint(),
        "--from": inputs.reads.format,
        "--option": dict(inputs.reads.options) or None,
        "--format": goal.format,
        "--gzip": goal.suffix.endswith(".gz"),
        "--part-size": part_size,
        **{f"--{name}": value for name, value in settings.to_json().items()},
        **({"stretches": stretches} if stretches else {}),
    }


def _real(path: Path) -> Path:
    """A link's target is what is replaced, not the link; and what is written beside a folder needs the folder's name."""
    return path.resolve() if path.is_symlink() or path.name in ("", "..") else path


def _by_name(path: Path) -> formats.Format:
    try:
        return formats.guess_target(path)
    except UsageError as error:
        raise UsageError(error.code, error.message, hint=(error.hint or "").replace("--to", "--format")) from None
