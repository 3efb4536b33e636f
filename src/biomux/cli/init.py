"""`biomux init`: a recipe for the user's own data."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biomux.cli.ui.options import Overwrite

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.recipes.initial import Data
    from biomux.recipes.schema import Recipe


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Annotated data: a file, folder or glob.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Recipe to write. Default: NAME.yaml.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Encoder: a folder, a hub name, or the word default, for the encoder of the bundle that comes with Biomux. Default: the best one that needs no download.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the recipe. Default: taken from the path of the data.")
    ] = None,
    test: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0.01,
            max=0.9,
            help="Share of the documents to split off as a test part, if there is none.",
        ),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate/--no-estimate", help="Measure how long training would take.")
    ] = True,
    overwrite: Overwrite = False,
) -> None:
    """Write a recipe for data of your own.

    Looks at the data, says what they hold, and writes a whole, commented recipe: the kinds of tasks that the annotations allow, their types, an encoder that
    needs no download, and a number of epochs that suits the size of the data. If there is no test part, one is split off.

    Examples:

        biomux init my-data/ -o my.yaml
        biomux init notes.labelstudio.json --encoder weights/minilm
    """
    from biomux.cli.ui.display import note
    from biomux.formats import must_be_new, target
    from biomux.recipes import initial

    data_read = initial.read(data, name=name, test=test)
    place = output or Path(f"{data_read.name}.yaml")
    must_be_new(place, overwrite=overwrite)
    print(data_read.survey)
    for line in data_read.notes:
        note(line)
    text, recipe = written(data_read, encoder, place=place)
    if estimate and (time := _estimated(recipe)):
        note(f"estimated: {time}")
        text = written(data_read, encoder, seconds=time, place=place)[0]
    with target(place) as stream:
        stream.write(text.encode())
    kinds = [f"{task} ({part['kind']})" for task, part in data_read.tasks.items()]
    note(f"{place}: {', '.join(kinds)}")
    note(f"next: biomux train {place}")


def written(
    found: Data, encoder: str | None, *, seconds: str | None = None, place: Path | None = None
) -> tuple[str, Recipe]:
    """The recipe for data, as text and as an object."""
    import yaml

    from biomux.recipes import initial
    from biomux.recipes.read import check

    at_hand: Callable[[str], bool] | None = None
    with suppress(ModuleNotFoundError):  # what cannot be trained here is not looked for either
        from biomux.training.encoders.availability import at_hand
    settings, why = initial.encoder(encoder, at_hand=at_hand)
    text = initial.text(found, encoder=settings, said=why, seconds=seconds, place=place)
    return text, check(yaml.safe_load(text), where=f"{found.name}.yaml")


def _estimated(recipe: Recipe) -> str | None:
    """How long training would take, measured for a few seconds; None where it cannot be trained here."""
    from biomux.cli.ui.display import duration

    try:
        from biomux.training.time_estimate import estimate
    except ModuleNotFoundError:
        return None
    cost = estimate(recipe, measure=3.0)
    return f"at most {duration(cost.seconds + cost.scoring)} ({cost.speed:,.0f} tokens a second)"
