"""Kill `biomux annotate` at random moments, go on, and compare with a run that was left in peace.

    python benchmarks/kill.py --bundle BUNDLE [--documents 20000] [--kills 10] [--workers 2]

Both runs write a folder of parts. Each kill is SIGKILL, in turn to the main process alone, to a worker alone, and to all of them. At the end the two
folders must hold the same files with the same bytes, and every document once.
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


def kill(process: subprocess.Popen[bytes], way: str) -> None:
    """Kill the main process, one worker, or all."""
    children = workers_of(process.pid)
    if way == "all":
        os.killpg(process.pid, signal.SIGKILL)
    elif way == "worker" and children:
        os.kill(children[-1], signal.SIGKILL)
    else:
        process.kill()


def main() -> None:
    """Run the comparison and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        formats.write(map(document, range(asked.documents)), folder / "in.jsonl")
        command = [sys.executable, "-m", "biomux", "annotate", str(folder / "in.jsonl"), "--bundle", asked.bundle]
        command += ["--workers", str(asked.workers), "--part-size", "20000"]
        begun = time.perf_counter()
        subprocess.run([*command, "-o", f"{folder}/peace/"], check=True, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - begun
        parts = len(list((folder / "peace").glob("part-*")))
        print(f"in peace: {asked.documents:,} documents, {parts} parts, {seconds:.1f} s")
        killed = 0
        while killed < asked.kills:
            with subprocess.Popen(
                [*command, "-o", f"{folder}/war/"], stderr=subprocess.DEVNULL, start_new_session=True
            ) as process:
                time.sleep(chance.random() * seconds / asked.kills * 1.8)
                if process.poll() == 0:
                    print(f"whole before kill {killed + 1}: fewer kills than asked for")
                    break
                way = ("main", "worker", "all")[killed % 3]
                kill(process, way)
                process.wait()
            killed += 1
            print(f"kill {killed} ({way}): {len(list((folder / 'war').glob('part-*')))} of {parts} parts there")
        subprocess.run([*command, "-o", f"{folder}/war/"], check=True, stderr=subprocess.DEVNULL)
        seen = Counter(found.id for found in formats.read(folder / "war"))
        missing = asked.documents - len(seen)
        twice = sum(count > 1 for count in seen.values())
        same = contents(folder / "war") == contents(folder / "peace")
        print(f"after {killed} kills: same bytes {same}, missing {missing}, twice {twice}")
        sys.exit(0 if same and not missing and not twice else 1)


if __name__ == "__main__":
    main()
