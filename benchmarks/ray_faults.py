"""Faults on a Ray cluster of three nodes at random moments: does every run end, resumed where needed, with the same bytes?

    python -m benchmarks.ray_faults [--faults 20] [--documents 2000] [--model BUNDLE] [--seed 0]

Each run of `biomux annotate --on ray` meets one fault, in turn: a worker process is killed (SIGKILL), a node is removed, the driver is killed, the disk of the output is filled, and the driver
of a cluster of its own is killed. The fault comes when a random number of parts is made. A run that ended is repeated until it succeeds, with a disk that has room again. Then its folder
must hold the same bytes as one that was left in peace, every document once; and after a driver was killed, none of its processes may be left. The disk is a tmpfs, which needs
root; without it that fault is left out, and said. Inputs are cut into stretches of 20 kB, so that there are many.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import ray_cluster
from benchmarks.kill import contents, document, made
from biomux import formats

KINDS = ("worker", "node", "driver", "disk", "own cluster")
DRIVER = "from biomux.annotate import inputs; inputs.STRETCH = 20_000; from biomux.__main__ import main; main()"
GONE_SECONDS = 60.0


def start(options: list[str], address: str | None) -> subprocess.Popen[bytes]:
    """The command, on a cluster or on one of its own."""
    environment = {**os.environ, "RAY_ADDRESS": address or ""}
    command = [sys.executable, "-c", DRIVER, "annotate", *options, "--on", "ray"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def wait_for(process: subprocess.Popen[bytes], folder: Path, number: int) -> bool:
    """Wait until so many parts are made. False if the process ended before."""
    while made(folder) < number and process.poll() is None:
        time.sleep(0.02)
    return process.poll() is None


def workers() -> list[int]:
    """Processes that work on a task of ours just now."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::run_unit"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def raylets() -> set[int]:
    """Processes of Ray clusters."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"/raylet/raylet" in (command := path.read_bytes()) or b"gcs_server" in command:
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def soon(condition: Any) -> bool:
    """Whether something becomes true within a minute."""
    ends = time.monotonic() + GONE_SECONDS
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True


class War:
    """A cluster, a disk, a command; and faults."""

    def __init__(self, cluster: Any, disk: Path, options: list[str], chance: random.Random) -> None:
        self.cluster, self.disk, self.options, self.chance = cluster, disk, options, chance
        self.ours = raylets()

    def run(self, kind: str, parts: int) -> tuple[bool, int, bool]:
        """One run with one fault: whether the fault hit, how often it was resumed, whether no process was left."""
        out = self.disk / "out"
        options = [*self.options, "-o", f"{out}/"]
        address = None if kind == "own cluster" else self.cluster.address
        filler = self.disk / "filler"
        with start(options, address) as process:
            hit = wait_for(process, out, self.chance.randint(1, max(1, parts - 4)))
            alone = True
            if hit and kind == "worker":
                hit = soon(lambda: workers() or process.poll() is not None) and bool(found := workers())
                if hit:
                    os.kill(self.chance.choice(found), 9)
            elif hit and kind == "node":
                self.cluster.remove_node(self.chance.choice(self.cluster.list_all_nodes()[1:]), allow_graceful=False)
            elif hit and kind in ("driver", "own cluster"):
                process.kill()
                process.wait()
                alone = soon(lambda: not workers() and raylets() <= self.ours)
            elif hit and kind == "disk":
                with filler.open("wb", buffering=0) as stream:
                    try:
                        while True:
                            stream.write(bytes(1 << 14))
                    except OSError:
                        pass
            said = process.stderr.read().decode(errors="replace") if process.stderr else ""
            ended = process.wait()
        filler.unlink(missing_ok=True)
        resumed = 0
        while ended != 0 and resumed < 5:
            if ended not in (2, -9):
                print(f"exit code {ended}: {said[-500:]}")
            resumed += 1
            with start(options, self.cluster.address) as process:
                said = process.stderr.read().decode(errors="replace") if process.stderr else ""
                ended = process.wait()
        if ended:
            print(f"never ended well: {said[-500:]}")
        while len(self.cluster.list_all_nodes()) < 3:
            self.cluster.add_node(num_cpus=1, object_store_memory=ray_cluster.STORE)
            self.ours |= raylets()
        return hit, resumed, alone


def mounted(place: Path) -> bool:
    """A small disk at a folder, if we may."""
    return (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
        == 0
    )


def main() -> None:
    """Inject faults, and print what was survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--model", help="else the bundle that comes with Biomux")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as place, ray_cluster.nodes(1, 1, 1) as cluster:
        folder, disk = Path(place) / "in", Path(place) / "disk"
        folder.mkdir()
        disk.mkdir()
        has_disk = mounted(disk)
        kinds = [kind for kind in KINDS if kind != "disk" or has_disk]
        if not has_disk:
            print("the disk is not filled: mounting a tmpfs needs root")
        try:
            for start_ in range(0, asked.documents, 100):
                found = map(document, range(start_, min(asked.documents, start_ + 100)))
                formats.write(found, folder / f"{start_:06d}.jsonl")
            options = [str(folder), "--part-size", "2000", *(["--model", asked.model] if asked.model else [])]
            with start([*options, "-o", f"{place}/peace/"], cluster.address) as process:
                if process.wait():
                    sys.exit(process.stderr.read().decode() if process.stderr else "failed")
            peace = contents(Path(place) / "peace")
            parts = sum(name.startswith("part-") for name in peace)
            print(f"in peace: {asked.documents:,} documents, {parts} parts", flush=True)
            war = War(cluster, disk, options, random.Random(asked.seed))
            injected = survived = 0
            left = True
            for number in range(asked.faults):
                kind = kinds[number % len(kinds)]
                hit, resumed, alone = war.run(kind, parts)
                same = contents(disk / "out") == peace
                seen = Counter(found.id for found in formats.read(disk / "out"))
                once = len(seen) == asked.documents and set(seen.values()) == {1}
                shutil.rmtree(disk / "out")
                injected += hit
                survived += hit and same and once and alone
                left = left and alone
                print(
                    f"{number + 1} {kind}: {'hit' if hit else 'came too late'}, resumed {resumed} times, same bytes {same}, every document once {once}"
                    + ("" if alone else "; a process lives on"),
                    flush=True,
                )
        finally:
            if has_disk:
                subprocess.run(["umount", "-l", str(disk)], check=False)
    print(
        f"faults survived: {survived} of {injected} injected, in {asked.faults} runs; {time.perf_counter() - begun:.0f} s in all"
    )
    orphans = sorted(raylets())
    print(f"processes of Ray left at the end: {orphans or 'none'}")
    sys.exit(0 if survived == injected and injected and not orphans else 1)


if __name__ == "__main__":
    main()
