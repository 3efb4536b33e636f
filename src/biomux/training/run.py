"""A run: the folder in which a recipe is trained.

RUN/
├── recipe.yaml          the recipe, fully expanded
├── begun.json           the recipe and the corpora's checksum that it was started with: it cannot be resumed with others
├── machine.json         what it was made on, and where its corpora were
├── counts.json          examples, mentions dropped and why, leaks removed
├── journal.jsonl        one event per line: steps, scores, checkpoints, how it ended
├── scores.json          development scores: of the last epoch, and, when it is done, of the best
├── predictions/         when it is done: the development documents of each task, as the best weights annotate them
├── model.safetensors    the best weights by development score
├── model.json           what the weights are: encoder configuration, heads and their labels
├── tokenizer.json
├── cache/               the examples, so that resuming is quick
├── lock                 locked by the process that uses the folder
└── checkpoints/last/    everything needed to resume
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import yaml
from safetensors.torch import load_file

from biomux.engine import machine
from biomux.errors import BiomuxError, RecipeError, TrainingError
from biomux.files import InUseError, locked
from biomux.formats import jsonl, target
from biomux.recipes import run_folder
from biomux.recipes.read import check
from biomux.recipes.run_folder import RunFolder
from biomux.training import (
    checkpoint,
    device,
    distil,
    example_cache,
    loop,
    precision,
    teacher_held_out,
    teacher_outputs,
    teachers,
)
from biomux.training.build import Built, build, restore
from biomux.training.development_scores import predict
from biomux.training.distributed import Processes, joined
from biomux.training.plain_text import PlainText
from biomux.training.task_documents import check as check_corpora

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.engine.packing import Specials
    from biomux.recipes.schema import Loop, Recipe
    from biomux.tasks.task import Evaluation
    from biomux.training.model import Model

    Predictions = dict[str, tuple[Evaluation, list[Document]]]
    """Each task's scores, and the documents that they are of."""


def start(
    recipe: Recipe,
    folder: Path,
    *,
    directory: Path | None = None,
    listen: Callable[[dict[str, Any]], None] = lambda _: None,
    report_every: float = loop.REPORT_EVERY,
) -> loop.TrainingProgress:
    """Train a recipe into a folder, or resume the unfinished run of the same recipe that is in it."""
    place = device.choose(recipe.loop.device)
    precision.choose(recipe.loop.precision, place)  # an error here must not leave a folder behind
    with (
        joined(recipe.loop, device=place) as processes,
        _claimed(recipe, folder, directory, processes),
        journaled(folder, listen, processes) as journal,
    ):
        return _run(recipe, folder, directory, place, journal, processes, report_every)


