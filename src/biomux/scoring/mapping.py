"""Type maps, for gold and model types that have different names.

A map is written `gold type=model type`, several with commas. A model type may name its head: `Gene=bc2gm/GENE`. Only what the map names is
scored, under the gold type's name. Where one model type answers several gold types, those become one (`SNP+DNAMutation`), since the model
cannot tell them apart.

>>> mapped = parse("Gene=protein,Gene=bc2gm/GENE")
>>> mapped.gold, mapped.said
({'Gene': 'Gene'}, {'protein': 'Gene', 'bc2gm/GENE': 'Gene'})
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from biomux.document import Document, Span


@dataclass(frozen=True, slots=True)
class TypeMap:
    """`gold`: gold type → the type that is scored. `said`: model type, or head/type → the type that is scored."""

    gold: Mapping[str, str]
    said: Mapping[str, str]

    @property
    def types(self) -> tuple[str, ...]:
        """The types that are scored."""
        return tuple(dict.fromkeys(self.gold.values()))

    def of_gold(self, document: Document) -> Document:
        """The gold document as it is scored."""
        spans = tuple(_as(span, self.gold[span.type]) for span in document.spans if span.type in self.gold)
        return replace(document, spans=spans, relations=())

    def of_predicted(self, document: Document) -> Document:
        """The predicted document as it is scored."""
        typed = ((span, self._scored(span)) for span in document.spans)
        return replace(document, spans=tuple(_as(span, type_) for span, type_ in typed if type_), relations=())

    def only(self, document: Document) -> Document:
        """The predicted document with the spans that are scored, as they were predicted."""
        spans = tuple(span for span in document.spans if self._scored(span))
        return document if len(spans) == len(document.spans) else replace(document, spans=spans, relations=())

    def _scored(self, span: Span) -> str | None:
        return self.said.get(f"{span.head}/{span.type}") or self.said.get(span.type)

    def __str__(self) -> str:
        """The map as it is written on a command line, joined types by all their names."""
        names: dict[str, list[str]] = {}
        for gold, scored in self.gold.items():
            names.setdefault(scored, []).append(gold)
        return ",".join(f"{gold}={predicted}" for predicted, scored in self.said.items() for gold in names[scored])


def parse(text: str) -> TypeMap:
    """A map as written on a command line."""
    pairs = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        gold, equals, predicted = (piece.strip() for piece in part.partition("="))
        if not (gold and equals and predicted):
            raise UsageError(
                "BX001",
                f"a type map must consist of pairs GOLD=MODEL, got {part!r}",
                hint="write GOLD=MODEL, for instance Gene=protein or Gene=bc2gm/GENE",
            )
        pairs.append((gold, predicted))
    if not pairs:
        raise UsageError("BX001", "the type map is empty", hint="write GOLD=MODEL, for instance Gene=protein")
    return of_pairs(pairs)


def of_pairs(pairs: Iterable[tuple[str, str]]) -> TypeMap:
    """A map from (gold type, model type) pairs.

    >>> of_pairs([("SNP", "variant"), ("DNA", "variant"), ("Gene", "gene")]).gold
    {'SNP': 'SNP+DNA', 'DNA': 'SNP+DNA', 'Gene': 'Gene'}
    """
    listed = list(dict.fromkeys(pairs))
    group = {gold: gold for gold, _ in listed}
    first: dict[str, str] = {}
    for gold, predicted in listed:
        old, new = group[gold], group[first.setdefault(predicted, gold)]
        group = {name: new if number == old else number for name, number in group.items()}
    names = {number: "+".join(name for name, member in group.items() if member == number) for number in group.values()}
    return TypeMap(
        {gold: names[group[gold]] for gold in group},
        {predicted: names[group[gold]] for predicted, gold in first.items()},
    )


def same(types: Iterable[str], *, head: str) -> TypeMap:
    """The map of a head to the corpus that it was trained on: every type is itself."""
    names = tuple(types)
    return TypeMap({name: name for name in names}, {f"{head}/{name}": name for name in names})


def _as(span: Span, type_: str) -> Span:
    return span if span.type == type_ else replace(span, type=type_)
