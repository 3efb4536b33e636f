"""`biomux verify`."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    bundle: Annotated[
        str | None, typer.Argument(help="Folder or name of a bundle. Default: the one that comes with Biomux.")
    ] = None,
) -> None:
    """Check that a bundle is intact and reproduces its examples.

    Compares every file with the manifest, makes sure that the graph holds nothing but plain arithmetic, opens a session, and annotates
    the stored examples: spans must be identical, scores and logits nearly so. The exit code is 0 if all checks pass and 2 otherwise.

    Examples:

        biomux verify bundles/mine
        biomux verify && echo fine
    """
    from biomux.cli.ui.display import error_line, note, table
    from biomux.engine.bundle.verify import verify
    from biomux.engine.load import find

    folder = find(bundle)
    checks = list(verify(folder))
    if checks[0].error is not None:
        raise checks[0].error
    rows = [(check.what, "fine" if check.error is None else "WRONG", check.said) for check in checks]
    table(["checked", "result", "what was found"], rows, title=str(folder))
    if checks[-1].error is not None:
        note(error_line(checks[-1].error))
        raise typer.Exit(2)
