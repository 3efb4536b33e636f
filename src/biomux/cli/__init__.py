"""The `biomux` command: one file per command, each a thin call into the rooms.

A command's module has a function `command` with typer's annotations or, for a command with subcommands, a `typer.Typer`
called `app`. Modules are imported only when their command is called, so `biomux --help` stays quick; heavy imports (numpy,
onnxruntime, lxml, torch) still belong inside functions, since a module is also imported for its own `--help`.

The docstring of a command is its help: a first line (the same as in the table below), paragraphs, and at least one example in
an indented block that begins with `biomux NAME`.

Exit codes: 0 success; 1 a bug in Biomux; 2 an error that the user can fix; 3 finished, but some documents (`annotate`) or runs
(`study`, `transfer`) failed; 130 stopped by Ctrl-C; 141 the reader of the output closed the pipe; 143 stopped by SIGTERM.
"""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from biomux import early_interrupt
from biomux.cli.ui import streams
from biomux.cli.ui.display import error_line, sentence
from biomux.errors import BiomuxError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Command(NamedTuple):
    """Where a command lives, and its one-line help: here, so that `biomux --help` need not import it."""

    module: str
    help: str


COMMANDS: dict[str, Command] = {
    "annotate": Command("biomux.cli.annotate", "Find genes, chemicals, diseases and more in texts and files."),
    "serve": Command("biomux.cli.serve", "Serve a bundle over HTTP, with a page to try it in the browser."),
    "pairs": Command("biomux.cli.pairs", "Compare pairs of texts: similarity and inference."),
    "ask": Command("biomux.cli.ask", "Find answers to a question in texts and files."),
    "bench": Command("biomux.cli.bench", "Measure how fast a bundle is on this machine."),
    "convert": Command("biomux.cli.convert", "Convert documents from one format to another."),
    "formats": Command("biomux.cli.formats", "List the formats that can be read and written."),
    "corpora": Command("biomux.cli.corpora", "List, show, count, fetch and check corpora."),
    "init": Command("biomux.cli.init", "Write a recipe for data of your own."),
    "recipes": Command("biomux.cli.recipes", "List, show and copy Biomux's recipes and studies."),
    "train": Command("biomux.cli.train", "Train a model from a recipe, or on your own data."),
    "pretrain": Command("biomux.cli.pretrain", "Pre-train or distil an encoder on plain text."),
    "suggest": Command("biomux.cli.suggest", "Suggest the documents most worth annotating next."),
    "runs": Command("biomux.cli.runs", "List and compare runs."),
    "study": Command("biomux.cli.study", "Run a study: recipes over a grid of settings and seeds."),
    "transfer": Command("biomux.cli.transfer", "Find out which tasks help each other."),
    "tasks": Command("biomux.cli.tasks", "Compare the tasks of runs."),
    "export": Command("biomux.cli.export", "Turn a run into a bundle, ready for annotating."),
    "verify": Command("biomux.cli.verify", "Check that a bundle is intact and reproduces its examples."),
    "evaluate": Command("biomux.cli.evaluate", "Score a model on corpora."),
    "score": Command("biomux.cli.score", "Score predictions in files."),
    "compare": Command("biomux.cli.compare", "Compare systems, and test whether they differ significantly."),
    "report": Command("biomux.cli.report", "Make one report page from runs, scores and studies."),
}
"""Name → where it is and what it does, in the order of `biomux --help`."""


class _Lazy(TyperGroup):
    """A group whose commands are stubs with a name and a line of help, until one is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in COMMANDS:
            _import_undisturbed("orjson")
            self.commands[args[0]] = load(args[0], markup=_markup())
        early_interrupt.release()
        return super().resolve_command(ctx, args)


def load(name: str, *, markup: Literal["rich"] | None = None) -> Any:
    """A command as typer runs it, its module imported."""
    module = import_module(COMMANDS[name].module)
    if hasattr(module, "app"):
        command: Any = get_group(module.app)
    else:
        holder = typer.Typer(add_completion=False, context_settings=_SETTINGS)
        holder.command(name)(module.command)
        command = get_command(holder)
    command.name = name
    _prepare(command, markup=markup)
    return command


def build() -> Any:
    """The whole command, its parts not yet loaded."""
    app = typer.Typer(cls=_Lazy, context_settings=_SETTINGS, rich_markup_mode=_markup())
    app.callback()(_root)
    for name, command in COMMANDS.items():
        app.command(name, help=command.help)(_stub)
    return get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code. Errors are reported on stderr, in one sentence each."""
    arguments = list(arguments) or ["--help"]
    debug = bool(os.environ.get("BIOMUX_DEBUG", "").strip("0"))
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--debug" in options:
        arguments.remove("--debug")
        debug = True
        arguments = arguments or ["--help"]
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        streams.abandon(sys.stdout)
        return 141
    except (KeyboardInterrupt, typer.Abort):
        if debug:
            _traceback()
        return _say("stopped", 130)
    except Exception as error:  # the last stop: nothing may leave as a traceback
        if debug:
            _traceback()
        return _say("stopped", 130) if _interrupted(error) else _tell(error)


