"""Which layer of a teacher a layer of its student starts from, or learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

LayerMap = Literal["first", "last", "uniform", "every-other-0", "every-other-1"]


def layer_map(which: LayerMap | Sequence[int], *, teacher: int, student: int) -> tuple[int, ...]:
    """For each layer of the student, the first one first, a layer of the teacher, counted from 1; 0 is the embeddings.

    | map | of 12 layers, for 6 | |
    |---|---|---|
    | first | 1 2 3 4 5 6 | |
    | last | 7 8 9 10 11 12 | |
    | uniform | 2 4 6 8 10 12 | the last layer learns from the last, as in TinyBERT |
    | every-other-0 | 1 3 5 7 9 11 | every second layer, starting with the first, as in DistilBERT |
    | every-other-1 | 2 4 6 8 10 12 | starting with the second |
    | a list | itself | |

    >>> [layer_map(which, teacher=12, student=4) for which in ("uniform", "every-other-0", "last")]
    [(3, 6, 9, 12), (1, 4, 7, 10), (9, 10, 11, 12)]
    """
    if isinstance(which, str):
        if student > teacher:
            raise _cannot(f"a student of {student} layers cannot take {which!r} of {teacher}", teacher)
        step = teacher // student
        return {
            "first": tuple(range(1, student + 1)),
            "last": tuple(range(teacher - student + 1, teacher + 1)),
            "uniform": tuple(round(layer * teacher / student) for layer in range(1, student + 1)),
            "every-other-0": tuple(step * layer + 1 for layer in range(student)),
            "every-other-1": tuple(step * layer + min(2, step) for layer in range(student)),
        }[which]
    chosen = tuple(which)
    if len(chosen) != student:
        raise _cannot(
            f"there must be one layer of the teacher for each of the student's {student}, got {len(chosen)}", teacher
        )
    if any(not 0 <= layer <= teacher for layer in chosen):
        raise _cannot(
            f"the teacher has no layer {next(layer for layer in chosen if not 0 <= layer <= teacher)}", teacher
        )
    return chosen


def _cannot(message: str, teacher: int) -> RecipeError:
    return RecipeError("BX306", message, where="layers", hint=f"name one layer for each, from 1 to {teacher}")
