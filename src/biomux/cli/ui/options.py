"""Options that several commands share, so that they have the same names and help everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from biomux import formats
from biomux.cli.ui.display import note
from biomux.errors import UsageError
from biomux.formats import ReadAs, option_pairs


class OnError(StrEnum):
    """What to do at a record, document or file that fails."""

    stop = "stop"
    skip = "skip"


def complete_format(incomplete: str) -> list[str]:
    """The formats whose name begins so."""
    return [name for name in formats.names() if name.startswith(incomplete)]


From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="Input format. Recognised by name and content if not given.",
        autocompletion=complete_format,
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="NAMES",
        help="Columns or keys with the text, for instance abstract or title,abstract. Recognised by name if not given.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="NAME", help="Column or key with the id, for instance pmid. Recognised by name if not given."
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="NAME=VALUE",
        help="Option of the input format (listed in docs/reference/formats.md). Repeatable.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "--bundle",
        metavar="MODEL",
        help="Folder or name of a bundle, or folder of a run (needs the extra biomux[train]). Default: the bundle that comes with Biomux.",
    ),
]
Threshold = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="SCORE",
        help="Minimum score, for all types (0.5) or for one (gene=0.7); 0 keeps everything. Repeatable. Default: the model's own for each type.",
    ),
]
AsText = Annotated[bool, typer.Option("--as-text", help="Treat every INPUT as a text, even if a file has that name.")]
Runtime = Annotated[
    Literal["auto", "onnxruntime", "openvino"],
    typer.Option("--runtime", help="Runtime to use; auto means onnxruntime."),
]
Skipping = Annotated[
    OnError,
    typer.Option("--on-error", help="What to do when a document or file fails: skip it and report it, or stop."),
]
Restart = Annotated[bool, typer.Option("--restart", help="Start a stopped run over instead of resuming it.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it already exists.")]
TextsOrFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help="A text, or files, folders, quoted globs, zip or tar archives, or - for standard input.",
    ),
]
OutputInParts = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="OUT", help="File to write, or a folder (ending in /) for the output in parts."
    ),
]
Workers = Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Number of worker processes; needs -o.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, help="Number of threads, at most one per core. Default: one per core."
    ),
]
ThreadsPerWorker = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="Threads per process, at most one per core. Default: the cores divided among the processes.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")]
CorporaFolder = Annotated[
    Path | None,
    typer.Option("--corpora", metavar="DIR", help="Corpora directory. Default: see biomux corpora --help."),
]

# Scores.
TypeMap = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="GOLD=TYPE,...",
        help="Which predicted type (TYPE or HEAD/TYPE) to compare with which gold type.",
    ),
]
Mistakes = Annotated[
    int, typer.Option("--errors", metavar="N", min=0, help="Show mistakes, with N examples of each kind.")
]
ScoresFolder = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for scores, counts and predictions.")
]


# Training and studies.
def _settings(whose: str, example: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        "--set", metavar="A.B=VALUE", help=f"Override a value {whose}, for instance {example}. Repeatable."
    )
    return option


RecipeSettings = Annotated[list[str] | None, _settings("of the recipe", "loop.epochs=2")]
PretrainingSettings = Annotated[list[str] | None, _settings("of the recipe", "loop.steps=500")]
StudySettings = Annotated[list[str] | None, _settings("in every recipe", "loop.epochs=2")]
NewRun = Annotated[Path | None, typer.Option("--run", metavar="DIR", help="Folder for the run. Default: runs/NAME-N.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume a run that was stopped.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done and how long it would take, then stop.")
]
StudyFolder = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Folder for the study. Default: studies/NAME."),
]
Seeds = Annotated[str | None, typer.Option("--seeds", metavar="N,...", help="Seeds to use, instead of the study's.")]
StudySplit = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="SPLIT",
        help="Split to score on, instead of the study's. Use test only when all decisions are made.",
    ),
]


def read_as(format: str | None, text: str | None, id: str | None, options: list[str] | None) -> ReadAs:
    """What the four options ask for."""
    named = {"text": text, "id": id}
    reading_options = {**option_pairs(options), **{name: value for name, value in named.items() if value is not None}}
    if format is not None:
        formats.get(format)
    return ReadAs(format, reading_options, on_hint=note)


def names(listed: str | None, option: str = "heads") -> tuple[str, ...] | None:
    """Names with commas between them."""
    if listed is None:
        return None
    named = tuple(name.strip() for name in listed.split(",") if name.strip())
    if not named:
        raise UsageError(
            "BX001",
            f"--{option} must name at least one {option.removesuffix('s')}",
            hint=f"leave the option out for all {option}",
        )
    return named


def thresholds(options: list[str] | None) -> dict[str, float] | None:
    """Thresholds by type; that of all others under "*"."""
    if not options:
        return None
    by_type: dict[str, float] = {}
    for part in ",".join(options).split(","):
        name, _, number = part.rpartition("=")
        try:
            by_type[name.strip() or "*"] = float(number)
        except ValueError:
            raise UsageError("BX001", f"--threshold must be a score such as 0.5 or gene=0.7, got {part!r}") from None
    return by_type
