"""A Ray cluster of several nodes on this machine, for benchmarks: small, without dashboard, and gone at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

STORE = 150 * 2**20
OPTIONS = {"object_store_memory": STORE, "include_dashboard": False}


@contextmanager
def nodes(*cpus: int) -> Iterator[Any]:
    """A cluster with a node for each number of CPUs; the first is the head. Its temporary files are its own, and taken away."""
    from ray.cluster_utils import Cluster

    place = tempfile.mkdtemp(prefix="bx")
    before = os.environ.get("RAY_TMPDIR")
    os.environ["RAY_TMPDIR"] = place
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus[0], **OPTIONS})
    try:
        for number in cpus[1:]:
            found.add_node(num_cpus=number, object_store_memory=STORE)
        yield found
    finally:
        found.shutdown()
        if before is None:
            del os.environ["RAY_TMPDIR"]
        else:
            os.environ["RAY_TMPDIR"] = before
        shutil.rmtree(place, ignore_errors=True)
