"""The catalogue: cards by name, each read only when asked for.

>>> card("bc5cdr").types
('Chemical', 'Disease')
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import yaml

from biomux.corpora.card import NAME, Card, parse
from biomux.errors import CorpusError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

_CARDS = resources.files("biomux.corpora").joinpath("cards")
# Safe, and the C one where there is one: ten times as quick.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def names() -> tuple[str, ...]:
    """The names of all corpora, in order. Reads no card."""
    return tuple(sorted(entry.name[:-5] for entry in _CARDS.iterdir() if entry.name.endswith(".yaml")))


@cache
def card(name: str) -> Card:
    """The card of that name; an unknown name is told with its nearest neighbour."""
    entry = _CARDS.joinpath(f"{name}.yaml")
    if not re.fullmatch(NAME, name) or not entry.is_file():
        raise _unknown(name)
    found = read(entry.read_text(encoding="utf-8"), where=f"cards/{name}.yaml")
    if found.name != name:
        raise CorpusError(
            "BX206",
            f"the name in the card must be that of its file, got {found.name!r}",
            where=f"cards/{name}.yaml",
            hint="rename one of them",
        )
    return found


def cards() -> Iterator[Card]:
    """Every card, in the order of names."""
    return map(card, names())


def read(text: str, *, where: str) -> Card:
    """A card from YAML text."""
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise CorpusError(
            "BX206", f"the card is not valid YAML: {' '.join(str(error).split())}", where=where, hint="correct the file"
        ) from None
    return parse(data, where=where)


def _unknown(name: str) -> CorpusError:
    hint = did_you_mean(name, names(), otherwise="`biomux corpora list` shows all")
    return CorpusError("BX201", f"unknown corpus {name!r}", hint=hint)
