"""The Kullback-Leibler divergence between a student's and its teacher's predictions, in either direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

Direction = Literal["teacher-student", "student-teacher"]


def summed(
    logits: Tensor,
    target: Tensor,
    *,
    temperature: float = 1.0,
    direction: Direction = "teacher-student",
    groups: Sequence[tuple[int, int]] | None = None,
) -> Tensor:
    """The sum over positions of KL(p ‖ q) · temperature².

    "teacher-student" is KL(teacher ‖ student), as in DistilBERT: the student must cover everything that the teacher finds likely.
    "student-teacher" is KL(student ‖ teacher), as in paper C's formula: the student may leave some of it out. The square of the
    temperature keeps the size of gradients independent of it. If the columns are those of several heads side by side, `groups` has the first
    column of each and the one after its last: each is a separate distribution, and their divergences are added.

    | input | shape |
    |---|---|
    | logits | positions × labels |
    | target | positions × labels: the teacher's logits |

    >>> import torch
    >>> student, teacher = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> round(summed(student, teacher).item(), 4), round(summed(student, teacher, direction="student-teacher").item(), 4)
    (0.3278, 0.4338)
    >>> both = summed(student.repeat(1, 2), teacher.repeat(1, 2), groups=[(0, 2), (2, 4)])
    >>> round(both.item(), 4)
    0.6556
    """
    if groups is not None:
        parts = [
            summed(logits[:, begin:end], target[:, begin:end], temperature=temperature, direction=direction)
            for begin, end in groups
        ]
        return torch.stack(parts).sum()
    ours = functional.log_softmax(logits.float() / temperature, dim=-1)
    theirs = functional.log_softmax(target.float() / temperature, dim=-1)
    if direction == "student-teacher":
        ours, theirs = theirs, ours
    return functional.kl_div(ours, theirs, reduction="sum", log_target=True) * temperature**2
