"""Find the corpora directory, and files in it."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from biomux.errors import CorpusError

VARIABLE = "BIOMUX_CORPORA"
DEFAULT = "the default"


def config_file() -> Path:
    """The user's configuration: `biomux/config.yaml` under XDG_CONFIG_HOME, or under ~/.config."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "biomux" / "config.yaml"


def candidates(directory: str | Path | None = None) -> list[tuple[str, Path | None]]:
    """The places that may name the directory, in the order they are tried; None if one is not set."""
    variable = os.environ.get(VARIABLE)
    return [
        ("--corpora", Path(directory) if directory is not None else None),
        (f"the environment variable {VARIABLE}", Path(variable) if variable else None),
        (f"the key `corpora` in {config_file()}", _configured()),
        (DEFAULT, Path("corpora")),
    ]


def chosen(directory: str | Path | None = None) -> Path:
    """The first directory that is named, whether it exists or not."""
    return next(path for _, path in candidates(directory) if path is not None).expanduser()


def find(directory: str | Path | None = None) -> Path:
    """The corpora directory; if it does not exist, the error says what named it."""
    path = chosen(directory)
    if path.is_dir():
        return path
    origin = next(place for place, candidate in candidates(directory) if candidate is not None)
    raise CorpusError(
        "BX202",
        f"no such corpora directory: {str(path)!r} ({origin if origin == DEFAULT else f'named by {origin}'})",
        hint=f"give --corpora DIR, or set {VARIABLE}; 'biomux corpora --help' says where it is looked for",
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
        from biomux.validation import yaml_mistake  # here: it imports pydantic

        reason = yaml_mistake(error) if isinstance(error, yaml.YAMLError) else getattr(error, "strerror", None)
        raise CorpusError(
            "BX202",
            f"cannot read the configuration: {reason or 'it is not UTF-8 text'}",
            where=str(file),
            hint="correct the file",
        ) from None
    value = data.get("corpora") if isinstance(data, dict) else None
    if value is not None and not isinstance(value, str):
        raise CorpusError(
            "BX202", "the key `corpora` must be a path", where=str(file), hint="write corpora: /path/to/corpora"
        )
    return Path(value) if value else None
