"""Parts and shares annotated on a Ray cluster: one that is there, or one of this machine's cores that is started and stopped with the job.

Every task is `annotate_part` or `annotate_share`, as it is for worker processes, so whatever Ray does with tasks (runs one twice, moves it to another node) the output is
the same. A node that joins is used at once. The bundle travels to each node once, and is kept in its folder of temporary files under its checksum.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from biomux import __version__
from biomux.annotate import store
from biomux.annotate.input_stretches import Share, annotate_share
from biomux.annotate.part_work import annotate_part
from biomux.annotate.parts import Part
from biomux.engine.threads import usable_cores
from biomux.errors import AnnotateError, BiomuxError, UsageError
from biomux.files import whole_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.annotate.input_stretches import ShareDone
    from biomux.annotate.part_work import Done, PartWork
    from biomux.annotate.settings import AnnotateSettings

OBJECT_STORE = 256 * 2**20
"""Bytes of shared memory that a cluster of our own may take: parts on their way to a task, and the bundle."""
LOOK = 5.0
"""Seconds after which the cluster is asked again how large it is."""

Unit = TypeVar("Unit", Part, Share)


@dataclass(frozen=True, slots=True)
class OnRay:
    """A cluster and how to use it.

    `address`: None for the cluster that `RAY_ADDRESS` names, or else one of our own. `in_flight`: tasks that are given out at a time; by default two for every one
    that can run. `retries`: how often a task is given out again whose process or node was lost.
    """

    address: str | None = None
    cpus_per_task: int = 1
    in_flight: int | None = None
    retries: int = 3

    @property
    def threads(self) -> int:
        """Threads of a task."""
        return self.cpus_per_task

    def annotate_parts(
        self, parts: Iterable[Part], work: PartWork, *, on_read: Callable[[Part, int], None] | None = None
    ) -> Iterator[tuple[Part, Done]]:
        """Each part, when it is done, in any order. `on_read` is not told anything: only whole parts are."""
        del on_read
        return self._map(parts, work)

    def annotate_shares(self, shares: Iterable[Share], work: PartWork) -> Iterator[tuple[Share, ShareDone]]:
        """Each share, when it is done, in any order."""
        return self._map(shares, work)

    def _map(self, units: Iterable[Unit], work: PartWork) -> Iterator[tuple[Unit, Any]]:
        with self._connected() as (ray, ours):
            order = ray.put(_order(ray, work, travel=not ours))
            task = ray.remote(num_cpus=self.cpus_per_task, max_retries=self.retries, scheduling_strategy="SPREAD")(
                run_unit
            )
            waiting = iter(units)
            pending: dict[Any, Unit] = {}
            size = _Size(ray, self)
            upcoming = next(waiting, None)
            try:
                while upcoming is not None or pending:
                    while upcoming is not None and len(pending) < size.in_flight():
                        pending[task.remote(upcoming, order)] = upcoming
                        upcoming = next(waiting, None)
                    for ref in _ready(ray, list(pending)):
                        unit = pending.pop(ref)
                        yield unit, self._result(ray, ref, unit)
            finally:
                # Our own cluster ends with all its tasks; to cancel them too makes Ray abort now and then, if one ends in that moment.
                for ref in () if ours else pending:
                    with suppress(Exception):
                        ray.cancel(ref, force=True)

    def _result(self, ray: Any, ref: Any, unit: Part | Share) -> Any:
        try:
            kind, value = ray.get(ref)
        except ray.exceptions.RayError as error:
            raise AnnotateError(
                "BX620",
                f"{unit.name} was lost {self.retries + 1} times on the cluster: {_first_line(error)}",
                hint="repeat the command to resume; if memory ran out, use a smaller --part-size or more --cpus-per-task",
            ) from error
        if kind == "error":
            raise value
        if kind == "unexpected":
            raise RuntimeError(value)
        return value

    @contextmanager
    def _connected(self) -> Iterator[tuple[Any, bool]]:
        """Ray, and whether the cluster is our own: that one ends here. A connection that is there already is used and stays."""
        ray = _ray()
        if ray.is_initialized():
            yield ray, False
            return
        address = self.address or os.environ.get("RAY_ADDRESS") or None
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:
            options |= {
                "address": "local",
                "num_cpus": max(usable_cores(), self.cpus_per_task),
                "object_store_memory": OBJECT_STORE,
                "include_dashboard": False,
                "_node_ip_address": "127.0.0.1",
            }
        else:
            options["address"] = address
        try:
            with _deaf_to_interrupts():
                ray.init(**options)
        except Exception as error:
            raise AnnotateError(
                "BX621",
                f"cannot reach the Ray cluster: {_first_line(error)}"
                if address
                else f"cannot start a Ray cluster here: {_first_line(error)}",
                where=address,
                hint="check the address, that the cluster is running, and that it has the same versions of Ray and Python as this machine",
            ) from error
        try:
            yield ray, address is None
        finally:
            ray.shutdown()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that are started here do not hear Ctrl-C, which a terminal sends to all: this process hears it, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class _Order:
    """What all tasks of a job share. `folder` is where relative paths begin; `bundle` holds a reference to the bundle's files, or is empty if it is found where it is."""

    work: PartWork
    folder: str
    job: bytes
    version: str
    fingerprint: str
    bundle: tuple[Any, ...] = ()


