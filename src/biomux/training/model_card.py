"""The model card of a bundle, written at export from what the run knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux import __version__
from biomux.corpora import catalogue, own
from biomux.engine.bundle.heads import names
from biomux.errors import CorpusError
from biomux.recipes.run_folder import RunFolder
from biomux.tasks.tagging import Tagging
from biomux.training.quantization_check import RULE, mean_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from biomux.recipes.schema import Recipe
    from biomux.tasks.task import Task
    from biomux.training.merge_rule_choice import Chosen
    from biomux.training.quantization_check import QuantizationCheck

LIMITS = """## Intended use and limits

For finding entities in English biomedical literature: search, curation, statistics over many documents, research. **Not for clinical
decisions**: nobody has shown that it is fit for them, and it was not trained on text about patients unless a corpus below says so.

- It finds entities of the types below and does not link them to a database.
- Each head follows its own corpus: its definition of a type, its annotators' habits and their mistakes. Where corpora disagree, heads do too.
- It was measured on held-out parts of the same corpora. Expect lower scores on other text (full articles, reports, other fields).
- A score is the smallest probability among the words of an entity, after the temperature below. It is an estimate, not a guarantee.
"""
OTHERS = """
- Relations, classes, numbers and answers follow their corpora too. Relations are between the entities that the model finds itself, or that a document brings.
"""


def card(
    run: Path,
    recipe: Recipe,
    tasks: Sequence[Task],
    gate: QuantizationCheck,
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
        f"Made by Biomux {__version__}: one encoder ({_encoder(recipe)}), {len(tasks)} {'head' if len(tasks) == 1 else 'heads'}, "
        f"precision {gate.chosen}, a graph of {graph_size / 1e6:.1f} MB. Windows have at most {recipe.model.encoder.limit} tokens.",
        (LIMITS.rstrip() + (OTHERS if any(not isinstance(task, Tagging) for task in tasks) else "")).strip(),
        "## Heads\n\n"
        + _heads(recipe, tasks, temperatures)
        + (f"\n\nTrained together with these, but not part of the bundle: {', '.join(left_out)}." if left_out else ""),
        *(["## Types\n\n" + _types(chosen)] if chosen else []),
        "## Scores\n\n" + (_JUDGED.format(run=chosen_on) + "\n\n" if chosen_on else "") + _scores(run, gate),
        "## Training\n\n" + _training(run, recipe),
        "## Data\n\n" + "\n".join(_corpus(task.name, recipe) for task in tasks),
    ]
    return "\n\n".join(parts) + "\n"


_JUDGED = (
    "The shipped weights have learned the development data too, so measuring on it with them would mean nothing. The figures below, the "
    "temperatures, thresholds and merging rules were measured with the weights that they started from (`{run}`), which had not seen it."
)


def _heads(recipe: Recipe, tasks: Sequence[Task], temperatures: Mapping[str, float]) -> str:
    rows = [
        (
            task.name,
            own.short_name(recipe.tasks[task.name].corpus),
            task.kind + (f" ({task.scheme})" if isinstance(task, Tagging) else ""),
            ", ".join(names(task)) or "–",
            f"{temperatures[task.name]:.2f}",
        )
        for task in tasks
    ]
    return _table(("head", "corpus", "kind", "types or labels", "temperature"), rows)


def _types(chosen: Mapping[str, Chosen]) -> str:
    """Each plain type: its rule, its score on development data, and the scores of the other rules."""
    rows, never = [], []
    for name, choice in chosen.items():
        labels = sorted(choice.table, key=choice.mean, reverse=True)
        other_rules = ", ".join(f"{label} {100 * choice.mean(label):.1f}" for label in labels[1:4])
        sources = ", ".join(f"{head}/{type_}" for head, type_ in choice.merge.used)
        threshold = "–" if choice.merge.threshold is None else f"{choice.merge.threshold:.2f}"
        rows.append((name, labels[0], sources, f"{100 * choice.mean(labels[0]):.1f}", other_rules or "–", threshold))
        if not choice.mean(labels[0]):
            never.append(name)
    explanation = (
        "A plain type combines the heads that tag it, by the rule with the best mean strict F1 over the development parts of all corpora that annotate "
        "the type. Each corpus counts equally, and heads also answer on the text of other corpora. Corpora draw boundaries differently, so these means "
        "are lower than what each head reaches on its own corpus. The threshold is the score with the best such mean; by default, entities that score "
        "less are left out. Types without a threshold were never right on development data and are returned only if you ask for them by name."
    )
    if never:
        explanation += f" Not reliable: {', '.join(never)}. They are rare in the corpora, and none of them was found in the development data."
    return explanation + "\n\n" + _table(("type", "rule", "heads", "mean F1", "next best rules", "threshold"), rows)


def _scores(run: Path, gate: QuantizationCheck) -> str:
    if not gate.fp32:
        summary = f"Not measured at export: what {gate.chosen} costs is unknown, and scores are not calibrated."
        trained = RunFolder(run).scores.get("tasks", {})
        old = [(head, f"{100 * task_scores['f1']:.2f}") for head, task_scores in trained.items() if "f1" in task_scores]
        return summary + (
            "\n\nDevelopment scores from training, computed by torch:\n\n" + _table(("head", "F1"), old) if old else ""
        )
    rows = [
        (
            head,
            gate.figures.get(head, "f1"),
            f"{gate.documents[head]:,}",
            f"{100 * value:.2f}",
            f"{100 * gate.losses[head].value:.2f}",
            f"{gate.losses[head].points:+.2f} ± {gate.losses[head].error:.2f}",
        )
        for head, value in gate.fp32.items()
    ]
    documents_read = "all documents" if gate.limit is None else f"at most {gate.limit:,} documents per head"
    summary = (
        f"Each head's main figure (strict F1 of entities) in hundredths, on {documents_read} of the split `{gate.split}`, in fp32 and as shipped ({gate.chosen}), and what each head loses, with the standard error of "
        f"the loss. {RULE} The tolerance is {gate.tolerance:g} points. Mixes tried: {', '.join(name for name, _ in gate.tried) or 'none'}. "
        f"The heads lose {mean_of(gate.losses):.2f} points on average."
    )
    if gate.doubtful:
        summary += f" Above the tolerance, possibly by chance: {', '.join(gate.doubtful)}."
    left_out = (
        f"\n\nNot measured, for lack of development data: {', '.join(gate.unmeasured)}." if gate.unmeasured else ""
    )
    return f"{summary}\n\n" + _table(("head", "figure", "documents", "fp32", "shipped", "loss"), rows) + left_out


def _training(run: Path, recipe: Recipe) -> str:
    counts = RunFolder(run).counts.get("examples", {})
    loop = recipe.loop
    summary = (
        f"Regime `{recipe.regime.kind}`, at most {loop.epochs} {'epoch' if loop.epochs == 1 else 'epochs'}, batches of {loop.batch_tokens} tokens, "
        f"{loop.optimizer} with a learning rate of {loop.learning_rate:g}, seed {loop.seed}. Sentences that also occur in held-out parts were "
        f"{_LEAKS[recipe.leaks]}."
    )
    keys = list(dict.fromkeys(key for head_counts in counts.values() for key in head_counts))
    rows = [
        (head, *(f"{head_counts[key]:,}" if key in head_counts else "" for key in keys))
        for head, head_counts in counts.items()
    ]
    return summary + (
        "\n\n" + _table(("head", *(key.replace("mentions", "entities") for key in keys)), rows) if rows else ""
    )


def _corpus(head: str, recipe: Recipe) -> str:
    name = recipe.tasks[head].corpus
    if own.of_spec(name) is not None:
        return f"- **{head}**: {own.short_name(name)}, the trainer's own data."
    try:
        corpus_card = catalogue.card(name.partition("[")[0])
    except CorpusError:
        return f"- **{head}**: {name}, which is not in the catalogue."
    licence = (
        "; ".join(f"{stated_licence.name} ({stated_licence.stated})" for stated_licence in corpus_card.licence)
        or "not stated"
    )
    return f"- **{head}**: {corpus_card.title}. Licence: {licence}. Cite: {'; '.join(corpus_card.citation)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _encoder(recipe: Recipe) -> str:
    """What an encoder is, or started from."""
    settings = recipe.model.encoder
    if settings.bundle is not None:
        return f"started from that of the bundle `{_last(settings.bundle)}`"
    return f"`{_last(settings.name)}`" if settings.name else f"of kind {settings.kind}"


def _last(name: str) -> str:
    """A hub name unchanged; for a folder only its own name: where it was is private."""
    return name.rstrip("/").rsplit("/", 1)[-1] if name.startswith(("/", ".", "~")) else name


_LEAKS = {"filter": "removed", "report": "counted but not removed", "ignore": "not looked for"}
