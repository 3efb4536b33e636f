"""`biomux train`: a recipe in, a run's folder out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from biomux.cli.ui.display import duration, note, table
from biomux.cli.ui.options import CorporaFolder, DryRun, NewRun, RecipeSettings, Resume
from biomux.cli.ui.training_output import followed, needs_torch, new_run, refuse_with_resume, report_end
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.recipes.schema import Recipe
    from biomux.training.added_run import Asked


def command(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="Recipe file, a name such as a/mtl, or your own annotated data (file or folder); with --resume, the folder of a run.",
        ),
    ],
    run: NewRun = None,
    settings: RecipeSettings = None,
    corpora: CorporaFolder = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Try the recipe out with few documents, a small encoder and one epoch.")
    ] = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    onto: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="BUNDLE",
            help="Add the tasks as further heads to this bundle; default is the one that comes with Biomux. Its other answers do not change unless you choose another --way.",
        ),
    ] = None,
    way: Annotated[
        Literal["frozen", "light", "best"] | None,
        typer.Option(
            "--way",
            help="With --with: leave the encoder as it is (frozen, the default), tune it lightly, so that the other heads' answers hardly change (light), or try both and use the one that is better on development data (best).",
            show_default=False,
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            min=0,
            max=100,
            metavar="PERCENT",
            help="With --way light or best: percentage of the other answers that may change on development documents. Default: 3.",
            show_default=False,
        ),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write the log for TensorBoard.")] = False,
) -> None:
    """Train a model from a recipe, or on your own data.

    The run's folder keeps the complete recipe, a log, checkpoints, the weights with the best development score, all scores, and the
    predictions on the development documents. A run stopped with Ctrl-C can be resumed, and ends with the same weights as if it had not
    been stopped.

    If you give data instead of a recipe, the model is trained with the recipe that biomux init would write for them.

    With --with default, the recipe's tasks become further heads of the bundle that comes with Biomux. Its encoder stays as it is, so all other types are found as before,
    and training takes seconds to minutes. The new bundle is in the run's folder.

    With --way best, the encoder is also tuned a little. This takes several times as long, but may find more of the new type. The tuned encoder is used only if it scores
    better on the development documents, and if it changes no more of the other answers than --tolerance allows.

    Examples:

        biomux train a/mtl
        biomux train my-data/
        biomux train my.yaml --with default
        biomux train my.yaml --with default --way best --tolerance 2
        biomux train d/joint-max --set loop.seed=2 --set model.encoder.name=weights/minilm
        biomux train a/mtl --dry-run
        biomux train --resume runs/a-mtl-1
    """
    with needs_torch():
        from biomux.training import run as runs
    changes = settings or []
    if (way is not None or tolerance is not None) and onto is None:
        raise UsageError("BX001", "cannot use --way or --tolerance without --with", hint="name a bundle with --with")
    if tolerance is not None and way not in ("light", "best"):
        raise UsageError(
            "BX001",
            "cannot use --tolerance without --way light or best",
            hint="add --way best; a frozen encoder changes no answer",
        )
    if onto is not None:
        if resume or tensorboard or dry_run:
            raise UsageError(
                "BX001",
                "cannot use --resume, --dry-run or --tensorboard with --with",
                hint="leave them out; to resume, give biomux train --resume RUN alone",
            )
        _add(recipe, run, changes, quick, corpora, onto, way or "frozen", tolerance)
        return
    if resume and _resume_adding(Path(recipe), run, changes, quick, corpora):
        return
    folder, chosen = _resumed(Path(recipe), run, changes, quick) if resume else _started(recipe, run, changes, quick)
    if dry_run:
        _plan(chosen, corpora)
        return
    directory = runs.directory_of(folder) if resume and corpora is None else corpora
    listeners: list[Callable[[dict[str, Any]], None]] = []
    if tensorboard and runs.writes():
        with needs_torch("tensorboard"):
            from biomux.training.tensorboard import writer

            listeners.append(writer(folder))
    with followed(folder, command="train") as show:
        listeners.append(show)

        def listen(event: dict[str, Any]) -> None:
            for listener in listeners:
                listener(event)

        progress = runs.start(chosen, folder, directory=directory, listen=listen, report_every=_every())
    if runs.writes():
        best = f", best development score {100 * progress.best:.2f}" if progress.best >= 0 else ""
        report_end(progress, best)
        patience = chosen.development.patience
        if patience is not None and progress.waited >= patience:
            never = progress.best == 0 or progress.epoch <= progress.waited + 1
            more = f"; it never rose: try --set development.patience={4 * patience}, or more data" if never else ""
            note(f"stopped early: the development score has not risen for {patience} epochs{more}")
        note(f"next: biomux evaluate {folder} all; biomux export {folder} BUNDLE")
        print(folder)


def _add(
    recipe: str,
    run: Path | None,
    settings: list[str],
    quick: bool,
    corpora: Path | None,
    bundle: str,
    way: Literal["frozen", "light", "best"],
    tolerance: float | None,
) -> None:
    """Add a recipe's tasks to a bundle."""
    from biomux.training.add_head import Choice
    from biomux.training.added_run import Asked

    folder, chosen = _started(recipe, run, settings, quick)
    choice = Choice(way) if tolerance is None else Choice(way, tolerance / 100)
    _added(Asked(chosen, bundle, choice, corpora), folder)


