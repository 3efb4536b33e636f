"""`biomux score`: predictions in files against gold in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biomux.cli.ui.options import AsJson, From, Id, Mistakes, Options, Overwrite, ScoresFolder, Text, TypeMap, read_as

if TYPE_CHECKING:
    from collections.abc import Iterator

    from biomux.document import Document


def command(
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="Gold documents: a file, folder, archive or quoted glob.")
    ],
    predicted: Annotated[
        str, typer.Argument(metavar="PREDICTED", help="Predicted documents, likewise, or - for standard input.")
    ],
    from_: From = None,
    text: Text = None,
    id: Id = None,
    option: Options = None,
    gold_format: Annotated[
        str | None, typer.Option("--gold-format", metavar="FORMAT", help="Format of GOLD, if it differs from --from.")
    ] = None,
    predicted_format: Annotated[
        str | None,
        typer.Option("--predicted-format", metavar="FORMAT", help="Format of PREDICTED, if it differs from --from."),
    ] = None,
    map_: TypeMap = None,
    negative: Annotated[
        list[str] | None,
        typer.Option(
            "--negative", metavar="CLASS,...", help="Classes that mean 'none': left out of micro and macro averages."
        ),
    ] = None,
    directed: Annotated[
        bool,
        typer.Option("--directed", help="Also require the same order for arguments that are only numbered (Arg1, e2)."),
    ] = False,
    tokenizer: Annotated[
        Path | None,
        typer.Option("--tokenizer", metavar="FILE", help="tokenizer.json to compute sub-word scores with."),
    ] = None,
    errors: Mistakes = 0,
    name: Annotated[
        str | None, typer.Option("--name", help="Name for these documents. Default: the name of GOLD.")
    ] = None,
    output: ScoresFolder = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Score predictions in files.

    Documents are matched by id, in any order, and must have the same texts; the two formats may differ. Scores spans, relations, labels,
    numbers and answers, whichever the documents have; spans with scores also get reliability and calibration error. All types of both sides
    are scored, or only those in --map. docs/reference/scores.md explains the tables.

    With -o, writes scores.json, predictions.jsonl and counts.jsonl; biomux compare reads these.

    Examples:

        biomux score gold.tsv predicted.tsv
        biomux score gold.pubtator predicted.jsonl --map Gene=protein,Species=Organism --errors 5
        biomux score gold.jsonl mine.jsonl --negative none -o scores/mine --json
    """
    from contextlib import nullcontext
    from dataclasses import replace

    from biomux.cli.ui.display import progress
    from biomux.cli.ui.score_output import listed, show
    from biomux.errors import FormatError, UsageError
    from biomux.evaluation import prediction_files, score_folder
    from biomux.formats import folder_target
    from biomux.scoring import mapping

    if gold == "-":
        raise UsageError("BX001", "cannot read GOLD from standard input", hint="give PREDICTED as - instead")
    asked = read_as(from_, text, id, option)
    title = name or Path(gold).name.split(".")[0] or "gold"

    def read(where: str, format: str | None, option: str) -> Iterator[Document]:
        try:
            yield from replace(asked, format=format or from_).read(where)
        except FormatError as error:
            if error.code != "BX110" or "--from" not in (error.hint or ""):
                raise
            hint = (error.hint or "").replace("--from", option)
            raise FormatError(error.code, error.message, where=error.where, hint=hint) from None

    with (
        folder_target(output, overwrite=overwrite, ours=score_folder.FILES) if output else nullcontext() as place,
        progress("scoring") as bar,
    ):
        column = prediction_files.score_files(
            read(gold, gold_format, "--gold-format"),
            read(predicted, predicted_format, "--predicted-format"),
            name=title,
            types=mapping.parse(",".join(map_)) if map_ else None,
            negative=listed(negative) or (),
            directed=directed,
            tokens=prediction_files.tokenizer_tokens(tokenizer) if tokenizer else None,
            examples=max(errors, 5),
            folder=place,
            tick=lambda: bar.advance(1),
        )
        asked.must_be_taken()
        system = output.name if output else Path(predicted).name
        content = score_folder.to_json(system, [column])
        if place is not None:
            score_folder.write_scores(place, content)
    show(content, errors=errors, as_json=as_json)
