"""Pre-training: an encoder reads plain text and predicts the words masked in it, in the same loop that trains everything else.

RUN/
├── pretraining.yaml     the recipe, fully expanded
├── begun.json           the recipe, and checksums of the text and of the teacher: a run cannot be resumed with others
├── machine.json         what it was made on
├── counts.json          documents and tokens, and what a new vocabulary saves
├── journal.jsonl        one event per line: steps, perplexities, how it ended
├── scores.json          the held-out perplexity before, at its best, and at each score
├── encoder/             when it is done: the encoder, for recipes to use in `encoder: {name: RUN/encoder}`
├── model.safetensors    the best weights, with the head for masked words
├── model.json, tokenizer.json
├── lock                 locked by the process that uses the folder
└── checkpoints/last/    everything needed to resume
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file

from biomux.engine.packing import Specials, padded
from biomux.errors import RecipeError, TrainingError
from biomux.recipes import pretraining, run_folder
from biomux.recipes.run_folder import RunFolder
from biomux.tasks.masked_lm import MaskedWords
from biomux.training import (
    checkpoint,
    device,
    distil,
    encoder_folder,
    encoders,
    loop,
    precision,
    pretrained_head,
    token_files,
)
from biomux.training import run as runs
from biomux.training.build import load_encoder
from biomux.training.distributed import joined
from biomux.training.encoders.tokenizer import tokenizer_of
from biomux.training.encoders.vocabulary import saved
from biomux.training.heads import masked_lm
from biomux.training.model import Model
from biomux.training.perplexity import perplexity
from biomux.training.plain_text import PlainText
from biomux.training.plan import Draw, Plan, objectives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenizers import Tokenizer

    from biomux.recipes.pretraining import Pretraining
    from biomux.training.distributed import Processes
    from biomux.training.step_teacher import StepTeacher

HEAD = "words"
ENCODER = "encoder"
"""Where in a run's folder the encoder is written."""


@dataclass(frozen=True)
class BuiltPretraining:
    """What a recipe describes, built, except its text."""

    model: Model
    tokenizer: Tokenizer
    specials: Specials
    task: MaskedWords
    vocabulary: dict[str, Any] | None = None
    """What another vocabulary saves, if there is one."""


@dataclass(frozen=True)
class ReadText:
    """The windows to train on and those that are scored."""

    training: token_files.Windows
    held_out: token_files.Windows
    rows: int


def start(
    recipe: Pretraining,
    folder: Path,
    *,
    listen: Callable[[dict[str, Any]], None] = lambda _: None,
    report_every: float = loop.REPORT_EVERY,
) -> loop.TrainingProgress:
    """Pre-train into a folder, or resume the unfinished run of the same recipe that is in it."""
    place = device.choose(recipe.loop.device)
    precision.choose(recipe.loop.precision, place)
    text = PlainText(recipe.text)
    text.check()
    started_with = {"recipe": recipe.training(), "text": text.checksum(), "teacher": distil.checksum(recipe.distil)}
    with (
        joined(recipe.loop, device=place) as processes,
        _claimed(recipe, folder, processes),
        runs.journaled(folder, listen, processes) as journal,
    ):
        return _run(recipe, folder, started_with, place, journal, processes, report_every)


def resumed(folder: Path) -> Pretraining:
    """The recipe of the run in a folder."""
    if not (folder / pretraining.FILE).is_file():
        raise TrainingError(
            "BX405",
            "not a pre-training run" if folder.is_dir() else "no such folder",
            where=str(folder),
            hint="name a folder that `biomux pretrain` made",
        )
    return pretraining.read(str(folder / pretraining.FILE))


