"""A head on the states of a finished bundle: the graph reads each text once, and only the head is trained. Takes seconds for a few hundred documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from biomux.training.batches import collate
from biomux.training.bundle_graph import AddedHead, with_states

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from biomux.engine.packing import Specials
    from biomux.tasks.examples import Example
    from biomux.training.heads.features import Features

HIDDEN = 128
"""Width of the head between its two matrices."""
WORDS = 256
"""Words per step."""
EPOCHS = 60
PATIENCE = 8
LEARNING_RATE = 1e-3
DROPOUT = 0.2
WINDOWS = 32
"""Windows to read at a time."""


@dataclass(frozen=True)
class WordStates:
    """The graph's states of words, layer by layer (words × layers × width, float16), and the label of each."""

    values: NDArray[np.float16]
    labels: NDArray[np.int64]


def read(
    graph: bytes, examples: Sequence[Example], specials: Specials, *, task: str, threads: int | None = None
) -> WordStates:
    """The states of all labelled words of examples."""
    import onnxruntime

    content, names = with_states(graph)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads:
        options.intra_op_num_threads = threads
    session: Any = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    order = sorted(range(len(examples)), key=lambda index: examples[index].input.size)
    values, labels = [], []
    for begin in range(0, len(order), WINDOWS):
        collated = collate([examples[index] for index in order[begin : begin + WINDOWS]], specials)
        target = collated.targets.get(task)
        if target is None or not len(target.rows):
            continue
        layer_states = session.run(
            names, {"ids": collated.batch.ids, "mask": collated.batch.mask, "first": target.rows}
        )
        values.append(np.stack(layer_states, axis=1).astype(np.float16))
        labels.append(np.asarray(target.labels, dtype=np.int64))
    return WordStates(np.concatenate(values), np.concatenate(labels))


class MixedHead(nn.Module):
    """A mix of layers, then two matrices. In a model it reads the states of its words; `of_states` takes stored ones."""

    reads_layers = True

    def __init__(self, layers: int, width: int, labels: int, *, mixes: bool, dropout: float) -> None:
        super().__init__()
        self.mixes = mixes
        self.weights = nn.Parameter(torch.zeros(layers), requires_grad=mixes)
        self.scale = nn.Parameter(torch.ones(()), requires_grad=mixes)
        self.dropout = nn.Dropout(dropout)
        self.first, self.second = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, labels)

    def shares(self) -> torch.Tensor:
        """The share of each layer in the mix."""
        if not self.mixes:
            return torch.nn.functional.one_hot(torch.tensor(len(self.weights) - 1), len(self.weights)).float()
        return self.scale * torch.softmax(self.weights, dim=0)

    @classmethod
    def of(cls, added: AddedHead, *, dropout: float = DROPOUT) -> MixedHead:
        """The head that was added to a graph, to train it further."""
        shares = torch.tensor(added.shares)
        mixes = bool((shares[:-1] != 0).any())
        width, labels = added.layers[0][0].shape[0], added.labels
        head = cls(len(shares), width, labels, mixes=mixes, dropout=dropout)
        with torch.no_grad():
            if mixes:
                head.scale.copy_(shares.sum())
                head.weights.copy_(torch.log((shares / shares.sum()).clamp(min=1e-8)))
            for layer, (matrix, bias) in zip((head.first, head.second), added.layers, strict=True):
                layer.weight.copy_(torch.from_numpy(matrix.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias.copy()))
        return head

    def forward(self, features: Features, rows: torch.Tensor) -> torch.Tensor:
        """The logits at these rows."""
        layers = features.layers or (features.hidden,)
        return self.of_states(torch.stack([features.of(layer).at(rows) for layer in layers], dim=1))

    def of_states(self, states: torch.Tensor) -> torch.Tensor:
        """The logits of words from their states, words × layers × width."""
        mixed = torch.einsum("nlw,l->nw", states, self.shares())
        logits: torch.Tensor = self.second(torch.relu(self.first(self.dropout(mixed))))
        return logits

    def added(self) -> AddedHead:
        """A copy of the head's current weights."""
        layers = [
            (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
            for layer in (self.first, self.second)
        ]
        return AddedHead([float(share) for share in self.shares().detach()], layers)


def train(
    learned: WordStates,
    held_out: WordStates,
    *,
    labels: int,
    mixes: bool = True,
    seed: int = 1,
    dropout: float = DROPOUT,
    listen: Callable[[str], None] = lambda _: None,
) -> tuple[AddedHead, float]:
    """The head with the lowest loss on held-out words, and that loss. With `mixes` it reads a learned mix of all layers, else the last one."""
    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    head = MixedHead(learned.values.shape[1], learned.values.shape[2], labels, mixes=mixes, dropout=dropout)
    groups: list[dict[str, Any]] = [{"params": [*head.first.parameters(), *head.second.parameters()]}]
    if mixes:
        groups.append({"params": [head.weights, head.scale], "lr": 10 * LEARNING_RATE})
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, weight_decay=0.01)
    best, best_head, waited, epochs = float("inf"), head.added(), 0, 0
    while epochs < EPOCHS and waited < PATIENCE:
        epochs += 1
        head.train()
        order = chance.permutation(len(learned.labels))
        for begin in range(0, len(order), WORDS):
            chosen = order[begin : begin + WORDS]
            logits = head.of_states(torch.from_numpy(learned.values[chosen].astype(np.float32)))
            loss = nn.functional.cross_entropy(logits, torch.from_numpy(learned.labels[chosen]))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        held_out_loss = _loss(head, held_out)
        if held_out_loss < best - 1e-4:
            best, best_head, waited = held_out_loss, head.added(), 0
        else:
            waited += 1
    listen(f"{'mix of layers' if mixes else 'last layer'}: {epochs} epochs, development loss {best:.4f}")
    return best_head, best


def _loss(head: MixedHead, states: WordStates) -> float:
    head.eval()
    total = 0.0
    with torch.inference_mode():
        for begin in range(0, len(states.labels), 4096):
            part = slice(begin, begin + 4096)
            logits = head.of_states(torch.from_numpy(states.values[part].astype(np.float32)))
            total += float(nn.functional.cross_entropy(logits, torch.from_numpy(states.labels[part]), reduction="sum"))
    return total / max(len(states.labels), 1)
