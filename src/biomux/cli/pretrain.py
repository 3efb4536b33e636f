"""`biomux pretrain`: plain text in, an encoder's folder out."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biomux.cli.train import needs_torch
from biomux.cli.ui.display import duration, note
from biomux.errors import UsageError

if TYPE_CHECKING:
    from biomux.recipes.pretraining import Pretraining


def command(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="Recipe file, or a name such as c/bio-distil; with --resume, the folder of a run.",
        ),
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]...",
            help="Files, folders, globs or archives to read, of any format, gzipped or not, in place of the recipe's text.files.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="Folder for the run. Default: runs/NAME-N.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="A.B=VALUE",
            help="Override a value of the recipe, for instance loop.steps=500. Repeatable.",
        ),
    ] = None,
    small: Annotated[
        bool, typer.Option("--small", help="Take the recipe's small variant, which an ordinary machine trains.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a run that was stopped.")] = False,
) -> None:
    """Pre-train or distil an encoder on plain text.

    Words are hidden in the text, and the encoder learns to guess them; with a section distil, it learns from a teacher that reads the same. The text is split into
    tokens once and kept on disk. A share of the documents is held out, and their perplexity told before, on the way and after.

    The encoder is in the folder encoder of the run: recipes take it as model.encoder.name. A run stopped with Ctrl-C can be resumed, and ends with the same weights as
    if it had not been stopped. The command prints the encoder's folder.

        biomux pretrain c/bio-distil --small texts/ --set text.format=lines

        biomux pretrain my.yaml 'abstracts/*.txt.gz' --set loop.steps=2000

        biomux pretrain --resume runs/bio-distil-1
    """
    with needs_torch():
        from biomux.training import pretrain
        from biomux.training import run as runs
        from biomux.training.trained_run import next_folder
    from biomux.cli.ui.training_output import shown

    if resume:
        if run is not None or settings or small or texts:
            raise UsageError(
                "BX001",
                "cannot use texts, --run, --set or --small with --resume: a run is resumed as it was started",
                hint="leave them out, or start another run",
            )
        folder, chosen = Path(recipe), pretrain.resumed(Path(recipe))
    else:
        chosen = _read(recipe, texts or [], settings or [], small)
        if run is None and os.environ.get("WORLD_SIZE", "1") != "1":
            raise UsageError(
                "BX001",
                "--run is required when several processes train together",
                hint="give all of them the same folder",
            )
        folder = run or next_folder(Path("runs"), chosen.name)
    try:
        with shown() if runs.writes() else nullcontext(lambda _: None) as show:
            progress = pretrain.start(chosen, folder, listen=show)
    except (KeyboardInterrupt, SystemExit):
        if runs.writes():
            note(f"stopped; resume with: biomux pretrain --resume {folder}")
        raise
    if runs.writes():
        best = f", held-out perplexity {1 / progress.best:,.2f}" if progress.best > 0 else ""
        note(f"done: {progress.step:,} steps in {duration(progress.seconds)}{best}")
        place = folder / pretrain.ENCODER
        print(place if place.is_dir() else folder)


def _read(name: str, texts: list[str], settings: list[str], small: bool) -> Pretraining:
    from biomux.recipes import pretraining

    return pretraining.read(name, texts=texts, settings=settings, small=small)
