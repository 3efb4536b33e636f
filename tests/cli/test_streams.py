"""Standard streams that are closed, full, or that nobody reads: a command ends quietly or says which it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from biomux.cli import COMMANDS

BIOMUX = [sys.executable, "-m", "biomux"]


def shell(redirection: str, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command with a shell's redirection; what is not redirected is captured."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *BIOMUX, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("Aspirin in mice.")
    (tmp_path / "a.jsonl").write_text('{"biomux":1,"id":"a","text":"Aspirin in mice."}\n')
    return tmp_path


PRINTING = [
    ("formats",),
    ("--help",),
    ("--version",),
    ("corpora", "list"),
    ("convert", "a.txt", "-", "--to", "jsonl"),
    ("score", "a.jsonl", "a.jsonl"),
    ("annotate", "a.txt"),
    ("annotate", "a.txt", "--format", "bioc-xml"),
    ("annotate", "a.txt", "--plain"),
]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_closed_stdout_ends_as_if_its_reader_had_gone(folder: Path, arguments: tuple[str, ...]) -> None:
    done = shell(">&-", *arguments, folder=folder)
    assert done.returncode == 141
    assert "error" not in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("redirection", [">&-", "<&-", "2>&-"])
def test_every_command_bears_a_closed_stream(name: str, redirection: str) -> None:
    done = shell(redirection, name, "--help")
    assert done.returncode == (141 if redirection == ">&-" else 0)
    assert done.stderr == ""
    assert ("Usage" in done.stdout) is (redirection != ">&-")


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_full_stdout_is_a_clear_error(folder: Path, arguments: tuple[str, ...]) -> None:
    done = shell(">/dev/full", *arguments, folder=folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: BX002: standard output: No space left on device")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("redirection", [">&- <&- 2>&-", "2>/dev/full"])
def test_a_job_needs_no_stream(folder: Path, redirection: str) -> None:
    assert shell(redirection, "annotate", "a.txt", "-o", "out.jsonl", folder=folder).returncode == 0
    assert (folder / "out.jsonl").read_text().startswith('{"biomux":1,"id":"a","text":"Aspirin in mice."')


@pytest.mark.parametrize("arguments", [("annotate", "-"), ("convert", "-", "-", "--from", "text", "--to", "jsonl")])
def test_closed_stdin_is_empty(arguments: tuple[str, ...]) -> None:
    closed, empty = shell("<&-", *arguments), shell("</dev/null", *arguments)
    assert (closed.returncode, closed.stdout) == (empty.returncode, empty.stdout)
    assert "bug in Biomux" not in closed.stderr


def test_closed_stdin_as_predictions_is_one_sentence(folder: Path) -> None:
    done = shell("<&-", "score", "a.jsonl", "-", folder=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("error: BX110: <stdin>: ")


def test_what_is_told_does_not_go_to_stdout_where_stderr_is_closed(folder: Path) -> None:
    done = shell("2>&-", "annotate", "a.txt", folder=folder)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("convert", "a.txt", "/dev/stdout", "--to", "jsonl"), ("annotate", "a.txt")])
def test_a_reader_that_goes_away_is_no_error(folder: Path, arguments: tuple[str, ...]) -> None:
    script = '{ "$@"; echo $? > code; } | true; cat code'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *BIOMUX, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        check=False,
    )
    assert done.stdout == "141\n"
    assert "error" not in done.stderr
