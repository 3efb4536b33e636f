"""A job's folder, in which its parts are made until it is whole: how a stopped run is resumed, and a finished one recognised.

    OUT/ (a folder)                           OUT (a file)
    ├── part-00000.jsonl                      .OUT.biomux/
    ├── …                                     ├── job.json              until whole
    └── .biomux/                              ├── part-00000.jsonl      until whole
        ├── job.json             until whole  ├── part-00000.json       until whole
        ├── part-00000.json      until whole  ├── …
        └── manifest.json        when whole   └── manifest.json         when whole

Documents that failed are listed in OUT.errors.jsonl beside it. So a folder holds nothing but documents to those who read it.

`job.json` says what the job is. A run that finds one resumes it if it is the same job, and refuses otherwise. `manifest.json` says what was finished: the same job
given again has nothing to do, and any other needs `--overwrite`.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux import formats
from biomux.annotate import store
from biomux.annotate.job import MANIFEST, Goal
from biomux.errors import AnnotateError, UsageError
from biomux.files import InUseError
from biomux.formats import must_be_new

if TYPE_CHECKING:
    from collections.abc import Iterator

FINISHING = "finishing.json"
BEFORE = "onnxruntime"
"""The runtime of jobs that do not name one: they were begun when there was no other."""


@contextmanager
def opened(goal: Goal, described: dict[str, Any], *, restart: bool = False, overwrite: bool = False) -> Iterator[bool]:
    """The job's work folder, made or gone on with, held against other runs. True if there is work left to do.

    A folder in which no part was made is taken away again when the run fails.
    """
    _must_be_ours(goal)
    if not overwrite and _is_finished(goal):
        _must_be_same_finished(described, goal, restart=restart)
        clear(goal)
        yield False
        return
    if not goal.parts and not _is_finishing(goal):
        chosen = formats.get(goal.format)
        must_be_new(goal.path, overwrite=overwrite, folder=chosen.write is None, ours=chosen.files)
    if restart or goal.manifest.is_file():
        discard(goal)
    fresh = goal.parts and not store.is_url(goal.path) and not goal.path.exists()
    try:
        store.make_folder(goal.work, parents=goal.parts)
    except FileNotFoundError:
        raise UsageError("BX002", f"no such folder: {str(goal.path.parent)!r}", hint="create it first") from None
    with _held(goal):
        note = goal.work / "job.json"
        if note.is_file():
            _must_be_same(noted(note), described, goal)
        else:
            with store.target(note) as stream:
                stream.write(json.dumps(described, indent=1).encode() + b"\n")
        try:
            yield True
        finally:
            if goal.work.is_dir() and not goal.manifest.is_file() and not any(goal.work.glob("part-*")):
                with suppress(OSError):
                    store.remove([goal.work])
                    if fresh and not any(goal.path.iterdir()):
                        goal.path.rmdir()


def begun_with(goal: Goal) -> str | None:
    """The runtime of the run that is here, whole or not; None if there is none, or none that can be read."""
    for path, inner in ((goal.manifest, "job"), (goal.work / "job.json", None)):
        try:
            content = json.loads(path.read_bytes())
            return str((content[inner] if inner else content).get("--runtime", BEFORE))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return None


def finishing(goal: Goal, output: Path) -> None:
    """Note what an output that is about to take its place looks like: should the run end right then, it is known as ours."""
    with store.target(goal.work / FINISHING) as stream:
        stream.write(json.dumps({"size": _size(output)}).encode() + b"\n")


def finish(goal: Goal, described: dict[str, Any], *, tally: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """Note that the job is whole, and take away what was needed only until then."""
    with store.target(goal.manifest) as stream:
        manifest = {"job": described, "tally": tally, "parts": parts, "size": None if goal.parts else _size(goal.path)}
        stream.write(json.dumps(manifest, indent=1).encode() + b"\n")
    clear(goal)


def clear(goal: Goal) -> None:
    """Take away what was needed only until the job was whole."""
    leftovers = [*goal.work.iterdir(), *(goal.path.glob(".part-*.part") if goal.parts else ())]
    store.remove(leftover for leftover in leftovers if leftover.name != MANIFEST)


def discard(goal: Goal) -> None:
    """Take away what an earlier run made, and nothing else."""
    if not goal.work.is_dir():
        return
    with _held(goal):
        if goal.parts:
            for note in goal.work.glob("part-*.json"):
                store.remove(goal.path.glob(f"{note.stem}.*"))
        if goal.manifest.is_file():
            store.remove(goal.path / name for name in _made(goal))
        store.remove([goal.work])


def noted(path: Path, *keys: str) -> dict[str, Any]:
    """A note that a run left, with these keys at least; BX605 if it is damaged."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict | list) for key in keys):
        raise damaged(path)
    return content


