"""The model card of a bundle, written at export from what the run knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from biomux import __version__
from biomux.corpora import catalogue
from biomux.errors import CorpusError
from biomux.training.quantization_check import RULE, mean_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from biomux.recipes.schema import Recipe
    from biomux.tasks.tagging import Tagging
    from biomux.training.quantization_check import Gate
    from biomux.training.type_merging import Chosen

LIMITS = """## Intended use, and limits

For finding mentions in biomedical literature in English: search, curation, statistics over many documents, research. **Not for clinical
decisions**: nobody has shown that it is fit for them, and text about patients was not what it learned from, unless a corpus below says so.

- It finds mentions of the types below and links none of them to a database.
- Each head knows its own corpus's idea of a type, its annotators' habits and their mistakes. Heads disagree where corpora do.
- It was measured on held-out parts of the same corpora. On other text (full articles, reports, other fields) expect less.
- A score is the smallest probability among a mention's words, after the temperature below. It is no measure of truth.
"""


def card(
    run: Path,
    recipe: Recipe,
    tasks: Sequence[Tagging],
    gate: Gate,
    temperatures: Mapping[str, float],
    *,
    graph_size: int,
    left_out: Sequence[str] = (),
    chosen: Mapping[str, Chosen] | None = None,
    chosen_on: str | None = None,
) -> str:
    """The card in Markdown."""
    parts = [
        f"# {recipe.name}",
        recipe.about.strip() or "A tagger for biomedical text.",
        f"Made by Biomux {__version__}: one encoder (`{_last(recipe.model.encoder.name)}`), {len(tasks)} heads, "
        f"precision {gate.chosen}, graph of {graph_size / 1e6:.1f} MB. Windows of at most {recipe.model.encoder.limit} pieces.",
        LIMITS.strip(),
        "## Heads\n\n"
        + _heads(recipe, tasks, temperatures)
        + (f"\n\nTrained beside these, and not part of the bundle: {', '.join(left_out)}." if left_out else ""),
        *(["## Types\n\n" + _types(chosen)] if chosen else []),
        "## Scores\n\n" + (_JUDGED.format(run=chosen_on) + "\n\n" if chosen_on else "") + _scores(run, gate),
        "## Training\n\n" + _training(run, recipe),
        "## Data\n\n" + "\n".join(_corpus(task.name, recipe) for task in tasks),
    ]
    return "\n\n".join(parts) + "\n"


_JUDGED = (
    "The weights that are shipped have learned the development data too, so that nothing measured on it with them would mean anything. "
    "What follows, and the temperatures, thresholds and merging rules, were measured with the weights that they went on from "
    "(`{run}`), which had not."
)


def _heads(recipe: Recipe, tasks: Sequence[Tagging], temperatures: Mapping[str, float]) -> str:
    rows = [
        (
            task.name,
            recipe.tasks[task.name].corpus,
            ", ".join(task.types),
            task.scheme,
            f"{temperatures[task.name]:.2f}",
        )
        for task in tasks
    ]
    return _table(("head", "corpus", "types", "scheme", "temperature"), rows)


def _types(chosen: Mapping[str, Chosen]) -> str:
    """Each plain type: its rule, what the rule reached on development data, and what the rules that lost reached."""
    rows, never = [], []
    for name, found in chosen.items():
        labels = sorted(found.table, key=found.mean, reverse=True)
        others = ", ".join(f"{label} {100 * found.mean(label):.1f}" for label in labels[1:4])
        behind = ", ".join(f"{head}/{type_}" for head, type_ in found.merge.used)
        threshold = "–" if found.merge.threshold is None else f"{found.merge.threshold:.2f}"
        rows.append((name, labels[0], behind, f"{100 * found.mean(labels[0]):.1f}", others or "–", threshold))
        if not found.mean(labels[0]):
            never.append(name)
    said = (
        "A plain type is made of heads by the rule with the best mean strict F1 over the development parts of all corpora that annotate it, "
        "each counting alike; a head speaks about the other corpora's text too. Corpora draw boundaries differently, so these means are below "
        "what each head reaches at home. The threshold is the score with the best such mean, from which on a type is given out by default; types without one were never right "
        "there and are left out unless asked for by name."
    )
    if never:
        said += f" Not to be counted on: {', '.join(never)}. None of their mentions there, if there were any, was found; corpora have few of them."
    return said + "\n\n" + _table(("type", "rule", "heads behind it", "mean F1", "next best rules", "threshold"), rows)


def _scores(run: Path, gate: Gate) -> str:
    if not gate.fp32:
        said = f"Not measured at export: what {gate.chosen} costs is not known, and scores are not calibrated."
        trained = _json(run / "scores.json").get("tasks", {})
        old = [(head, f"{100 * found['f1']:.2f}") for head, found in trained.items() if "f1" in found]
        return said + ("\n\nIn training, by torch:\n\n" + _table(("head", "F1"), old) if old else "")
    rows = [
        (
            head,
            f"{gate.documents[head]:,}",
            f"{100 * value:.2f}",
            f"{100 * gate.losses[head].f1:.2f}",
            f"{gate.losses[head].points:+.2f} ± {gate.losses[head].error:.2f}",
        )
        for head, value in gate.fp32.items()
    ]
    read = "all documents" if gate.limit is None else f"at most {gate.limit:,} documents a head"
    said = (
        f"Strict F1 on {read} of the split `{gate.split}`, at fp32 and as shipped ({gate.chosen}), with what each head loses by the precision and the "
        f"standard error of that loss. {RULE} The tolerance is {gate.tolerance:g} points; mixes tried: "
        f"{', '.join(name for name, _ in gate.tried) or 'none'}; the heads lose {mean_of(gate.losses):.2f} points on average."
    )
    if gate.doubtful:
        said += f" Beyond the tolerance, by what may be noise: {', '.join(gate.doubtful)}."
    left_out = (
        f"\n\nNot measured, for want of development data: {', '.join(gate.unmeasured)}." if gate.unmeasured else ""
    )
    return f"{said}\n\n" + _table(("head", "documents", "fp32", "shipped", "loss"), rows) + left_out


def _training(run: Path, recipe: Recipe) -> str:
    counts = _json(run / "counts.json").get("examples", {})
    loop = recipe.loop
    said = (
        f"Regime {recipe.regime.kind}; at most {loop.epochs} epochs, batches of {loop.batch_pieces} pieces, {loop.optimizer} at "
        f"{loop.learning_rate:g}, seed {loop.seed}. Sentences that also stand in held-out parts: {_LEAKS[recipe.leaks]}."
    )
    rows = [(head, "; ".join(f"{key} {value:,}" for key, value in found.items())) for head, found in counts.items()]
    return said + ("\n\n" + _table(("head", "counted"), rows) if rows else "")


def _corpus(head: str, recipe: Recipe) -> str:
    name = recipe.tasks[head].corpus
    try:
        found = catalogue.card(name.partition("[")[0])
    except CorpusError:
        return f"- **{head}**: {name}, a corpus without a card."
    licence = "; ".join(f"{one.name} ({one.stated})" for one in found.licence) or "not stated"
    return f"- **{head}**: {found.title}. Licence: {licence}. Cite: {'; '.join(found.citation)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _last(name: str) -> str:
    """A hub name as it is; of a folder, its own name: where it lay is nobody's business."""
    return name.rstrip("/").rsplit("/", 1)[-1] if name.startswith(("/", ".", "~")) else name


_LEAKS = {"filter": "taken out", "report": "counted, not taken out", "ignore": "not looked for"}
