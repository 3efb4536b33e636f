"""Relations: what kind of link, if any, holds between two mentions.

| variant | what is read | paper |
|---|---|---|
| replace | the sentence with both arguments replaced by tags such as @GENE$, once for each pair | B |
| markers | the sentence with both arguments and their types marked by signs, once for each pair | |
| one-pass | the sentence as taggers read it, once for all pairs: a head reads both arguments' words, in the pass that tagged them | |

Every pair of mentions of the right types in a sentence, or at most `distance` sentences apart, is asked about; pairs without a relation are negative.
Mentions may overlap and nest. Gold relations that cannot be asked about (farther apart, of other types) are counted in training and stay misses in
scoring. Pairs have no direction but that which the arguments' types give. Where a corpus links concepts (BC5CDR-CID, BioRED), every pair of mentions
that carry them is positive, and concepts are scored: `biomux.tasks.concepts` has the rule.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from biomux.document import Argument, Relation, Span
from biomux.errors import TrainingError
from biomux.scoring import relations
from biomux.scoring.counts import CountTally
from biomux.tasks import concepts, text_inputs
from biomux.tasks.examples import Labels, ModelInput, Unit
from biomux.tasks.softmax import softmax
from biomux.tasks.task import Evaluation, rows_of
from biomux.text import sentences
from biomux.text import tokens as text_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.tasks.concepts import Ends, Link, Pair
    from biomux.text.tokens import Tokens

Entities = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations of `types` between mentions of the types `first` and `second` (of any types where these are empty).

    Both are entity types, as taggers find them. `entities` says which of the corpus's own types mean an entity type; names that differ in case
    alone are the same. `tags` are pairs of a mention's type and the word that stands for it, for types whose tag is not their name. `between` says what
    is scored: links between mentions, or between the concepts that they carry. `distance` is how many sentences apart two mentions may stand.
    `fine` takes the finer types that a corpus gives beside its groups (ChemProt's INHIBITOR, of CPR:4), where there are any.

    >>> task = Relations("chemprot", ("CPR:3", "CPR:4"), first=("chemical",), second=("gene",), entities=(("gene", ("GENE-Y", "GENE-N")),))
    >>> task.labels, task.tag("GENE-Y"), task.tag("CHEMICAL")
    (('none', 'CPR:3', 'CPR:4'), '@GENE$', '@CHEMICAL$')
    """

    name: str
    types: tuple[str, ...]
    variant: Literal["replace", "markers", "one-pass"] = "replace"
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    negative: str = "none"
    tags: tuple[tuple[str, str], ...] = ()
    between: Literal["mentions", "concepts"] = "mentions"
    kind: Literal["relation"] = "relation"
    entities: Entities = ()
    distance: int = 0
    fine: bool = False
    positive: ClassVar[int] = 1
    reads_spans: ClassVar[bool] = True

    @classmethod
    def of_documents(
        cls,
        name: str,
        documents: Iterable[Document],
        *,
        types: tuple[str, ...] | None = None,
        tags: Mapping[str, str] | None = None,
        first: str | tuple[str, ...] = (),
        second: str | tuple[str, ...] = (),
        entities: Mapping[str, str | tuple[str, ...]] | None = None,
        **settings: Any,
    ) -> Relations:
        """The task of these types, or of all that the documents have; between concepts where the documents link any."""
        documents = [_fine(document) if settings.get("fine") else document for document in documents]
        negative = settings.get("negative", "none")
        settings.setdefault("between", "concepts" if concepts.are_linked(documents) else "mentions")
        relation_types = types or sorted(
            {relation.type for document in documents for relation in document.relations} - {negative}
        )
        if not relation_types:
            raise TrainingError(
                "BX404", f"the training documents of {name!r} have no relation", hint="check its corpus and split"
            )
        if settings.get("distance", 0) < 0:
            raise ValueError(f"distance must be 0 sentences or more, got {settings['distance']}")
        return cls(
            name,
            tuple(relation_types),
            first=_several(first),
            second=_several(second),
            tags=tuple((tags or {}).items()),
            entities=tuple((entity, _several(types_meant)) for entity, types_meant in (entities or {}).items()),
            **settings,
        )

    @property
    def unit(self) -> Unit:
        """Pairs of spans in one pass, else the rewritten sentence as a whole."""
        return "pair" if self.variant == "one-pass" else "window"

    @property
    def labels(self) -> tuple[str, ...]:
        """No relation, then the types."""
        return (self.negative, *self.types)

    @property
    def objective(self) -> str:
        """A softmax over the types and none."""
        return "cross-entropy"

    @property
    def facts(self) -> dict[str, str]:
        """What a score's signature says of the task."""
        between = {"between": self.between} if self.between != "mentions" else {}
        apart = {"distance": str(self.distance)} if self.distance else {}
        return {"mentions": "gold", "direction": "none", **between, **apart}

    def entity(self, type_: str) -> str:
        """The entity type that a mention's type means; itself if the task does not know it."""
        return _entity_types(self.first, self.second, self.entities).get(type_.casefold(), type_)

    def tag(self, type_: str) -> str:
        """The word that stands for a mention of a type."""
        return f"@{self._word(type_).upper()}$"

    def _word(self, type_: str) -> str:
        return dict(self.tags).get(type_) or self.entity(type_)

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """The sentences to read; the note is the pairs that each asks about."""
        by_part = list(self._pairs(document, counts))
        if self.variant == "one-pass":
            tokens = text_tokens.split(tokenizer, document.text, [part for part, _ in by_part])
            for number, ((part, pairs), read) in enumerate(zip(by_part, tokens, strict=True)):
                windows = text_inputs.cut_to_windows(read, part, number, limit=limit)
                yield from _with_pairs(windows, pairs, counts)
            return
        every = ((part, pair) for part, pairs in by_part for pair in pairs)
        for number, (part, pair) in enumerate(every):
            text, place = self._rewritten(document, part, pair)
            read = text_tokens.split(tokenizer, text, [(0, len(text))])[0]
            if len(read) > limit:
                counts["sentences shortened around a pair"] += 1
                read = _around(read, place, limit)
            yield ModelInput(read, note=[pair], part=part, number=number)

    def targets(self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]) -> list[Labels]:
        """The relation of each pair, or none."""
        gold = self._gold(_fine(document) if self.fine else document, counts)
        asked: set[Ends] = set()
        targets = []
        for input_ in inputs:
            carried = [concepts.carried(pair) & gold.keys() for pair in input_.note]
            names = [
                min((gold[ends] for ends in each), key=self.labels.index, default=self.negative) for each in carried
            ]
            asked.update(*carried)
            counts["pairs"] += len(names)
            counts["pairs with a relation"] += sum(name != self.negative for name in names)
            targets.append(Labels(self.unit, np.array([self.labels.index(name) for name in names], dtype=np.int32)))
        _count_unasked(document, gold.keys() - asked, counts)
        return targets

    def _pairs(self, document: Document, counts: Counter[str]) -> Iterator[tuple[Range, list[Pair]]]:
        """The pairs of each sentence, or of sentences near each other, that have any: (first, second) by type, by place where both types fit both."""
        parts, inside = self._by_sentence(document, counts)
        for here, part in enumerate(parts):
            for there in range(here, min(here + self.distance + 1, len(parts))):
                pairs = [
                    pair
                    for candidate in self._candidates(inside[here], inside[there])
                    if (pair := self._ordered(*candidate))
                ]
                if pairs:
                    yield (part[0], parts[there][1]), pairs
        counts["pairs of mentions too far apart"] += self._far_apart(inside)

    def too_far_apart(self, document: Document) -> int:
        """How many pairs of a document's mentions have the right types but stand more than `distance` sentences apart, so that nothing is said of them."""
        return self._far_apart(self._by_sentence(document, Counter())[1])

    def _by_sentence(self, document: Document, counts: Counter[str]) -> tuple[Sequence[Range], list[list[Span]]]:
        """The sentences, and the mentions in each that may be arguments."""
        parts = sentences.of(document)
        usable = [span for span in dict.fromkeys(document.spans) if any(self._fits(span, end) for end in self._ends)]
        inside: list[list[Span]] = [[] for _ in parts]
        at = 0
        for span in sorted(usable, key=lambda span: (span.start, span.end, span.type, span.id or "")):
            while at < len(parts) and parts[at][1] <= span.start:
                at += 1
            if at < len(parts) and parts[at][0] <= span.start and span.end <= parts[at][1]:
                inside[at].append(span)
            else:
                counts["mentions that no sentence holds"] += 1
        return parts, inside

    def _candidates(self, left: list[Span], right: list[Span]) -> Iterator[Pair]:
        if left is not right:
            yield from product(left, right)
            return
        for at, first in enumerate(left):
            for second in left[at + 1 :]:
                if (first.start, first.end, self.entity(first.type)) != (
                    second.start,
                    second.end,
                    self.entity(second.type),
                ):
                    yield first, second

    def _ordered(self, left: Span, right: Span) -> Pair | None:
        """The pair as it is asked about; None if its types do not fit, or there is nothing to say of its concepts."""
        if not self._said_of((left, right)):
            return None
        if self._fits(left, self.first) and self._fits(right, self.second):
            return left, right
        return (right, left) if self._fits(right, self.first) and self._fits(left, self.second) else None

    def _far_apart(self, inside: Sequence[Sequence[Span]]) -> int:
        """How many pairs of mentions of the right types stand in sentences too far apart to be asked about."""
        fits = [[tuple(self._fits(span, end) for end in self._ends) for span in each] for each in inside]
        numbers = np.array(
            [[each.count(kind) for kind in ((True, False), (False, True), (True, True))] for each in fits]
        )
        behind = np.zeros(3, dtype=np.int64)
        far = 0
        for there in range(self.distance + 1, len(numbers)):
            behind += numbers[there - self.distance - 1]
            first, second, both = numbers[there]
            far += int(first * (behind[1] + behind[2]) + second * (behind[0] + behind[2]) + both * behind.sum())
        return far

    @property
    def _ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.first, self.second

    def _fits(self, span: Span, types: tuple[str, ...]) -> bool:
        return not types or _fitting(span.type, types, self.first, self.second, self.entities)

    def _said_of(self, pair: Pair) -> set[Link]:
        return concepts.links_of_pair(pair, concepts=self.between == "concepts", entity=self.entity)

    def _gold(self, document: Document, counts: Counter[str]) -> dict[Ends, str]:
        """The relation between each two ends; of several the one that stands first among the types."""
        gold: dict[Ends, str] = {}
        for relation in document.relations:
            ends = concepts.ends_of(relation)
            if relation.type == self.negative:
                continue
            if relation.type not in self.types:
                counts["relations of other types"] += 1
            elif len(ends) != 2:
                counts["relations that do not link two different ends"] += 1
            elif ends in gold:
                counts["relations beyond a pair's first"] += 1
                gold[ends] = min(gold[ends], relation.type, key=self.types.index)
            else:
                gold[ends] = relation.type
        return gold

    def _rewritten(self, document: Document, part: Range, pair: Pair) -> tuple[str, Range]:
        """The part of the text with both arguments replaced or marked, and the place of both in it."""
        text, at, places = "", part[0], []
        for start, end, written in self._edits(pair):
            text += document.text[at:start]
            places += [len(text), len(text) + len(written)]
            text, at = text + written, end
        return text + document.text[at : part[1]], (places[0], places[-1])

    def _edits(self, pair: Pair) -> list[tuple[int, int, str]]:
        """What is written in place of which characters, in order. Arguments that overlap are replaced by one tag."""
        if self.variant == "replace":
            if pair[0].overlaps(pair[1]):
                tag = "-".join(self._word(span.type).upper() for span in pair)
                return [(min(span.start for span in pair), max(span.end for span in pair), f"@{tag}$")]
            return sorted((span.start, span.end, self.tag(span.type)) for span in pair)
        edits = []
        for span, outer, inner in ((pair[0], "@", "*"), (pair[1], "#", "^")):
            edits.append((span.start, 1, -span.end, f"{outer} {inner} {self._word(span.type)} {inner} "))
            edits.append((span.end, 0, -span.start, f" {outer}"))
        return [(place, place, written) for place, _, _, written in sorted(edits)]

    def bare(self, document: Document) -> Document:
        """The document without relations; mentions are given."""
        return replace(document, relations=())

    def decode(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with the relations that are more likely than none; mentions without an id get one."""
        added: dict[Pair, tuple[int, float]] = {}
        for input_, rows in zip(inputs, outputs, strict=True):
            for pair, row in zip(input_.note, softmax(rows), strict=True):
                if best := int(row.argmax()):
                    added[pair] = best, float(row[best])
        if not added:
            return document
        named, ids = _with_ids(document)
        relations = [
            Relation(
                self.labels[best],
                (Argument("Arg1", ids[pair[0]]), Argument("Arg2", ids[pair[1]])),
                score=score,
                head=self.name,
            )
            for pair, (best, score) in added.items()
        ]
        return replace(named, relations=(*document.relations, *relations))

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        """Micro- and macro-F1 over the types (macro: those that either side has), by the mentions' places and types, or by concepts.

        `undirected`: over all gold relations of the task's types; those that no sentence holds are misses. `candidates`: over pairs of mentions of the
        right types that are asked about, as BLUE counts ChemProt and DDI. Where the task is between concepts, both are over pairs of concepts.
        """
        gold = [_fine(document) for document in gold] if self.fine else gold
        tallies = {"candidates": CountTally(), "undirected": CountTally()}
        number, counts, left_out, unasked = 0, [], Counter[str](), Counter[str]()
        for gold_document, predicted_document in zip(gold, predicted, strict=True):
            asked = {
                link
                for _, pairs in self._pairs(gold_document, unasked)
                for pair in pairs
                for link in self._said_of(pair)
            }
            number += len(asked)
            sides = [
                [(type_, tuple(sorted(ends, key=repr)), ends in asked) for ends, type_ in self._links(document, head)]
                for document, head in ((gold_document, None), (predicted_document, self.name))
            ]
            document_counts = {}
            for name, tally in tallies.items():
                links = [{link[:2] for link in side if name == "undirected" or link[2]} for side in sides]
                document_counts[name] = relations.count(*links)
                tally.add(document_counts[name])
            counts.append({"counts": document_counts})
            left_out["relations of other types"] += sum(
                relation.type not in self.types and relation.type != self.negative
                for relation in gold_document.relations
            )
        tables = {name: tally.table(len(gold)) for name, tally in tallies.items()}
        whole = tables["undirected"]
        rows = [np.sum([(0, 0, 0), *row["counts"]["undirected"].values()], axis=0) for row in counts]
        return Evaluation(
            "f1",
            {"f1": whole.f1, "precision": whole.precision, "recall": whole.recall, "macro_f1": whole.macro.f1},
            rows_of("f1", gold, rows),
            counts,
            {
                "relations": {
                    "pairs": number,
                    "pairs_too_far_apart": unasked["pairs of mentions too far apart"],
                    "matchings": {name: table.to_json() for name, table in tables.items()},
                }
            },
            left_out,
            number + sum(tallies["undirected"].all[:3]),
        )

    def _links(self, document: Document, head: str | None) -> set[tuple[Link, str]]:
        """What the relations of a head, or the gold ones, say about mentions or concepts."""
        mine = (relation for relation in document.relations if relation.head == head and relation.type in self.types)
        return concepts.links_of(document, mine, concepts=self.between == "concepts", entity=self.entity)


@lru_cache(maxsize=4096)
def _fitting(
    type_: str,
    types: tuple[str, ...],
    first: tuple[str, ...],
    second: tuple[str, ...],
    entities: Entities,
) -> bool:
    """Whether a type means one of these entity types; remembered, since it is asked for every two mentions of a sentence."""
    known = _entity_types(first, second, entities)
    return known.get(type_.casefold(), type_) in {known.get(one.casefold(), one) for one in types}


@cache
def _entity_types(first: tuple[str, ...], second: tuple[str, ...], entities: Entities) -> dict[str, str]:
    """A mention's type, without case, → the entity type that it means."""
    by_type = {type_.casefold(): entity for entity, every in entities for type_ in (entity, *every)}
    return {type_.casefold(): type_ for type_ in (*second, *first) if type_.casefold() not in by_type} | by_type


def _fine(document: Document) -> Document:
    """The document with the fine types of its gold relations, where these have any, in place of their groups."""
    relations = (
        relation
        if relation.head is not None or not relation.extra.get("fine")
        else replace(relation, type=str(relation.extra["fine"]))
        for relation in document.relations
    )
    return replace(document, relations=tuple(relations))


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _count_unasked(document: Document, unasked: Iterable[Ends], counts: Counter[str]) -> None:
    """Count the relations that no pair of mentions could be asked about, by the reason."""
    known = {identifier for span in document.spans for identifier in span.identifiers}
    for ends in unasked:
        missing = any(kind == "concept" and target not in known for kind, target in ends)
        counts["relations of concepts without a mention" if missing else "relations not asked about"] += 1


def _with_pairs(windows: Sequence[ModelInput], pairs: Sequence[Pair], counts: Counter[str]) -> Iterator[ModelInput]:
    """The windows of a sentence, each with the pairs that it holds and that none before it did."""
    waiting = list(pairs)
    for window in windows:
        asked, unplaced, places = [], [], []
        for pair in waiting:
            edges = [edge for span in pair for edge in _words(window.tokens, span)]
            if -1 in edges:
                unplaced.append(pair)
            else:
                asked.append(pair)
                places.append(edges)
        waiting = unplaced
        if asked:
            yield replace(window, pairs=np.array(places, dtype=np.int32), note=asked)
    counts["pairs farther apart than the limit"] += len(waiting)


def _words(tokens: Tokens, span: Span) -> tuple[int, int]:
    """The first and last word of a span, −1 where the tokens do not hold it."""
    begin = int(np.searchsorted(tokens.ends, span.start, side="right"))
    end = int(np.searchsorted(tokens.starts, span.end, side="left"))
    whole = begin < end and tokens.starts[begin] <= span.start and tokens.ends[end - 1] >= span.end
    return (begin, end - 1) if whole else (-1, -1)


def _around(tokens: Tokens, place: Range, limit: int) -> Tokens:
    """As many tokens as the limit allows around a place; of a place that is longer than that, its beginning and its end."""
    words = np.flatnonzero((tokens.ends > place[0]) & (tokens.starts < place[1]))
    low = int(tokens.first[words[0]])
    high = int(tokens.first[words[-1] + 1]) if words[-1] + 1 < tokens.words else len(tokens)
    if high - low <= limit:
        start = min(max(0, low - (limit - (high - low)) // 2), len(tokens) - limit)
        return tokens.window(start, start + limit)
    left, right = tokens.window(low, low + limit // 2), tokens.window(high - (limit - limit // 2), high)
    return text_tokens.Tokens(
        np.concatenate([left.ids, right.ids]),
        np.concatenate([left.first, right.first + len(left)]),
        np.concatenate([left.starts, right.starts]),
        np.concatenate([left.ends, right.ends]),
    )


def _with_ids(document: Document) -> tuple[Document, dict[Span, str]]:
    """The document with an id for each mention, and the id of each mention as it was."""
    taken = {span.id for span in document.spans}
    fresh = (name for number in range(1, 2 * len(document.spans) + 1) if (name := f"T{number}") not in taken)
    ids: dict[Span, str] = {}
    spans = []
    for span in document.spans:
        ids[span] = span.id if span.id is not None else next(fresh)
        # Another head of relations may have named the mentions since this one's inputs were made.
        ids.setdefault(replace(span, id=None), ids[span])
        spans.append(span if span.id is not None else replace(span, id=ids[span]))
    return replace(document, spans=tuple(spans)), ids