def _order(ray: Any, work: PartWork, *, travel: bool) -> _Order:
    from biomux.engine import load

    settings = work.settings
    job = (store.place(work.notes) / "job.json").read_bytes()
    folder = load.find(settings.bundle).resolve()
    bundle: tuple[Any, ...] = ()
    if travel and settings.run is None:
        bundle = (ray.put({str(path.relative_to(folder)): path.read_bytes() for path in _files(folder)}),)
    else:
        work = replace(work, settings=replace(settings, bundle=str(folder)))
    return _Order(work, str(Path.cwd()), job, __version__, settings.fingerprint(), bundle)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def run_unit(unit: Part | Share, order: _Order) -> tuple[str, Any]:
    """A task: what came of it, or what went wrong."""
    try:
        work = _here(order)
        return "done", annotate_part(unit, work) if isinstance(unit, Part) else annotate_share(unit, work)
    except BiomuxError as error:
        return "error", error
    except Exception:  # the process that gave it out shall tell it
        return "unexpected", traceback.format_exc()


def _here(order: _Order) -> PartWork:
    """The work with the bundle of this node. The node must have the same version, and see the folder that is written to."""
    if order.version != __version__:
        raise AnnotateError(
            "BX623",
            f"node {_node()} has Biomux {__version__}, and the job was started by {order.version}",
            hint="install the same version on every node",
        )
    with suppress(OSError):
        os.chdir(order.folder)
    work = order.work
    try:
        seen = (store.place(work.notes) / "job.json").read_bytes()
    except OSError:
        seen = b""
    if seen != order.job:
        raise AnnotateError(
            "BX624",
            f"node {_node()} does not see the folder that the job writes to",
            where=work.folder,
            hint="write to a folder that all nodes share under the same path, or to a URL such as s3://bucket/out/",
        )
    if not order.bundle:
        return work
    settings = replace(work.settings, bundle=str(_unpacked(order, work.settings)))
    return replace(work, settings=settings)


def _unpacked(order: _Order, settings: AnnotateSettings) -> Path:
    """The bundle in this node's folder of temporary files, where the first process to need it puts it."""
    from filelock import FileLock

    shelf = _shelf()
    folder = shelf / order.fingerprint[:32]
    with FileLock(shelf / f"{folder.name}.lock"):
        if not folder.is_dir():
            import ray

            with whole_folder(folder) as scratch:
                for name, content in ray.get(order.bundle[0]).items():
                    (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                    (scratch / name).write_bytes(content)
        if replace(settings, bundle=str(folder)).fingerprint() != order.fingerprint:
            raise AnnotateError(
                "BX625", "the bundle on this node has been changed", where=str(folder), hint="remove it"
            )
    return folder


def _shelf() -> Path:
    """This node's folder of bundles, which nobody else can write to."""
    owner = os.getuid() if hasattr(os, "getuid") else 0
    shelf = Path(tempfile.gettempdir()) / f"biomux-{owner}"
    shelf.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and shelf.stat().st_uid != owner:
        raise AnnotateError(
            "BX625", "the folder for bundles belongs to another user", where=str(shelf), hint="remove it"
        )
    return shelf


def _node() -> str:
    import platform

    return platform.node()


class _Size:
    """How many tasks may be given out at a time, by the size that the cluster has just now."""

    def __init__(self, ray: Any, asked: OnRay) -> None:
        self._ray, self._asked = ray, asked
        self._looked = -LOOK
        self._slots = 0
        if not any(self._fits(node) for node in ray.nodes()):
            raise AnnotateError(
                "BX626",
                f"no node of the cluster has {asked.cpus_per_task} CPUs",
                hint="lower --cpus-per-task, or start a larger node",
            )

    def in_flight(self) -> int:
        """Two for every task that can run, unless asked for otherwise: one to work on and one to go on with."""
        if self._asked.in_flight is not None:
            return self._asked.in_flight
        if time.monotonic() - self._looked > LOOK:
            self._slots = sum(map(self._fits, self._ray.nodes()))
            self._looked = time.monotonic()
        return max(2, 2 * self._slots)

    def _fits(self, node: dict[str, Any]) -> int:
        return int(node["Alive"] and node["Resources"].get("CPU", 0) // self._asked.cpus_per_task)


def _ready(ray: Any, refs: list[Any]) -> list[Any]:
    """All tasks that have ended; none if none does for a second."""
    first, _ = ray.wait(refs, num_returns=1, timeout=1.0, fetch_local=False)
    if not first:
        return []
    ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0, fetch_local=False)
    return list(ready or first)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError(
            "BX003", "--on ray needs Ray, which is not installed", hint="pip install 'biomux[ray]'"
        ) from None
    return ray


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
