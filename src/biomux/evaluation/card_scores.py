"""A bundle's card with the scores of an evaluation in it.

The card that export writes cannot contain what is measured later: `biomux evaluate --card` adds it. The section has its own heading and comes
last; a later evaluation replaces it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from biomux.engine.bundle.checksums import MANIFEST
from biomux.errors import BundleError
from biomux.evaluation.score_tables import figure, main_table, percent, summary, with_error
from biomux.formats import target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from biomux.evaluation.score_tables import Table

CARD = "card.md"
HEADING = "## Scores on text that was held out"
OTHERS = "The main figure of each, in percent; correlations as they are. Mentions and questions are given; relations are between the right entities."


def put(bundle: Path, content: Mapping[str, Any], *, notes: str = "") -> None:
    """Write what `scores.json` says into the card of a bundle, and the card's new checksum into its manifest.

    `notes` are observations in Markdown; they come before the signatures.
    """
    manifest, card = check(bundle)
    new_card = (card.partition(f"\n{HEADING}\n")[0].rstrip("\n") + "\n\n" + section(content, notes=notes)).encode()
    manifest["files"][CARD] = {"size": len(new_card), "sha256": hashlib.sha256(new_card).hexdigest()}
    with target(bundle / CARD) as stream, target(bundle / MANIFEST) as table:
        stream.write(new_card)
        table.write((json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())


def check(bundle: Path) -> tuple[dict[str, Any], str]:
    """The manifest and the card of a bundle; BX501 if there is none to write into."""
    try:
        manifest: dict[str, Any] = json.loads((bundle / MANIFEST).read_text(encoding="utf-8"))
        return manifest | {"files": dict(manifest["files"])}, (bundle / CARD).read_text(encoding="utf-8")
    except (OSError, ValueError, KeyError, TypeError):
        raise BundleError(
            "BX501",
            "cannot write scores: not a bundle with a model card",
            where=str(bundle),
            hint="name the folder that `biomux export` made, or leave out --card",
        ) from None


def section(content: Mapping[str, Any], *, notes: str = "") -> str:
    """The part of the card: all corpora, each type, mistakes by class, calibration, signatures."""
    columns = [column for column in content["columns"] if "spans" in column]
    others = [column for column in content["columns"] if "spans" not in column]
    parts = [
        HEADING,
        "Each corpus is scored with the head trained on it and, marked as cross, with heads of other corpora. Figures are percentages, ± the standard "
        "error over documents. Strict: offsets and type must match exactly. docs/reference/scores.md explains the other matchings.",
        markdown(summary(columns)),
        "### Strict scores by type",
        markdown(_types(columns)),
        "### Mistakes by class",
        "Boundary: the right type at an overlapping position. Split: one entity found as several; merged: several found as one.",
        markdown(_mistakes(columns)),
        "### Calibration",
        "The mean score of the entities found, the share of them that was right, the expected calibration error (ECE) and the area under the "
        "risk–coverage curve (AURC).",
        markdown(_confidence(columns)),
        *(["### Heads that do not tag", OTHERS, markdown(main_table(others))] if others else []),
        *([notes.strip()] if notes.strip() else []),
        "### Signatures",
        "\n".join(f"- `{column['signature']}`" for column in (*columns, *others)),
    ]
    return "\n\n".join(parts) + "\n"


def markdown(table: Table) -> str:
    """A table in Markdown, figures aligned to the right."""
    head, rows = table
    numeric = [all(row[place][:1].isdecimal() or not row[place] for row in rows) for place in range(len(head))]
    lines = [head, ["---:" if right else "---" for right in numeric], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _types(columns: Sequence[Mapping[str, Any]]) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            _title(column),
            str(name),
            f"{scores['tp'] + scores['fn']:,}",
            percent(scores["precision"]),
            percent(scores["recall"]),
            with_error(scores),
        )
        for column in columns
        for name, scores in column["spans"]["matchings"]["strict"]["types"].items()
    ]
    return ["corpus", "type", "entities", "precision", "recall", "F1"], rows


def _mistakes(columns: Sequence[Mapping[str, Any]]) -> Table:
    kinds = list(dict.fromkeys(kind for column in columns for kind in column["spans"]["mistakes"]["kinds"]))
    rows = [
        (_title(column), *(f"{column['spans']['mistakes']['kinds'].get(kind, 0):,}" for kind in kinds))
        for column in columns
        if not column["cross"]
    ]
    return ["corpus", *kinds], rows


def _confidence(columns: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for column in columns:
        confidence = column["spans"].get("confidence")
        if confidence and not column["cross"]:
            errors = (figure(confidence[name], confidence[f"{name}_error"]) for name in ("ece", "aurc"))
            rows.append((_title(column), percent(confidence["mean_score"]), percent(confidence["accuracy"]), *errors))
    return ["corpus", "mean score", "right", "ECE", "AURC"], rows


def _title(column: Mapping[str, Any]) -> str:
    return str(column["corpus"]) + (f" by {'+'.join(column['heads'])}" if column["cross"] else "")
