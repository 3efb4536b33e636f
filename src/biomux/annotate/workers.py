"""Several processes, each with an annotator of its own, fed with parts.

A worker ends when the process that feeds it is gone, however that ended: then its pipe is closed. What it was making is made whole or not at all.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from biomux.annotate.part_work import annotate_part
from biomux.errors import AnnotateError, BiomuxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.context import SpawnProcess

    from biomux.annotate.part_work import Done, PartWork
    from biomux.annotate.parts import Part

EVERY_SECONDS = 0.5
"""How often a worker says how far it is."""


def annotate_parts(
    parts: Iterable[Part], work: PartWork, *, workers: int, on_read: Callable[[Part, int], None]
) -> Iterator[tuple[Part, Done]]:
    """Each part, when it is done; in any order if there are several workers. With one, it is this process that works.

    `on_read` is told of a part that is being made how many more of its characters have been read.
    """
    if workers == 1:
        for part in parts:
            yield part, annotate_part(part, work, on_read=partial(on_read, part))
        return
    crew: list[_Worker] = []
    waiting = iter(parts)
    upcoming: Part | None = next(waiting, None)
    try:
        while upcoming is not None or any(worker.part for worker in crew):
            free = next((worker for worker in crew if worker.part is None), None)
            if upcoming is not None and free is None and len(crew) < workers:
                free = _Worker(work)
                crew.append(free)
            if upcoming is not None and free is not None:
                free.give(upcoming)
                upcoming = next(waiting, None)
                continue
            ready = wait([worker.pipe for worker in crew if worker.part])
            for worker in crew:
                if worker.pipe in ready and (made := worker.take(on_read)):
                    yield made
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    def __init__(self, work: PartWork) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.part: Part | None = None
        self._process: SpawnProcess = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, part: Part) -> None:
        self.part = part
        try:
            self.pipe.send(part)
        except OSError:
            raise self._lost() from None

    def take(self, on_read: Callable[[Part, int], None]) -> tuple[Part, Done] | None:
        """A part that is done; None if the worker only says how far it is."""
        try:
            kind, value = self.pipe.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        assert self.part is not None
        if kind == "read":
            on_read(self.part, value)
            return None
        part, self.part = self.part, None
        if kind == "error":
            raise value
        if kind == "unexpected":
            raise RuntimeError(value)
        return part, value

    def end(self) -> None:
        self.pipe.close()
        if self.part is not None:
            self._process.terminate()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _lost(self) -> AnnotateError:
        self._process.join(5)
        code = self._process.exitcode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
        part = self.part.name if self.part else "a part"
        return AnnotateError(
            "BX604",
            f"a worker process ended {how} while working on {part}",
            hint="repeat the command to resume; if memory ran out, use fewer workers or a smaller --part-size",
        )


def _serve(pipe: Connection[Any, Any], work: PartWork) -> None:
    """Make parts until the pipe is closed. Ctrl-C is for the process that feeds us: it ends us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            part = pipe.recv()
        except (EOFError, OSError):
            return
        answer: tuple[str, object]
        try:
            answer = "done", annotate_part(part, work, on_read=Reading(pipe))
        except BiomuxError as error:
            answer = "error", error
        except BaseException:  # the process that feeds us shall tell it
            answer = "unexpected", traceback.format_exc()
        try:
            pipe.send(answer)
        except OSError:
            return


class Reading:
    """Tells the process that feeds us how many characters have been read, now and then."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._waiting = 0
        self._told = time.monotonic()

    def __call__(self, characters: int) -> None:
        self._waiting += characters
        if time.monotonic() - self._told >= EVERY_SECONDS:
            with suppress(
                OSError
            ):  # nobody feeds us any more, which is not the fault of the document that is being read
                self._pipe.send(("read", self._waiting))
            self._waiting, self._told = 0, time.monotonic()
