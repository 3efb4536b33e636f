"""Several processes that train one model: each reads its share of a step's batches, and their gradients are summed.

A step of a recipe has `loop.accumulate` batches, however they are shared among processes. So the result does not depend on the number of processes,
except for the order in which numbers are added.

    torchrun --nproc-per-node 2 -m -- biomux train a/mtl --run runs/two --set loop.accumulate=2

With `loop.local_steps` above 1 each process moves its own copy of the weights, and the copies are averaged after every so many steps. Nobody waits for
anybody in between, which is faster on processors without a fast connection; the result then depends on the number of processes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import distributed

from biomux.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch import nn

    from biomux.recipes.schema import Loop

One = TypeVar("One")

CPU = torch.device("cpu")
PATIENCE = timedelta(hours=12)
"""How long processes wait for each other: the others are idle while the first one scores."""


@dataclass(frozen=True, slots=True)
class Processes:
    """How many processes there are, and which one this is. The first one writes; all read and compute."""

    rank: int = 0
    number: int = 1
    local_steps: int = 1

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    @property
    def summing(self) -> Processes:
        """The processes whose gradients are summed in every step: all of them, or each alone if their weights are averaged instead."""
        return self if self.local_steps == 1 else Processes()

    def average_due(self, step: int) -> bool:
        """Whether the weights of all processes are the same after this step: always, unless they are averaged after every few steps."""
        return self.number == 1 or step % self.local_steps == 0

    def average_weights(self, parameters: Iterable[nn.Parameter], *, usable: bool = True) -> bool:
        """Replace each process's weights by their mean over all processes, if they move apart between averages.

        False, in every process, if one of them has weights that are not finite, or says that they are not `usable`; no weights change then.
        """
        moving = [parameter for parameter in parameters if parameter.requires_grad]
        if self.number == 1 or self.local_steps == 1 or not moving:
            return usable
        flat = torch.cat([parameter.detach().reshape(-1).float() for parameter in moving])
        if not usable:
            flat.fill_(float("nan"))
        distributed.all_reduce(flat)
        if not bool(torch.isfinite(flat).all()):
            return False
        flat /= self.number
        parts = torch.split(flat, [parameter.numel() for parameter in moving])
        with torch.no_grad():
            for parameter, part in zip(moving, parts, strict=True):
                parameter.copy_(part.reshape(parameter.shape))
        return True

    def share(self, things: Sequence[One]) -> Sequence[One]:
        """This process's share."""
        return things[self.rank :: self.number]

    def total(self, values: Sequence[float]) -> list[float]:
        """The sums of numbers over all processes."""
        if self.number == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(summed)
        totals: list[float] = summed.tolist()
        return totals

    def totals(self, values: Mapping[str, float], keys: Sequence[str]) -> dict[str, float]:
        """The sums of named numbers over all processes, for the keys that any of them has."""
        if self.number == 1:
            return dict(values)
        sums = self.total([values.get(key, 0.0) for key in keys] + [float(key in values) for key in keys])
        return {key: sums[at] for at, key in enumerate(keys) if sums[at + len(keys)]}

    def sow(self, seed: int, step: int) -> None:
        """With several processes, give each its own random numbers in each step, so that a resumed run draws the same ones."""
        if self.number > 1:
            torch.manual_seed((seed * 1_000_003 + step) * 1_009 + self.rank)

    def say(self, value: float) -> float:
        """The first process's value of a number."""
        return self.total([value if self.first else 0.0])[0]

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum the gradients over all processes; a parameter that none of them used stays without one."""
        if self.number == 1:
            return
        moving = [parameter for parameter in parameters if parameter.requires_grad]
        used = torch.tensor([float(parameter.grad is not None) for parameter in moving])
        distributed.all_reduce(used)
        chosen = [parameter for parameter, is_used in zip(moving, used.tolist(), strict=True) if is_used]
        sparse = torch.tensor([float(parameter.grad is not None and parameter.grad.is_sparse) for parameter in chosen])
        distributed.all_reduce(sparse)
        flat = torch.cat(
            [
                (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.to_dense())
                .reshape(-1)
                .float()
                for parameter in chosen
            ]
        )
        distributed.all_reduce(flat)
        at = 0
        for parameter, rows in zip(chosen, sparse.tolist(), strict=True):
            summed = flat[at : at + parameter.numel()].reshape(parameter.shape).to(parameter.dtype)
            parameter.grad = summed.to_sparse(1) if rows else summed
            at += parameter.numel()


@contextmanager
def joined(settings: Loop, *, device: torch.device = CPU) -> Iterator[Processes]:
    """The processes started by torchrun, or this one alone."""
    number, accumulate, local_steps = int(os.environ.get("WORLD_SIZE", "1")), settings.accumulate, settings.local_steps
    if number == 1:
        yield Processes()
        return
    if accumulate % number:
        raise TrainingError(
            "BX407",
            f"loop.accumulate must be a multiple of the number of processes, {number}, got {accumulate}",
            where="loop → accumulate",
            hint=f"for instance --set loop.accumulate={number * max(1, accumulate // number)}",
        )
    if settings.ema > 0 and local_steps > 1:
        raise TrainingError(
            "BX407",
            "cannot keep running averages (loop.ema) of weights that move apart (loop.local_steps)",
            where="loop → ema",
            hint="set loop.ema to 0, or loop.local_steps to 1",
        )
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" and distributed.is_nccl_available() else "gloo"
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group(backend, timeout=PATIENCE)
    try:
        yield Processes(distributed.get_rank(), number, local_steps)
        distributed.barrier()  # no process ends while another still communicates with it
    finally:
        distributed.destroy_process_group()
