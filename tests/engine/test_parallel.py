"""Several batches at once: order, errors, and that they do run side by side."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from biomux.engine import parallel
from biomux.engine.packing import Batch
from biomux.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray


def batch(number: int) -> Batch:
    one = np.array([[number]], dtype=np.int64)
    return Batch(one, np.ones_like(one), one[0], one[0], one[0])


class Echo:
    """Says what it was asked, and who asked."""

    def __init__(self, at_once: int, *, meet: int = 1, fails: int | None = None) -> None:
        self.at_once = at_once
        self.fails = fails
        self.threads: set[str] = set()
        self.ran: list[int] = []
        self._meeting = threading.Barrier(meet, timeout=10)

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        number = int(batch.ids[0, 0])
        self._meeting.wait()  # nobody passes before as many are inside
        self.threads.add(threading.current_thread().name)
        self.ran.append(number)
        if number == self.fails:
            raise BundleError("BX540", "the runtime cannot run the graph")
        return {"head": np.array([[number]], dtype=np.float32)}


def numbers(session: Echo, many: int) -> list[tuple[int, int]]:
    return [
        (int(one.ids[0, 0]), int(said["head"][0, 0])) for one, said in parallel.run(session, map(batch, range(many)))
    ]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("many", [0, 1, 2, 3, 50])
def test_every_batch_comes_back_once_and_in_order(threads: int, many: int) -> None:
    assert numbers(Echo(threads), many) == [(number, number) for number in range(many)]


def test_two_batches_are_inside_at_the_same_time() -> None:
    session = Echo(2, meet=2)
    assert numbers(session, 10) == [(number, number) for number in range(10)]
    assert len(session.threads) == 2


@pytest.mark.parametrize(("threads", "many"), [(1, 5), (4, 1)])
def test_no_thread_is_started_for_one_batch_or_one_core(threads: int, many: int) -> None:
    session = Echo(threads)
    numbers(session, many)
    assert session.threads == {threading.current_thread().name}


def test_an_error_comes_where_its_batch_would_and_stops_the_rest() -> None:
    session = Echo(2, fails=3)
    answered = parallel.run(session, map(batch, range(1000)))
    assert [int(next(answered)[0].ids[0, 0]) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(BundleError, match="cannot run"):
        next(answered)
    assert len(session.ran) < 20


def test_batches_are_made_as_they_are_needed() -> None:
    made: list[int] = []

    def making() -> Iterator[Batch]:
        for number in range(1000):
            made.append(number)
            yield batch(number)

    answered = parallel.run(Echo(2), making())
    next(answered)
    assert len(made) <= 2 * parallel.AHEAD + 1
    answered.close()


def test_where_no_thread_can_be_started_it_is_done_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    session = Echo(2)
    assert numbers(session, 20) == [(number, number) for number in range(20)]
    assert session.threads == {threading.current_thread().name}
