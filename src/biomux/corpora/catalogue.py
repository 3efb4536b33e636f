"""The catalogue: cards by name, each read only when needed.

>>> card("bc5cdr").types
('Chemical', 'Disease')

User cards are files NAME.yaml in ./cards, in the folders listed in the variable BIOMUX_CARDS, or in a folder that another package names with an
entry point `biomux.corpora`. They need no home, licence or citation, and their files are beside them or in the corpora directory.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from biomux.corpora.card import NAME, Card, parse
from biomux.errors import CorpusError, did_you_mean
from biomux.validation import yaml_mistake

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "BIOMUX_CARDS"
_CARDS = resources.files("biomux.corpora").joinpath("cards")
# The safe loader in C if available: ten times as fast.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def names() -> tuple[str, ...]:
    """The names of all corpora, in order: those shipped with Biomux and the user's. Reads no card."""
    return tuple(sorted({*_shipped(), *_own()}))


def card(name: str) -> Card:
    """The card of that name; the error for an unknown name suggests the nearest."""
    path = _own().get(name) if re.fullmatch(NAME, name) else None
    if path is None:
        return _shipped_card(name)
    if name in _shipped():
        raise CorpusError(
            "BX206",
            f"your card must not have the name of a corpus in the catalogue, got {name!r}",
            where=str(path),
            hint="rename the file and the card",
        )
    return _named(read(_text(path), where=str(path), defaults=_DEFAULTS | {"title": name}), name, str(path))


def folder_of(name: str) -> Path | None:
    """The folder of the user card with that name; None for cards shipped with Biomux."""
    path = _own().get(name)
    return None if path is None or name in _shipped() else path.parent


def cards() -> Iterator[Card]:
    """All cards, in the order of their names."""
    return map(card, names())


def read(text: str, *, where: str, defaults: Mapping[str, Any] | None = None) -> Card:
    """A card from YAML text; `defaults` are used for missing keys."""
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise CorpusError(
            "BX206", f"the card is not valid YAML: {yaml_mistake(error)}", where=where, hint="correct the file"
        ) from None
    return parse({**defaults, **data} if defaults and isinstance(data, dict) else data, where=where)


_DEFAULTS: dict[str, Any] = {"tasks": (), "home": {"note": "your own data"}, "licence": (), "citation": ()}


@cache
def _shipped() -> frozenset[str]:
    return frozenset(entry.name[:-5] for entry in _CARDS.iterdir() if entry.name.endswith(".yaml"))


@cache
def _shipped_card(name: str) -> Card:
    if name not in _shipped():
        raise _unknown(name)
    entry = _CARDS.joinpath(f"{name}.yaml")
    return _named(read(entry.read_text(encoding="utf-8"), where=f"cards/{name}.yaml"), name, f"cards/{name}.yaml")


def _named(loaded: Card, name: str, where: str) -> Card:
    if loaded.name != name:
        raise CorpusError(
            "BX206",
            f"the card's name must be {name!r}, like its file, got {loaded.name!r}",
            where=where,
            hint="rename one of them",
        )
    return loaded


def _own() -> dict[str, Path]:
    """The user's cards by name; the first one found wins."""
    paths: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
            paths.setdefault(path.stem, path)
    return paths


def _folders() -> Iterator[Path]:
    yield Path("cards")
    for folder in os.environ.get(VARIABLE, "").split(os.pathsep):
        if folder:
            yield Path(folder).expanduser()
    yield from _brought()


@cache
def _brought() -> tuple[Path, ...]:
    """The folders that other packages name: an entry point is a path, or a function that returns one."""
    from importlib.metadata import entry_points

    folders = []
    for entry in entry_points(group="biomux.corpora"):
        try:
            value = entry.load()
            folders.append(Path(value() if callable(value) else value))
        except Exception as error:
            raise CorpusError(
                "BX206",
                f"cannot load the cards of {entry.name!r}: {type(error).__name__}: {error}",
                where=entry.value,
                hint="fix or uninstall that package",
            ) from error
    return tuple(folders)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CorpusError(
            "BX206", f"cannot read the card: {reason}", where=str(path), hint="correct the file"
        ) from None


def _unknown(name: str) -> CorpusError:
    if Path(name).exists():
        hint = f"write ./{name} for the data of that name in this folder"
    else:
        hint = did_you_mean(name, names(), otherwise="`biomux corpora list` shows all")
    return CorpusError("BX201", f"unknown corpus {name!r}", hint=hint)
