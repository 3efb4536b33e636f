"""Files and folders are whole or not there, whatever happens while they are written; a lock ends with its process."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from biomux import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path


either = pytest.mark.parametrize("write", [files.whole_folder, files.replaced_folder])


def test_a_file_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with suppress(RuntimeError), files.whole_file(path) as scratch:
        scratch.write_text("half")
        raise RuntimeError
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "before"
    with files.whole_file(path) as scratch:
        scratch.write_text("after")
        assert path.read_text() == "before"
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("a.txt", "after")]


@either
def test_a_folder_gets_its_name_when_it_is_whole(
    tmp_path: Path, write: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    path = tmp_path / "deep" / "folder"
    with suppress(RuntimeError), write(path) as scratch:
        (scratch / "half").write_text("x")
        raise RuntimeError
    assert list(path.parent.iterdir()) == []
    with write(path) as scratch:
        (scratch / "a").write_text("x")
        assert not path.exists()
    assert [entry.name for entry in path.parent.rglob("*")] == ["folder", "a"]


@either
def test_a_folder_is_replaced_only_by_a_whole_one(
    tmp_path: Path, write: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    path = tmp_path / "folder"
    for content in ("1", "2"):
        with write(path) as scratch:
            (scratch / content).write_text(content)
    with pytest.raises(RuntimeError), write(path):
        raise RuntimeError
    assert sorted(entry.relative_to(tmp_path).as_posix() for entry in tmp_path.rglob("*")) == ["folder", "folder/2"]


def test_a_lock_is_held_by_one_and_ends_with_its_process(tmp_path: Path) -> None:
    assert not files.in_use(tmp_path)
    with files.locked(tmp_path):
        assert files.in_use(tmp_path)
        with pytest.raises(files.InUseError), files.locked(tmp_path):
            pass
    assert not files.in_use(tmp_path)
    killed = (
        "import os, pathlib, sys; from biomux.files import locked\nwith locked(pathlib.Path(sys.argv[1])): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", killed, str(tmp_path)], check=False).returncode == 9
    assert not files.in_use(tmp_path)
