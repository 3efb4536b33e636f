"""Examples in README and docs work: Python blocks and `biomux` commands are run, and every command is understood.

A block that cannot be run has a comment `<!-- not run: reason -->` on the line before it; a page of which no command can be run
has `<!-- not run on this page: reason -->`. Their `biomux` commands must still parse. Blocks of a page are run one after the other in one
folder that has `examples/`, and share their names. A block marked `<!-- runs until the end of the page -->` is started, and stopped when the page is done.

`scripts/tutorials.py` runs the tutorials whole, in an environment of their own.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import typer
from test_scripts import script

from biomux import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?P<before>^[^\n]*\n)?^```(?P<language>[\w-]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(biomux [a-z][^`\n]*)`")
SHELL = {"sh", "console"}
RUN = {*SHELL, "python", "pycon"}
PROGRAMS = {"curl", "openssl"}
LANGUAGES = {*RUN, "yaml", "toml", "json", "text", "r"}

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="needs the source tree, not the installed package")


class Block(NamedTuple):
    language: str
    code: str
    runs: bool
    stays: bool = False


def pages() -> list[str]:
    return ["README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))]


def blocks(page: str, text: str | None = None) -> list[Block]:
    text = text or (ROOT / page).read_text(encoding="utf-8")
    if page == "CONTRIBUTING.md" or "<!-- Made by scripts/docs.py" in text:
        left_out = LANGUAGES  # tests/test_contributing.py runs these; docstrings are tested where they stand
    else:
        left_out = SHELL if "<!-- not run on this page: " in text else set()
    return [
        Block(
            found["language"],
            found["code"],
            found["language"] in RUN - left_out and not (found["before"] or "").startswith("<!-- not run: "),
            (found["before"] or "").startswith("<!-- runs until the end of the page -->"),
        )
        for found in BLOCK.finditer(text)
    ]


def commands(block: Block) -> Iterator[tuple[list[str], str]]:
    """The words of each line of a shell block, variables put in and comments left out; with the output that is shown."""
    code = block.code.replace("\\\n", " ")
    if block.language == "console":
        for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            yield shlex.split(line, comments=True), output
        return
    variables: dict[str, str] = {}
    for line in code.splitlines():
        for name, value in variables.items():
            line = line.replace(f"${name}", value)
        words = shlex.split(line, comments=True)
        assigned = re.fullmatch(r"([A-Z]+)=(.*)", words[0], re.DOTALL) if len(words) == 1 else None
        if assigned:
            variables[assigned[1]] = assigned[2]
        elif words:
            yield words, ""


def calls(words: list[str]) -> Iterator[list[str]]:
    """What is given to `biomux` in a line: it may stand behind `&&`, in a pipe, or be started by another program."""
    starts = [place for place, word in enumerate(words) if word == "biomux" or word.endswith("/biomux")]
    for start in starts:
        arguments = words[start + 1 :]
        end = next((place for place, word in enumerate(arguments) if word in {"&&", "|", ">", ";"}), len(arguments))
        yield [word for word in arguments[:end] if not word.startswith("…")]


def parse(arguments: list[str]) -> None:
    """Let the real parser read a command: a word that it does not understand is an error."""
    name, *rest = arguments
    command = cli.load(name)
    while hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    with contextlib.suppress(typer.Exit):  # --help
        command.make_context(name, rest)


@pytest.mark.parametrize("page", pages())
def test_every_block_says_its_language(page: str) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.parametrize("page", pages())
def test_every_command_is_understood(page: str) -> None:
    for block in blocks(page):
        for words, _ in commands(block) if block.language in SHELL else ():
            for arguments in calls(words):
                parse(arguments)


@pytest.mark.parametrize("page", pages())
def test_commands_within_the_text_have_such_names_and_options(page: str) -> None:
    text = BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for line in INLINE.findall(text):
        name, *rest = re.sub(r"\\(.)", r"\1", line).split()[1:]
        if name == "ids":  # the command that CONTRIBUTING adds
            continue
        command = cli.load(name)
        while hasattr(command, "commands") and rest:
            command, rest = command.commands[rest[0]], rest[1:]
        known = {option for param in command.params for option in [*param.opts, *param.secondary_opts]} | {"--help"}
        asked = {word.partition("=")[0] for word in rest if re.match(r"-{1,2}[a-zA-Z]", word)}
        assert asked <= known, line


@pytest.mark.parametrize("page", [page for page in pages() if any(block.runs for block in blocks(page))])
def test_the_blocks_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    tutorials = script("tutorials")
    names: dict[str, Any] = {"__name__": "__main__"}
    text = tutorials.on_free_port((ROOT / page).read_text(encoding="utf-8"))
    with contextlib.ExitStack() as left_running:
        for block in blocks(page, text):
            if not block.runs:
                continue
            if block.stays:
                left_running.enter_context(tutorials.running(block.code, tmp_path))
            elif block.language in {"python", "pycon"}:
                tutorials.run_python(block.code, names)
            elif programs := PROGRAMS & {words[0] for words, _ in commands(block)}:
                for program in programs:
                    if shutil.which(program) is None:
                        pytest.skip(f"needs {program}")
                tutorials.run_shell(block.code, tmp_path)
            else:
                run_commands(block, capsys)


def run_commands(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    for words, output in commands(block):
        assert words[0] == "biomux", "mark the block: <!-- not run: reason -->"
        arguments = [
            name for word in words[1:] for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        capsys.readouterr()
        assert cli.run(arguments) == 0, words
        if block.language == "console":
            assert capsys.readouterr().out == output
