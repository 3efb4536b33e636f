"""`python -m biomux` is the `biomux` command."""

from __future__ import annotations

from biomux.cli import main

if __name__ == "__main__":
    main()
