"""`biomux export`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003
from typing import Annotated, Any, Literal

import typer

from biomux.cli.options import Overwrite  # noqa: TC001 (typer reads annotations)
from biomux.errors import UsageError


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run, as biomux train left it.")],
    bundle: Annotated[Path, typer.Argument(help="The folder to make.")],
    precision: Annotated[
        Literal["auto", "int8", "fp32"],
        typer.Option(help="int8, or refuse; fp32; or auto: int8 where that passes."),
    ] = "auto",
    tolerance: Annotated[float, typer.Option(min=0, help="Points of F1 that a head may lose by int8.")] = 0.3,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The most development documents of a head to measure on; all by default.")
    ] = None,
    corpora: Annotated[Path | None, typer.Option(help="The corpora directory.")] = None,
    types: Annotated[
        Path | None, typer.Option(help="A YAML or JSON file of plain types: name → sources [head, type], rule.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to measure with; all by default.")] = None,
    chosen_on: Annotated[
        Path | None,
        typer.Option(help="The run that RUN went on from to learn the development data too: measure with its weights."),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Only these heads: bc5cdr,jnlpba; else all that can be exported."),
    ] = None,
    no_gate: Annotated[
        bool, typer.Option("--no-gate", help="Measure and calibrate nothing: needs no corpora; the card says so.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Make a bundle of a run: what the engine annotates with.

    The bundle is one folder: the graph, the tokenizer, the table of heads, calibration, examples, a model card, and a manifest with checksums.
    It is read back and verified before it gets its name.

    Each head is measured on the development documents of its own corpus, the same ones at fp32 and at int8. A head that loses more than the
    tolerance, by more than noise, makes the encoder keep more of its matrices in fp32, and so do heads that lose more than it on average; if no mix
    will do, int8 is refused (auto: fp32 is taken). The table, with the error of each loss, goes into the bundle. Temperatures, and the
    thresholds for --precision of biomux annotate, are fitted on the same documents.

    Examples:

        biomux export runs/first bundles/first
        biomux export runs/first bundles/exact --precision fp32
        biomux export runs/first bundles/quick --precision int8 --no-gate
        biomux export runs/first-final bundles/first --chosen-on runs/first
    """
    from biomux.cli.ui.display import amount, note, table

    if bundle.resolve() == run.resolve():
        raise UsageError("BX001", "RUN and BUNDLE are the same folder", hint="name a folder that is not there yet")
    try:
        from biomux.training.export import export
    except ModuleNotFoundError as error:
        raise UsageError(
            "BX003", f"to export, the package {error.name!r} is needed", hint="install biomux[train]"
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
                measured.documents[head],
                round(100 * f1, 2),
                round(100 * losses[head].f1, 2),
                round(losses[head].points, 2),
                round(losses[head].error, 2),
            )
            for head, f1 in measured.fp32.items()
        ]
        table(["head", "documents", "F1 fp32", "F1 shipped", "loss", "± error"], rows, title=measured.chosen)
    size = sum(path.stat().st_size for path in bundle.iterdir())
    note(f"{bundle}: {measured.chosen}, {amount(size, 'bytes')}")


def _types(path: Path) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(
            "BX001", f"not valid YAML: {' '.join(str(error).split())}", where=str(path), hint="check the indentation"
        ) from None
    usable = isinstance(found, dict) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("sources"), list)
        and all(isinstance(source, list) and len(source) == 2 for source in entry["sources"])
        for entry in found.values()
    )
    if not usable:
        raise UsageError(
            "BX001", "this is no table of plain types", where=str(path), hint="write name: {sources: [[head, type]]}"
        )
    return {str(name): entry for name, entry in found.items()}