def _run(
    recipe: Pretraining,
    folder: Path,
    started_with: dict[str, Any],
    place: torch.device,
    journal: Callable[[dict[str, Any]], None],
    processes: Processes,
    report_every: float,
) -> loop.TrainingProgress:
    if recipe.loop.threads:
        torch.set_num_threads(recipe.loop.threads)
    runs.refuse_other_number(folder, recipe.loop, processes)
    text = PlainText(recipe.text)
    built = _restored(folder, started_with)
    fresh = built is None
    built = built or build(recipe, text)
    teacher = None if recipe.distil is None else distil.teacher(recipe.distil, HEAD, built.tokenizer)
    plan = _plan(recipe, built, teacher)
    built.model.to(place)
    if teacher is not None:
        teacher.model.to(place)
    processes.say(0.0)  # no process writes while another still reads
    if processes.first and fresh:
        runs.write_json(folder / run_folder.BEGUN, started_with)
        runs.write_json(folder / run_folder.MACHINE, runs.machine_of(built.model, processes))
        limit = recipe.model.encoder.limit
        runs.describe(folder, built.model, built.tokenizer, built.specials, tasks=[built.task], limit=limit)
        if built.vocabulary:
            journal({"event": "vocabulary", **built.vocabulary})
    token_windows = _read(recipe, text, built, folder, started_with["text"], journal, processes)
    scores = _Scores(recipe, built, token_windows, folder, journal)
    if processes.first and fresh and token_windows.held_out:
        scores.take(0)

    def evaluate() -> float | None:
        if not token_windows.held_out:
            return None
        score = scores.take(run.progress.step) if processes.first else 0.0
        return processes.say(score)

    run = loop.LoopInputs(
        folder,
        built.model,
        plan,
        recipe.loop,
        token_windows.training,
        built.specials,
        evaluate,
        journal,
        patience=recipe.score.patience,
        every_steps=recipe.score.every,
        batches=partial(_batches, token_windows, recipe.loop.seed),
        teacher=teacher,
        processes=processes,
        report_every=report_every,
    )
    progress = loop.train(run)
    if processes.first:
        built.model.load_state_dict(load_file(folder / run_folder.WEIGHTS))
        encoder_folder.save(
            folder / ENCODER, built.model.encoder, built.model.heads[HEAD], built.tokenizer, built.specials
        )
    journal({"event": "end", **vars(progress)})
    return progress


def build(recipe: Pretraining, text: PlainText) -> BuiltPretraining:
    """The encoder with its vocabulary, and the head for masked words from the weights."""
    torch.manual_seed(recipe.loop.seed)
    settings = recipe.model.encoder
    encoder, tokenizer, specials = load_encoder(settings, text)
    task = MaskedWords(HEAD, **recipe.masking.model_dump())
    task.masking(tokenizer)  # refused if there is no mask token
    head = masked_lm.build(encoder.width, tokenizer.get_vocab_size(), encoder=encoder)
    if recipe.model.head == "kept":
        _keep_head(recipe, head, encoder, tokenizer)
    model = Model(encoder, {HEAD: head}, {HEAD: "token"})
    return BuiltPretraining(model, tokenizer, specials, task, saved(settings, text.sample()[0], encoder, tokenizer))


def _keep_head(recipe: Pretraining, head: torch.nn.Module, encoder: Any, tokenizer: Tokenizer) -> None:
    """Start the head from the pre-trained weights; it stays new if they have none, or are not the encoder's."""
    settings = recipe.model.encoder
    if settings.run is not None:
        head_weights = {
            name.removeprefix(f"heads.{HEAD}."): value
            for name, value in load_file(RunFolder(Path(settings.run)).weights).items()
            if name.startswith(f"heads.{HEAD}.")
        }
        if head_weights:
            pretrained_head.put(head, head_weights, old=tokenizer, new=tokenizer)
    elif settings.kind == "transformer" and settings.bundle is None:
        pretrained = pretrained_head.read(settings.name, encoder.config.model_type)
        if pretrained is not None:
            old = tokenizer_of(settings.name, lower_case=settings.lower_case)
            pretrained_head.put(head, pretrained, old=old, new=tokenizer)


def _plan(recipe: Pretraining, built: BuiltPretraining, teacher: StepTeacher | None) -> Plan:
    plan = Plan(Draw(), objectives({HEAD: built.task.objective}))
    if recipe.distil is None or teacher is None:
        return plan
    depths = {"student": built.model.encoder.depth, "teacher": teacher.model.encoder.depth}
    return distil.with_teacher(plan, recipe.distil, HEAD, **depths)


