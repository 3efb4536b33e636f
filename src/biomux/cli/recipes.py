"""`biomux recipes`: the recipes that come with Biomux."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biomux.cli.options import Overwrite  # noqa: TC001 (typer reads annotations)

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

_NAME = typer.Argument(help="Name of a recipe; `biomux recipes list` shows them.")


@app.callback()
def _group() -> None:
    """List, show and copy the recipes that come with Biomux.

    Examples:

        biomux recipes list
        biomux recipes show a/mtl
    """


@app.command("list")
def list_() -> None:
    """List the recipes that come with Biomux, by paper.

    Example:

        biomux recipes list
    """
    from biomux.cli.ui.display import table
    from biomux.recipes.read import names, plain

    rows = []
    for name in names():
        raw, _ = plain(name)
        tasks = raw.get("tasks") or {}
        about = " ".join(str(raw.get("about") or "").split())
        rows.append((name, ", ".join(map(str, tasks)), about.partition(". ")[0].rstrip(".")))
    table(["recipe", "tasks", "about"], rows)


@app.command("show")
def show(name: str = _NAME) -> None:
    """Print a recipe.

    Example:

        biomux recipes show default/chemicals-and-diseases
    """
    from biomux.recipes.read import source

    print(source(name)[0], end="")


@app.command("copy")
def copy(
    name: str = _NAME,
    output: Annotated[Path | None, typer.Argument(help="File to write. Default: its own name.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Copy a recipe to a file of your own, to change it.

    Example:

        biomux recipes copy default/chemicals-and-diseases my.yaml
    """
    from biomux.cli.ui.display import note
    from biomux.formats import must_be_new, target
    from biomux.recipes.read import source

    text = source(name)[0]
    place = output or Path(f"{name.rpartition('/')[2]}.yaml")
    must_be_new(place, overwrite=overwrite)
    with target(place) as stream:
        stream.write(text.encode())
    note(f"{place}: next, biomux train {place}")
