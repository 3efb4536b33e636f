"""Corpora: annotated documents in splits (train, devel, test), each corpus described by a card.

>>> from biomux import corpora
>>> corpora.card("bc5cdr").types
('Chemical', 'Disease')
>>> for document in corpora.load("bc5cdr[Chemical]", "train"):     # doctest: +SKIP
...     print(document.id, len(document.spans))
"""

from __future__ import annotations

from biomux.corpora.card import Card
from biomux.corpora.catalogue import card, cards, names
from biomux.corpora.corpus import Corpus, get, load
from biomux.corpora.leaks import LeakReport, filter_leaks

__all__ = ["Card", "Corpus", "LeakReport", "card", "cards", "filter_leaks", "get", "load", "names"]
