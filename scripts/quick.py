"""Train every recipe in its `--quick` variant, one after the other, and write a table of how it went.

    python scripts/quick.py --corpora corpora --encoder weights/minilm --vectors vectors.npz -o quick
    python scripts/quick.py -o quick a/mtl e/stm                                    # only these

A recipe that goes on from another's run (a/frozen2) finds that one's quick run. Recipes that are done already are not trained again, so that the
command can be given again after it was stopped. Without --encoder an encoder with random weights stands in.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from biomux.recipes.read import names, read


def ordered(found: list[str]) -> list[str]:
    """Recipes that begin from another's run come last."""
    return sorted(found, key=lambda name: (read(name).model.encoder.run is not None, name))


def settings(name: str, *, encoder: Path | None, vectors: Path | None, vocabulary: Path | None) -> list[str]:
    """What is set for a recipe, so that it uses the weights at hand."""
    part, chosen = read(name).model.encoder, []
    if encoder and part.kind == "transformer":
        chosen.append(f"model.encoder.name={encoder.resolve()}")
    if vectors and part.kind == "bilstm":
        chosen.append(f"model.encoder.bilstm.vectors={vectors.resolve()}")
    if vocabulary and part.vocabulary.kind == "file":
        chosen.append(f"model.encoder.vocabulary.file={vocabulary.resolve()}")
    return chosen


def train(name: str, folder: Path, chosen: list[str], corpora: Path | None) -> dict[str, object]:
    """Train one recipe; gives what became of it. A run that is done is only looked at."""
    run = Path("runs") / f"{name.replace('/', '-')}-1"
    took = folder / "took" / f"{run.name}.json"
    if not took.is_file():
        options = [*(part for one in chosen for part in ("--set", one)), "--run", str(run)]
        if corpora:
            options += ["--corpora", str(corpora.resolve())]
        begun = time.monotonic()
        command = [sys.executable, "-m", "biomux", "train", name, "--quick", *options]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603
        took.parent.mkdir(parents=True, exist_ok=True)
        told = {"exit": done.returncode, "seconds": time.monotonic() - begun, "said": done.stderr.splitlines()[-1:]}
        took.with_suffix(".log").write_text(done.stderr, encoding="utf-8")
        took.write_text(json.dumps(told), encoding="utf-8")
    result: dict[str, object] = json.loads(took.read_text(encoding="utf-8"))
    scores = folder / run / "scores.json"
    result["score"] = json.loads(scores.read_text(encoding="utf-8"))["mean"] if scores.is_file() else None
    last: dict[str, object] = {}
    for line in (folder / run / "journal.jsonl").read_text(encoding="utf-8").splitlines() if not result["exit"] else ():
        last |= json.loads(line)
    result |= {"steps": last.get("step"), "tokens": last.get("tokens"), "losses": last.get("losses", {})}
    return result


def row(name: str, result: dict[str, object]) -> str:
    """A line of the table."""
    if result["exit"]:
        said = result["said"]
        told = " ".join(map(str, said)) if isinstance(said, list) else str(said)
        return f"| {name} | {float(str(result['seconds'])):.0f} | | | failed: {told} |"
    score = result["score"]
    told = "no development part" if score is None else f"{100 * float(str(score)):.1f}"
    return f"| {name} | {float(str(result['seconds'])):.0f} | {result['steps']:,} | {result['tokens']:,} | {told} |"


def main() -> int:
    """Train all; the table goes to the folder's table.md, and to the terminal line by line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", help="names; all unless given")
    parser.add_argument("-o", "--output", type=Path, default=Path("quick"))
    parser.add_argument("--corpora", type=Path, help="the corpora directory, if not the usual one")
    parser.add_argument("--encoder", type=Path, help="a folder of weights in place of each recipe's encoder")
    parser.add_argument("--vectors", type=Path, help="word vectors for the BiLSTM recipes")
    parser.add_argument("--vocabulary", type=Path, help="the vocabulary of recipes that name one by file")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    lines = ["| recipe | seconds | steps | tokens | mean development score |", "|---|---:|---:|---:|---:|"]
    print("\n".join(lines), flush=True)
    failed = 0
    for name in ordered(given.recipes or names()):
        chosen = settings(name, encoder=given.encoder, vectors=given.vectors, vocabulary=given.vocabulary)
        result = train(name, given.output, chosen, given.corpora)
        failed += bool(result["exit"])
        lines.append(row(name, result))
        print(lines[-1], flush=True)
        (given.output / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
