"""`biomux verify`."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    bundle: Annotated[
        str | None, typer.Argument(help="A bundle's folder, or the name of a shipped one; the usual one if left out.")
    ] = None,
) -> None:
    """Check a bundle: its files, and its answers to its examples.

    Every file is compared with the manifest, the graph is read as bytes and refused if it holds anything but plain arithmetic, the session is opened, and
    the stored examples are annotated: spans must be the same, scores and logits nearly so. The exit code is 0 if all is well and 2 otherwise.

    Examples:

        biomux verify bundles/first
        biomux verify && echo fine
    """
    from biomux.cli.ui.display import error_line, note, table
    from biomux.engine.bundle.verify import verify
    from biomux.engine.load import find

    folder = find(bundle)
    checks = list(verify(folder))
    rows = [(check.what, "fine" if check.error is None else "WRONG", check.said) for check in checks]
    table(["checked", "result", "what was found"], rows, title=str(folder))
    if checks[-1].error is not None:
        note(error_line(checks[-1].error))
        raise typer.Exit(2)
