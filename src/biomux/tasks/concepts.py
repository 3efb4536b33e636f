"""Relations between concepts, and the mentions that stand for them.

Some corpora (BC5CDR's chemical-induced diseases, BioRED) link identifiers, and say it of the whole document. A mention *carries* the
identifiers that it is annotated with, and its own id. The rule, for training and scoring alike:

- a pair of mentions has a relation if a relation of the document links something that one carries with something that the other carries:
  so all pairs of such mentions that are asked about are positive, not only the nearest;
- a predicted relation between two mentions links each concept of one with each concept of the other; a mention that has no identifier
  stands for itself;
- a relation whose concepts no pair of mentions brings together is counted in training, and stays a miss in scoring.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from biomux.document import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from biomux.document import Document, Relation

Pair = tuple[Span, Span]
Ends = frozenset[tuple[str, str]]
"""What a relation links: each end a kind ("span" or "concept") and the id or identifier."""
Place = tuple[int, int, str]
Link = frozenset[Place | str]
"""What is compared in scoring: each end a mention's place and type, or a concept's identifier."""


def ends_of(relation: Relation) -> Ends:
    """The distinct ends of a relation; ends that are relations are left out."""
    return frozenset((argument.kind, argument.target) for argument in relation.arguments if argument.kind != "relation")


def carried(pair: Pair) -> set[Ends]:
    """Everything that would have to be linked for this pair of mentions to have a relation.

    >>> drug, disease = Span(0, 7, "Chemical", identifiers=("D001241",)), Span(15, 21, "Disease", identifiers=("D014456",), id="T2")
    >>> [sorted(ends) for ends in sorted(carried((drug, disease)), key=sorted)]
    [[('concept', 'D001241'), ('concept', 'D014456')], [('concept', 'D001241'), ('span', 'T2')]]
    """
    first_names, second_names = (
        [
            *([] if span.id is None else [("span", span.id)]),
            *(("concept", identifier) for identifier in span.identifiers),
        ]
        for span in pair
    )
    return {frozenset(ends) for ends in product(first_names, second_names) if ends[0] != ends[1]}


def links_of_pair(pair: Pair, *, concepts: bool, entity: Callable[[str], str] = str) -> set[Link]:
    """What a relation between two mentions says: of their places or, with `concepts`, of each concept with each.

    There is nothing to say where both mentions have the same concept only. `entity` gives the types by which mentions are told apart.
    """
    names = [_names(span, concepts, entity) for span in pair]
    return {frozenset(ends) for ends in product(*names) if ends[0] != ends[1]}


def links_of(
    document: Document, relations: Iterable[Relation], *, concepts: bool, entity: Callable[[str], str] = str
) -> set[tuple[Link, str]]:
    """What relations of two ends say, each with its type. One that links a concept with itself is kept: nobody predicts it, so it is a miss."""
    spans = {span.id: span for span in document.spans}
    links: set[tuple[Link, str]] = set()
    for relation in relations:
        arguments = [argument for argument in relation.arguments if argument.kind != "relation"]
        if len(arguments) != 2:
            continue
        names = [
            {argument.target} if argument.kind == "concept" else _names(spans[argument.target], concepts, entity)
            for argument in arguments
        ]
        pairs = {frozenset(ends) for ends in product(*names)}
        if not any(argument.kind == "concept" for argument in arguments):
            pairs = {link for link in pairs if len(link) == 2}
        links |= {(link, relation.type) for link in pairs}
    return links


def are_linked(documents: Iterable[Document]) -> bool:
    """Whether the documents link concepts anywhere."""
    return any(
        argument.kind == "concept"
        for document in documents
        for relation in document.relations
        for argument in relation.arguments
    )


def _names(span: Span, concepts: bool, entity: Callable[[str], str]) -> set[Place | str]:
    return set(span.identifiers) if concepts and span.identifiers else {(span.start, span.end, entity(span.type))}