def _is_finished(goal: Goal) -> bool:
    """Whether a job was finished here. A file that is gone, or no longer what the job made, is none that was finished."""
    if not goal.manifest.is_file():
        return False
    return goal.parts or noted(goal.manifest).get("size") == _size(goal.path)


def _is_finishing(goal: Goal) -> bool:
    """Whether the output is what a run that was stopped at its very end had put there."""
    note = goal.work / FINISHING
    return note.is_file() and noted(note).get("size") == _size(goal.path)


def _size(path: Path) -> int | None:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.is_file() else None


def _must_be_same_finished(described: dict[str, Any], goal: Goal, *, restart: bool) -> None:
    """A finished job that is not the one asked for stays. So does the same one, if a part of it is gone: that is told."""
    manifest = noted(goal.manifest, "job", "tally", "parts")
    if restart or (differences := _other_values(manifest["job"], described)):
        message = "already exists, and is finished" + ("" if restart else f", with different settings: {differences}")
        raise UsageError(
            "BX004", message, where=str(goal.path), hint="replace it with --overwrite, or choose another name"
        )
    for part in manifest["parts"]:
        if _size(goal.path / Path(part["file"]).name) != part["size"]:
            message = f"{part['file']} of the finished output is missing or has changed"
            raise AnnotateError("BX605", message, where=str(goal.path), hint="annotate again with --overwrite")


def damaged(path: Path) -> AnnotateError:
    """The error for a note that says nothing."""
    option = "--overwrite" if path.name == MANIFEST else "--restart"
    return AnnotateError(
        "BX605",
        "the notes of an earlier run are damaged",
        where=str(path),
        hint=f"start over with {option}",
    )


def _made(goal: Goal) -> list[str]:
    """The names of the files that a whole job made; by their look if its note is damaged."""
    try:
        return [Path(made["file"]).name for made in noted(goal.manifest, "parts")["parts"]]
    except (AnnotateError, TypeError, KeyError):
        return [path.name for path in goal.path.glob(f"part-*{goal.suffix}")] if goal.parts else []


def _must_be_ours(goal: Goal) -> None:
    """A folder to be filled is new, empty, or has been begun or filled by us."""
    if not goal.parts or not goal.path.exists() or goal.work.is_dir():
        return
    if any(not path.name.startswith(".") for path in goal.path.iterdir()):
        raise AnnotateError(
            "BX605",
            "the folder contains files that biomux annotate did not write",
            where=str(goal.path),
            hint="name a new or empty folder",
        )


def _other_values(before: dict[str, Any], described: dict[str, Any]) -> str:
    """The names of the values in which two jobs differ."""
    before = {"--runtime": BEFORE, **before}
    different = [name for name in {**before, **described} if before.get(name) != described.get(name)]
    return ", ".join(
        {"biomux": "version of Biomux", "stretches": "how the input files are grouped"}.get(name, name)
        for name in different
    )


def _must_be_same(before: dict[str, Any], described: dict[str, Any], goal: Goal) -> None:
    if differences := _other_values(before, described):
        raise AnnotateError(
            "BX605",
            f"cannot resume: the stopped run had different settings: {differences}",
            where=str(goal.path),
            hint="repeat the same command to resume it, choose another name, or start over with --restart",
        )


@contextmanager
def _held(goal: Goal) -> Iterator[None]:
    """Nobody else works on it. The lock ends with the process, however that ends."""
    try:
        with store.held(goal.work):
            yield
    except InUseError:
        raise AnnotateError(
            "BX605",
            "another process is writing there",
            where=str(goal.path),
            hint="wait until it has finished, or stop it",
        ) from None
