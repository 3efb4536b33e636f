"""Options that several commands share, so that they have the same names and help everywhere."""

from __future__ import annotations

from enum import StrEnum
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


def read_as(format: str | None, text: str | None, id: str | None, options: list[str] | None) -> ReadAs:
    """What the four options ask for."""
    named = {"text": text, "id": id}
    given = {**option_pairs(options), **{name: value for name, value in named.items() if value is not None}}
    if format is not None:
        formats.get(format)
    return ReadAs(format, given, on_hint=note)


def names(listed: str | None) -> tuple[str, ...] | None:
    """Names with commas between them."""
    if listed is None:
        return None
    found = tuple(name.strip() for name in listed.split(",") if name.strip())
    if not found:
        raise UsageError(
            "BX001", "--types, --heads and --tasks must name at least one", hint="leave the option out for all"
        )
    return found


def thresholds(options: list[str] | None) -> dict[str, float] | None:
    """Thresholds by type; that of all others under "*"."""
    if not options:
        return None
    found: dict[str, float] = {}
    for part in ",".join(options).split(","):
        name, _, number = part.rpartition("=")
        try:
            found[name.strip() or "*"] = float(number)
        except ValueError:
            raise UsageError("BX001", f"--threshold must be a score such as 0.5 or gene=0.7, got {part!r}") from None
    return found
