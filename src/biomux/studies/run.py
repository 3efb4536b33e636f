"""Run a study: each member is an ordinary run, trained and then scored; finished work is not repeated.

STUDY/
├── study.yaml               the study, fully expanded
├── study.json               the manifest: members, how each went, what the report is made of
├── journal.jsonl            one event per line
├── runs/MEMBER/             a run, as `biomux train` leaves it
│   └── scored/SPLIT/        scores.json; of each task its predictions, and the rows that tests resample
├── report.md, report.json   when it is done: tables, tests, advice
└── *.svg                    curves, or graph, heat map and task map
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from biomux import __version__, formats
from biomux.corpora import corpus as corpora
from biomux.engine import machine
from biomux.errors import BiomuxError, TrainingError
from biomux.evaluation.score_folder import MEMBER_FORMAT
from biomux.formats import folder_target, jsonl, target
from biomux.recipes.run_folder import JOURNAL, WEIGHTS, RunFolder, read_journal
from biomux.scoring.signature import Checksum
from biomux.tasks import restored
from biomux.training import loop, run
from biomux.training.development_scores import predict
from biomux.training.load_run import load_run
from biomux.training.task_documents import Library, corpora_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from biomux.document import Document
    from biomux.recipes.schema import Recipe, TaskSettings
    from biomux.studies.members import Member
    from biomux.studies.schema import Scoring

    Listen = Callable[[dict[str, Any]], None]

FORMAT = "biomux-study"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a member went: "done", "failed" with the reason, or "waiting" if it was not tried."""

    state: str = "waiting"
    error: str | None = None
    seconds: float = 0.0
    tokens: int = 0


def run_study(
    described: Mapping[str, Any],
    members: Sequence[Member],
    folder: Path,
    *,
    kind: str,
    scoring: Scoring,
    keep: str = "model",
    directory: Path | None = None,
    listen: Listen = lambda _: None,
    report_every: float = loop.REPORT_EVERY,
) -> dict[str, Outcome]:
    """Train and score the members that are not done yet. A member that fails is reported and the others continue; Ctrl-C ends the study.

    `listen` gets the events of the study ("member") and those of its runs.
    """
    check(members, folder, scoring=scoring, directory=directory)
    folder.mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, Outcome] = {}
    with run.held(folder):
        _write_study(folder, described)
        tell = _journal(folder, listen)
        for member in members:
            if finished(member, folder, split=scoring.split):
                outcomes[member.name] = _told(folder / "runs" / member.name)
        write_manifest(folder, described, members, outcomes, kind=kind, scoring=scoring)
        for number, member in enumerate(members, 1):
            event = {"event": "member", "name": member.name, "number": number, "of": len(members)}
            if member.name in outcomes:
                continue
            broken = [name for name in member.after if (needed := outcomes.get(name)) and needed.state == "failed"]
            if broken:
                outcomes[member.name] = Outcome("failed", f"{broken[0]}, which it needs, failed")
            else:
                tell({**event, "state": "begun"})
                outcomes[member.name] = _member(member, folder, scoring, keep, directory, listen, report_every)
            outcome = outcomes[member.name]
            tell({**event, "state": outcome.state, "error": outcome.error, "seconds": outcome.seconds})
            write_manifest(folder, described, members, outcomes, kind=kind, scoring=scoring)
    return outcomes


def drop_weights(members: Sequence[Member], folder: Path) -> None:
    """Delete the weights of all members; their scores and predictions stay."""
    for member in members:
        (folder / "runs" / member.name / WEIGHTS).unlink(missing_ok=True)


