"""Make the bundle that comes with Biomux again, from the corpora and the encoder to the card: one command, hours, resumable.

    python scripts/first_bundle.py --corpora corpora --encoder weights/minilm --vocabulary vocab.txt --work runs

Each step is a command that anyone can type; a step that is done is not done again. The bundle is made in WORK/bundle; putting it into
src/biomux/bundles/first, and its golden answers into tests/bundles (BIOMUX_GOLDEN=write), is done by hand after it was looked at.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from biomux.cli import run

CROSS = ("biored", "tmvar3")
NOTES = Path(__file__).with_name("first_notes.md")


def main(arguments: list[str] | None = None) -> int:
    """Train, fit once more with the development data, export with the choices made before, score, write the card."""
    parser = argparse.ArgumentParser(description="Make the bundle that comes with Biomux again.")
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--encoder", default="sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--vocabulary", help="a vocab.txt or a hub name; PubMedBERT's unless given")
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--notes", type=Path, default=NOTES, help="Markdown for the card: what was seen by eye")
    chosen = parser.parse_args(arguments)
    work, corpora = chosen.work, ["--corpora", str(chosen.corpora)]
    first, final, bundle = work / "first", work / "first-final", work / "bundle"
    if not _ended(first):
        vocabulary = ["--set", f"model.encoder.vocabulary.file={chosen.vocabulary}"] if chosen.vocabulary else []
        encoder = ["--set", f"model.encoder.name={chosen.encoder}", *vocabulary]
        _biomux("train", "default/first", "--run", str(first), *encoder, *corpora)
    if not _ended(final):
        _biomux(
            "train",
            "default/first-final",
            "--run",
            str(final),
            "--set",
            f"model.encoder.run={first.resolve()}",
            *corpora,
        )
    if not bundle.exists():
        _biomux("export", str(final), str(bundle), "--chosen-on", str(first), *corpora)
    if not (work / "scores").exists():
        options = ["-o", str(work / "scores"), "--card", "--notes", str(chosen.notes), *corpora]
        _biomux("evaluate", str(bundle), "all", *CROSS, *options)
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


if __name__ == "__main__":
    sys.exit(main())