def _run(
    recipe: Recipe,
    folder: Path,
    directory: Path | None,
    place: torch.device,
    journal: Callable[[dict[str, Any]], None],
    processes: Processes,
    report_every: float,
) -> loop.TrainingProgress:
    started = time.monotonic()
    if recipe.loop.threads:
        torch.set_num_threads(recipe.loop.threads)
    cache_key = example_cache.key(recipe, directory)
    _refuse_changes(recipe, folder, directory)
    refuse_other_number(folder, recipe.loop, processes)
    built = _kept(recipe, folder, cache_key)
    fresh = built is None
    if built is None:

        def report(message: str) -> None:
            journal({"event": "teacher", "message": message})

        built = build(
            recipe, directory=directory, outputs=folder.absolute().parent / teacher_outputs.FOLDER, listen=report
        )
    built.model.to(place)
    plan, teacher = distil.beside(recipe.distil, built.plan, built.model, built.tokenizer)
    processes.say(0.0)  # no process writes while another still reads
    if processes.first and fresh:
        write_json(folder / run_folder.BEGUN, _begun(recipe, directory))
        corpora = str(directory.resolve()) if directory else None
        write_json(folder / run_folder.MACHINE, {**machine_of(built.model, processes), "corpora": corpora})
        describe(folder, built.model, built.tokenizer, built.specials, tasks=built.tasks, limit=built.limit)
        counts = {name: dict(task_counts) for name, task_counts in built.counts.items()}
        numbers: dict[str, Any] = {"examples": counts, "leaks": built.leaks.to_json() if built.leaks else None}
        if built.vocabulary:
            numbers["vocabulary"] = built.vocabulary
            journal({"event": "vocabulary", **built.vocabulary})
        write_json(folder / run_folder.COUNTS, numbers)
        _keep(built, folder, cache_key)
        for name, survey in built.surveys.items():
            journal({"event": "data", "task": name, **survey.to_json(), "text": str(survey)})
    journal(
        {
            "event": "examples",
            "number": len(built.examples),
            "tokens": sum(len(example.tokens) for example in built.examples),
            "seconds": round(time.monotonic() - started, 1),
        }
    )

    best: Predictions = {}

    def evaluate() -> float | None:
        nonlocal best
        if not built.development:
            return None
        score = 0.0
        if processes.first:
            score, predictions = _evaluate(built, folder, journal, epoch=run.progress.epoch + 1)
            if score >= run.progress.best:  # the loop keeps these weights
                best = predictions
        return processes.say(score)

    run = loop.LoopInputs(
        folder,
        built.model,
        plan,
        recipe.loop,
        built.examples,
        built.specials,
        evaluate,
        journal,
        patience=recipe.development.patience,
        every=recipe.development.every,
        teacher=teacher,
        processes=processes,
        report_every=report_every,
    )
    progress = loop.train(run)
    if processes.first:
        _finish(built, folder, best)
    journal({"event": "end", **vars(progress)})
    return progress


def _begun(recipe: Recipe, directory: Path | None) -> dict[str, Any]:
    started_with = {"recipe": recipe.training(), "corpora": example_cache.corpora_checksum(recipe, directory)}
    started_with |= {"teachers": teachers.checksums(recipe)} if recipe.teacher else {}
    return started_with | ({"distil": distil.checksum(recipe.distil)} if recipe.distil else {})


def _refuse_changes(recipe: Recipe, folder: Path, directory: Path | None) -> None:
    """Refuse to resume with anything other than what the run was started with: the weights would belong to neither."""
    if checkpoint.find(folder / "checkpoints" / "last") is None:
        return
    try:
        started_with = RunFolder(folder).begun
        before, corpora = check(started_with["recipe"], where=run_folder.BEGUN).training(), started_with["corpora"]
    except (KeyError, TypeError, ValueError, RecipeError):
        return
    changed = "its corpora" if corpora != example_cache.corpora_checksum(recipe, directory) else ""
    if started_with.get("teachers", {}) != teachers.checksums(recipe) or started_with.get("distil") != distil.checksum(
        recipe.distil
    ):
        changed = "its teachers"
    if before != recipe.training():
        changed = f"its recipe ({', '.join(differences(before, recipe.training()))})"
    if changed:
        raise changed_since_start(folder, changed)


def refuse_other_number(folder: Path, settings: Loop, processes: Processes) -> None:
    """Refuse to resume with another number of processes where it decides the weights."""
    if settings.local_steps == 1 or checkpoint.find(folder / "checkpoints" / "last") is None:
        return
    before = RunFolder(folder).machine.get("processes", processes.number)
    if before != processes.number:
        raise TrainingError(
            "BX405",
            f"cannot resume with {processes.number} processes: the run was started with {before}, and with loop.local_steps above 1 their number decides the weights",
            where=str(folder),
            hint=f"resume with {resuming('train', folder, before)}",
        )


def resuming(command: str, folder: Path, processes: int) -> str:
    """The command line that resumes a run with so many processes."""
    several = f"torchrun --nproc-per-node {processes} -m -- " if processes > 1 else ""
    return f"{several}biomux {command} --resume {folder}"


