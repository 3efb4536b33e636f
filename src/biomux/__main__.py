"""The `biomux` command, and `python -m biomux`: quiet from its first moment."""

from __future__ import annotations

from typing import NoReturn

from biomux import early_interrupt


def main() -> NoReturn:
    """Import the command and run it."""
    early_interrupt.hold()
    from biomux.cli import main as command

    command()


if __name__ == "__main__":
    main()
