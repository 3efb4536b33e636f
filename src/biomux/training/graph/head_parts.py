"""Heads taken apart: which states a head reads, how they become one vector per unit, and the layers over it.

A head is recognised by its module: one of ours, or one that another package made from the same parts. Others have no graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import nn

from biomux.errors import BundleError
from biomux.training.heads.answer import AnswerSpan
from biomux.training.heads.bilstm import BiLSTMHead
from biomux.training.heads.crf import CRF
from biomux.training.heads.layer_mix import LayerMix
from biomux.training.heads.linear import AtPlaces
from biomux.training.heads.pooled import Pooled
from biomux.training.heads.regression import Regression
from biomux.training.heads.span_pair import PairOfSpans

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from biomux.tasks.examples import Unit

    Floats = NDArray[np.float32]

Output = Literal["logits", "tokens.logits", "windows", "pooled", "answers", "pairs"]
"""Where a head's columns are: of words, tokens, windows by [CLS], windows by all their tokens, places of answers, pairs of spans."""


@dataclass(frozen=True)
class Step:
    """One layer: `linear` with a matrix (inputs × outputs) and a bias, `norm` with weight and bias, or an activation by its name."""

    kind: str
    weight: Floats | None = None
    bias: Floats | None = None
    epsilon: float = 0.0


@dataclass(frozen=True)
class HeadParts:
    """A head taken apart.

    `mix` are the shares of the layers that it reads, the embeddings first; None for only the last layer. `pooling` makes one vector of a window's
    tokens. `lstm` has the weights of a BiLSTM over the words of a window, which comes before the steps.
    """

    name: str
    output: Output
    steps: tuple[Step, ...]
    mix: tuple[float, ...] | None = None
    pooling: Literal["mean", "max"] | None = None
    lstm: dict[str, Any] | None = None

    @property
    def labels(self) -> int:
        """How many columns the head has."""
        return next(len(step.bias) for step in reversed(self.steps) if step.kind == "linear" and step.bias is not None)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Heads of one shape are computed side by side."""
        alone = self.lstm is not None or any(step.kind == "norm" for step in self.steps)
        return (self.mix, self.pooling, tuple(step.kind for step in self.steps), self.name if alone else "")


OUTPUTS: dict[str, Output] = {"word": "logits", "token": "tokens.logits", "window": "windows", "answer": "answers"}


def taken_apart(name: str, module: nn.Module, unit: Unit) -> HeadParts:
    """The parts of a head; BX544 if its kind has no graph."""
    if isinstance(module, CRF):
        return taken_apart(name, module.head, unit)
    if isinstance(module, LayerMix):
        shares = torch.softmax(module.weights.detach().float(), dim=0) * module.scale.detach().float()
        inner = taken_apart(name, module.head, unit)
        if inner.mix is not None:
            raise no_graph(name, "a mix of layers within another")
        return replace(inner, mix=tuple(float(share) for share in shares))
    if isinstance(module, PairOfSpans) and unit == "pair":
        return HeadParts(name, "pairs", _steps(name, module.layers))
    if isinstance(module, AnswerSpan) and unit == "answer":
        return HeadParts(name, "answers", _steps(name, module.layers))
    if isinstance(module, Pooled | Regression) and unit == "window":
        steps = _steps(name, module.layers)
        if module.pooling == "cls":
            return HeadParts(name, "windows", steps)
        return HeadParts(name, "pooled", steps, pooling=module.pooling)
    if isinstance(module, BiLSTMHead) and unit == "word":
        weights = {f"lstm.{key}": value.detach().float().numpy() for key, value in module.lstm.state_dict().items()}
        return HeadParts(name, "logits", _steps(name, [module.output]), lstm=weights)
    if isinstance(module, AtPlaces) and unit in ("word", "token", "window"):
        return HeadParts(name, OUTPUTS[unit], _steps(name, module))
    raise no_graph(name, type(module).__name__)


def no_graph(name: str, what: str) -> BundleError:
    """The error for a head that cannot be exported."""
    return BundleError(
        "BX544",
        f"cannot export head {name!r}: its kind is not supported ({what})",
        hint="name the others with --heads, or annotate with the run itself: biomux.load(RUN)",
    )


def _steps(name: str, layers: Iterable[nn.Module]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for layer in layers:
        if isinstance(layer, nn.Linear):
            matrix = _array(layer.weight).T
            bias = np.zeros(matrix.shape[1], np.float32) if layer.bias is None else _array(layer.bias)
            steps.append(Step("linear", matrix, bias))
        elif isinstance(layer, nn.LayerNorm) and layer.elementwise_affine and layer.bias is not None:
            steps.append(Step("norm", _array(layer.weight), _array(layer.bias), layer.eps))
        elif isinstance(layer, nn.GELU):
            steps.append(Step("gelu" if layer.approximate == "none" else "gelu_new"))
        elif isinstance(layer, nn.ReLU | nn.Tanh | nn.SiLU):
            steps.append(Step(type(layer).__name__.lower()))
        elif not isinstance(layer, nn.Dropout | nn.Identity):
            raise no_graph(name, type(layer).__name__)
    if not steps or steps[-1].kind != "linear":
        raise no_graph(name, "it does not end in a linear layer")
    return tuple(steps)


def _array(value: torch.Tensor) -> Floats:
    array: Floats = value.detach().float().cpu().numpy()
    return array
