"""Give the bundle that comes with Biomux its default thresholds, levels and the right home of CRAFT's GO, without touching its graph.

    python scripts/first_defaults.py src/biomux/bundles/first docs/explanation/model-card.md

The shipped weights have learned the development data too (strict F1 of 97 there for BC5CDR, where the weights before had 82), so that a threshold fitted on it
with them would keep everything. What the weights before reached on it is in the bundle: the F1 of each head in gate.json, of each plain type in card.md. From
calibrated scores the best F1 is had by keeping what is at least half as probable as that F1 is high (Lipton, Elkan and Narayanaswamy 2014), and that half is the
threshold here. `biomux export` fits thresholds of new bundles directly. A type with an F1 of 0 was never right: its threshold is null, and it is left out by default.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from biomux.engine.bundle import verify
from biomux.engine.overlaps import DIGITS

LEVELS = {"anatomy": 1}
MOVED, HOME = "process", "cellular component"
SAID = " A threshold is half that F1, and the score from which on a type is given out by default; types without one were never right there and are left out unless asked for by name."


def half(f1: float) -> float | None:
    """The threshold of a type with that F1."""
    return round(f1 / 2, DIGITS) or None


def envelope(curves: list[list[list[float]]]) -> list[list[float]]:
    """The scores from which on each of several heads is so precise: their agreement is no less."""
    points: dict[float, float] = {}
    for precision in sorted({precision for curve in curves for _, precision in curve}):
        reached = [next((score for score, known in curve if known >= precision), None) for curve in curves]
        if None not in reached:
            points[max(score for score in reached if score is not None)] = precision
    return [[score, precision] for score, precision in sorted(points.items())]


def f1_of_types(card: str) -> dict[str, float]:
    """Plain type → its F1 on development data, by the card."""
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in _section(card).splitlines() if line.startswith("| ")]
    return {row[0]: float(row[3]) / 100 for row in rows if re.fullmatch(r"\d+\.\d", row[3])}


def changed_types(types: dict[str, Any], curves: dict[str, Any], f1: dict[str, float]) -> dict[str, Any]:
    """types.json with GO among the cellular components, thresholds and levels."""
    if MOVED in types:
        home, moved = types[HOME], types.pop(MOVED)
        home["sources"] += moved["sources"]
        home |= {"rule": "vote:2", "calibration": envelope([curves[head][type_] for head, type_ in home["sources"]])}
        f1[HOME] = (f1[HOME] + f1[MOVED]) / 2  # of the merged type nothing was measured with the weights before
    return {
        name: entry | {"threshold": half(f1[name])} | ({"level": LEVELS[name]} if name in LEVELS else {})
        for name, entry in types.items()
    }


def changed_heads(
    heads: dict[str, Any], types: dict[str, Any], gate: dict[str, float], f1: dict[str, float]
) -> dict[str, Any]:
    """heads.json with a threshold for each type: by the plain type's F1 where the head alone makes it, else by the head's."""
    alone = {tuple(entry["sources"][0]): name for name, entry in types.items() if len(entry["sources"]) == 1}
    for head in heads["heads"]:
        own = gate[head["name"]] / 100
        named = {type_: alone.get((head["name"], type_)) for type_ in head["types"]}
        head["thresholds"] = {type_: half(f1[name] if name else own) for type_, name in named.items()}
    return heads


def changed_card(card: str, types: dict[str, Any], f1: dict[str, float]) -> str:
    """The card with the new table of types."""
    old = _section(card)
    lines = []
    for line in old.splitlines():
        cells = re.split(r"\s*\|\s*", line.strip("| ")) if line.startswith("| ") else []
        if len(cells) != 5:
            lines.append(line)
        elif cells[0] in ("type", "---"):
            lines.append(f"{line} {'threshold' if cells[0] == 'type' else '---'} |")
        elif cells[0] in types:
            threshold = types[cells[0]]["threshold"]
            if cells[0] == HOME:
                behind = ", ".join("/".join(source) for source in types[HOME]["sources"])
                cells = [HOME, "vote:2", behind, f"{100 * f1[HOME]:.1f}", "chosen later, with the shipped weights"]
            lines.append(f"| {' | '.join(cells)} | {'–' if threshold is None else f'{threshold:.2f}'} |")
    new = ("\n".join(lines) + "\n").replace("what each head reaches at home.", "what each head reaches at home." + SAID)
    return card.replace(old, new)


def main() -> None:
    """Rewrite the small files of the bundle, its manifest and the copy of its card; then verify it."""
    parser = argparse.ArgumentParser(description="Give the bundle that comes with Biomux its defaults.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("card", type=Path, help="the copy of the card in the docs")
    given = parser.parse_args()
    folder = given.bundle
    read = {name: json.loads((folder / f"{name}.json").read_bytes()) for name in ("types", "heads", "calibration")}
    gate = json.loads((folder / "gate.json").read_bytes())["fp32"]
    card = (folder / "card.md").read_text(encoding="utf-8")
    if MOVED not in read["types"]:
        raise SystemExit("the bundle has its defaults already")
    f1 = f1_of_types(card)
    types = changed_types(read["types"], read["calibration"], f1)
    heads = changed_heads(read["heads"], types, gate, f1)
    card = changed_card(card, types, f1)
    rewrite(folder, {"types.json": types, "heads.json": heads}, card, given.card)


def rewrite(folder: Path, tables: dict[str, Any], card: str, copy: Path, *, check: bool = True) -> None:
    """Write tables and the card into a bundle, and a copy of the card; make its manifest anew, and verify the bundle if `check` says so."""
    for name, content in tables.items():
        (folder / name).write_bytes((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    for path in (folder / "card.md", copy):
        path.write_text(card, encoding="utf-8")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for name, described in manifest["files"].items():
        raw = (folder / name).read_bytes()
        described |= {"size": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    (folder / "manifest.json").write_bytes((json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())
    for seen in verify.verify(folder) if check else ():
        print(seen.what, seen.said, seen.error or "")


def _section(card: str) -> str:
    return card.partition("## Types\n")[2].partition("\n## ")[0]


if __name__ == "__main__":
    main()
