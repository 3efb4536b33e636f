"""Several batches at once: each on a core of its own, in place of one on all cores.

A product of a small encoder is too short to be shared out: two cores that wait for each other after every operator do little more than one.
Whole batches need no waiting, and what one thread computes does not depend on how many there are.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.packing import Batch
    from biomux.engine.session import Session

    Logits = Mapping[str, NDArray[np.float32]]
    Answer = tuple[Batch, Logits]

AHEAD = 2
"""Batches that wait for each thread, so that none idles while answers are decoded; more would only hold memory."""


def run(session: Session, batches: Iterable[Batch]) -> Generator[Answer, None, None]:
    """Each batch with what the session says of it, in order; as many at once as the session's `at_once` allows (one if it has none)."""
    threads: int = getattr(session, "at_once", 1)
    coming = iter(batches)
    first = next(coming, None)
    second = next(coming, None) if threads > 1 else None
    if first is None:
        return
    if second is None:
        yield first, session.run(first)
        yield from ((batch, session.run(batch)) for batch in coming)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="biomux-session")
    try:
        waiting: deque[tuple[Batch, Callable[[], Logits]]] = deque()
        for batch in chain((first, second), coming):
            waiting.append((batch, _begun(pool, session, batch)))
            if len(waiting) > AHEAD * threads:
                done, answer = waiting.popleft()
                yield done, answer()
        while waiting:
            done, answer = waiting.popleft()
            yield done, answer()
    finally:
        pool.shutdown(cancel_futures=True)


def _begun(pool: ThreadPoolExecutor, session: Session, batch: Batch) -> Callable[[], Logits]:
    """What gives the answer when it is wanted."""
    try:
        return pool.submit(session.run, batch).result
    except RuntimeError:  # no thread can be started: the system has none left, or Python is ending
        return partial(session.run, batch)
