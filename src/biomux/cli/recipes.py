"""`biomux recipes`: the recipes and studies that come with Biomux."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biomux.cli.ui.options import Overwrite

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

_NAME = typer.Argument(help="Name of a recipe or study; `biomux recipes list` shows them.")


@app.callback()
def _group() -> None:
    """List, show and copy Biomux's recipes and studies.

    Examples:

        biomux recipes list
        biomux recipes show a/mtl
    """


@app.command("list")
def list_() -> None:
    """List the recipes and studies that come with Biomux.

    They are listed by paper, with the recipes for pre-training and the studies that compare recipes.

    Example:

        biomux recipes list
    """
    from biomux.cli.ui.display import table
    from biomux.recipes.read import mapping

    rows = []
    for name, command in _commands().items():
        raw = mapping(_source(name), where=name, what="a recipe or study must be a mapping")
        tasks = raw.get("tasks") or {}
        about = " ".join(str(raw.get("about") or "").split())
        rows.append((name, f"biomux {command}", ", ".join(map(str, tasks)), about.partition(". ")[0].rstrip(".")))
    table(["name", "run with", "tasks", "about"], rows)


@app.command("show")
def show(name: str = _NAME) -> None:
    """Print a recipe or study.

    Examples:

        biomux recipes show default/chemicals-and-diseases
        biomux recipes show a/table
    """
    print(_source(name), end="")


@app.command("copy")
def copy(
    name: str = _NAME,
    output: Annotated[Path | None, typer.Argument(help="File to write. Default: its own name.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Copy a recipe or study to a file of your own, to change it.

    Example:

        biomux recipes copy default/chemicals-and-diseases my.yaml
    """
    from biomux.cli.ui.display import note
    from biomux.formats import must_be_new, target

    text = _source(name)
    place = output or Path(f"{name.rpartition('/')[2]}.yaml")
    must_be_new(place, overwrite=overwrite)
    with target(place) as stream:
        stream.write(text.encode())
    note(f"{place}: next, biomux {_commands().get(name, 'train')} {place}")


def _commands() -> dict[str, str]:
    """Every name that comes with Biomux, with the command that runs it."""
    from biomux.recipes import pretraining, read
    from biomux.studies import schema

    return {
        **dict.fromkeys(read.names(), "train"),
        **dict.fromkeys(pretraining.names(), "pretrain"),
        **dict.fromkeys(schema.names("studies"), "study"),
        **dict.fromkeys(schema.names("transfers"), "transfer"),
    }


def _source(name: str) -> str:
    """The text of a recipe or study, by name or file; for an unknown name, the error suggests the nearest one."""
    from biomux.recipes import pretraining, read
    from biomux.studies import schema

    known = _commands()
    if known.get(name) == "pretrain":
        return pretraining.source(name)[0]
    if known.get(name) == "study":
        return schema.source(name, "studies")[0]
    if known.get(name) == "transfer":
        return schema.source(name, "transfers")[0]
    return read.source(name, known=list(known))[0]
