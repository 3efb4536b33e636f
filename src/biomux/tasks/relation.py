"""Relations: what kind of link, if any, holds between two mentions of a sentence.

| variant | what is read | paper |
|---|---|---|
| replace | the sentence with both arguments replaced by tags such as @GENE$, once for each pair | B |
| markers | the sentence with both arguments and their types marked by signs, once for each pair | |
| one-pass | the sentence as taggers read it, once for all pairs: a head reads both arguments' words | |

Every pair of mentions of the right types in a sentence is asked about; pairs without a relation are negative. Gold relations that cannot
be asked about (across sentences, of other types) are counted in training and stay misses in scoring. Pairs have no direction but that
which the arguments' types give. Where a corpus links concepts (BC5CDR-CID, BioRED), every pair of mentions that carry them is positive, and
concepts are scored: `biomux.tasks.concepts` has the rule.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Argument, Relation, Span
from biomux.errors import TrainingError
from biomux.tasks import concepts
from biomux.tasks.examples import Example, ExampleSet, Labels, ModelInput, Unit
from biomux.tasks.softmax import softmax
from biomux.tasks.task import Scores
from biomux.text import sentences
from biomux.text import tokens as text_tokens
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.tasks.concepts import Ends, Link, Pair
    from biomux.text.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations of `types` between mentions of the types `first` and `second` (of any types where these are empty).

    `tags` are pairs of a mention's type and the word that stands for it, for types whose tag is not their name. `between` says what
    is scored: links between mentions, or between the concepts that they carry.

    >>> task = Relations("chemprot", ("CPR:3", "CPR:4"), first=("CHEMICAL",), second=("GENE-Y", "GENE-N"), tags=(("GENE-Y", "GENE"),))
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

    @classmethod
    def of_documents(
        cls,
        name: str,
        documents: Iterable[Document],
        *,
        types: tuple[str, ...] | None = None,
        tags: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> Relations:
        """The task of these types, or of all that the documents have; between concepts where the documents link any."""
        documents = list(documents)
        negative = settings.get("negative", "none")
        settings.setdefault("between", "concepts" if concepts.are_linked(documents) else "mentions")
        found = types or sorted({one.type for document in documents for one in document.relations} - {negative})
        if not found:
            raise TrainingError(
                "BX404", f"the training documents of {name!r} have no relation", hint="check its corpus and split"
            )
        return cls(name, tuple(found), tags=tuple((tags or {}).items()), **settings)

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

    def tag(self, type_: str) -> str:
        """The word that stands for a mention of a type."""
        return f"@{dict(self.tags).get(type_, type_).upper()}$"

    def examples(self, documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int) -> ExampleSet:
        """An example for each pair, or in one pass for each sentence that has one."""
        made = ExampleSet()
        for document in documents:
            made.counts["documents"] += 1
            gold = self._gold(document, made.counts)
            asked: set[Ends] = set()
            for number, reading in enumerate(self._readings(document, tokenizer, limit, made.counts)):
                carried = [concepts.carried(pair) & gold.keys() for pair in reading.note]
                names = [
                    min((gold[ends] for ends in one), key=self.labels.index, default=self.negative) for one in carried
                ]
                asked.update(*carried)
                made.counts["pairs"] += len(names)
                made.counts["pairs with a relation"] += sum(name != self.negative for name in names)
                values = np.array([self.labels.index(name) for name in names], dtype=np.int32)
                labels = {self.name: Labels(self.unit, values)}
                made.examples.append(Example(self.name, reading, labels, (document.id, number)))
            _count_unasked(document, gold.keys() - asked, made.counts)
        return made

    def readings(self, document: Document, tokenizer: Tokenizer, *, limit: int) -> list[ModelInput]:
        """The sentences to read; the note is the pairs that each asks about."""
        return self._readings(document, tokenizer, limit, Counter())

    def _readings(self, document: Document, tokenizer: Tokenizer, limit: int, counts: Counter[str]) -> list[ModelInput]:
        found: list[ModelInput] = []
        for part, pairs in self._pairs(document):
            if self.variant == "one-pass":
                found += _one_pass(document, tokenizer, part, pairs, limit, counts)
                continue
            for pair in pairs:
                reading = self._rewritten(document, tokenizer, part, pair, limit, counts)
                if reading is not None:
                    found.append(reading)
        return found

    def _pairs(self, document: Document) -> Iterator[tuple[Range, list[Pair]]]:
        """The pairs of each sentence that has any: (first, second) by type, by place where both types fit both."""
        for start, end in sentences.of(document):
            inside = sorted(
                {span for span in document.spans if start <= span.start and span.end <= end},
                key=lambda span: (span.start, span.end, span.type, span.id or ""),
            )
            pairs = []
            for at, left in enumerate(inside):
                for right in inside[at + 1 :]:
                    if not concepts.links_of_pair((left, right), concepts=self.between == "concepts"):
                        continue
                    if _fits(left, self.first) and _fits(right, self.second):
                        pairs.append((left, right))
                    elif _fits(right, self.first) and _fits(left, self.second):
                        pairs.append((right, left))
            if pairs:
                yield (start, end), pairs

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

    def _rewritten(
        self, document: Document, tokenizer: Tokenizer, part: Range, pair: Pair, limit: int, counts: Counter[str]
    ) -> ModelInput | None:
        left, right = sorted(pair, key=lambda span: span.start)
        if left.end > right.start:
            counts["pairs that overlap"] += 1
            return None
        text, places = "", []
        at = part[0]
        for span in (left, right):
            text += document.text[at : span.start]
            begin = len(text)
            text += self._written(document, span, second=span is pair[1])
            places.append((begin, len(text)))
            at = span.end
        text += document.text[at : part[1]]
        tokens = text_tokens.split(tokenizer, text, [(0, len(text))])[0]
        if len(tokens) > limit:
            counts["sentences shortened around a pair"] += 1
            tokens = _around(tokens, (places[0][0], places[1][1]), limit)
        return ModelInput(tokens, note=[pair])

    def _written(self, document: Document, span: Span, *, second: bool) -> str:
        if self.variant == "replace":
            return self.tag(span.type)
        outer, inner = ("#", "^") if second else ("@", "*")
        name = dict(self.tags).get(span.type, span.type)
        return f"{outer} {inner} {name} {inner} {document.text[span.start : span.end]} {outer}"

    def bare(self, document: Document) -> Document:
        """The document without relations; mentions are given."""
        return replace(document, relations=())

    def decode(
        self, document: Document, readings: Sequence[ModelInput], logits: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with the relations that are more likely than none; mentions without an id get one."""
        named, ids = _with_ids(document)
        added: dict[tuple[str, str], Relation] = {}
        for reading, rows in zip(readings, logits, strict=True):
            chances = softmax(rows)
            for pair, row in zip(reading.note, chances, strict=True):
                best = int(row.argmax())
                if best:
                    ends = ids[pair[0]], ids[pair[1]]
                    arguments = (Argument("Arg1", ends[0]), Argument("Arg2", ends[1]))
                    added[ends] = Relation(self.labels[best], arguments, score=float(row[best]), head=self.name)
        return replace(named, relations=(*document.relations, *added.values()))

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Scores:
        """Micro- and macro-F1 over the types (macro: those that either side has), by the mentions' places and types, or by concepts. Relations that no sentence holds are misses."""
        from biomux.scoring.counts import Counts, Table

        counts = {type_: Counts() for type_ in self.types}
        for left, right in zip(gold, predicted, strict=True):
            wanted = self._links(left, None)
            given = self._links(right, self.name)
            for type_ in self.types:
                one, other = ({link for link in side if link[1] == type_} for side in (wanted, given))
                counts[type_] += Counts(len(one & other), len(other - one), len(one - other))
        micro = sum(counts.values(), Counts())
        macro = Table(counts).macro.f1
        figures = {"f1": micro.f1, "precision": micro.precision, "recall": micro.recall, "macro_f1": macro}
        return Scores("f1", figures)

    def _links(self, document: Document, head: str | None) -> set[tuple[Link, str]]:
        """What the relations of a head, or the gold ones, say about mentions or concepts."""
        mine = (one for one in document.relations if one.head == head and one.type in self.types)
        return concepts.links_of(document, mine, concepts=self.between == "concepts")

    def _asked(self, document: Document) -> set[Link]:
        """What could be said of a document: links of the pairs that are asked about."""
        return {
            link
            for _, pairs in self._pairs(document)
            for pair in pairs
            for link in concepts.links_of_pair(pair, concepts=self.between == "concepts")
        }


