"""Every loss between a student and its teacher against its formula written out with plain loops: values and gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch

from biomux.training.objectives import FEATURE_OBJECTIVES, OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

SOFT: dict[str, dict[str, Any]] = {
    "logit-mse": {},
    "kl-divergence": {"temperature": 2.5},
    "kl-divergence reversed": {"temperature": 0.7, "direction": "student-teacher"},
    "soft-cross-entropy": {"temperature": 3.0},
}


def _chances(row: Tensor, temperature: float) -> list[Tensor]:
    powers = [torch.exp(value / temperature) for value in row]
    return [power / sum(powers) for power in powers]


def _literal(name: str, student: Tensor, teacher: Tensor, temperature: float = 1.0) -> Tensor:
    """The formulas of Mehmood et al. 2020 and Rohanian et al. 2023, position by position."""
    total = torch.zeros((), dtype=student.dtype)
    for ours, theirs in zip(student, teacher, strict=True):
        if name == "logit-mse":
            total = total + sum((a - b) ** 2 for a, b in zip(ours, theirs, strict=True)) / len(ours)
            continue
        p, q = _chances(theirs, temperature), _chances(ours, temperature)
        if name == "soft-cross-entropy":
            found = -sum(a * torch.log(b) for a, b in zip(p, q, strict=True))
        elif name == "kl-divergence":
            found = sum(a * torch.log(a / b) for a, b in zip(p, q, strict=True))
        else:
            found = sum(b * torch.log(b / a) for a, b in zip(p, q, strict=True))
        total = total + found * temperature**2
    return total


def _same(ours: Callable[[Tensor], Tensor], literal: Callable[[Tensor], Tensor], start: Tensor) -> None:
    one, other = start.clone().requires_grad_(), start.clone().requires_grad_()
    left, right = ours(one), literal(other)
    assert left.item() == pytest.approx(right.item(), rel=1e-5, abs=1e-6)
    left.backward()  # type: ignore[no-untyped-call]
    right.backward()  # type: ignore[no-untyped-call]
    assert one.grad is not None
    assert other.grad is not None
    assert torch.allclose(one.grad, other.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", SOFT)
def test_losses_of_logits_are_their_formulas(name: str) -> None:
    generator = torch.Generator().manual_seed(7)
    teacher = torch.randn(5, 4, generator=generator) * 2
    measure, settings = OBJECTIVES[name.removesuffix(" reversed")], SOFT[name]
    heat = float(settings.get("temperature", 1.0))
    _same(
        lambda logits: measure(logits, teacher, **settings),
        lambda logits: _literal(name, logits, teacher, heat),
        torch.randn(5, 4, generator=generator),
    )


@pytest.mark.parametrize("name", ["logit-mse", "kl-divergence", "kl-divergence reversed"])
def test_a_student_equal_to_its_teacher_has_no_loss(name: str) -> None:
    logits = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    measure = OBJECTIVES[name.removesuffix(" reversed")]
    assert measure(logits, logits.clone(), **SOFT[name]).item() == pytest.approx(0, abs=1e-6)


def _states_literal(name: str, ours: Tensor, theirs: Tensor, present: Tensor) -> Tensor:
    total = torch.zeros(())
    for window in range(len(ours)):
        for place in range(ours.shape[1]):
            if not present[window, place]:
                continue
            a, b = ours[window, place], theirs[window, place]
            if name == "hidden-mse":
                total = total + sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / len(a)
            else:
                dot = sum(x * y for x, y in zip(a, b, strict=True))
                norms = torch.sqrt(sum(x * x for x in a)) * torch.sqrt(sum(y * y for y in b))
                total = total + 1 - dot / norms
    return total


def _attention_literal(name: str, ours: Tensor, theirs: Tensor, present: Tensor) -> Tensor:
    total = torch.zeros(())
    windows, heads, length, _ = ours.shape
    for window in range(windows):
        read = [key for key in range(length) if present[window, key]]
        for query in read:
            for head in range(heads):
                for key in read:
                    a, b = ours[window, head, query, key], theirs[window, head, query, key]
                    one = (a - b) ** 2 / len(read) if name == "attention-mse" else a * (torch.log(a) - torch.log(b))
                    total = total + one / heads
    return total


def _features(name: str, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A student's features, its teacher's, and a mask: the second window has two places of padding."""
    generator = torch.Generator().manual_seed(seed)
    present = torch.tensor([[True] * 4, [True, True, False, False]])
    if FEATURE_OBJECTIVES[name].of == "states":
        return torch.randn(2, 4, 3, generator=generator), torch.randn(2, 4, 3, generator=generator), present
    scores = torch.randn(2, 2, 3, 4, 4, generator=generator).masked_fill(~present[None, :, None, None, :], -math.inf)
    ours, theirs = torch.softmax(scores, dim=-1)
    return ours, theirs, present


@pytest.mark.parametrize("name", FEATURE_OBJECTIVES)
def test_losses_of_features_are_their_formulas_and_padding_counts_for_nothing(name: str) -> None:
    ours, theirs, present = _features(name, 3)
    literal = _states_literal if FEATURE_OBJECTIVES[name].of == "states" else _attention_literal
    measure = FEATURE_OBJECTIVES[name].summed
    _same(lambda one: measure(one, theirs, present), lambda one: literal(name, one, theirs, present), ours)
    away = ~present[:, :, None] if ours.ndim == 3 else ~present[:, None, :, None]
    noisy = torch.where(away, 0.37, ours)
    assert measure(noisy, theirs, present).item() == pytest.approx(measure(ours, theirs, present).item(), rel=1e-6)
    noisy.requires_grad_()
    measure(noisy, theirs, present).backward()  # type: ignore[no-untyped-call]
    assert noisy.grad is not None
    assert noisy.grad.masked_select(away).abs().sum() == 0


@pytest.mark.parametrize("name", FEATURE_OBJECTIVES)
def test_a_student_whose_features_are_its_teachers_has_no_loss(name: str) -> None:
    _, theirs, present = _features(name, 4)
    assert FEATURE_OBJECTIVES[name].summed(theirs.clone(), theirs, present).item() == pytest.approx(0, abs=1e-5)
