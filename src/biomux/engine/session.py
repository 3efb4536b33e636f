"""A session computes what heads say about a packed batch. It keeps no state between calls and may be shared by threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from biomux.errors import BundleError

if TYPE_CHECKING:
    from biomux.engine.packing import Batch

Floats = NDArray[np.float32]


class Session(Protocol):
    """For each head its logits, by the head's unit.

    | unit | logits |
    |---|---|
    | word | words × labels, in the order of `batch.first` |
    | token | tokens × labels, window by window, without special tokens |
    | window | windows × labels |
    | answer | windows × length × 2: begins, ends; the first place of a row stands for no answer |
    | pair | pairs × labels, in the order of `batch.pairs`; empty where there are none |

    `batch.heads` says which heads will be looked at, where that is known: what only others need is not computed, and asking for one of them
    is a KeyError. A session that knows pair heads gives `Answers`, which answer about pairs that are found only after words were decoded.
    """

    def run(self, batch: Batch) -> Mapping[str, Floats]: ...


class SessionAnswers(Mapping[str, Floats]):
    """What a session says about a batch: logits by head, computed when looked at where that saves something."""

    @abstractmethod
    def pair_logits(self, head: str, places: NDArray[np.int64]) -> Floats:
        """What a head of unit "pair" says about pairs of spans, found in this same pass.

        | | shape |
        |---|---|
        | places | pairs × 4: first and last word of one span, then of the other, as indices into the batch's words (rows of `batch.first`) |
        | result | pairs × labels |
        """


def failed(what: str, error: Exception) -> BundleError:
    """The error for when a runtime cannot open or run a graph."""
    reason = " ".join(str(error).split())[:200]
    return BundleError(
        "BX540", f"the runtime cannot {what} the graph: {reason}", hint="copy or download the bundle again"
    )
