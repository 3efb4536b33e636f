"""The Kullback-Leibler divergence between what a student and its teacher say, in either direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

Direction = Literal["teacher-student", "student-teacher"]


def summed(
    logits: Tensor, target: Tensor, *, temperature: float = 1.0, direction: Direction = "teacher-student"
) -> Tensor:
    """The sum over positions of KL(p ‖ q) · temperature².

    "teacher-student" is KL(teacher ‖ student), as DistilBERT has it: the student must cover all that the teacher finds likely.
    "student-teacher" is KL(student ‖ teacher), as paper C's formula is written: the student may leave some of it out. The square of the
    temperature keeps gradients of one size whatever the temperature is.

    | input | shape |
    |---|---|
    | logits | positions × labels |
    | target | positions × labels: the teacher's logits |

    >>> import torch
    >>> student, teacher = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> round(summed(student, teacher).item(), 4), round(summed(student, teacher, direction="student-teacher").item(), 4)
    (0.3278, 0.4338)
    """
    ours = functional.log_softmax(logits.float() / temperature, dim=-1)
    theirs = functional.log_softmax(target.float() / temperature, dim=-1)
    if direction == "student-teacher":
        ours, theirs = theirs, ours
    return functional.kl_div(ours, theirs, reduction="sum", log_target=True) * temperature**2
