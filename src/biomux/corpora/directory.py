"""Find the corpora directory, and files in it."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from biomux.errors import CorpusError

VARIABLE = "BIOMUX_CORPORA"


def config_file() -> Path:
    """The user's configuration: `biomux/config.yaml` under XDG_CONFIG_HOME, or under ~/.config."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "biomux" / "config.yaml"


def candidates(directory: str | Path | None = None) -> list[tuple[str, Path | None]]:
    """The places that may name the directory, in the order they are tried; None if one is not set."""
    variable = os.environ.get(VARIABLE)
    return [
        ("the argument (--corpora)", Path(directory) if directory is not None else None),
        (f"the variable {VARIABLE}", Path(variable) if variable else None),
        (f"the key `corpora` of {config_file()}", _configured()),
        ("the folder ./corpora", Path("corpora")),
    ]


def chosen(directory: str | Path | None = None) -> Path:
    """The first directory that is named, whether it exists or not."""
    return next(path for _, path in candidates(directory) if path is not None).expanduser()


def find(directory: str | Path | None = None) -> Path:
    """The corpora directory; if it does not exist, the error names every place that was tried."""
    path = chosen(directory)
    if path.is_dir():
        return path
    tried = "; ".join(
        f"{place}: {candidate if candidate is not None else 'not set'}" for place, candidate in candidates(directory)
    )
    raise CorpusError(
        "BX202",
        f"no such corpora directory: {str(path)!r} (from {tried})",
        hint=f"give --corpora DIR, or set {VARIABLE}",
    )


def locate(root: Path, path: str) -> Path | None:
    """A card's file in the directory, plain or gzipped; None if it is not there."""
    plain = path.removesuffix(".gz")
    for spelling in (path, plain, plain + ".gz"):
        candidate = root / spelling
        if candidate.is_file():
            return candidate
    return None


def _configured() -> Path | None:
    file = config_file()
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CorpusError(
            "BX202",
            f"cannot read the configuration: {' '.join(str(error).split())}",
            where=str(file),
            hint="correct it",
        ) from None
    value = data.get("corpora") if isinstance(data, dict) else None
    if value is not None and not isinstance(value, str):
        raise CorpusError(
            "BX202", "the key `corpora` must be a path", where=str(file), hint="write corpora: /path/to/corpora"
        )
    return Path(value) if value else None
