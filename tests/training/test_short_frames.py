"""Short sentences made from training data: every mention is one of the data's, every other word never is, and they are counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from training import invented, small

from biomux.document import Document, Span
from biomux.errors import RecipeError
from biomux.training import run, short_frames

if TYPE_CHECKING:
    from pathlib import Path


def test_mentions_keep_their_type_and_words_from_outside_have_none() -> None:
    documents = small.documents(40)
    known = {(document.mention(span), span.type) for document in documents for span in document.spans}
    inside = " ".join(mention for mention, _ in known).lower().split()
    framed = short_frames.made(documents, 0.5, seed=3)
    number = round(0.5 * sum(len(document.spans) for document in documents))
    assert len(framed) == number + round(short_frames.OUTSIDE * number)
    positive = [document for document in framed if document.spans]
    assert len(positive) == number
    assert {(document.mention(span), span.type) for document in positive for span in document.spans} == known
    for document in framed:
        assert len(document.spans) <= 1
        if not document.spans:
            assert not set(document.text.lower().rstrip(".").split()) & set(inside)
    assert len({document.id for document in framed}) == len(framed)


def test_the_seed_decides_and_the_share_may_be_nothing() -> None:
    documents = small.documents(20)
    assert short_frames.made(documents, 0.5, seed=1) == short_frames.made(documents, 0.5, seed=1)
    assert short_frames.made(documents, 0.5, seed=1) != short_frames.made(documents, 0.5, seed=2)
    assert short_frames.made(documents, 0.0, seed=1) == []
    assert short_frames.made([Document("1", "Nothing here.")], 1.0, seed=1) == []


def test_a_mention_in_fragments_or_too_long_is_left_alone() -> None:
    text = "a" * 80 + " and left or right ventricle"
    fragments = Span(85, len(text), "Anatomy", fragments=((85, 89), (len(text) - 9, len(text))))
    document = Document("1", text, spans=(Span(0, 80, "Anatomy"), fragments))
    assert not [framed for framed in short_frames.made([document], 1.0, seed=1) if framed.spans]


def test_a_run_learns_from_them_and_counts_them(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora")
    tasks = {"drugs": {"corpus": "bc5cdr", "frames": 0.2}, "genes": {"corpus": "bc2gm"}}
    run.start(invented.recipe(tasks=tasks, loop={"epochs": 1}), tmp_path / "run", directory=directory)
    counts = json.loads((tmp_path / "run" / "counts.json").read_text())["examples"]
    assert counts["drugs"]["short frames made"] > 10
    assert "short frames made" not in counts["genes"]


def test_other_tasks_than_taggers_are_refused() -> None:
    with pytest.raises(RecipeError, match="only taggers"):
        invented.recipe(tasks={"x": {"kind": "classification", "corpus": "hoc", "frames": 0.1}})
