"""`biomux formats`."""

from __future__ import annotations


def command() -> None:
    """List the formats that can be read and written.

    For each format: its name (for --from and --to), whether it can be read and written, the suffixes that select it for a target,
    and what it can hold besides the text.

    Examples:

        biomux formats
        biomux formats | cut -f1
    """
    from biomux import formats
    from biomux.cli.ui.display import table

    rows = []
    for name in formats.names():
        format_ = formats.get(name)
        rows.append((name, format_.title, format_.ways, " ".join(format_.suffixes), ", ".join(sorted(format_.holds))))
    table(["name", "title", "ways", "suffixes", "holds"], rows)
