"""Write the pages of docs/ that are made from the code: `python scripts/docs.py`. A test holds that they are current."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import python_api
import walks

from biomux import formats
from biomux.cli import COMMANDS, load
from biomux.errors import CODES

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent
MADE = "<!-- Made by scripts/docs.py from the code: change it there. -->\n"


ERROR_GROUPS = (
    ("BX001", "Commands, calls and files"),
    ("BX101", "Documents"),
    ("BX110", "Formats"),
    ("BX201", "Corpora"),
    ("BX301", "Recipes and studies"),
    ("BX401", "Training"),
    ("BX501", "Bundles"),
    ("BX550", "Pre-training and teachers"),
    ("BX601", "Annotating"),
    ("BX701", "Scoring"),
    ("BX801", "Serving"),
)
"""First code of a group, and its title on the page of errors."""


def pages() -> dict[str, str]:
    """Path below the root → content."""
    return {
        "docs/reference/commands.md": commands(),
        "docs/reference/errors.md": errors(),
        "docs/reference/formats.md": format_pages(),
        "docs/reference/python.md": python_api.page(MADE),
        "docs/reference/recipes.md": recipes(),
        **{f"docs/figures/{name}.svg": walks.draw(name) for name in walks.WALKS},
    }


def commands() -> str:
    """Every command with its help, arguments and options."""
    index = "".join(
        f"- [`biomux {name}`](#biomux-{name}): {command.help[0].lower()}{command.help[1:]}\n"
        for name, command in COMMANDS.items()
    )
    parts = [
        f"{MADE}\n# Commands\n\n{index}",
        "`biomux --version` shows the version; `biomux --install-completion` installs completion for your shell.\n",
        "Exit codes: 0 success; 1 a bug in Biomux (please report it); 2 an [error](errors.md) that you can fix; 3 finished, but some documents (`biomux annotate`) or runs (`biomux study`, `biomux transfer`) failed; 130 stopped "
        "by Ctrl-C; 141 the reader of the output closed the pipe; 143 stopped by SIGTERM.\n",
        "Errors, notes and progress go to standard error. Colours and rules appear on a terminal only, and not if `NO_COLOR` "
        "is set. `--debug`, anywhere, or `BIOMUX_DEBUG=1` shows a traceback when an error occurs.\n",
    ]
    for name in COMMANDS:
        parts += _command(f"biomux {name}", load(name), level=2)
    return "\n".join(parts)


def _command(path: str, command: Any, *, level: int) -> list[str]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [
        param for param in command.params if param.param_type_name == "option" and not getattr(param, "hidden", False)
    ]
    options = [param for param in options if "--help" not in param.opts]
    below = getattr(command, "commands", {})
    usage = [path, *(["[OPTIONS]"] if options else []), *map(_argument, arguments), *(["COMMAND"] if below else [])]
    parts = [f"{'#' * level} {path}\n", f"```text\n{' '.join(usage)}\n```\n", _prose(command.help or "")]
    rows: list[tuple[str, ...]] = [(f"`{_argument(param)}`", param.help or "", "") for param in arguments]
    rows += [(_option(param), param.help or "", _default(param)) for param in options]
    if rows:
        parts.append(_table(("", "", "default"), rows))
    for name, part in below.items():
        parts += _command(f"{path} {name}", part, level=level + 1)
    return parts


def _argument(param: Any) -> str:
    name = param.metavar or param.name.upper()
    name += "..." if param.nargs == -1 and "..." not in name else ""
    return name if param.required else f"[{name}]"


def _option(param: Any) -> str:
    value = "" if getattr(param, "is_flag", False) else f" {param.metavar or param.name.upper()}"
    return ", ".join(f"`{opt}{value}`" for opt in [*param.opts, *param.secondary_opts])


def _default(param: Any) -> str:
    value = getattr(param.default, "value", param.default)
    return "" if value is None or value is False or value in ("", (), []) or callable(value) else f"`{value}`"


def _prose(help: str) -> str:
    """A command's help, its indented examples as blocks of code."""
    paragraphs = help.replace("\b\n", "").split("\n\n")
    return "\n".join(
        f"```sh\n{inspect.cleandoc(text)}\n```\n" if text.startswith("    ") else f"{text}\n" for text in paragraphs
    )


