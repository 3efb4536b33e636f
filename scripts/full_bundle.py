"""Make a bundle with every kind of head, from the corpora and the encoder to the card: one command, hours, resumable.

    python scripts/full_bundle.py --corpora corpora --encoder weights/gte-small --work runs
    python scripts/full_bundle.py --corpora corpora --encoder weights/gte-small --work runs --processes 2

Each step is a command that anyone can type; a step that is done is not done again. The corpora directory has a folder `text` with
files of plain text, one document per line. The bundle is made in WORK/full. docs/explanation/models-log.md says what came of it. With several processes
teacher and student are trained by torchrun; their recipes have two batches a step, so two processes are the most.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

import mixed_text

from biomux.cli import run

CROSS = ("biored", "tmvar3")
DOCUMENTS, LABELLED = 4_000, 22_500
"""How many documents of plain text the teacher labels, and how many texts of the corpora."""
HELD_OUT = "heldout.txt.gz"


def main(arguments: list[str] | None = None) -> int:
    """Train the teacher, and the student with every kind of head; export, score, write the card."""
    parser = argparse.ArgumentParser(description="Make a bundle with every kind of head.")
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--encoder", default="thenlper/gte-small")
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--processes", type=int, default=1, help="how many processes train")
    parser.add_argument("--notes", type=Path, help="Markdown for the card: what was seen by eye")
    chosen = parser.parse_args(arguments)
    work, corpora = chosen.work.resolve(), ["--corpora", str(chosen.corpora)]
    teacher, student, bundle = (work / name for name in ("teacher", "heads", "full"))
    text = work / "text.txt"
    encoder = ["--set", f"model.encoder.name={chosen.encoder}"]
    taught = ["--set", f"teacher.models=[{teacher}]", "--set", f"teacher.text.files=[{text}]"]
    work.mkdir(parents=True, exist_ok=True)
    if not _ended(teacher):
        _trained(chosen.processes, "default/teacher", "--run", str(teacher), *encoder, *corpora)
    if not text.exists():
        files = sorted(str(path) for path in (chosen.corpora / "text").glob("*.txt.gz"))
        drawn = ["--without", HELD_OUT, "--documents", str(DOCUMENTS)]
        drawn += ["--recipe", "default/teacher", "--labelled", str(LABELLED), "--held-out", "default/heads"]
        mixed_text.main([*files, *drawn, *corpora, "-o", str(text)])
    if not _ended(student):
        start = ["--set", f"model.encoder.run={teacher}"]
        _trained(chosen.processes, "default/heads", "--run", str(student), *encoder, *start, *taught, *corpora)
    if not bundle.exists():
        _biomux("export", str(student), str(bundle), *corpora)
    if not (work / "scores").exists():
        notes = ["--notes", str(chosen.notes)] if chosen.notes else []
        _biomux("evaluate", str(bundle), "all", *CROSS, "-o", str(work / "scores"), "--card", *notes, *corpora)
    return 0


def _ended(folder: Path) -> bool:
    """Whether the journal of a run says that it came to its end."""
    journal = folder / "journal.jsonl"
    if not journal.is_file():
        return False
    return any(json.loads(line)["event"] == "end" for line in journal.read_text(encoding="utf-8").splitlines())


def _biomux(*words: str) -> None:
    print("$ biomux", shlex.join(words), flush=True)
    if code := run(list(words)):
        raise SystemExit(code)


def _trained(processes: int, *words: str) -> None:
    """Train in this process, or in several."""
    if processes == 1:
        _biomux("train", *words)
        return
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        str(processes),
        "-m",
        "--",
        "biomux",
        "train",
        *words,
    ]
    print("$", shlex.join(command), flush=True)
    with subprocess.Popen(command) as process:  # noqa: S603
        try:
            code = process.wait()
        except KeyboardInterrupt:  # it has heard it too, and saves where it is
            process.wait()
            raise
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    sys.exit(main())