def _resume_adding(folder: Path, run: Path | None, settings: list[str], quick: bool, corpora: Path | None) -> bool:
    """Resume adding heads in a folder; False if it is the folder of an ordinary run."""
    from biomux.training import added_run

    asked = added_run.begun(folder)
    done = added_run.finished(folder)
    if asked is None and not done:
        return False
    refuse_with_resume(run, settings, quick, options="--run, --set or --quick")
    if asked is None or done:
        note("nothing to resume: it is done")
        print(folder / added_run.BUNDLE)
    else:
        _added(asked if corpora is None else replace(asked, corpora=corpora), folder)
    return True


def _added(asked: Asked, folder: Path) -> None:
    """Add heads, and say which way won."""
    from biomux.training import added_run
    from biomux.training.add_head import WAYS

    def say(said: str) -> None:
        for line in said.splitlines():
            note(line)

    try:
        added = added_run.start(asked, folder, listen=say)
    except (KeyboardInterrupt, SystemExit):
        if added_run.begun(folder) is not None:
            note(f"stopped; resume with: biomux train --resume {folder}")
        raise
    rows = [
        (head, WAYS[way], round(100 * f1, 2), "taken" if way == added.taken[head] else "")
        for head, ways in added.scores.items()
        for way, f1 in ways.items()
    ]
    table(["head", "way", "development F1", ""], rows)
    for head, outcome in added.light.items():
        note(f"{head}: {outcome}")
    note(f"done in {duration(added.seconds)}: biomux annotate … --model {added.bundle}")
    print(added.bundle)


def _started(name: str, run: Path | None, settings: list[str], quick: bool) -> tuple[Path, Recipe]:
    from biomux.recipes import quick as quickly
    from biomux.training.trained_run import described

    recipe = described(name, settings=settings)
    folder = new_run(run, recipe.name)
    if quick:
        with needs_torch():
            from biomux.training.encoders.availability import at_hand
        recipe, changes = quickly.quick(recipe, at_hand=at_hand)
        note(f"quick: {'; '.join(changes)}; the scores mean nothing")
    return folder, recipe


def _resumed(folder: Path, run: Path | None, settings: list[str], quick: bool) -> tuple[Path, Recipe]:
    refuse_with_resume(run, settings, quick, options="--run, --set or --quick")
    from biomux.recipes.run_folder import RunFolder

    return folder, RunFolder(folder).recipe


def _plan(recipe: Recipe, corpora: Path | None) -> None:
    """Print what a run would do."""
    import yaml

    from biomux.training.time_estimate import estimate

    cost = estimate(recipe, directory=corpora)
    print(yaml.safe_dump(recipe.model_dump(mode="json", exclude_defaults=True), sort_keys=False, allow_unicode=True))
    reasons = sorted({reason for counts in cost.counts.values() for reason in counts} - {"documents", "sentences"})
    columns = ["task", "documents", "sentences", "examples", "tokens", *reasons]
    rows = [
        [
            name,
            counts["documents"],
            counts["sentences"],
            *cost.sizes.get(name, (0, 0)),
            *(counts[reason_] for reason_ in reasons),
        ]
        for name, counts in cost.counts.items()
    ]
    table(columns, rows, title="training examples, and mentions that cannot be learned as annotated")
    print(f"\nleaks: {cost.leaks or 'not looked for'}\n")
    table(
        ["epoch", "steps", "tokens"],
        [[number, *epoch] for number, epoch in enumerate(cost.epochs, 1)],
        title="epochs",
    )
    print(f"\nparameters: {cost.parameters:,}, of which {cost.moving:,} move")
    print(
        f"measured: {cost.speed:,.0f} tokens a second over {cost.measured:,} tokens; development documents: {cost.development:,}"
    )
    print(f"estimated time: {duration(cost.seconds)} of training and about {duration(cost.scoring)} of scoring")


def _every() -> float:
    """Seconds between two reports: often enough to watch on a terminal, seldom enough for a log elsewhere."""
    import sys

    return 2.0 if sys.stderr.isatty() else 10.0