def errors() -> str:
    """Every code with its meaning, cause and fix, under a heading that a printed error leads to."""
    intro = (
        "Every error that a user can cause has a code that does not change. A command prints one sentence (what went wrong, where, and what to "
        "do) with the address of its entry on this page, and exits with 2. A program catches `biomux.BiomuxError`, which has `code`, "
        "`message`, `where` and `hint`.\n"
    )
    parts = [f"{MADE}\n# Errors\n\n{intro}"]
    previous = ""
    for code, entry in CODES.items():
        group = next(title for first, title in reversed(ERROR_GROUPS) if first <= code)
        if group != previous:
            parts.append(f"## {group}\n")
            previous = group
        meaning = entry.meaning[0].upper() + entry.meaning[1:]
        parts.append(f"### {code}\n\n**{meaning}.**\n\n- Cause: {entry.cause}\n- Fix: {entry.fix}\n")
    return "\n".join(parts)


def format_pages() -> str:
    """A table of the formats, then what each module says of its own."""
    rows = []
    for name in formats.FORMATS:
        found = formats.get(name)
        suffixes = " ".join(f"`{suffix}`" for suffix in found.suffixes)
        rows.append((f"[`{name}`](#{name})", found.title, found.ways, suffixes, ", ".join(sorted(found.holds))))
    intro = (
        "All formats are read as streams, gzipped or not, and most can be written in the same way. Formats with only `read` in the third "
        "column, most of them those of task corpora, cannot be written: convert such files to `jsonl`, or to another format that can hold everything in them. "
        "Formats with only `write` are tables and pages for people or other programs, and cannot be read again. Biomux recognises formats by file name and "
        "first bytes, and tries them in the order of the table. When a format is written that cannot hold everything, Biomux reports what was lost. "
        "`biomux formats` shows the same table.\n"
    )
    parts = [
        f"{MADE}\n# Formats\n\n{intro}",
        _table(("name", "format", "can be", "suffixes", "holds, besides the text"), rows),
    ]
    for name, module in formats.FORMATS.items():
        parts.append(f"## {name}\n\n{inspect.cleandoc(import_module(module).__doc__ or '')}\n")
    return "\n".join(parts)


def recipes() -> str:
    """The recipes that come with Biomux, then every key that a recipe may have, then the settings of tasks, heads and regimes."""
    from biomux.recipes import quick, read, schema

    intro = (
        "A recipe is a YAML file that names tasks, corpora, model, regime and loop. Recipes are checked strictly: an unknown key is an error that names the "
        "nearest known key, a wrong value is an error that names its path, and all mistakes are reported at once. `--set a.b=value` sets a "
        "value, which is written as in YAML. A run keeps its recipe with all defaults filled in. See [training](../how-to/training.md) for how to run a recipe.\n"
    )
    shipped = [(name, read.read(name)) for name in read.names()]
    rows = [
        (f"`{name}`", f"{one.paper}, table {one.table}" if one.paper else "", " ".join(one.about.split()))
        for name, one in shipped
    ]
    parts = [f"{MADE}\n# Recipes\n\n{intro}", _table(("name", "paper", ""), rows), "## Keys\n"]
    described = schema.Recipe.model_json_schema()
    for title, part in [("Recipe", described), *described["$defs"].items()]:
        parts += _keys(title, getattr(schema, title), part)
    parts += _settings()
    parts += _pretraining()
    parts += _studies()
    parts.append(f"## What `--quick` changes\n\n{inspect.cleandoc(quick.__doc__ or '')}\n")
    return "\n".join(parts)


def _keys(title: str, model: type[Any], part: dict[str, Any]) -> list[str]:
    """What a part of a recipe or study may say."""
    needed = part.get("required", [])
    keys = [
        (f"`{key}`", _value(value), "needed" if key in needed else _shown(value.get("default")))
        for key, value in part["properties"].items()
    ]
    return [f"### {title}\n\n{inspect.cleandoc(model.__doc__ or '')}\n", _table(("key", "value", "default"), keys)]


