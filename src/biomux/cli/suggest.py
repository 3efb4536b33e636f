"""`biomux suggest`: which documents to annotate next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biomux.cli.ui.options import From, Model, Overwrite, names
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from biomux.document import Document


def command(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Files, folders or globs of documents.")],
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", min=1, help="How many documents to suggest.")
    ] = 100,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="File or folder for the documents. Default: a table of their ids on standard output.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", "--to", metavar="FORMAT", help="Output format. Recognised by OUT's suffix if not given."
        ),
    ] = None,
    model: Model = None,
    heads: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Heads whose uncertainty counts. Default: all heads that find entities."),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Entity types to write, for instance gene,disease; only the heads that find them count. Default: all.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", metavar="FILES", help="Leave out texts that these files already contain. Repeatable."
        ),
    ] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Write the texts without what the model finds in them.")] = False,
    from_: From = None,
    overwrite: Overwrite = False,
) -> None:
    """Suggest the documents most worth annotating next.

    These are documents about which the model is least sure, and which differ from each other. They are written in the format of your annotation tool (brat, Label
    Studio, doccano or Prodigy), with what the model finds in them, for you to correct. The corrected documents are data to train on.

    Examples:

        biomux suggest abstracts/ -n 50 -o next.labelstudio.json
        biomux suggest abstracts/ -n 50 --types disease -o next.doccano.jsonl
        biomux suggest abstracts.jsonl --model runs/mine-1/bundle --heads mine --without my-data/ -o next --format brat
    """
    from dataclasses import replace

    import biomux
    from biomux import formats
    from biomux.annotate.suggest import heads_of_types, suggest
    from biomux.cli.ui.display import note, progress, table
    from biomux.corpora.splits import squeezed

    if output is not None:
        formats.must_be_new(output, overwrite=overwrite, folder=output.is_dir())
        chosen = formats.to_write(formats.get(format)) if format else formats.guess_target(output)
    if heads and types:
        raise UsageError("BX001", "cannot use both --heads and --types", hint="give one of them")
    annotator = biomux.load(model)
    doubting = heads_of_types(annotator, names(types, "types") or ()) if types else names(heads)
    known = {squeezed(document.text) for place in without or () for document in formats.read(place)}
    blank = 0
    with progress("reading") as bar:

        def documents() -> Iterator[Document]:
            nonlocal blank
            for place in files:
                for document in formats.read(place, format=from_):
                    bar.advance(1)
                    blank += not document.text.strip()
                    if squeezed(document.text) not in known:
                        yield replace(document, spans=(), relations=())

        suggestions = suggest(annotator, documents(), number=number, heads=doubting)
    if blank:
        note(f"left out: {blank:,} {'document' if blank == 1 else 'documents'} without words")
    rows = [
        (suggestion.document.id, round(suggestion.unsure, 4), ", ".join(suggestion.words)) for suggestion in suggestions
    ]
    if output is None:
        table(["document", "unsure", "least sure of"], rows)
        return
    made: list[Document] = [suggestion.document for suggestion in suggestions]
    if not bare:
        made = list(annotator.annotate(made, heads=names(heads), types=names(types, "types")))
    tally = formats.LossTally()
    formats.write(made, output, format=chosen.name, on_loss=tally)
    for line in tally.lines():
        note(f"{output} does not hold: {line}")
    noun, verb = ("document", "is") if len(made) == 1 else ("documents", "are")
    few = f", which {verb} all that {verb} new and not the same" if len(made) < number else ""
    note(f"{output}: {len(made):,} {noun} as {chosen.name}{few}")