def changed_since_start(folder: Path, changed: str) -> TrainingError:
    """The error for resuming a run with something other than what it was started with."""
    return TrainingError(
        "BX405",
        f"cannot resume: {changed} changed since the run was started",
        where=str(folder),
        hint="restore what it was started with, or start another run",
    )


def other_recipe(folder: Path) -> TrainingError:
    """The error for a folder that holds a run of another recipe."""
    return TrainingError(
        "BX405",
        "the folder already contains a run of another recipe",
        where=str(folder),
        hint="name another folder with --run",
    )


def differences(left: Any, right: Any, place: str = "") -> list[str]:
    """The paths at which two recipes differ."""
    if not isinstance(left, dict) or not isinstance(right, dict):
        return [] if left == right else [place]
    return [
        path
        for key in sorted({*left, *right})
        for path in differences(left.get(key), right.get(key), f"{place} → {key}" if place else key)
    ]


def _kept(recipe: Recipe, folder: Path, cache_key: str) -> Built | None:
    """What the run needs to resume, from its own cache; None if it has none, or no checkpoint with the weights."""
    if checkpoint.find(folder / "checkpoints" / "last") is None:
        return None
    cached = example_cache.load(folder / "cache", own=cache_key)
    return restore(recipe, folder, cached) if cached is not None else None


def _keep(built: Built, folder: Path, cache_key: str) -> None:
    """Keep the examples for resuming; on a full disk the run continues without them."""
    with suppress(OSError):
        example_cache.save(
            folder / "cache", own=cache_key, examples=built.examples, counts=built.counts, development=built.development
        )


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder for this process."""
    try:
        with locked(folder):
            yield
    except InUseError:
        raise TrainingError(
            "BX405",
            "another process is using this folder",
            where=str(folder),
            hint="wait until it has finished, or name another folder with --run",
        ) from None


def resume(folder: Path, **options: Any) -> loop.TrainingProgress:
    """Resume the run in a folder."""
    return start(RunFolder(folder).recipe, folder, **options)


def directory_of(folder: Path) -> Path | None:
    """The corpora directory that a run was started with, if one was given."""
    directory = RunFolder(folder).machine.get("corpora")
    return Path(directory) if directory else None


def writes() -> bool:
    """Whether this process is the one that writes and reports: the only one, or the first that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def _claimed(recipe: Recipe, folder: Path, directory: Path | None, processes: Processes) -> Iterator[None]:
    """Lock the folder for this run, and write its recipe into it. Errors in the corpora are raised before a folder is made."""
    recipe_file = folder / run_folder.RECIPE
    run_folder.refuse_other_kind(folder, "biomux train")
    if recipe_file.exists() and RunFolder(folder).recipe.training() != recipe.training():
        raise other_recipe(folder)
    check_corpora(recipe, directory)
    teacher_held_out.check_held_out(recipe)
    distil.checksum(recipe.distil)  # refused if it does not exist
    if recipe.teacher is not None and recipe.teacher.text is not None:
        PlainText(recipe.teacher.text).check()
    if not processes.first:
        yield
        return
    current = recipe_file.exists() and RunFolder(folder).recipe == recipe
    with owned(folder, recipe_file, None if current else recipe.model_dump(mode="json")):
        yield


