"""Small runs that try the regime of default/first on development data: one thing changed at a time.

    python scripts/choices.py base auxiliary full --corpora corpora --encoder weights/minilm --vocabulary vocab.txt --work runs/choices
    biomux compare runs/choices/base runs/choices/auxiliary

A run that is done is not done again; each takes some 20 minutes of one core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.stats import wilcoxon

from biomux.recipes import read
from biomux.training import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from biomux.recipes.schema import Recipe

AUXILIARY = {"mt": ("extent", None), "b": ("has", "pooled"), "m": ("number", "pooled")}
"""Paper D's tasks: mtCLS, bCLS and mCLS."""

VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "auxiliary": {"regime.settings.joint": True},
    "full": {"model.head": {"kind": "two-layer", "settings": {"hidden": 384}}},
    "linear": {"model.head": {"kind": "linear"}},
    "exponent-1": {"regime.settings.exponent": 1.0},
    "exponent-05": {"regime.settings.exponent": 0.5},
    "keep-all": {"regime.settings.keep_empty": 1.0},
    "no-boost": {"regime.settings.boost": {}},
}


def main() -> None:
    """Train the variants that are named."""
    parser = argparse.ArgumentParser(description="Try the regime of default/first on development data.")
    parser.add_argument("variants", nargs="+", choices=sorted(VARIANTS))
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--fraction", type=float, default=0.25, help="of the training sentences")
    parser.add_argument("--work", required=True, type=Path)
    chosen = parser.parse_args()
    for name in chosen.variants:
        folder = chosen.work / name
        if not (folder / "scores.json").exists():
            made = variant(name, encoder=chosen.encoder, vocabulary=chosen.vocabulary, fraction=chosen.fraction)
            print(f"{name}: {folder}", flush=True)
            run.start(made, folder, directory=chosen.corpora, listen=_tell)
    print(table({name: scores(chosen.work / name) for name in chosen.variants}))


def scores(folder: Path) -> dict[str, float]:
    """Strict F1 on development data by corpus, auxiliary tasks left out."""
    told = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["tasks"]
    corpora = read.plain("default/first")[0]["tasks"]
    return {name: 100 * told[name]["f1"] for name in sorted(corpora)}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """All variants beside each other, and every one against the first by Wilcoxon's test over corpora."""
    first, *others = found
    lines = ["| corpus | " + " | ".join(found) + " |", "|---|" + "---:|" * len(found)]
    lines += [f"| {name} | " + " | ".join(f"{own[name]:.1f}" for own in found.values()) + " |" for name in found[first]]
    lines.append("| mean | " + " | ".join(f"{sum(own.values()) / len(own):.2f}" for own in found.values()) + " |\n")
    for name in others:
        gains = [found[name][corpus] - value for corpus, value in found[first].items()]
        better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        lines.append(f"{name} against {first}: better on {better}, worse on {worse}, p = {wilcoxon(gains).pvalue:.4f}")
    return "\n".join(lines)


def variant(name: str, *, encoder: str, vocabulary: str, fraction: float) -> Recipe:
    """The recipe default/first with one thing changed, one epoch of a fraction of its data."""
    whole, where = read.plain("default/first")
    whole |= {"name": f"choice-{name}", "types": {}, "development": {"limit": 300}}
    common = {
        "model.encoder.name": encoder,
        "model.encoder.vocabulary.file": vocabulary,
        "loop.epochs": 1,
        "loop.threads": 1,
        "regime.settings.fraction": fraction,
    }
    for path, value in (common | VARIANTS[name]).items():
        read.put(whole, path, value)
    if name == "auxiliary":
        for task in list(whole["tasks"]):
            for short, (which, head) in AUXILIARY.items():
                told = {"kind": "auxiliary", "of": task, "settings": {"which": which}}
                if head:
                    told["head"] = {"kind": head, "settings": {"pooling": "max"}}
                whole["tasks"][f"{task}-{short}"] = told
    return read.check(whole, where=where)


def _tell(event: dict[str, Any]) -> None:
    if event["event"] != "step" or not event["step"] % 100:
        print({key: value for key, value in event.items() if key != "losses"}, flush=True)


if __name__ == "__main__":
    main()
