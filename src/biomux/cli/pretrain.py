"""`biomux pretrain`: plain text in, an encoder's folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biomux.cli.ui.options import NewRun, PretrainingSettings, Resume


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
            metavar="TEXT",
            help="Files, folders, globs or archives to read, of any format, gzipped or not, in place of the recipe's text.files.",
            show_default=False,
        ),
    ] = None,
    run: NewRun = None,
    settings: PretrainingSettings = None,
    small: Annotated[
        bool, typer.Option("--small", help="Take the recipe's small variant, which an ordinary machine trains.")
    ] = False,
    resume: Resume = False,
) -> None:
    """Pre-train or distil an encoder on plain text.

    Words are hidden in the text, and the encoder learns to guess them; with a section distil, it learns from a teacher that reads the same text. The text is split into
    tokens once and kept on disk. A share of the documents is held out; their perplexity is reported before, during and after training.

    The encoder is written to the folder encoder of the run; name that folder in recipes, as model.encoder.name. A run stopped with Ctrl-C can be resumed, and ends with the same weights as
    if it had not been stopped. The command prints the encoder's folder.

    Examples:

        biomux pretrain c/bio-distil --small texts/ --set text.format=lines
        biomux pretrain my.yaml 'abstracts/*.txt.gz' --set loop.steps=2000
        biomux pretrain --resume runs/bio-distil-1
    """
    from biomux.cli.ui import training_output
    from biomux.recipes import pretraining

    with training_output.needs_torch():
        from biomux.training import pretrain
        from biomux.training import run as runs
    if resume:
        training_output.refuse_with_resume(texts, run, settings, small, options="texts, --run, --set or --small")
        folder, chosen = Path(recipe), pretrain.resumed(Path(recipe))
    else:
        chosen = pretraining.read(recipe, texts=texts or [], settings=settings or [], small=small)
        folder = training_output.new_run(run, chosen.name)
    with training_output.followed(folder, command="pretrain") as show:
        progress = pretrain.start(chosen, folder, listen=show)
    if runs.writes():
        best = f", held-out perplexity {1 / progress.best:,.2f}" if progress.best > 0 else ""
        training_output.report_end(progress, best)
        place = folder / pretrain.ENCODER
        print(place if place.is_dir() else folder)
