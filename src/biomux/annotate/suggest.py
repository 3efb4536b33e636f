"""Which documents are most worth annotating next: those about which a model is least sure, and that are unlike each other.

How unsure a model is about a word is one minus the probability of its most probable tag; about a document, the mean over its five least sure words. Of the least sure
documents one after the other is taken, and what is like one that was taken counts less: by how many words they share, rare ones more.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from biomux.engine import parallel
from biomux.engine.packing import pack
from biomux.errors import UsageError, did_you_mean
from biomux.tasks.examples import ModelInput
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import Tagging
from biomux.text import sentences
from biomux.text import tokens as text_tokens
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.text.tokens import Tokens

LEAST_SURE = 5
"""Words of a document that count."""
AT_ONCE = 64
"""Documents that are read together."""
CANDIDATES = 20
"""Least sure documents that are looked at for each that is wanted."""
WIDTH = 4096
SAME = 0.98
"""Documents that share more than this are the same."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A document, how unsure the model is about it (0 to 1), and the words that it is least sure of."""

    document: Document
    unsure: float
    words: tuple[str, ...]


def suggest(
    annotator: Annotator, documents: Iterable[Document], *, number: int, heads: Sequence[str] | None = None
) -> list[Suggestion]:
    """The documents most worth annotating next, the best first. `heads` are those whose doubts count, all by default."""
    taggers = _taggers(annotator, heads)
    best: list[tuple[float, int, Suggestion]] = []
    for count, suggestion in enumerate(_judged(annotator, documents, taggers)):
        entry = (suggestion.unsure, -count, suggestion)
        if len(best) < max(CANDIDATES * number, 200):
            heapq.heappush(best, entry)
        else:
            heapq.heappushpop(best, entry)
    ordered = [suggestion for _, _, suggestion in sorted(best, reverse=True)]
    return _diverse(ordered, number)


def heads_of_types(annotator: Annotator, types: Sequence[str]) -> list[str]:
    """The heads that find some plain types."""
    heads: dict[str, None] = {}
    for name in types:
        if name not in annotator.types:
            raise UsageError("BX001", f"unknown type {name!r}", hint=did_you_mean(name, annotator.types))
        sources = (
            [head for head, _ in annotator.merges[name].sources]
            if annotator.merges
            else [task.name for task in annotator.tasks if isinstance(task, Tagging) and name in task.types]
        )
        heads |= dict.fromkeys(sources)
    return list(heads)


def _taggers(annotator: Annotator, heads: Sequence[str] | None) -> list[Tagging]:
    taggers = [task for task in annotator.tasks if isinstance(task, Tagging)]
    for name in heads or ():
        if name not in {task.name for task in taggers}:
            raise UsageError(
                "BX001",
                f"the model has no head {name!r} that finds entities",
                hint=did_you_mean(name, [tagger.name for tagger in taggers]),
            )
    if not taggers:
        raise UsageError("BX001", "the model has no head that finds entities", hint="name another model with --model")
    return [task for task in taggers if heads is None or task.name in heads]


def _judged(annotator: Annotator, documents: Iterable[Document], taggers: Sequence[Tagging]) -> Iterator[Suggestion]:
    group: list[Document] = []
    for document in documents:
        group.append(document)
        if len(group) == AT_ONCE:
            yield from _judge(annotator, group, taggers)
            group = []
    yield from _judge(annotator, group, taggers)


def _judge(annotator: Annotator, group: Sequence[Document], taggers: Sequence[Tagging]) -> Iterator[Suggestion]:
    """How unsure the model is about each document."""
    cut: list[Tokens] = []
    owner: list[int] = []
    for number, document in enumerate(group):
        for tokens in text_tokens.split(annotator.tokenizer, document.text, sentences.of(document)):
            for window in windows(len(tokens), limit=annotator.limit) if len(tokens) else ():
                cut.append(tokens.window(window.start, window.end) if len(tokens) > annotator.limit else tokens)
                owner.append(number)
    doubts: list[list[tuple[float, int, int]]] = [[] for _ in group]
    batches = pack([ModelInput(tokens) for tokens in cut], specials=annotator.specials, budget=annotator.budget)
    for batch, answers in parallel.run(annotator.session, batches):
        worst = np.max([_doubt(answers[task.name], annotator, task) for task in taggers], axis=0)
        for member, part in zip(batch.windows, np.split(worst, np.cumsum(batch.words)[:-1]), strict=True):
            read = cut[int(member)]
            for word in np.argsort(part)[-LEAST_SURE:]:
                doubts[owner[int(member)]].append((float(part[word]), int(read.starts[word]), int(read.ends[word])))
    for document, document_doubts in zip(group, doubts, strict=True):
        if not document_doubts:  # no words: there is nothing to annotate
            continue
        top = sorted(document_doubts, reverse=True)[:LEAST_SURE]
        words = dict.fromkeys(document.text[start:end] for _, start, end in top)
        yield Suggestion(document, sum(doubt for doubt, _, _ in top) / LEAST_SURE, tuple(words))


def _doubt(logits: NDArray[np.float32], annotator: Annotator, task: Tagging) -> NDArray[np.float32]:
    heat = (annotator.temperatures or {}).get(task.name, 1.0)
    doubt: NDArray[np.float32] = 1 - softmax(logits, heat).max(axis=1)
    return doubt


def _diverse(ordered: Sequence[Suggestion], number: int) -> list[Suggestion]:
    """One after the other: the least sure of those that are least like what was taken. What is the same as one taken is left out."""
    vectors = _vectors([suggestion.document.text for suggestion in ordered])
    unsure = np.array([suggestion.unsure for suggestion in ordered])
    alike = np.zeros(len(ordered))
    free = np.ones(len(ordered), dtype=bool)
    taken: list[Suggestion] = []
    while len(taken) < number and free.any():
        worth = np.where(free, unsure * (1 - alike), -1.0)
        chosen = int(worth.argmax())
        taken.append(ordered[chosen])
        shared = vectors @ vectors[chosen]
        alike = np.maximum(alike, shared)
        free &= shared < SAME
        free[chosen] = False
    return taken


def _vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector of length one for each text: its words, those that few texts have counting more."""
    counts = [Counter(crc32(word.encode()) % WIDTH for word in re.findall(r"\w+", text.lower())) for text in texts]
    spread = Counter(place for places in counts for place in places)
    made = np.zeros((len(texts), WIDTH), np.float32)
    for row, weights in enumerate(counts):
        for place, number in weights.items():
            made[row, place] = (1 + np.log(number)) * np.log(1 + len(texts) / spread[place])
    lengths = np.linalg.norm(made, axis=1, keepdims=True).astype(np.float32)
    normalised: NDArray[np.float32] = made / np.maximum(lengths, np.float32(1e-9))
    return normalised
