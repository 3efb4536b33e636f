"""Kill `biomux annotate` at random moments, go on, and compare with a run that was left in peace.

    python benchmarks/kill.py [--bundle BUNDLE] [--documents 20000] [--kills 10] [--workers 2]

Both runs write a folder of parts. Each kill is SIGKILL, in turn to the main process alone, to a worker alone, and to all of them. It waits until the run has made
a random number of new parts, at least one, and then for a random share of the time that a part takes: so every kill hits work, and none the loading before it.
No process may be left after a kill. At the end the two folders must hold the same files with the same bytes, and every document once.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from biomux import formats
from biomux.document import Document

_WORDS = (
    "aspirin ibuprofen metformin fever ulcer carcinoma asthma mice rats patients liver kidney expression of in the with and was were "
    "treated increased reduced TP53 BRCA1 interleukin-2 kinase receptor dose response cells HeLa"
)
WORDS = _WORDS.split()


def document(number: int) -> Document:
    """An invented document of a few short sentences; the same for the same number."""
    chance = random.Random(number)
    sentences = [
        " ".join(chance.choice(WORDS) for _ in range(chance.randint(3, 12))).capitalize() + "."
        for _ in range(chance.randint(1, 3))
    ]
    return Document(f"document-{number}", " ".join(sentences))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file's bytes by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def workers_of(pid: int) -> list[int]:
    """The processes that a process started."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def kill(process: subprocess.Popen[bytes], way: str) -> list[int]:
    """Kill the main process, one worker, or all. The workers that there were."""
    children = workers_of(process.pid)
    if way == "all":
        os.killpg(process.pid, signal.SIGKILL)
    elif way == "worker" and children:
        os.kill(children[-1], signal.SIGKILL)
    else:
        process.kill()
    return children


def made(folder: Path) -> int:
    """The parts that are whole: those with a note."""
    return len(list((folder / ".biomux").glob("part-*.json")))


def wait_for(process: subprocess.Popen[bytes], folder: Path, number: int) -> bool:
    """Wait until so many parts are whole. False if the process ended before."""
    while made(folder) < number:
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    return process.poll() is None


def gone(children: list[int], *, seconds: float = 60.0) -> bool:
    """Whether the processes have ended, or do so soon: a worker may first finish what it was making."""
    ends = time.monotonic() + seconds
    while any(Path(f"/proc/{child}").exists() for child in children):
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def war(command: list[str], folder: Path, *, parts: int, kills: int, pause: float, seed: int) -> tuple[int, bool]:
    """Begin, kill, go on, and kill again. How many kills there were, and whether no process outlived one."""
    chance = random.Random(seed)
    alone = True
    for number in range(kills):
        before = made(folder)
        most = max(1, int(1.5 * (parts - before) / (kills - number + 1)))
        with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
            reached = wait_for(process, folder, before + chance.randint(1, most))
            if reached:
                time.sleep(chance.random() * pause)
            if not reached or process.poll() is not None:
                assert process.stderr is not None
                said = process.stderr.read().decode(errors="replace").strip().splitlines()
                if process.wait() != 0:
                    sys.exit(f"ended by itself with {process.returncode}: {said[-1] if said else 'nothing was said'}")
                print(f"whole before kill {number + 1}: fewer kills than asked for")
                return number, alone
            way = ("main", "worker", "all")[number % 3]
            children = kill(process, way)
            process.wait()
        left = gone(children)
        alone = alone and left
        print(
            f"kill {number + 1} ({way}): {before} parts before, {made(folder)} of {parts} after"
            + ("" if left else "; a worker lives on"),
            flush=True,
        )
    return kills, alone


def main() -> None:
    """Run the comparison and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="else the one included")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part-size", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        formats.write(map(document, range(asked.documents)), folder / "in.jsonl")
        command = [sys.executable, "-m", "biomux", "annotate", str(folder / "in.jsonl")]
        command += ["--bundle", asked.bundle] if asked.bundle else []
        command += ["--workers", str(asked.workers), "--part-size", str(asked.part_size)]
        started = time.perf_counter()
        subprocess.run([*command, "-o", f"{folder}/peace/"], check=True, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
        parts = len(list((folder / "peace").glob("part-*")))
        print(f"in peace: {asked.documents:,} documents, {parts} parts, {seconds:.1f} s", flush=True)
        killed, alone = war(
            [*command, "-o", f"{folder}/war/"],
            folder / "war",
            parts=parts,
            kills=asked.kills,
            pause=asked.workers * seconds / parts,
            seed=asked.seed,
        )
        subprocess.run([*command, "-o", f"{folder}/war/"], check=True, stderr=subprocess.DEVNULL)
        seen = Counter(found.id for found in formats.read(folder / "war"))
        missing = asked.documents - len(seen)
        twice = sum(count > 1 for count in seen.values())
        same = contents(folder / "war") == contents(folder / "peace")
        print(
            f"after {killed} kills: same bytes {same}, missing {missing}, twice {twice}, no process left {alone}; "
            f"{time.perf_counter() - begun:.0f} s in all"
        )
        sys.exit(0 if same and alone and not missing and not twice and killed == asked.kills else 1)


if __name__ == "__main__":
    main()
