"""The 2-D map of tasks: principal axes of their vectors. Numpy alone.

>>> tasks = project(["a", "b", "c"], np.array([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]]))
>>> [round(share, 2) for share in tasks["shares"]], round(tasks["similarity"]["a"]["b"], 2)
([1.0, 0.0], 0.99)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


def project(
    names: Sequence[str],
    vectors: NDArray[np.float64],
    *,
    kinds: Mapping[str, str] | None = None,
    method: str = "",
) -> dict[str, Any]:
    """Points in the plane, the share of variance that each axis shows, and the cosine of every pair; plain JSON.

    With vectors of length 1 this is the same as classical multidimensional scaling of their distances. Signs of axes are chosen so that the
    task farthest along each is on its positive side: the same vectors give the same picture.
    """
    if len(names) < 2 or len(names) != len(vectors) or len(set(names)) < len(names):
        raise ScoreError(
            "BX704",
            f"a map needs at least two tasks, each with a name and a vector, got {len(set(names))}",
            hint="name more runs, or one with several tasks",
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1.0)
    left_vectors, sizes, _ = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    places = (left_vectors * sizes)[:, :2]
    if places.shape[1] < 2:
        places = np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
    for axis in range(2):
        if places[np.abs(places[:, axis]).argmax(), axis] < 0:
            places[:, axis] *= -1
    total_variance = float((sizes**2).sum())
    shares = [float(size**2) / total_variance if total_variance else 0.0 for size in sizes[:2]]
    cosine = units @ units.T
    return {
        "method": method,
        "kinds": dict(kinds or dict.fromkeys(names, "task")),
        "points": {name: [float(x), float(y)] for name, (x, y) in zip(names, places, strict=True)},
        "shares": shares + [0.0] * (2 - len(shares)),
        "similarity": {
            name: {partner: float(cosine[row, column]) for column, partner in enumerate(names)}
            for row, name in enumerate(names)
        },
    }