def _count_unasked(document: Document, unasked: Iterable[Ends], counts: Counter[str]) -> None:
    """Count the relations that no pair of mentions could be asked about, by the reason."""
    known = {identifier for span in document.spans for identifier in span.identifiers}
    for ends in unasked:
        missing = any(kind == "concept" and target not in known for kind, target in ends)
        counts["relations of concepts without a mention" if missing else "relations not asked about"] += 1


def _fits(span: Span, types: tuple[str, ...]) -> bool:
    return not types or span.type in types


def _one_pass(
    document: Document, tokenizer: Tokenizer, part: Range, pairs: Sequence[Pair], limit: int, counts: Counter[str]
) -> list[ModelInput]:
    """The sentence, or its windows, each with the pairs that it holds and that none before it did."""
    tokens = text_tokens.split(tokenizer, document.text, [part])[0]
    waiting, found = list(pairs), []
    for window in windows(len(tokens), limit=limit):
        read = tokens if window.end - window.start == len(tokens) else tokens.window(window.start, window.end)
        asked, places = [], []
        for pair in waiting:
            edges = [edge for span in pair for edge in _words(read, span)]
            if -1 not in edges:
                asked.append(pair)
                places.append(edges)
        waiting = [pair for pair in waiting if pair not in asked]
        if asked:
            found.append(ModelInput(read, pairs=np.array(places, dtype=np.int32), note=asked))
    counts["pairs farther apart than the limit"] += len(waiting)
    return found


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
        spans.append(span if span.id is not None else replace(span, id=ids[span]))
    return replace(document, spans=tuple(spans)), ids
