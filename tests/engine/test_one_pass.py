"""Relations, classes and entities of one pass: nothing is read twice, every pair is asked about, and answers depend on the text alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import stub
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from biomux.document import Document, Span
from biomux.engine import planner
from biomux.engine.type_merging import Merge
from biomux.tasks.classification import Classification
from biomux.tasks.relation import Relations
from biomux.text import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from biomux.engine.annotator import Annotator
    from biomux.engine.packing import Batch

LINKS = Relations("links", ("treats", "causes"), "one-pass", first=("chemical",), second=("disease",))
TAGS = Relations("tags", ("treats",), "replace", first=("Chemical",), second=("Disease",))
ROLES = Classification("roles", ("short", "long"), "sentence")
TOPIC = Classification("topic", ("short", "long"))
FILL = ("the", "of", "mice", "(", ",", "-", "level", "growth")
word = st.sampled_from([*FILL, *stub.DRUGS, *stub.ILLS])
sentence = st.lists(word, min_size=1, max_size=50).map(" ".join)
texts = st.lists(st.lists(sentence, max_size=4).map("\n\n".join), min_size=1, max_size=6)


class Session(stub.RuleSession):
    """The first and the last word of both arguments decide what links them; lengths decide classes. `rows` are all that were encoded."""

    def __init__(self, at_once: int = 1) -> None:
        super().__init__()
        self.at_once = at_once
        self.rows: list[tuple[int, ...]] = []

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        self.rows += [tuple(row[mask > 0]) for row, mask in zip(batch.ids, batch.mask, strict=True)]
        words = batch.ids.reshape(-1)[batch.first]

        def links(head: str, places: NDArray[np.int64]) -> NDArray[np.float32]:
            assert head == "links"
            return np.eye(3, dtype=np.float32)[[linked(*words[four]) for four in places]].reshape(-1, 3) * 5

        size = batch.mask.sum(axis=1)
        two = np.stack([np.full(len(size), 10.0), size], axis=1).astype(np.float32)
        return stub.Said({**super().run(batch), "roles": two, "topic": two, "tags": two}, links)


def linked(*ids: int) -> int:
    return sum(int(one) * weight for one, weight in zip(ids, (1, 4, 7, 13), strict=True)) % 3


def annotator(*asking: Any, at_once: int = 1, limit: int = 40, **changes: Any) -> Annotator:
    made = replace(stub.annotator(limit=limit), session=Session(at_once), asking=asking)
    return replace(made, **changes)


def documents(texts_: list[str]) -> list[Document]:
    return [Document(str(number), text) for number, text in enumerate(texts_)]


def test_relations_and_classes_of_sentences_cost_no_further_pass() -> None:
    found = documents([tiny.text(80, seed=seed) for seed in range(5)])
    alone, beside = annotator(), annotator(LINKS, ROLES)
    plain, whole = list(alone.annotate(found)), list(beside.annotate(found))
    assert [one.spans for one in plain] == [tuple(replace(s, id=None) for s in one.spans) for one in whole]
    assert any(one.relations for one in whole)
    assert all(one.labels for one in whole)
    assert sorted(beside.session.rows) == sorted(alone.session.rows)  # type: ignore[attr-defined]


def test_what_must_be_read_otherwise_is_read_once() -> None:
    text = "Aspirin and zolmide with fever. The level of mice."
    model = annotator(LINKS, TAGS, ROLES, TOPIC)
    model(text)
    rows = model.session.rows  # type: ignore[attr-defined]
    assert len(rows) == len(set(rows)) == 2 + 1 + 2  # two sentences, the whole text, two pairs with tags in their place


def expected(text: str) -> list[tuple[str, str, str]]:
    """What the rule says of every drug and ill of a sentence, word by word."""
    found = []
    for start, end in sentences.split(text):
        inside = text[start:end].split(" ")
        drugs = [at for at, one in enumerate(inside) if one in stub.DRUGS]
        ills = [at for at, one in enumerate(inside) if one in stub.ILLS]
        for drug, ill in sorted(product(drugs, ills), key=sorted):
            ids = [tiny.PIECES.index(inside[at]) for at in (drug, drug, ill, ill)]
            if label := linked(*ids):
                found.append((inside[drug], LINKS.labels[label], inside[ill]))
    return found


def said(document: Document) -> list[tuple[str, str, str]]:
    by_id = {span.id: document.mention(span) for span in document.spans}
    return [
        (by_id[one.arguments[0].target], one.type, by_id[one.arguments[1].target])
        for one in document.relations
        if one.head == "links"
    ]


@settings(max_examples=40, deadline=None)
@given(texts)
def test_every_pair_of_a_sentence_is_asked_about(texts_: list[str]) -> None:
    for text, document in zip(texts_, annotator(LINKS, limit=60).annotate(documents(texts_)), strict=True):
        assert said(document) == expected(text)


@settings(max_examples=30, deadline=None)
@given(texts, st.integers(1, 600), st.integers(1, 300), st.integers(1, 3), st.sampled_from([0, 20, 10_000]))
def test_answers_depend_on_the_text_alone(texts_: list[str], budget: int, chunk: int, threads: int, kept: int) -> None:
    tasks = (LINKS, TAGS, ROLES, TOPIC)
    alone = [next(annotator(*tasks, limit=20).annotate([one])) for one in documents(texts_)]
    other = annotator(*tasks, limit=20, at_once=threads, budget=budget, chunk=chunk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "MOST_KEPT", kept)  # beyond it, rows are read again
        assert list(other.annotate(documents(texts_))) == alone
        assert list(other.annotate(reversed(documents(texts_)))) == alone[::-1]


def test_plain_types_that_several_heads_agree_on_are_linked() -> None:
    merges = {
        "chemical": Merge("chemical", (("rule", "Chemical"),)),
        "disease": Merge("disease", (("rule", "Disease"),)),
    }
    text = "aspirin zolmide bexol level fever , ulcer , tumour"
    assert said(annotator(LINKS, merges=merges)(text)) == expected(text) != []
    assert said(annotator(LINKS, merges=merges)(text, types=["chemical"])) == []


def test_entities_that_a_document_brings_may_overlap_and_nest() -> None:
    text = "the aspirin fever level"
    spans = (Span(4, 17, "Chemical", id="whole"), Span(12, 17, "disease", id="inner"))
    document = Document("1", text, spans=spans)
    (found,) = annotator(LINKS).annotate([document], tasks=["relations"], keep_entities=True)
    ids = [tiny.PIECES.index(one) for one in ("aspirin", "fever", "fever", "fever")]
    assert [[end.target for end in one.arguments] for one in found.relations] == (
        [["whole", "inner"]] if linked(*ids) else []
    )
    assert found.spans == spans
