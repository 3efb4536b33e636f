"""`biomux export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from biomux.cli.ui.options import CorporaFolder, Overwrite
from biomux.errors import UsageError


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run, made by biomux train.")],
    bundle: Annotated[Path, typer.Argument(help="Folder to create.")],
    precision: Annotated[
        Literal["auto", "int8", "fp32"],
        typer.Option(
            help="int8 (fails if a head loses too much), fp32, or auto (int8 if it passes the check, otherwise fp32)."
        ),
    ] = "auto",
    tolerance: Annotated[
        float, typer.Option(metavar="POINTS", min=0, help="Points of F1 that a head may lose by int8 quantization.")
    ] = 0.3,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Maximum number of development documents per head to measure on. Default: all."
        ),
    ] = None,
    corpora: CorporaFolder = None,
    types: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML or JSON file that defines plain types: for each name, its sources ([head, type]) and its rule.",
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of threads to measure with. Default: all cores.")
    ] = None,
    chosen_on: Annotated[
        Path | None,
        typer.Option(
            metavar="OTHER",
            help="The run that RUN continued on the development data, if it did; its weights are then used for measuring.",
        ),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Heads to export, for instance bc5cdr,jnlpba. Default: all that can be exported."
        ),
    ] = None,
    no_gate: Annotated[
        bool,
        typer.Option(
            "--no-gate",
            help="Skip the quantization check and calibration. Needs no corpora; the model card says that nothing was checked.",
        ),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Turn a run into a bundle, ready for annotating.

    A bundle is one folder with the graph, the tokenizer, the table of heads, calibration, examples, a model card, and a manifest with
    checksums. It is read back and verified before it appears under its name.

    Each head is measured on the development documents of its own corpus, with fp32 and with int8. If a head, or the average of all heads,
    loses significantly more than the tolerance, more matrices of the encoder are kept in fp32. If no mix is good enough, int8 is refused
    (with auto, fp32 is used). The measurements, with their errors, are stored in the bundle. Temperatures, and the thresholds for
    biomux annotate --precision, are fitted on the same documents.

    Examples:

        biomux export runs/student bundles/mine
        biomux export runs/student bundles/exact --precision fp32
        biomux export runs/student bundles/quick --precision int8 --no-gate
        biomux export runs/first-final bundles/mine --chosen-on runs/first
    """
    from biomux.cli.ui.display import amount, note, table

    if bundle.resolve() == run.resolve():
        raise UsageError("BX001", "RUN and BUNDLE must be different folders", hint="name a new folder for the bundle")
    try:
        from biomux.training.export import export
    except ModuleNotFoundError as error:
        raise UsageError(
            "BX003",
            f"exporting needs the package {error.name!r}, which is not installed",
            hint="pip install 'biomux[train]'",
        ) from None
    measured = export(
        run,
        bundle,
        precision=precision,
        tolerance=tolerance,
        measure=not no_gate,
        limit=limit,
        directory=corpora,
        types=_types(types) if types else None,
        threads=threads,
        chosen_on=chosen_on,
        heads=None if heads is None else [name.strip() for name in heads.split(",") if name.strip()],
        overwrite=overwrite,
        listen=note,
    )
    if measured.fp32:
        losses = measured.losses
        rows = [
            (
                head,
                measured.figures[head],
                measured.documents[head],
                round(100 * value, 2),
                round(100 * losses[head].value, 2),
                round(losses[head].points, 2),
                round(losses[head].error, 2),
            )
            for head, value in measured.fp32.items()
        ]
        table(["head", "figure", "documents", "fp32", "shipped", "loss", "± error"], rows, title=measured.chosen)
    size = sum(path.stat().st_size for path in bundle.iterdir())
    note(f"{bundle}: {measured.chosen}, {amount(size, 'bytes')}")


def _types(path: Path) -> dict[str, Any]:
    import yaml

    from biomux.validation import yaml_mistake

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise UsageError("BX001", "it is not UTF-8 text", where=str(path), hint="name a YAML or JSON file") from None
    except yaml.YAMLError as error:
        raise UsageError(
            "BX001", f"not valid YAML: {yaml_mistake(error)}", where=str(path), hint="check the indentation"
        ) from None
    usable = isinstance(content, dict) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("sources"), list)
        and all(isinstance(source, list) and len(source) == 2 for source in entry["sources"])
        for entry in content.values()
    )
    if not usable:
        raise UsageError(
            "BX001",
            "a file of plain types must be a mapping",
            where=str(path),
            hint="write name: {sources: [[head, type]]}",
        )
    return {str(name): entry for name, entry in content.items()}
