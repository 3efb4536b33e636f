"""The model: one encoder with named heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from biomux.engine.session import SessionAnswers
from biomux.engine.threads import usable_cores
from biomux.training import precision
from biomux.training.heads.features import Features

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from biomux.engine.packing import Batch
    from biomux.tasks.examples import Unit


class Model(nn.Module):
    """One encoder, many heads.

    An encoder maps ids and mask (and, if rows have two parts, `segments=`) to a vector for each token. A head maps these
    features and the given rows to logits; `units` says what each head labels (default: words).
    """

    def __init__(self, encoder: Any, heads: Mapping[str, nn.Module], units: Mapping[str, Unit] | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict(dict(heads))
        self.units: dict[str, Unit] = {name: (units or {}).get(name, "word") for name in heads}

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def train(self, mode: bool = True) -> Model:
        """Set the mode; a frozen encoder always runs without dropout, as in production."""
        super().train(mode)
        if not any(parameter.requires_grad for parameter in self.encoder.parameters()):
            self.encoder.eval()
        return self

    def features(self, batch: Batch, *, layers: bool = False, attention: bool = False) -> Features:
        """The encoder's features of a batch, with the states of every layer and the attention maps on request."""
        ids, mask, words = (torch.from_numpy(part).to(self.device) for part in (batch.ids, batch.mask, batch.first))
        options = {} if batch.segments is None else {"segments": torch.from_numpy(batch.segments).to(self.device)}
        if attention:
            states, maps = self.encoder.layers_and_attention(ids, mask, **options)
            return Features(states[-1], mask, words, states, maps)
        if layers or any(getattr(head, "reads_layers", False) for head in self.heads.values()):
            states = self.encoder.layers(ids, mask, **options)
            return Features(states[-1], mask, words, states)
        return Features(self.encoder(ids, mask, **options), mask, words)


class TorchSession:
    """A session over a model in memory: used for development scores, and for teachers."""

    runtime = "torch"

    def __init__(self, model: Model) -> None:
        self.model = model
        self._numbers: precision.Numbers = "fp32"

    @property
    def at_once(self) -> int:
        """How many batches may be read at the same time: one for each core that torch leaves free.

        A model in training reads one after the other: what comes after a batch, dropout again, must not happen while another is read.
        """
        free = usable_cores() // torch.get_num_threads()
        return 1 if self.model.training or self.model.device.type != "cpu" else max(1, free)

    def compute_fast(self) -> None:
        """Compute in half precision from now on, if that is faster on this device."""
        self._numbers = precision.choose("auto", self.model.device)

    def run(self, batch: Batch) -> SessionAnswers:
        """Every head's logits for the batch, computed on access."""
        was_training = self.model.training
        self.model.eval()
        with torch.inference_mode(), precision.autocast(self._numbers, self.model.device):
            features = self.model.features(batch)
        self.model.train(was_training)
        return _Answers(self.model, features, batch, self._numbers)


class _Answers(SessionAnswers):
    """Logits by head. A head that is not accessed costs nothing."""

    def __init__(self, model: Model, features: Features, batch: Batch, numbers: precision.Numbers) -> None:
        self._model, self._features, self._batch, self._numbers = model, features, batch, numbers

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return self._said(name, rows_of(self._model.units[name], self._batch))

    def pair_logits(self, head: str, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Pairs × labels; `places` are indices into the batch's words."""
        return self._said(head, self._batch.first[places])

    def _said(self, name: str, places: NDArray[np.int64]) -> NDArray[np.float32]:
        head, rows = self._model.heads[name], torch.from_numpy(places).to(self._features.hidden.device)
        was_training = head.training
        head.eval()
        with torch.inference_mode(), precision.autocast(self._numbers, rows.device):
            logits: NDArray[np.float32] = head(self._features, rows).float().cpu().numpy()
        head.train(was_training)
        return logits

    def __iter__(self) -> Iterator[str]:
        return iter(self._model.heads)

    def __len__(self) -> int:
        return len(self._model.heads)


def rows_of(unit: Unit, batch: Batch) -> NDArray[np.int64]:
    """What a head of that unit labels in a batch without labels: all words, tokens, windows, or the batch's pairs."""
    if unit == "word":
        return batch.first
    if unit == "pair":
        return np.zeros((0, 4), dtype=np.int64) if batch.pairs is None else batch.pairs
    length = batch.ids.shape[1]
    if unit == "token":
        sizes = batch.mask.sum(axis=1)
        return np.concatenate([np.arange(1, size - 1) + row * length for row, size in enumerate(sizes)])
    starts: NDArray[np.int64] = np.arange(len(batch.ids), dtype=np.int64) * length
    return starts