def check(members: Sequence[Member], folder: Path, *, scoring: Scoring, directory: Path | None) -> None:
    """Refuse, before anything is trained, a folder of another study and splits to score that do not exist."""
    loaded: set[tuple[str, str]] = set()
    for member in members:
        place = folder / "runs" / member.name
        if RunFolder(place).exists and RunFolder(place).recipe.training() != member.recipe.training():
            raise TrainingError(
                "BX405",
                f"the folder already contains a run {member.name!r} of another recipe",
                where=str(folder),
                hint="name another folder with -o, or remove that run",
            )
        for name, (_, task) in _scored(member, scoring).items():
            for corpus in corpora_of(task):
                if (corpus, scoring.split) not in loaded:
                    loaded.add((corpus, scoring.split))
                    corpora.load(corpus, scoring.split, directory=directory)
            if scoring.split in task.train:
                raise TrainingError(
                    "BX404",
                    f"task {name!r} is trained on {scoring.split!r}, on which it is also scored",
                    where=f"member {member.name!r}",
                    hint=f"set tasks.{name}.train=[train], or score the test part",
                )


def finished(member: Member, folder: Path, *, split: str) -> bool:
    """Whether a member is trained and scored."""
    place = folder / "runs" / member.name
    if not (place / "scored" / split / "scores.json").is_file():
        return False
    return RunFolder(place).recipe.training() == member.recipe.training()


def _member(
    member: Member,
    folder: Path,
    scoring: Scoring,
    keep: str,
    directory: Path | None,
    listen: Listen,
    report_every: float,
) -> Outcome:
    place = folder / "runs" / member.name
    started = time.monotonic()
    try:
        if not _trained(place):
            run.start(member.recipe, place, directory=directory, listen=listen, report_every=report_every)
        score_run(member, place, scoring=scoring, directory=directory)
    except BiomuxError as error:
        return Outcome("failed", str(error), round(time.monotonic() - started, 1))
    except Exception as error:  # one failing member must not stop the others
        reason = " ".join(str(error).split())[:300]
        return Outcome("failed", f"unexpected {type(error).__name__}: {reason}", round(time.monotonic() - started, 1))
    if keep != "all":
        for part in ("checkpoints", "cache"):
            shutil.rmtree(place / part, ignore_errors=True)
    return _told(place)


def _trained(place: Path) -> bool:
    """Whether a run has finished, by its journal: its last checkpoint may have been deleted."""
    if not (place / WEIGHTS).is_file():
        return False
    last = [event["event"] for event in events(place) if event.get("event") in ("start", "end")]
    return bool(last) and last[-1] == "end"