def _invoke(arguments: list[str]) -> int:
    root = build()
    try:
        with root.make_context("biomux", arguments) as context:
            result = root.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return result if isinstance(result, int) else 0


def main() -> NoReturn:
    """The command, its modules being imported; `biomux.__main__` calls it."""
    early_interrupt.hold()
    streams.replace_closed()
    if "_BIOMUX_COMPLETE" in os.environ:
        build().main(prog_name="biomux")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a strange file name must not end in a traceback
    streams.name_stdout()
    signal.signal(signal.SIGTERM, _terminated)
    code = run(sys.argv[1:])
    early_interrupt.hold()  # what Python still does when it ends is not worth a traceback either
    sys.exit(code)


def _interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt caused an error: a module that is being imported may turn Ctrl-C into another error."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _tell(error: Exception) -> int:
    if isinstance(error, BiomuxError):
        return _say(error_line(error), 2)
    if type(error).__name__ == "NoArgsIsHelpError" and hasattr(error, "show"):
        error.show()
        return 2
    if hasattr(error, "format_message"):  # whatever typer finds wrong with a command line
        from biomux.cli.ui.usage import usage_error

        return _say(error_line(usage_error(error)), 2)
    if isinstance(error, MemoryError):
        usage = UsageError("BX002", "out of memory", hint="close other programs, or split the input")
        return _say(error_line(usage), 2)
    if isinstance(error, OSError):
        where = str(error.filename) if error.filename else None
        if where == streams.STDOUT:
            streams.abandon(sys.stdout)
        usage = UsageError(
            "BX002",
            str(error.strerror or error),
            where=where,
            hint="check the path, the permissions and the free space",
        )
        return _say(error_line(usage), 2)
    return _say(
        f"error: unexpected {type(error).__name__}: {sentence(error)}; this is a bug in Biomux: "
        "please report it, with the output of the same command with --debug",
        1,
    )


def _say(message: str, code: int) -> int:
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        streams.abandon(sys.stdout)
        streams.abandon(sys.stderr)
    return code


def _traceback() -> None:
    import traceback

    traceback.print_exc()


def _import_undisturbed(module: str) -> None:
    """Import a module with signals held back: orjson crashes the interpreter if one interrupts its initialisation."""
    if not hasattr(signal, "pthread_sigmask"):
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        import_module(module)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _terminated(number: int, frame: object) -> NoReturn:  # noqa: ARG001
    sys.exit(_say("stopped", 128 + number))


def _version(wanted: bool) -> None:
    if wanted:
        from biomux import __version__

        print(f"biomux {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
    debug: bool = typer.Option(False, "--debug", help="Show a traceback when an error occurs (or set BIOMUX_DEBUG=1)."),
) -> None:
    """Biomux reads biomedical text once and answers many questions about it.

    For help on a command: biomux COMMAND --help
    """


def _stub() -> None:
    """A placeholder for a command that is not loaded yet."""


def _prepare(command: Any, *, markup: Literal["rich"] | None) -> None:
    """Make docstrings fit for help: prose is refilled, indented examples keep their lines, square brackets are not markup."""
    command.rich_markup_mode = markup
    if command.help:
        keep = "\b" if markup else "\b\n"
        text = inspect.cleandoc(command.help).replace("[", r"\[" if markup else "[")
        command.help = "\n\n".join(
            f"{keep}{part}" if part.startswith("    ") else part.replace("\n", " ") for part in text.split("\n\n")
        )
    for param in command.params:
        if param.param_type_name == "argument" and param.metavar != "INPUT":  # that may be an empty text
            param.process_value = _refusing_empty(param)
    for part in getattr(command, "commands", {}).values():
        _prepare(part, markup=markup)


def _refusing_empty(param: Any) -> Callable[[Any, Any], Any]:
    """How an argument's value is made, if it is not empty: as a path, an empty value would be the current folder."""
    cast = param.process_value

    def checked(context: Any, value: Any) -> Any:
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            name = param.metavar or param.name.upper()
            hint = "check whether a shell variable in it is unset"
            raise UsageError("BX001", f"the argument {name} must not be empty", hint=hint)
        return cast(context, value)

    return checked


def _markup() -> Literal["rich"] | None:
    """Help in panels on a terminal; plain in a pipe, and in a narrow window, where panels would cut the names of options."""
    return "rich" if sys.stdout.isatty() and shutil.get_terminal_size().columns >= 60 else None


_SETTINGS = {"help_option_names": ["-h", "--help"]}
