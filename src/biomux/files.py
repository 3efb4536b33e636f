"""Files and folders that are whole or not there, and locks: what all rooms write with.

What is written stands beside its place under another name until all of it is on the disk. Whoever is stopped or killed leaves what was there before.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW, OLD = ".new", ".old"
"""What is added to the name of a folder that replaces another, and of the one that it replaces: after a crash between two renames, both are there."""
LOCK = "lock"
"""The file in a folder that its lock is held on."""


class InUseError(Exception):
    """Another process holds the lock."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file; it is on the disk before it gets its name."""
    scratch = _beside(path)
    try:
        yield scratch
        _sync(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill; it gets its name when that is done, in place of one that has it."""
    scratch, before = _beside(path), _beside(path)
    scratch.mkdir(parents=True)
    try:
        yield scratch
        if path.exists():
            path.rename(before)
        scratch.rename(path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if before.exists() and not path.exists():
            before.rename(path)
        shutil.rmtree(before, ignore_errors=True)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """As `whole_folder`, for one writer at a time who may be killed: its files are on the disk before it gets its name, and `NEW` and `OLD` are known names."""
    fresh, old = path.with_name(path.name + NEW), path.with_name(path.name + OLD)
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir(parents=True)
        yield fresh
        for file in fresh.rglob("*"):
            if file.is_file():
                _sync(file)
        shutil.rmtree(old, ignore_errors=True)
        if path.exists():
            path.rename(old)
        fresh.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, or raise InUseError at once. It ends with the process, however that ends; a file system without locks has none."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK)
    try:
        with suppress(NotImplementedError):
            lock.acquire(timeout=0)
    except Timeout:
        raise InUseError(str(folder)) from None
    try:
        yield
    finally:
        lock.release()


def in_use(folder: Path) -> bool:
    """Whether a living process holds the folder's lock."""
    if not (folder / LOCK).exists():
        return False
    try:
        with locked(folder):
            return False
    except InUseError:
        return True
    except OSError:  # not ours to lock, so not ours to use
        return False


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