def score_run(member: Member, folder: Path, *, scoring: Scoring, directory: Path | None = None) -> dict[str, Any]:
    """Score a run on a split by what its annotator predicts for each task's documents. Returns the content of the scores.json it writes.

    For the development part, the predictions that the run wrote at its end are used.
    """
    started = time.monotonic()
    files = RunFolder(folder)
    recipe = files.recipe
    library = Library(directory, recipe.documents)
    tasks = {task.name: task for task in (restored(described) for described in files.description["tasks"])}
    annotator = None
    (folder / "scored").mkdir(exist_ok=True)
    by_task: dict[str, Any] = {}
    place = folder / "scored" / scoring.split
    if place.exists():
        shutil.rmtree(place)
    with folder_target(place) as score_folder:
        for name, (head, part) in _scored(member, scoring).items():
            task, gold = tasks[head], list(_documents(library, recipe, part, scoring))
            predicted = None if member.columns else _known(folder, recipe, name, scoring, gold)
            if predicted is None:
                annotator = annotator or load_run(folder)
                predicted = predict(annotator, task, gold)
            if member.columns:
                predicted = _annotated(predicted, corpora.types_of(part.corpus, directory=directory))
            scores = task.evaluate(gold, predicted)
            checksum = Checksum()
            for _ in checksum.watch(gold):
                pass
            by_task[name] = {
                "kind": task.kind,
                "corpus": part.corpus,
                "main": scores.main,
                "value": scores.value,
                "figures": {figure: None if value != value else value for figure, value in scores.figures.items()},
                "documents": len(gold),
                "sha256": checksum.value,
            }
            with (score_folder / f"{name}.predictions.jsonl").open("wb") as stream:
                stream.writelines(map(jsonl.line, predicted))
            if scores.rows is not None:
                (score_folder / f"{name}.rows.json").write_text(json.dumps(scores.rows.to_json()), encoding="utf-8")
        content = {
            "format": MEMBER_FORMAT,
            "version": VERSION,
            "biomux": __version__,
            "split": scoring.split,
            "seconds": round(time.monotonic() - started, 1),
            "tasks": by_task,
        }
        (score_folder / "scores.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return content


def write_manifest(
    folder: Path,
    described: Mapping[str, Any],
    members: Sequence[Member],
    outcomes: Mapping[str, Outcome],
    *,
    kind: str,
    scoring: Scoring,
) -> None:
    """Write study.json: the members of the study, and how far it is."""
    members_noted = []
    for member in members:
        outcome = outcomes.get(member.name, Outcome())
        more = {"state": outcome.state, "error": outcome.error, "seconds": outcome.seconds, "tokens": outcome.tokens}
        members_noted.append({**member.to_json(), **more, "scored": f"runs/{member.name}/scored/{scoring.split}"})
    content = {
        "format": FORMAT,
        "version": VERSION,
        "biomux": __version__,
        "kind": kind,
        "study": dict(described),
        "split": scoring.split,
        "samples": scoring.samples,
        "alpha": scoring.alpha,
        "machine": machine.describe(also=("torch",)),
        "members": members_noted,
    }
    with target(folder / "study.json") as stream:
        stream.write((json.dumps(content, indent=1, default=str) + "\n").encode())


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """The events of the journal of a run or a study, without damaged lines."""
    return (event for event in read_journal(folder / JOURNAL) if event is not None)


def _scored(member: Member, scoring: Scoring) -> dict[str, tuple[str, TaskSettings]]:
    return {name: scored for name, scored in member.scored.items() if scoring.tasks is None or name in scoring.tasks}


def _annotated(documents: Sequence[Document], types: Sequence[str]) -> list[Document]:
    """The documents without annotations of any other than these types."""
    return [
        replace(document, spans=tuple(span for span in document.spans if span.type in types), relations=())
        for document in documents
    ]


def _documents(library: Library, recipe: Recipe, task: TaskSettings, scoring: Scoring) -> Sequence[Document]:
    documents = library.part(task, scoring.split)
    if scoring.split == recipe.development.split:
        documents = documents[: recipe.development.limit]
    return documents[: scoring.limit]


def _known(
    folder: Path, recipe: Recipe, name: str, scoring: Scoring, gold: Sequence[Document]
) -> list[Document] | None:
    """The predictions for these documents that the run wrote at its end, if it did."""
    path = folder / "predictions" / f"{name}.jsonl"
    if scoring.split != recipe.development.split or not path.is_file():
        return None
    predicted = list(formats.read(path))[: len(gold)]
    same_documents = len(predicted) == len(gold) and all(
        gold_document.id == predicted_document.id and gold_document.text == predicted_document.text
        for gold_document, predicted_document in zip(gold, predicted, strict=True)
    )
    return predicted if same_documents else None


def _told(place: Path) -> Outcome:
    """How a finished run went, by its journal: tokens, and the seconds of training and scoring."""
    last: dict[str, Any] = {}
    scored = 0.0
    for event in events(place):
        if event.get("event") == "end":
            last = event
        elif event.get("event") == "scores":
            scored += float(event.get("seconds", 0.0))
    return Outcome("done", None, round(float(last.get("seconds", 0.0)) + scored, 1), int(last.get("tokens", 0)))


def _write_study(folder: Path, described: Mapping[str, Any]) -> None:
    import yaml

    path = folder / "study.yaml"
    if path.is_file():
        before = yaml.safe_load(path.read_text(encoding="utf-8"))
        name = before.get("name") if isinstance(before, dict) else None
        if name != described["name"]:
            raise TrainingError(
                "BX405",
                f"the folder already contains the study {name!r}",
                where=str(folder),
                hint="name another folder with -o",
            )
    with target(path) as stream:
        stream.write(yaml.safe_dump(dict(described), sort_keys=False, allow_unicode=True).encode())


def _journal(folder: Path, listen: Listen) -> Listen:
    def write(event: dict[str, Any]) -> None:
        stamped = {"time": round(time.time(), 1), **event}
        with (folder / JOURNAL).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(stamped) + "\n")
        listen(stamped)

    return write
