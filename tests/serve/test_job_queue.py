"""The queue is bounded in tokens and fair; nothing in it is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Document
from biomux.errors import ServeError
from biomux.serve.job_queue import Job, JobQueue


def job(*tokens: int, work: str = "same", ended: list[Job] | None = None) -> Job:
    documents = [Document(str(place), "text") for place in range(len(tokens))]
    model: Any = None
    asked: Any = work
    return Job(model, asked, documents, tokens, (ended if ended is not None else []).append)


def sizes(batch: list[tuple[Job, int]]) -> list[int]:
    return [owner.tokens[place] for owner, place in batch]


def test_what_waits_is_counted_in_tokens_and_bounded() -> None:
    queue = JobQueue(100, batch=50)
    queue.put(job(60))
    assert queue.tokens == 60
    with pytest.raises(ServeError) as full:
        queue.put(job(41))
    assert full.value.code == "BX809"
    queue.put(job(40))
    with pytest.raises(ServeError) as never:
        queue.put(job(101))
    assert never.value.code == "BX803"


def test_nothing_is_taken_in_that_would_wait_too_long() -> None:
    queue = JobQueue(10_000, batch=50, longest_wait=2)
    queue.put(job(1_000))
    queue.rate = 400.0
    with pytest.raises(ServeError) as refused:
        queue.put(job(1))
    assert refused.value.code == "BX809"
    queue.rate = 600.0
    queue.put(job(1))


def test_jobs_that_ask_for_the_same_share_a_batch_and_others_do_not() -> None:
    queue = JobQueue(100, batch=50)
    for work in ("a", "b", "a"):
        queue.put(job(10, work=work))
    first, second = queue.take(), queue.take()
    assert [str(owner.work) for owner, _ in first] == ["a", "a"]
    assert [str(owner.work) for owner, _ in second] == ["b"]


def test_a_request_with_many_documents_does_not_stand_before_one_with_few() -> None:
    queue = JobQueue(10_000, batch=30)
    many, few = job(*[10] * 100), job(10)
    queue.put(many)
    queue.put(few)
    assert (few, 0) in queue.take()


def test_a_long_document_runs_alone_and_leaves_a_lane_free() -> None:
    queue = JobQueue(10_000, batch=30)
    for size in (500, 600, 10, 10):
        queue.put(job(size))
    first = queue.take()
    assert sizes(first) == [500]
    assert sizes(queue.take()) == [10, 10]
    queue.finished(first)
    assert sizes(queue.take()) == [600]


def test_a_job_that_is_given_up_gives_its_tokens_back() -> None:
    queue = JobQueue(100, batch=20)
    ended: list[Job] = []
    left = job(20, 20, 20, ended=ended)
    queue.put(left)
    assert sizes(queue.take()) == [20]
    queue.discard(left)
    queue.discard(left)
    left.put(0, left.documents[0])
    assert (queue.tokens, len(queue), ended) == (0, 0, [left])


def test_a_job_without_documents_is_done_at_once() -> None:
    ended: list[Job] = []
    queue = JobQueue(100, batch=20)
    queue.put(job(ended=ended))
    assert (len(ended), len(queue)) == (1, 0)


def test_a_closed_queue_takes_nothing_more_and_hands_out_what_waits() -> None:
    queue = JobQueue(100, batch=20)
    queue.put(job(20, 20))
    queue.close()
    with pytest.raises(ServeError) as stopping:
        queue.put(job(1))
    assert stopping.value.code == "BX810"
    assert [len(queue.take()) for _ in range(3)] == [1, 1, 0]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.integers(1, 60), min_size=1, max_size=5)), max_size=12),
    st.integers(1, 40),
)
def test_every_document_is_handed_out_once_whatever_comes(jobs: list[tuple[str, list[int]]], batch: int) -> None:
    queue = JobQueue(1 << 20, batch=batch)
    ended: list[Job] = []
    for work, tokens in jobs:
        queue.put(job(*tokens, work=work, ended=ended))
    queue.close()
    while taken := queue.take():
        assert len({owner.key for owner, _ in taken}) == 1
        assert sum(sizes(taken)) <= batch or len(taken) == 1
        for owner, place in taken:
            assert owner.done[place] is None
            owner.put(place, owner.documents[place])
        queue.finished(taken)
    assert (queue.tokens, len(queue), len(ended)) == (0, 0, len(jobs))
    assert all(None not in one.done for one in ended)
