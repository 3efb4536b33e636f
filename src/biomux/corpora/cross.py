"""Cross-corpus pairs: for which types of a corpus heads trained on other corpora can be evaluated.

The pairs are in `cross.yaml` beside the cards. They mean "about the same", not "the same": annotation guidelines differ, and so do
boundaries, so the strict scores of a pair are low even for a good head.

>>> pairs("linnaeus")
{'Species': (('s800', 'Species'),)}
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml

Pairs = dict[str, tuple[tuple[str, str], ...]]
"""A type of the corpus → corpora and their types that mean about the same."""


def pairs(corpus: str) -> Pairs:
    """The pairs of a corpus; empty if it is not in the table."""
    return dict(_all().get(corpus, {}))


def targets() -> tuple[str, ...]:
    """The corpora that have pairs."""
    return tuple(_all())


@cache
def _all() -> dict[str, Pairs]:
    text = resources.files("biomux.corpora").joinpath("cross.yaml").read_text(encoding="utf-8")
    return {
        corpus: {name: tuple(_split(source) for source in sources) for name, sources in types.items()}
        for corpus, types in yaml.safe_load(text).items()
    }


def _split(source: str) -> tuple[str, str]:
    corpus, _, type_ = source.partition("/")
    return corpus, type_
