"""A tiny run with a head of every kind that answers users, trained here in seconds.

    run(folder)        a run folder: what it must say is known, as in `training.test_every_task`

| head | says |
|---|---|
| drugs | Chemical and Disease: words of a list |
| links | treats: "aspirin treated fever." |
| topic | yes or no: whether the text has a drug |
| roles | of each sentence Chemical, Disease or both: what it mentions |
| same | same or other: whether a pair begins with the same word |
| alike | 1 or 0 for the same |
| doses | the word after "dose" |
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import tiny
import yaml

from biomux.recipes.schema import HeadSettings
from biomux.tasks.classification import Classification
from biomux.tasks.question_answering import Answers
from biomux.tasks.relation import Relations
from biomux.tasks.similarity import Similarity
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from pathlib import Path

TASKS: tuple[Any, ...] = (
    Tagging("drugs", ("Chemical", "Disease")),
    Relations("links", ("treats",), "one-pass", first=("Chemical",), second=("Disease",)),
    Classification("topic", ("no", "yes")),
    Classification("roles", ("Chemical", "Disease"), "sentence", several=True),
    Classification("same", ("other", "same"), "pair"),
    Similarity("alike"),
    Answers("doses"),
)
HEADS: dict[str, dict[str, Any]] = {
    "drugs": {"kind": "linear", "settings": {"dropout": 0.0}},
    "links": {"kind": "pair-of-spans"},
    "topic": {"kind": "pooled"},
    "roles": {"kind": "pooled", "settings": {"dropout": 0.0}},
    "same": {"kind": "pair"},
    "alike": {"kind": "regression"},
    "doses": {"kind": "answer", "settings": {"dropout": 0.0}},
}
CORPORA = {
    "links": "ddi",
    "topic": "hoc",
    "roles": "nicta-piboso",
    "same": "scifact",
    "alike": "biosses",
    "doses": "covid-qa",
}
EPOCHS = 24


def run(folder: Path) -> Path:
    """Train and write the run folder. Returns it."""
    from safetensors.torch import save_file
    from training import small, test_every_task

    from biomux.training import loop

    documents = {
        "drugs": [*test_every_task.relations(), *small.documents(20, seed=6, words=16)],
        "links": test_every_task.relations(),
        "topic": test_every_task.classes(),
        "roles": test_every_task.sentence_classes(),
        "same": test_every_task.pairs(number=False),
        "alike": test_every_task.pairs(number=True),
        "doses": test_every_task.questions(),
    }
    network = small.model(TASKS, {name: HeadSettings(**head) for name, head in HEADS.items()})
    made = small.examples(TASKS, documents)
    plan = small.plan("one-task", TASKS)
    work = folder.with_name(f"{folder.name}-training")
    loop.train(small.run(work, network, plan, made, epochs=EPOCHS, learning_rate=4e-3, batch_tokens=300))
    folder.mkdir(parents=True)
    described = {
        "encoder": tiny.config(),
        "specials": {"pad": 0, "before": 2, "after": 3},
        "limit": small.LIMIT,
        "tasks": [asdict(task) for task in TASKS],
    }
    (folder / "model.json").write_text(json.dumps(described, indent=2) + "\n")
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, folder / "model.safetensors")
    recipe = {
        "name": "answering",
        "about": "A head of every kind, for tests.",
        "tasks": {
            task.name: {"kind": task.kind, "corpus": CORPORA.get(task.name, "bc5cdr"), "head": HEADS[task.name]}
            for task in TASKS
        },
        "model": {"encoder": {"name": "tiny", "limit": small.LIMIT}},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    (folder / "counts.json").write_text(json.dumps({"examples": {task.name: {"sentences": 0} for task in TASKS}}))
    return folder