@contextmanager
def owned(folder: Path, kept: Path, recipe: dict[str, Any] | None) -> Iterator[None]:
    """Lock a folder, made if it does not exist, for one process; a recipe, if given, is written to the file `kept`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(
            "BX405", f"cannot create the folder: {error.strerror}", where=str(folder), hint="name another with --run"
        ) from None
    with held(folder):
        if recipe is not None:
            with target(kept) as stream:
                stream.write(yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True).encode())
        yield


def machine_of(model: Model, processes: Processes) -> dict[str, Any]:
    """The machine and packages that a model is trained with."""
    return {
        **machine.describe(also=("torch", "transformers")),
        "device": str(model.device),
        "threads": torch.get_num_threads(),
        "processes": processes.number,
    }


def _predicted(built: Built) -> Predictions:
    """The scores of each task on its development documents, and the documents as the model annotates them."""
    predictions = {}
    for name, gold in built.development.items():
        task = next(task for task in built.tasks if task.name == name)
        predicted = predict(built.annotator(), task, gold)
        predictions[name] = task.evaluate(gold, predicted), predicted
    return predictions


def _evaluate(
    built: Built, folder: Path, journal: Callable[[dict[str, Any]], None], *, epoch: int
) -> tuple[float, Predictions]:
    """The mean over tasks of their main figures on development documents, and what these are figures of."""
    started = time.monotonic()
    predictions = _predicted(built)
    evaluations = {name: evaluation for name, (evaluation, _) in predictions.items()}
    mean = _tell_scores(folder, evaluations)
    journal(
        {
            "event": "scores",
            "epoch": epoch,
            "mean": round(100 * mean, 2),
            "scores": {name: round(100 * scores.value, 2) for name, scores in evaluations.items()},
            "seconds": round(time.monotonic() - started, 1),
        }
    )
    return mean, predictions


def _finish(built: Built, folder: Path, best: Predictions) -> None:
    """Write the scores of the best weights and their predictions for the development documents; computed again where another process had computed them."""
    if not built.development:
        return
    if not best:
        built.model.load_state_dict(load_file(folder / run_folder.WEIGHTS))
        best = _predicted(built)
    (folder / "predictions").mkdir(exist_ok=True)
    for name, (_, predicted) in best.items():
        with target(folder / "predictions" / f"{name}.jsonl") as stream:
            stream.writelines(map(jsonl.line, predicted))
    _tell_scores(folder, {name: evaluation for name, (evaluation, _) in best.items()})


def _tell_scores(folder: Path, evaluations: dict[str, Any]) -> float:
    mean = float(sum(scores.value for scores in evaluations.values()) / len(evaluations))
    tasks = {name: {"main": scores.main, **scores.figures} for name, scores in evaluations.items()}
    write_json(folder / run_folder.SCORES, {"mean": mean, "tasks": tasks})
    return mean


def describe(
    folder: Path, model: Model, tokenizer: Tokenizer, specials: Specials, *, tasks: Sequence[Any], limit: int
) -> None:
    """Write what the weights are, so that the run can be loaded without its corpora."""
    described = {
        "encoder": model.encoder.describe(),
        "specials": asdict(specials),
        "limit": limit,
        "tasks": [asdict(task) for task in tasks],
    }
    write_json(folder / run_folder.MODEL, described)
    tokenizer.save(str(folder / run_folder.TOKENIZER))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a file of a run's folder, whole or not at all."""
    with target(path) as stream:
        stream.write((json.dumps(content, indent=2, default=str) + "\n").encode())


@contextmanager
def journaled(
    folder: Path, listen: Callable[[dict[str, Any]], None], processes: Processes
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A sink for the events of a run, which adds how it started and, if it ended early, how it ended. Of several processes, only the first one writes."""
    journal = _journal(folder, listen) if processes.first else lambda event: None  # noqa: ARG005
    journal({"event": "start", "resumed": checkpoint.find(folder / "checkpoints" / "last") is not None})
    try:
        yield journal
    except BiomuxError as error:
        journal({"event": "failed", "code": error.code, "error": str(error)})
        raise
    except (KeyboardInterrupt, SystemExit):
        journal({"event": "stopped"})
        raise


def _journal(folder: Path, listen: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Write each event as a line of the journal, and passes it to `listen`."""

    def write(event: dict[str, Any]) -> None:
        stamped = {"time": round(time.time(), 1), **event}
        with (folder / run_folder.JOURNAL).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(stamped) + "\n")
        listen(stamped)

    return write
