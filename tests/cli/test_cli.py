"""The `biomux` command as a whole: help, exit codes, and errors that are sentences."""

from __future__ import annotations

import errno
import os
import re
import resource
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import pytest
import terminal
import typer

from biomux import __version__, cli
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIOMUX = [sys.executable, "-m", "biomux"]


def biomux(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BIOMUX, *arguments], capture_output=True, text=True, env=os.environ | environment, timeout=60, check=False
    )


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Adds a command `broken` that raises."""

    def add(error: BaseException) -> None:
        def command() -> None:
            raise error

        module = types.ModuleType("broken_command")
        module.command = command  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "broken_command", module)
        monkeypatch.setitem(cli.COMMANDS, "broken", cli.Command("broken_command", "Break."))

    return add


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_command_and_what_it_does(flag: str) -> None:
    done = biomux(flag, COLUMNS="120")
    assert done.returncode == 0
    for name, command in cli.COMMANDS.items():
        assert re.search(rf"\b{name}\s+{re.escape(command.help)}", done.stdout)


def test_without_arguments_there_is_help() -> None:
    done = biomux()
    assert done.returncode == 0
    assert "Usage: biomux" in done.stdout


def test_version() -> None:
    assert biomux("--version").stdout == f"biomux {__version__}\n"


def test_help_is_quick() -> None:
    def cpu_seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        biomux("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cpu_seconds() for _ in range(3)) < 0.5


@pytest.mark.parametrize("name", ["", *cli.COMMANDS])
def test_help_imports_nothing_heavy(name: str) -> None:
    code = (
        "import sys\n"
        "from biomux.cli import run\n"
        "run([*filter(None, sys.argv[1:]), '--help'])\n"
        "heavy = {'numpy', 'onnxruntime', 'lxml', 'torch', 'transformers', 'pyarrow', 'tokenizers', 'scipy'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


@pytest.mark.parametrize("name", ["", *cli.COMMANDS])
@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_help_cuts_no_option_in_any_window(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert cli.run([*filter(None, [name]), "--help"]) == 0
    assert "--help" in capsys.readouterr().out


def test_a_mistyped_command_gets_a_sentence_and_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["convrt"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: BX001: no such command 'convrt'")
    assert "'biomux --help'" in told


@pytest.mark.parametrize(
    "arguments",
    [
        ["annotate", ""],
        ["annotate", "a.tsv", ""],
        ["convert", "", "a.jsonl"],
        ["convert", "a.tsv", ""],
        ["score", "", "a.tsv"],
        ["score", "a.tsv", ""],
        ["evaluate", "", "bc5cdr"],
        ["verify", ""],
        ["report", ""],
    ],
)
def test_an_empty_argument_is_not_the_current_folder(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("TP53\tB-gene\n")
    assert cli.run(arguments) == 2
    assert "must not be empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]


@pytest.mark.parametrize(
    "arguments", [["formats", "--wrong"], ["formats", "more"], ["--wrong"], ["convert"], ["convert", "a"]]
)
def test_a_wrong_command_line_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: BX001: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (
            UsageError("BX001", "no", where="a.txt:3", hint="try yes"),
            2,
            "error: BX001: a.txt:3: no; try yes (docs/reference/errors.md#bx001)\n",
        ),
        (
            UsageError("BX002", "a\nname\x1b[31m"),
            2,
            "error: BX002: a\\nname\\x1b[31m (docs/reference/errors.md#bx002)\n",
        ),
        (KeyboardInterrupt(), 130, "stopped\n"),
        (typer.Abort(), 130, "stopped\n"),
        (typer.Exit(7), 7, ""),
        (
            MemoryError(),
            2,
            "error: BX002: out of memory; close other programs, or split the input (docs/reference/errors.md#bx002)\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "out.jsonl"),
            2,
            "error: BX002: out.jsonl: No space left on device; check the path, the permissions and the free space (docs/reference/errors.md#bx002)\n",
        ),
        (
            ZeroDivisionError("oh\nno"),
            1,
            "error: unexpected ZeroDivisionError: oh\\nno; this is a bug in Biomux: please report it, with the output of the same command with --debug\n",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_error_is_a_sentence_and_an_exit_code(
    error: BaseException,
    code: int,
    told: str,
    broken: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken(error)
    assert cli.run(["broken"]) == code
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["annotate", "x", "--threads", "0"], "--threads must be at least 1, got 0;"),
        (["annotate", "x", "--threads", "two"], "--threads must be a whole number, got 'two';"),
        (["annotate", "x", "--precision", "high"], "--precision must be a number, got 'high';"),
        (["annotate", "x", "--on-error", "ignore"], "--on-error must be 'stop' or 'skip', got 'ignore';"),
        (["suggest", "x", "-n", "0"], "--number must be at least 1, got 0;"),
        (["annotate", "x", "--type", "gene"], "no such option: --type; did you mean --types?"),
        (["formats", "x", "y"], "unexpected arguments: x y;"),
        (["export", "x"], "missing arguments: RUN and BUNDLE are required;"),
    ],
)
def test_a_bad_value_is_told_with_its_option(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: BX001: {said}")


def test_a_bad_value_of_a_variable_is_told_with_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BIOMUX_SERVE_PORT", "x")
    assert cli.run(["serve"]) == 2
    assert "BX001: BIOMUX_SERVE_PORT must be a whole number, got 'x'" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["before", "after", "environment"])
def test_debug_shows_where_it_happened(
    way: str,
    broken: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(ZeroDivisionError("oh"))
    if way == "environment":
        monkeypatch.setenv("BIOMUX_DEBUG", "1")
    assert cli.run({"before": ["--debug", "broken"], "after": ["broken", "--debug"]}.get(way, ["broken"])) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_command_with_commands_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer(no_args_is_help=True, help="Many.")

    @app.command("one")
    def one() -> None:
        """Do one [thing]."""
        print("one")

    @app.command("two")
    def two() -> None:
        """Do two."""

    module = types.ModuleType("many_command")
    module.app = app  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "many_command", module)
    monkeypatch.setitem(cli.COMMANDS, "many", cli.Command("many_command", "Many."))
    assert cli.run(["many", "one"]) == 0
    assert capsys.readouterr().out == "one\n"
    assert cli.run(["many", "--help"]) == 0
    told = capsys.readouterr().out
    assert "Do one [thing]." in told
    assert "completion" not in told
    assert cli.run(["many"]) == 2
    captured = capsys.readouterr()
    assert "Do two." in captured.out + captured.err
    assert cli.run(["many", "three"]) == 2
    assert "'biomux many --help'" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "expected"), [("biomux form", "formats"), ("biomux convert --on", "--on-error")])
def test_the_shell_completes_commands_and_options(words: str, expected: str) -> None:
    done = biomux(_BIOMUX_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
    assert done.stdout.split() == [expected]


INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["biomux", "formats"]
from biomux.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["biomux.cli", "typer", "biomux.cli.formats", "biomux.formats.jsonl"])
def test_ctrl_c_while_modules_are_imported_is_quiet(module: str) -> None:
    code = INTERRUPTED.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped\n")


def test_an_import_that_turns_ctrl_c_into_an_error_is_still_stopped(
    broken: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    error = ImportError("the library could not begin")
    error.__context__ = KeyboardInterrupt()
    broken(error)
    assert cli.run(["broken"]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen([*BIOMUX, "formats"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141


def on_a_terminal(*arguments: str, **environment: str) -> str:
    return terminal.on_a_terminal(*arguments, columns=100, **environment)


COLOUR = re.compile(r"\x1b\[[0-9;]*\b(3[0-7]|9[0-7]|38;[25];[0-9;]+)m")


def test_colours_are_for_terminals_that_want_them() -> None:
    assert COLOUR.search(on_a_terminal("--help"))
    assert not COLOUR.search(on_a_terminal("--help", NO_COLOR="1"))
    assert "\x1b" not in biomux("--help").stdout


def test_a_table_has_rules_on_a_terminal_and_tabs_in_a_pipe() -> None:
    assert "┃" in on_a_terminal("formats")
    assert biomux("formats").stdout.splitlines()[0] == "name\ttitle\tways\tsuffixes\tholds"


def test_a_narrow_terminal_cuts_nothing() -> None:
    shown = on_a_terminal("corpora", "list", "--task", "similarity", COLUMNS="40")
    assert "clinicalsts" in shown
    assert "…" not in shown
