"""An annotator whose session answers by rule, so that what it must find is known exactly.

A word's tag depends on its first token alone: words of DRUGS begin and go on a Chemical, those of ILLS a Disease. Everything around the session (sentences,
tokens, windows, packing, stitching, decoding) is the real thing.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import tiny

from biomux.annotate.settings import AnnotateSettings
from biomux.engine.annotator import Annotator
from biomux.engine.packing import Specials
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from biomux.engine.packing import Batch

DRUGS = ("aspirin", "zolmide", "bexol")
ILLS = ("ulcer", "fever", "tumour")
INSIDE = ("acute", "chronic")
"""Words that go on a Disease, but begin none."""

TASK = Tagging("rule", ("Chemical", "Disease"))


class Said(dict[str, "NDArray[np.float32]"]):
    """What a session says, about pairs of spans too."""

    def __init__(
        self,
        logits: Mapping[str, NDArray[np.float32]],
        pair_logits: Callable[[str, NDArray[np.int64]], NDArray[np.float32]],
    ) -> None:
        super().__init__(logits)
        self.pair_logits = pair_logits


class RuleSession:
    """Logits of 6 for a word's tag and 0 for the others; `batches` keeps the shapes that were asked."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int]] = []
        table = np.zeros((len(tiny.PIECES), len(TASK.labels)), dtype=np.float32)
        tags = {**dict.fromkeys(DRUGS, 1), **dict.fromkeys(ILLS, 3), **dict.fromkeys(INSIDE, 4)}
        for index, token in enumerate(tiny.PIECES):
            table[index, tags.get(token, 0)] = 6
        self._table = table

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        self.batches.append(batch.ids.shape)
        return {"rule": self._table[batch.ids.reshape(-1)[batch.first]]}


def annotator(*, limit: int = 30, budget: int = 256) -> Annotator:
    """The annotator around the rules."""
    specials = Specials(pad=0, before=2, after=3)
    return Annotator(RuleSession(), tiny.tokenizer(), specials, (TASK,), limit=limit, budget=budget)


class RuleSettings(AnnotateSettings):
    """Settings that load the annotator around the rules, in worker processes too."""

    def annotator(self, *, threads: int | None = None, chunk: int | None = None) -> Annotator:
        made = annotator()
        return replace(made, strict=self.strict, chunk=chunk or made.chunk)

    def left_out(self) -> tuple[str, ...]:
        return ()

    def fingerprint(self) -> str:
        return "rules"


class DyingSettings(RuleSettings):
    """Settings whose annotator ends its process."""

    def annotator(self, *, threads: int | None = None, chunk: int | None = None) -> Annotator:
        os._exit(7)


class OnceDyingSettings(RuleSettings):
    """Settings whose annotator ends its process with SIGKILL, once: the file that the variable BIOMUX_TEST_DIED names is there afterwards."""

    def annotator(self, *, threads: int | None = None, chunk: int | None = None) -> Annotator:
        with suppress(FileExistsError):
            os.close(os.open(os.environ["BIOMUX_TEST_DIED"], os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().annotator(threads=threads, chunk=chunk)