def _read(
    recipe: Pretraining,
    text: PlainText,
    built: BuiltPretraining,
    folder: Path,
    checksum: str,
    journal: Callable[[dict[str, Any]], None],
    processes: Processes,
) -> ReadText:
    """The windows of the text; the first of several processes makes them, and the others wait for it."""

    def report(message: str) -> None:
        journal({"event": "text", "message": message})

    def token_data() -> tuple[token_files.TokenFile, token_files.TokenFile, token_files.About]:
        return token_files.kept(
            text,
            built.tokenizer,
            place=folder.absolute().parent / token_files.FOLDER,
            checksum=checksum,
            separator=built.specials.after,
            seed=recipe.loop.seed,
            listen=report,
        )

    first_data = token_data() if processes.first else None
    processes.say(0.0)
    training, held_out, about = first_data or token_data()
    masking = replace(built.task.masking(built.tokenizer), separator=built.specials.after)
    limit = recipe.model.encoder.limit
    windows = partial(token_files.Windows, limit=limit, task=HEAD, masking=masking)
    rows = max(1, recipe.loop.batch_tokens // padded(limit + 2))
    if recipe.loop.batch_examples is not None:
        rows = min(rows, recipe.loop.batch_examples)
    if processes.first:
        runs.write_json(folder / run_folder.COUNTS, {"text": asdict(about), "vocabulary": built.vocabulary})
    return ReadText(windows(training), windows(held_out), rows)


def _batches(read: ReadText, seed: int, epoch: int) -> token_files.ShuffledBatches:
    return token_files.ShuffledBatches(len(read.training), rows=read.rows, seed=seed, epoch=epoch)


class _Scores:
    """Measures, reports and keeps the held-out perplexity; the score is its inverse, so that higher is better."""

    def __init__(
        self,
        recipe: Pretraining,
        built: BuiltPretraining,
        read: ReadText,
        folder: Path,
        journal: Callable[[dict[str, Any]], None],
    ) -> None:
        self._recipe, self._built, self._read, self._journal = recipe, built, read, journal
        self._place = folder / run_folder.SCORES
        steps = RunFolder(folder).scores.get("steps", {})
        self._steps: dict[str, float] = steps if isinstance(steps, dict) else {}

    def take(self, step: int) -> float:
        started = time.monotonic()
        value = perplexity(
            self._built.model,
            HEAD,
            self._read.held_out,
            self._built.specials,
            rows=self._read.rows,
            most=self._recipe.score.windows,
            numbers=self._recipe.loop.precision,
        )
        self._steps = {name: earlier for name, earlier in self._steps.items() if int(name) < step} | {str(step): value}
        before = self._steps.get("0")
        runs.write_json(self._place, {"before": before, "perplexity": min(self._steps.values()), "steps": self._steps})
        seconds = round(time.monotonic() - started, 1)
        self._journal({"event": "perplexity", "step": step, "perplexity": round(value, 4), "seconds": seconds})
        return 1 / value


def _restored(folder: Path, started_with: dict[str, Any]) -> BuiltPretraining | None:
    """What a run resumes with; None if it has no checkpoint. The weights come from the checkpoint later."""
    if checkpoint.find(folder / "checkpoints" / "last") is None:
        return None
    before = RunFolder(folder).begun
    current = json.loads(json.dumps(started_with, default=str))
    for part, name in (("text", "its text"), ("teacher", "its teacher"), ("recipe", "its recipe")):
        if before.get(part) != current[part]:
            where = f" ({', '.join(runs.differences(before.get(part), current[part]))})" if part == "recipe" else ""
            raise runs.changed_since_start(folder, f"{name}{where}")
    run = RunFolder(folder)
    described = run.description
    tokenizer = tokenizer_of(str(folder))
    task = MaskedWords(**{name: value for name, value in described["tasks"][0].items() if name != "kind"})
    encoder: Any = encoders.build(described["encoder"])
    head = masked_lm.build(encoder.width, tokenizer.get_vocab_size(), encoder=encoder)
    model = Model(encoder, {HEAD: head}, {HEAD: "token"})
    return BuiltPretraining(model, tokenizer, Specials(**described["specials"]), task, run.counts.get("vocabulary"))


@contextmanager
def _claimed(recipe: Pretraining, folder: Path, processes: Processes) -> Iterator[None]:
    """Lock the folder for this run, and write its recipe into it. As long as nothing has been trained in it, another recipe may be started there, such as a corrected one."""
    recipe_file = folder / pretraining.FILE
    run_folder.refuse_other_kind(folder, "biomux pretrain")
    learned = checkpoint.find(folder / "checkpoints" / "last") is not None or (folder / run_folder.WEIGHTS).exists()
    if learned and recipe_file.exists() and _differs(recipe_file, recipe):
        raise runs.other_recipe(folder)
    if not processes.first:
        yield
        return
    current = learned and recipe_file.exists()
    with runs.owned(folder, recipe_file, None if current else recipe.model_dump(mode="json")):
        if not learned:
            (folder / run_folder.SCORES).unlink(missing_ok=True)
        yield


def _differs(recipe_file: Path, recipe: Pretraining) -> bool:
    try:
        return pretraining.read(str(recipe_file)).training() != recipe.training()
    except RecipeError:
        return True
