"""The catalogue: cards by name, each read only when asked for.

>>> card("bc5cdr").types
('Chemical', 'Disease')

Cards of one's own are files NAME.yaml in the folder ./cards, in the folders that the variable BIOMUX_CARDS names, or in a folder that another
package names by an entry point `biomux.corpora`. They need no home, licence or citation, and their files lie beside them or in the corpora directory.
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "BIOMUX_CARDS"
_CARDS = resources.files("biomux.corpora").joinpath("cards")
# Safe, and the C one where there is one: ten times as quick.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def names() -> tuple[str, ...]:
    """The names of all corpora, in order: those that come with Biomux and one's own. Reads no card."""
    return tuple(sorted({*_shipped(), *_own()}))


def card(name: str) -> Card:
    """The card of that name; an unknown name is told with its nearest neighbour."""
    own = _own().get(name) if re.fullmatch(NAME, name) else None
    if own is None:
        return _shipped_card(name)
    if name in _shipped():
        raise CorpusError(
            "BX206",
            f"a card of your own must not have the name of a corpus in the catalogue, got {name!r}",
            where=str(own),
            hint="rename the file and the card",
        )
    return _named(read(_text(own), where=str(own), defaults=_DEFAULTS | {"title": name}), name, str(own))


def folder_of(name: str) -> Path | None:
    """The folder in which the card of one's own with that name lies; None for cards that come with Biomux."""
    own = _own().get(name)
    return None if own is None or name in _shipped() else own.parent


def cards() -> Iterator[Card]:
    """Every card, in the order of names."""
    return map(card, names())


def read(text: str, *, where: str, defaults: Mapping[str, Any] | None = None) -> Card:
    """A card from YAML text; `defaults` are keys that it may leave out."""
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise CorpusError(
            "BX206", f"the card is not valid YAML: {' '.join(str(error).split())}", where=where, hint="correct the file"
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


def _named(found: Card, name: str, where: str) -> Card:
    if found.name != name:
        raise CorpusError(
            "BX206",
            f"the name in the card must be that of its file, got {found.name!r}",
            where=where,
            hint="rename one of them",
        )
    return found


def _own() -> dict[str, Path]:
    """One's own cards by name; of two with the same name the first that is found."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
            found.setdefault(path.stem, path)
    return found


def _folders() -> Iterator[Path]:
    yield Path("cards")
    for named in os.environ.get(VARIABLE, "").split(os.pathsep):
        if named:
            yield Path(named).expanduser()
    yield from _brought()


@cache
def _brought() -> tuple[Path, ...]:
    """The folders that other packages name: an entry point is a path, or a function that gives one."""
    from importlib.metadata import entry_points

    found = []
    for entry in entry_points(group="biomux.corpora"):
        try:
            value = entry.load()
            found.append(Path(value() if callable(value) else value))
        except Exception as error:
            raise CorpusError(
                "BX206",
                f"cannot load the cards of {entry.name!r}: {type(error).__name__}: {error}",
                where=entry.value,
                hint="fix or uninstall that package",
            ) from error
    return tuple(found)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CorpusError("BX206", f"cannot read the card: {said}", where=str(path), hint="correct the file") from None


def _unknown(name: str) -> CorpusError:
    if Path(name).exists():
        hint = f"write ./{name} for the data of that name in this folder"
    else:
        hint = did_you_mean(name, names(), otherwise="`biomux corpora list` shows all")
    return CorpusError("BX201", f"unknown corpus {name!r}", hint=hint)
