"""The `biomux` command, and `python -m biomux`: quiet from its first moment."""

from __future__ import annotations

from typing import NoReturn

from biomux import quiet


def main() -> NoReturn:
    """Import the command and run it."""
    quiet.hold()
    from biomux.cli import main as command

    command()


if __name__ == "__main__":
    main()
