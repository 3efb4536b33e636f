"""Relations scored: what is linked, by its places and types, and how.

| matching | a predicted relation is right if |
|---|---|
| strict | its type, and the offsets, types and roles of all arguments, are those of a gold relation |
| undirected | the same, whatever the roles |

Roles that only number the arguments (`Arg1`, `e2`) say nothing of a direction in most corpora, and formats number differently: they count
where `directed` says so. A relation listed twice counts once. An argument that is a concept is its identifier; one that is a relation is that relation.

>>> from biomux.document import Argument, Document, Relation, Span
>>> spans = (Span(0, 7, "Chemical", id="a"), Span(15, 21, "Disease", id="b"))
>>> def linked(role, other):
...     return Document("1", "Aspirin causes ulcers.", spans=spans, relations=(Relation("causes", (Argument(role, "a"), Argument(other, "b"))),))
>>> scores = score([(linked("Cause", "Theme"), linked("Theme", "Cause"))])
>>> scores["strict"].f1, scores["undirected"].f1
(0.0, 1.0)
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from biomux.scoring.counts import CountTally, Table
from biomux.scoring.span_matching import keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from biomux.document import Document, Relation

MATCHINGS = ("strict", "undirected")
DEEP = 4
"""How far relations of relations are followed: beyond, only their types are looked at."""
NUMBERED = re.compile(r"(arg|argument|e|entity|mention)?[ _-]?\d*", re.IGNORECASE)

Link = tuple[str, tuple[Any, ...]]
"""A type, and what is linked."""
Rows = dict[str, list[int]]


def links(document: Document, *, roles: bool = True, directed: bool = False) -> set[Link]:
    """The distinct relations of a document. Without `roles`, arguments are a bag; `directed` keeps roles that only number, too."""
    spans = {span.id: next(iter(keys([span]))) for span in document.spans if span.id is not None}
    named = {relation.id: relation for relation in document.relations if relation.id is not None}
    nested = any(argument.kind == "relation" for relation in document.relations for argument in relation.arguments)
    known = {id_: relation.type for id_, relation in named.items()}

    def link(relation: Relation) -> Link:
        ends = []
        for argument in relation.arguments:
            end: Any = argument.target
            if argument.kind != "concept":
                end = (spans if argument.kind == "span" else known).get(argument.target, argument.target)
            role_counts = roles and (directed or NUMBERED.fullmatch(argument.role) is None)
            ends.append((argument.role if role_counts else "", argument.kind, end))
        return relation.type, tuple(sorted(ends, key=repr))

    for _ in range(DEEP if nested else 0):
        # Digests, each from those before it: a ring of relations ends, and a tree of them stays small.
        known = {
            id_: sha256(repr(link(relation)).encode("utf-8", "surrogatepass")).hexdigest()
            for id_, relation in named.items()
        }
    return {link(relation) for relation in document.relations}


def count(gold: Collection[Link], predicted: Collection[Link], *, negative: Collection[str] = ()) -> Rows:
    """tp, fp, fn of each type that is not negative."""
    gold_links, predicted_links = set(gold), set(predicted)
    rows: Rows = {}
    for place, group in enumerate(
        (gold_links & predicted_links, predicted_links - gold_links, gold_links - predicted_links)
    ):
        for type_, number in Counter(link[0] for link in group if link[0] not in negative).items():
            rows.setdefault(type_, [0, 0, 0])[place] += number
    return rows


class RelationScorer:
    """Takes pairs of documents one by one."""

    def __init__(self, *, negative: Iterable[str] = (), directed: bool = False) -> None:
        self.negative, self.directed = frozenset(negative), directed
        self.documents = 0
        self.relations = False
        self._tallies = {name: CountTally() for name in MATCHINGS}

    def add(self, gold: Document, predicted: Document) -> dict[str, Rows]:
        """Take a pair in; its counts by matching and type, nothing where neither side has a relation."""
        self.documents += 1
        if not gold.relations and not predicted.relations:
            return {}
        self.relations = True
        counts = {}
        for name, tally in self._tallies.items():
            gold_links, predicted_links = (
                links(document, roles=name == "strict", directed=self.directed) for document in (gold, predicted)
            )
            counts[name] = count(gold_links, predicted_links, negative=self.negative)
            tally.add(counts[name])
        return counts

    def tables(self) -> dict[str, Table]:
        """The table of each matching; standard errors are over all documents that went by."""
        return {name: tally.table(self.documents) for name, tally in self._tallies.items()}

    def to_json(self) -> dict[str, Any]:
        """All tables, as plain JSON."""
        return {"matchings": {name: table.to_json() for name, table in self.tables().items()}}


def score(
    pairs: Iterable[tuple[Document, Document]], *, negative: Iterable[str] = (), directed: bool = False
) -> dict[str, Table]:
    """Score the relations of (gold, predicted) documents, with a table for each matching.

    Relation types in `negative` stand for "no relation" and are not counted. `directed` makes roles that only number the arguments (`Arg1`, `e2`) count as a direction.
    """
    scorer = RelationScorer(negative=negative, directed=directed)
    for gold, predicted in pairs:
        scorer.add(gold, predicted)
    return scorer.tables()
