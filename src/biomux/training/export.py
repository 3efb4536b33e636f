"""Export: a run becomes a bundle.

The graph is written in the fastest mix of precisions with which no head loses more than the tolerance (`gate`), calibrated (`calibrate`),
and asked its examples; the finished folder is read and verified as a user's would be before it gets its name.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from biomux import __version__
from biomux.corpora import own
from biomux.engine.annotator import Annotator
from biomux.engine.bundle import crf_transitions
from biomux.engine.bundle import heads as head_table
from biomux.engine.bundle import verify as verifying
from biomux.engine.bundle.reader import FORMAT, MANIFEST, VERSION, read_manifest
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.packing import Specials
from biomux.errors import BundleError, TrainingError, UsageError, did_you_mean
from biomux.formats import folder_target, must_be_new
from biomux.recipes.run_folder import RunFolder
from biomux.tasks import restored
from biomux.tasks.crf_decoding import Chained, Transitions
from biomux.tasks.tagging import Tagging
from biomux.training import calibrate, onnx_graph, quantization_check, type_merging
from biomux.training.model_card import card

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.entity_types import Curve
    from biomux.recipes.schema import Recipe

    Floats = NDArray[np.float32]

Wanted = Literal["int8", "fp32", "auto"]


@dataclass(frozen=True)
class Trained:
    """A run's best weights and what they are, ready to be written as a graph."""

    encoder: dict[str, Floats]
    config: dict[str, Any]
    heads: tuple[list[tuple[Floats, Floats]], ...]
    tasks: tuple[Tagging, ...]
    tokenizer: Tokenizer
    specials: Specials
    limit: int
    left_out: tuple[str, ...] = ()
    """Heads of kinds that have no graph yet."""

    @property
    def columns(self) -> dict[str, tuple[int, int]]:
        """Each head's columns among all."""
        edges = np.cumsum([0, *(len(task.labels) for task in self.tasks)]).tolist()
        return {task.name: (edges[place], edges[place + 1]) for place, task in enumerate(self.tasks)}

    def graph(self, mix: quantization_check.PrecisionMix) -> bytes:
        """The graph in a mix of precisions."""
        try:
            made = onnx_graph.bert(self.encoder, self.config, self.heads, precision=mix.precision, keep=mix.keep)
        except KeyError as error:
            raise _cannot(f"the weights {error} are missing") from None
        content: bytes = made.SerializeToString()
        return content

    def annotator(self, content: bytes, *, threads: int | None = None) -> Annotator:
        """The annotator that a bundle with this graph gives, before calibration."""
        session = OnnxSession(content, self.columns, threads=threads)
        return Annotator(session, self.tokenizer, self.specials, self.tasks, limit=self.limit)


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
    """Write the best weights of a run as a bundle; the folder appears under its name only when whole. Another bundle is replaced only with `overwrite`.

    `measure=False` needs no corpora: nothing is known of what int8 costs then, nor are scores calibrated, and the card says so. `limit`
    is the most development documents of a head, all by default. `types` are the plain types, as `biomux.engine.entity_types` describes them.
    `heads` names those that go into the bundle; all that can by default. `chosen_on` is the run that this one went on from to learn the development data too: its weights, which have not seen that data, are
    those that are measured, and precision, temperatures, thresholds and merging are what suits them.
    """
    must_be_new(target, overwrite=overwrite, folder=True, ours=_files(target))
    trained = read(run, heads=heads)
    recipe = RunFolder(run).recipe
    judged = trained if chosen_on is None else _same_heads(read(chosen_on, heads=heads), trained, chosen_on)
    choosing = recipe if chosen_on is None else RunFolder(chosen_on).recipe
    if trained.left_out:
        why = "as asked" if heads is not None else "since only heads that tag have a graph so far"
        listen(f"left out, {why}: {', '.join(trained.left_out)}")
    names = [task.name for task in trained.tasks]
    found = quantization_check.development(choosing, heads=names, directory=directory, limit=limit) if measure else {}
    documents = {name: found[name] for name in names if found.get(name)}
    measured, content = _through_the_gate(judged, documents, precision, tolerance, threads, listen)
    measured = replace(measured, split=choosing.development.split if documents else "", limit=limit)
    annotator = judged.annotator(content, threads=threads)
    temperatures, answers, plain = _calibrated(annotator, trained.tasks, documents, types or {}, listen)
    annotator = replace(annotator, temperatures=temperatures)
    chosen: dict[str, type_merging.Chosen] = {}
    merged = type_merging.of_heads(recipe.types or {}, trained.left_out)
    if documents and merged and not types:
        listen("choosing how heads of one type are merged")
        chosen = type_merging.choose_all(annotator, documents, merged, levels=recipe.levels)
        plain = type_merging.to_json(chosen)
    if judged is not trained:
        content = trained.graph(
            quantization_check.named(measured.chosen, layers=int(trained.config["num_hidden_layers"]))
        )
        annotator = replace(trained.annotator(content, threads=threads), temperatures=temperatures)
    parts: dict[str, bytes] = {
        "graph.onnx": content,
        "tokenizer.json": trained.tokenizer.to_str().encode(),
        "heads.json": _json(_table(trained, temperatures, answers, recipe)),
        "calibration.json": _json(_nested({source: calibrate.curve(given) for source, given in answers.items()})),
        "gate.json": _json(measured.to_json()),
        "examples.jsonl": verifying.examples(annotator),
        "card.md": card(
            run,
            recipe,
            trained.tasks,
            measured,
            temperatures,
            graph_size=len(content),
            left_out=trained.left_out,
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


def read(run: Path, *, heads: Sequence[str] | None = None) -> Trained:
    """The weights of a run, or of these heads of it; BX505 if no graph can be made of them."""
    files = RunFolder(run)
    try:
        described = files.description
        weights = load_file(files.weights)
        config = dict(described["encoder"])
        found = [(str(one["name"]), _task(one)) for one in described["tasks"]]
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
        specials, limit = Specials(**described["specials"]), int(described["limit"])
    except (KeyError, TypeError, ValueError, OSError, SafetensorError) as error:
        raise TrainingError(
            "BX406", f"cannot read the run: {error}", where=str(run), hint="name a folder that `biomux train` made"
        ) from None
    _must_have_a_graph(config)
    if heads is not None:
        _must_be_exportable(heads, dict(found))
    tasks = tuple(task for name, task in found if task is not None and (heads is None or name in heads))
    left_out = tuple(name for name, _ in found if name not in {task.name for task in tasks})
    if not tasks:
        raise _cannot(
            f"no head of the run tags ({', '.join(left_out)}), and others have no graph yet",
            hint="annotate with the run itself: biomux.load(RUN)",
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    prefix = "encoder.body."
    encoder = {
        name.removeprefix(prefix): value.astype(np.float32)
        for name, value in weights.items()
        if name.startswith(prefix)
    }
    # No window is longer than the limit and the two tokens around it: places beyond that are never read.
    places = "embeddings.position_embeddings.weight"
    if places in encoder:
        encoder[places] = encoder[places][: limit + 2]
    decoded = tuple(_chained(task, weights) for task in tasks)
    return Trained(encoder, config, _heads(weights, tasks), decoded, tokenizer, specials, limit, left_out)


def _task(described: Mapping[str, Any]) -> Tagging | None:
    """A run's task; None if it is of a kind that has no graph yet."""
    if described["kind"] != "tagging":
        return None
    task = restored(dict(described))
    return task if isinstance(task, Tagging) else None


def _must_be_exportable(heads: Sequence[str], found: Mapping[str, Tagging | None]) -> None:
    tagging = [name for name, task in found.items() if task is not None]
    for name in heads:
        if name not in found:
            raise UsageError("BX001", f"the run has no head {name!r}", hint=did_you_mean(name, tagging))
        if found[name] is None:
            raise _cannot(
                f"head {name!r} does not tag, and others have no graph yet",
                hint="leave it out of --heads, or annotate with the run itself: biomux.load(RUN)",
            )
    if not heads:
        raise UsageError("BX001", "--heads must name at least one", hint=f"name some of: {', '.join(tagging)}")


def _must_have_a_graph(config: Mapping[str, Any]) -> None:
    kind = str(config.get("kind") or config.get("model_type"))
    if kind != "bert" or config.get("hidden_act") != "gelu":
        shape = f" with {config.get('hidden_act')!r}" if kind == "bert" else ""
        raise _cannot(
            f"an encoder of kind {kind!r}{shape} has no graph yet, only BERT's with 'gelu' has",
            hint="annotate with the run itself: biomux.load(RUN); it needs biomux[train]",
        )


def _chained(task: Tagging, weights: Mapping[str, Floats]) -> Tagging:
    """The task as it is decoded: with transitions, if its head has learned any."""
    parts = [weights.get(f"heads.{task.name}.{part.name}") for part in fields(Transitions)]
    found = [part.astype(np.float32) for part in parts if part is not None]
    return Chained.of(task, Transitions(*found)) if len(found) == len(parts) else task


def _same_heads(judged: Trained, trained: Trained, place: Path) -> Trained:
    """The run whose weights are measured; refused if it has other heads than the one that is shipped."""
    if _shape(judged) != _shape(trained):
        raise _cannot(
            f"{place} has other heads, or another encoder, than the run to export",
            hint="name the run that it went on from with --chosen-on",
        )
    return judged


def _shape(trained: Trained) -> tuple[Any, ...]:
    """All of a run but the values of its weights."""
    encoder = {name: value.shape for name, value in trained.encoder.items()}
    return [_meaning(task) for task in trained.tasks], encoder, trained.tokenizer.to_str(), trained.limit


def _meaning(task: Tagging) -> tuple[Any, ...]:
    """What a head's columns mean, whatever it has learned."""
    return type(task), task.name, task.labels, task.longest


def _through_the_gate(
    trained: Trained,
    documents: Mapping[str, Sequence[Document]],
    precision: Wanted,
    tolerance: float,
    threads: int | None,
    listen: Callable[[str], None],
) -> tuple[quantization_check.QuantizationCheck, bytes]:
    """What was measured, and the graph in the mix that was chosen."""
    mixes = quantization_check.ladder(int(trained.config["num_hidden_layers"]))
    unmeasured = tuple(task.name for task in trained.tasks if task.name not in documents)
    counts = {head: len(group) for head, group in documents.items()}
    if not documents:
        chosen = mixes[0] if precision == "int8" else quantization_check.FP32
        return quantization_check.QuantizationCheck(chosen.name, tolerance, unmeasured=unmeasured), trained.graph(
            chosen
        )
    listen(f"measuring fp32 on {sum(counts.values()):,} documents")
    graphs = {quantization_check.FP32.name: trained.graph(quantization_check.FP32)}

    def measure(mix: quantization_check.PrecisionMix) -> dict[str, quantization_check.Counted]:
        if mix.name not in graphs:
            listen(f"measuring {mix.name}")
            graphs[mix.name] = trained.graph(mix)
        return quantization_check.counts_of_heads(trained.annotator(graphs[mix.name], threads=threads), documents)

    reference = measure(quantization_check.FP32)
    exact = quantization_check.losses(reference, reference)
    taken = quantization_check.FP32
    tried: tuple[tuple[str, quantization_check.Losses], ...] = ()
    if precision != "fp32":
        found, tried = quantization_check.choose(mixes, reference, measure, tolerance=tolerance)
        if found is None and precision != "auto":
            raise quantization_check.refused(tried, tolerance)
        if found is None:
            tried = (*tried, (quantization_check.FP32.name, exact))
        taken = found or quantization_check.FP32
    listen(f"taken: {taken.name}")
    fp32 = {head: one.f1 for head, one in exact.items()}
    measured = quantization_check.QuantizationCheck(
        taken.name, tolerance, documents=counts, fp32=fp32, tried=tried, unmeasured=unmeasured
    )
    return measured, graphs[taken.name]


def _calibrated(
    annotator: Annotator,
    tasks: Sequence[Tagging],
    documents: Mapping[str, Sequence[Document]],
    types: Mapping[str, Any],
    listen: Callable[[str], None],
) -> tuple[dict[str, float], dict[tuple[str, str], calibrate.TypeAnswers], dict[str, Any]]:
    """The temperature of each head, what it finds of each of its types, and the plain types with their curves and thresholds."""
    temperatures = {task.name: 1.0 for task in tasks}
    found: dict[tuple[str, str], calibrate.TypeAnswers] = {}
    if documents:
        listen("calibrating")
    for task in tasks:
        if task.name in documents:
            sentences = calibrate.read(annotator, task, documents[task.name])
            # Transitions were learned beside the logits as they are: another temperature would change the answers.
            fitted = 1.0 if isinstance(task, Chained) else calibrate.temperature(sentences)
            temperatures[task.name] = round(min(max(fitted, head_table.COLDEST), head_table.HOTTEST), 4)
            for type_, given in calibrate.answers(task, sentences, temperatures[task.name]).items():
                found[task.name, type_] = given
    plain = {}
    for name, entry in types.items():
        behind = [found[source] for source in map(tuple, entry["sources"]) if source in found]
        pooled = calibrate.curve(sum(behind, calibrate.TypeAnswers()))
        measured: dict[str, Any] = {"calibration": pooled} if pooled else {}
        if behind:
            measured["threshold"] = calibrate.best_threshold(behind)
        plain[name] = measured | entry
    return temperatures, found, plain


def _heads(weights: Mapping[str, Floats], tasks: Sequence[Tagging]) -> tuple[list[tuple[Floats, Floats]], ...]:
    """The layers of all heads: for each depth the (matrix, bias) of every head."""
    layers: list[list[tuple[Floats, Floats]]] = []
    for task in tasks:
        prefix = f"heads.{task.name}."
        if f"{prefix}between" in weights:  # a conditional random field over the head inside it
            prefix += "head."
        own = sorted(key for key in weights if key.startswith(prefix) and key.endswith(".weight"))
        places = [key.removeprefix(prefix).removesuffix(".weight") for key in own]
        if not own or not all(place.isdecimal() for place in places):
            raise _cannot(
                f"head {task.name!r} is of a kind that has no graph yet",
                hint="name the others with --heads, or train it as linear, two-layer, or crf over one of these",
            )
        for depth, key in enumerate(own):
            if len(layers) <= depth:
                layers.append([])
            bias = weights[key.removesuffix("weight") + "bias"].astype(np.float32)
            layers[depth].append((weights[key].T.astype(np.float32), bias))
        if len(layers[-1][-1][1]) != len(task.labels):
            raise _cannot(f"head {task.name!r} does not have as many outputs as labels")
    if len({len(layer) for layer in layers}) > 1:
        raise _cannot("heads of different depths cannot stand in one graph", hint="name those of one kind with --heads")
    return tuple(layers)


def _table(
    trained: Trained,
    temperatures: Mapping[str, float],
    answers: Mapping[tuple[str, str], calibrate.TypeAnswers],
    recipe: Recipe,
) -> dict[str, Any]:
    thresholds: dict[str, dict[str, float | None]] = {}
    for (head, type_), given in answers.items():
        thresholds.setdefault(head, {})[type_] = calibrate.best_threshold([given])
    heads = [
        {
            "name": task.name,
            "types": list(task.types),
            "scheme": task.scheme,
            "kind": task.kind,
            "columns": list(trained.columns[task.name]),
            "temperature": temperatures[task.name],
            "corpus": own.short_name(recipe.tasks[task.name].corpus),
            **({} if task.longest is None else {"longest": task.longest}),
            **({"thresholds": thresholds[task.name]} if task.name in thresholds else {}),
        }
        for task in trained.tasks
    ]
    specials = trained.specials
    return {
        "heads": heads,
        "specials": {"pad": specials.pad, "before": specials.before, "after": specials.after},
        "limit": trained.limit,
    }


def _nested(curves: Mapping[tuple[str, str], Curve]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (head, type_), points in curves.items():
        nested.setdefault(head, {})[type_] = [list(point) for point in points]
    return nested


def _files(folder: Path) -> tuple[str, ...]:
    """The files of the bundle that is in a folder; none if there is none."""
    try:
        return (MANIFEST, *read_manifest(folder).files)
    except BundleError:
        return ()


def write_bundle(target: Path, parts: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write the files and the manifest beside the target, verify them as a user would, then give them their name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with folder_target(target, overwrite=overwrite, ours=_files(target)) as fresh:
        files = {}
        for name, content in sorted(parts.items()):
            (fresh / name).write_bytes(content)
            files[name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        manifest = {"format": FORMAT, "version": VERSION, "biomux": __version__, "files": files}
        (fresh / MANIFEST).write_bytes(_json(manifest))
        for check in verifying.verify(fresh):
            if check.error is not None:
                raise check.error


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _cannot(message: str, *, hint: str = "see `biomux export --help`") -> BundleError:
    return BundleError("BX505", message, hint=hint)