def _pretraining() -> list[str]:
    """The recipes of pre-training that come with Biomux, and their keys."""
    from biomux.recipes import pretraining

    parts = ["## Pre-training\n\nRecipes of `biomux pretrain`: see [pre-training](../how-to/pretrain.md).\n"]
    rows = [(f"`biomux pretrain {name}`", pretraining.read(name).about) for name in pretraining.names()]
    parts.append(_table(("", ""), rows))
    described = pretraining.Pretraining.model_json_schema()
    for title, part in [("Pretraining", described), *described["$defs"].items()]:
        if getattr(getattr(pretraining, title, None), "__module__", "") == pretraining.__name__:
            parts += _keys(title, getattr(pretraining, title), part)
    return parts


def _studies() -> list[str]:
    """The studies and transfer studies that come with Biomux, and their keys."""
    from biomux.studies import schema as study

    parts = [
        "## Studies\n\nRecipes over recipes: see [studies](../how-to/studies.md). They are as strict as recipes.\n"
    ]
    rows = [(f"`biomux study {name}`", study.read_study(name)[0].about) for name in study.names("studies")]
    rows += [(f"`biomux transfer {name}`", study.read_transfer(name)[0].about) for name in study.names("transfers")]
    parts.append(_table(("", ""), [(name, " ".join(about.split())) for name, about in rows]))
    for model in (study.Study, study.StudySystem, study.ScoredColumn, study.Scoring, study.Transfer):
        parts += _keys(model.__name__, model, model.model_json_schema())
    return parts


def _value(described: dict[str, Any]) -> str:
    """A JSON schema's kind of value, in words."""
    if "$ref" in described:
        name = described["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if not described.keys() - {"title", "default"}:
        return "any value"
    if "anyOf" in described:
        return " or ".join(_value(one) for one in described["anyOf"])
    if "enum" in described or "const" in described:
        return ", ".join(f"`{one}`" for one in described.get("enum", [described.get("const")]))
    kind = described.get("type")
    if kind == "array":
        return f"list of {_value(described['items'])}"
    if kind == "object" and isinstance(described.get("additionalProperties"), dict):
        return f"name → {_value(described['additionalProperties'])}"
    names = {
        "integer": "whole number",
        "string": "text",
        "boolean": "true or false",
        "null": "nothing",
        "object": "settings",
    }
    limits = [
        f"{sign} {described[key]:,}" if float(described[key]).is_integer() else f"{sign} {described[key]:g}"
        for key, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
        if key in described
    ]
    return " ".join([names.get(str(kind), str(kind)), ", ".join(limits)]).strip()


def _shown(value: Any) -> str:
    if value is None or value == {} or value == [] or value == "":
        return ""
    return (
        "as below"
        if isinstance(value, dict)
        else f"`{value}`".replace("'", "").replace("True", "true").replace("False", "false")
    )


def _settings() -> list[str]:
    """The settings of each kind of task, head and regime, read off their signatures."""
    from biomux.tasks import TASKS
    from biomux.training.heads import HEADS
    from biomux.training.regimes import REGIMES

    parts = []
    for title, kinds, given in (
        ("Kinds of tasks", TASKS, ("name", "kind", "of", "scheme", "types")),
        ("Kinds of heads", HEADS, ("width", "labels", "outputs", "encoder")),
        ("Kinds of regimes", REGIMES, ("heads",)),
    ):
        rows = []
        for name, made in kinds.items():
            module: Any = inspect.getmodule(getattr(made, "func", made))
            about = inspect.cleandoc(module.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            plain = next((other for other, one in kinds.items() if one is getattr(made, "func", None)), None)
            about = f"`{plain}` with other settings" if plain else about
            known = inspect.signature(made).parameters.values()
            shown = [_setting(one) for one in known if one.name not in given]
            rows.append((f"`{name}`", about, ", ".join(shown)))
        parts += [f"## {title}\n", _table(("kind", "", "settings"), rows)]
    return parts


def _setting(parameter: inspect.Parameter) -> str:
    empty = parameter.default is inspect.Parameter.empty or parameter.default in (None, "", ())
    return f"`{parameter.name}`" if empty else f"`{parameter.name}={parameter.default}`"


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [columns, ("---",) * len(columns), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    for path, content in pages().items():
        (ROOT / path).write_text(content, encoding="utf-8")
        print(path, file=sys.stderr)
