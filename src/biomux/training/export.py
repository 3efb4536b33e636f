"""Export: a run becomes a bundle.

The graph is written in the fastest mix of precisions with which no head loses more than the tolerance (`quantization_check`), calibrated
(`calibrate`), and run on its examples; the finished folder is read and verified like a user's before it gets its name.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from biomux import __version__
from biomux.corpora import own
from biomux.engine.bundle import crf_transitions, task_settings, word_tables
from biomux.engine.bundle import heads as head_table
from biomux.engine.bundle import verify as verifying
from biomux.engine.bundle.checksums import FORMAT, MANIFEST, VERSION, read_manifest
from biomux.errors import BundleError
from biomux.formats import folder_target, must_be_new
from biomux.recipes.run_folder import RunFolder
from biomux.tasks.crf_decoding import Chained
from biomux.tasks.tagging import Tagging
from biomux.training import calibrate, merge_rule_choice, quantization_check
from biomux.training.development_scores import predict
from biomux.training.exportable import Graphs, Trained, cannot, read
from biomux.training.model_card import card

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.overlaps import Curve
    from biomux.recipes.schema import Recipe
    from biomux.scoring.document_rows import DocumentRows
    from biomux.tasks.task import Task

Wanted = Literal["int8", "fp32", "auto"]


def export(
    run: Path,
    target: Path,
    *,
    precision: Wanted = "auto",
    tolerance: float = quantization_check.TOLERANCE,
    measure: bool = True,
    limit: int | None = None,
    directory: Path | None = None,
    types: Mapping[str, Any] | None = None,
    threads: int | None = None,
    chosen_on: Path | None = None,
    heads: Sequence[str] | None = None,
    overwrite: bool = False,
    listen: Callable[[str], None] = lambda _: None,
) -> quantization_check.QuantizationCheck:
    """Write the best weights of a run as a bundle; the folder gets its name only when complete. Another bundle is replaced only with `overwrite`.

    `measure=False` needs no corpora: then the cost of int8 is unknown and scores are not calibrated, and the card says so. `limit`
    is the maximum number of development documents per head (default: all). `types` are the plain types, as `biomux.engine.type_merging` describes them.
    `heads` names those that go into the bundle (default: all that can). `chosen_on` is the run that this one continued in order to train on the development data too: its
    weights, which have not seen that data, are measured, and precision, temperatures, thresholds and merging are chosen for them.
    """
    must_be_new(target, overwrite=overwrite, folder=True, ours=bundle_files(target))
    trained = read(run, heads=heads)
    recipe = RunFolder(run).recipe
    judged = trained if chosen_on is None else _same_heads(read(chosen_on, heads=heads), trained, chosen_on)
    choosing = recipe if chosen_on is None else RunFolder(chosen_on).recipe
    for why in dict.fromkeys(trained.left_out.values()):
        listen(f"left out, {why}: {', '.join(name for name, reason in trained.left_out.items() if reason == why)}")
    names = [task.name for task in trained.tasks]
    development = (
        quantization_check.development(choosing, heads=names, directory=directory, limit=limit) if measure else {}
    )
    documents = {name: development[name] for name in names if development.get(name)}
    measured, graphs = _through_the_gate(judged, documents, precision, tolerance, threads, listen)
    measured = replace(measured, split=choosing.development.split if documents else "", limit=limit)
    annotator = judged.annotator(graphs, threads=threads)
    temperatures, answers, plain = _calibrated(annotator, trained.tasks, documents, types or {}, listen)
    annotator = replace(annotator, temperatures=temperatures)
    chosen: dict[str, merge_rule_choice.Chosen] = {}
    merged = merge_rule_choice.of_heads(recipe.types or {}, tuple(trained.left_out))
    if documents and merged and not types:
        listen("choosing how heads of one type are merged")
        chosen = merge_rule_choice.choose_all(annotator, documents, merged, levels=recipe.levels)
        plain = merge_rule_choice.to_json(chosen)
    if judged is not trained:
        mix = next(mix for mix in (quantization_check.FP32, *trained.mixes) if mix.name == measured.chosen)
        graphs = trained.graphs(mix)
        annotator = replace(trained.annotator(graphs, threads=threads), temperatures=temperatures)
    parts: dict[str, bytes] = {
        "graph.onnx": graphs.encoder,
        **({} if graphs.pairs is None else {"pairs.onnx": graphs.pairs}),
        **_reading(trained, graphs),
        "heads.json": _json(_table(trained, temperatures, answers, recipe)),
        "calibration.json": _json(
            _nested({source: calibrate.curve(type_answers) for source, type_answers in answers.items()})
        ),
        "gate.json": _json(measured.to_json()),
        "examples.jsonl": verifying.examples(annotator),
        "card.md": card(
            run,
            recipe,
            trained.tasks,
            measured,
            temperatures,
            graph_size=graphs.size,
            left_out=tuple(trained.left_out),
            chosen=chosen,
            chosen_on=choosing.name if judged is not trained else None,
        ).encode(),
    }
    if plain:
        parts["types.json"] = _json(plain)
    if learned := crf_transitions.to_json(trained.tasks):
        parts["transitions.json"] = _json(learned)
    write_bundle(target, parts, overwrite=overwrite)
    return measured


def _same_heads(judged: Trained, trained: Trained, place: Path) -> Trained:
    """The run whose weights are measured; refused if its heads differ from those of the run that is shipped."""
    if _shape(judged) != _shape(trained):
        raise cannot(
            f"{place} has other heads or another encoder than the run to export",
            hint="name the run that it continued with --chosen-on",
        )
    return judged


def _shape(trained: Trained) -> tuple[Any, ...]:
    """Everything about a run except the values of its weights."""
    encoder = {name: value.shape for name, value in trained.encoder.items()}
    meaning = [(type(task), task.name, task_settings.to_json(task)) for task in trained.tasks]
    return meaning, encoder, trained.tokenizer.to_str(), trained.limit


def _through_the_gate(
    trained: Trained,
    documents: Mapping[str, Sequence[Document]],
    precision: Wanted,
    tolerance: float,
    threads: int | None,
    listen: Callable[[str], None],
) -> tuple[quantization_check.QuantizationCheck, Graphs]:
    """The measurements, and the graphs in the chosen mix of precisions."""
    counts = {head: len(group) for head, group in documents.items()}
    if not documents:
        chosen = trained.mixes[0] if precision == "int8" else quantization_check.FP32
        unmeasured = tuple(task.name for task in trained.tasks)
        check = quantization_check.QuantizationCheck(chosen.name, tolerance, unmeasured=unmeasured)
        return check, trained.graphs(chosen)
    listen(f"measuring fp32 on {sum(counts.values()):,} documents")
    graphs = {quantization_check.FP32.name: trained.graphs(quantization_check.FP32)}
    figures: dict[str, str] = {}

    def measure(mix: quantization_check.PrecisionMix) -> dict[str, DocumentRows]:
        if mix.name not in graphs:
            listen(f"measuring {mix.name}")
            graphs[mix.name] = trained.graphs(mix)
        annotator = trained.annotator(graphs[mix.name], threads=threads)
        rows, figure_names = quantization_check.measured(annotator, trained.tasks, documents)
        figures.update(figure_names)
        return rows

    reference = measure(quantization_check.FP32)
    exact = quantization_check.losses(reference, reference)
    chosen_mix = quantization_check.FP32
    tried: tuple[tuple[str, quantization_check.Losses], ...] = ()
    if precision != "fp32":
        candidate_mix, tried = quantization_check.choose(trained.mixes, reference, measure, tolerance=tolerance)
        if candidate_mix is None and precision != "auto":
            raise quantization_check.refused(tried, tolerance)
        if candidate_mix is None:
            tried = (*tried, (quantization_check.FP32.name, exact))
        chosen_mix = candidate_mix or quantization_check.FP32
    listen(f"taken: {chosen_mix.name}")
    measured = quantization_check.QuantizationCheck(
        chosen_mix.name,
        tolerance,
        documents={head: counts[head] for head in reference},
        fp32={head: loss.value for head, loss in exact.items()},
        figures=figures,
        tried=tried,
        unmeasured=tuple(task.name for task in trained.tasks if task.name not in reference),
    )
    return measured, graphs[chosen_mix.name]


def _calibrated(
    annotator: Annotator,
    tasks: Sequence[Task],
    documents: Mapping[str, Sequence[Document]],
    types: Mapping[str, Any],
    listen: Callable[[str], None],
) -> tuple[dict[str, float], dict[tuple[str, str], calibrate.TypeAnswers], dict[str, Any]]:
    """The temperature of each head, what it finds for each of its types, and the plain types with their curves and thresholds."""
    temperatures = {task.name: 1.0 for task in tasks}
    answers: dict[tuple[str, str], calibrate.TypeAnswers] = {}
    if documents:
        listen("calibrating")
    for task in tasks:
        if task.name in documents and not isinstance(task, Tagging):
            gold = documents[task.name]
            temperatures[task.name] = _within(calibrate.temperature_of(annotator, task, gold))
            predicted = predict(replace(annotator, temperatures=temperatures), task, gold)
            answers |= {
                (task.name, label): type_answers
                for label, type_answers in calibrate.answers_of(task, gold, predicted).items()
            }
        elif task.name in documents and isinstance(task, Tagging):
            sentences = calibrate.read(annotator, task, documents[task.name])
            # Transitions were learned together with the unscaled logits: another temperature would change the answers.
            fitted = 1.0 if isinstance(task, Chained) else calibrate.temperature(sentences)
            temperatures[task.name] = _within(fitted)
            for type_, type_answers in calibrate.answers(task, sentences, temperatures[task.name]).items():
                answers[task.name, type_] = type_answers
    plain = {}
    for name, entry in types.items():
        source_answers = [answers[source] for source in map(tuple, entry["sources"]) if source in answers]
        pooled = calibrate.curve(sum(source_answers, calibrate.TypeAnswers()))
        measured: dict[str, Any] = {"calibration": pooled} if pooled else {}
        if source_answers:
            measured["threshold"] = calibrate.best_threshold(source_answers)
        plain[name] = measured | entry
    return temperatures, answers, plain


def _within(temperature: float) -> float:
    return round(min(max(temperature, head_table.COLDEST), head_table.HOTTEST), 4)


def _table(
    trained: Trained,
    temperatures: Mapping[str, float],
    answers: Mapping[tuple[str, str], calibrate.TypeAnswers],
    recipe: Recipe,
) -> dict[str, Any]:
    thresholds: dict[str, dict[str, float | None]] = {}
    choosy = {task.name for task in trained.tasks if calibrate.leaves_out(task)}
    for (head, type_), type_answers in answers.items():
        if head in choosy:
            thresholds.setdefault(head, {})[type_] = calibrate.best_threshold([type_answers])
    places = trained.places
    heads = [
        head_table.entry(
            task,
            places[task.name],
            temperature=temperatures[task.name],
            corpus=own.short_name(recipe.tasks[task.name].corpus),
            thresholds=thresholds.get(task.name),
        )
        for task in trained.tasks
    ]
    specials = trained.specials
    return {
        "version": head_table.VERSION,
        "heads": heads,
        "specials": {"pad": specials.pad, "before": specials.before, "after": specials.after},
        "limit": trained.limit,
    }


def _nested(curves: Mapping[tuple[str, str], Curve]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (head, type_), points in curves.items():
        nested.setdefault(head, {})[type_] = [list(point) for point in points]
    return nested


def bundle_files(folder: Path) -> tuple[str, ...]:
    """List the files of the bundle in a folder; empty if there is no bundle."""
    try:
        return (MANIFEST, *read_manifest(folder).files)
    except BundleError:
        return ()


def write_bundle(target: Path, parts: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write the files and the manifest beside the target, verify them as a user would, then move them into place."""
    with folder_target(target, overwrite=overwrite, ours=bundle_files(target)) as fresh:
        files = {}
        for name, content in sorted(parts.items()):
            (fresh / name).write_bytes(content)
            files[name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        manifest = {"format": FORMAT, "version": VERSION, "biomux": __version__, "files": files}
        (fresh / MANIFEST).write_bytes(_json(manifest))
        for check in verifying.verify(fresh):
            if check.error is not None:
                raise check.error


def _reading(trained: Trained, graphs: Graphs) -> dict[str, bytes]:
    """The files that turn text into the graph's inputs: a tokenizer, or tables of words."""
    if graphs.words is None:
        return {"tokenizer.json": trained.tokenizer.to_str().encode()}
    return {"words.onnx": graphs.words, "words.txt": word_tables.to_text(trained.words)}


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
