"""A tiny model, invented documents and a loop that runs in a second."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import tiny
import torch
from transformers import BertConfig, BertModel

from biomux.document import Document, Span
from biomux.engine.annotator import Annotator
from biomux.engine.packing import Specials
from biomux.recipes.schema import HeadSettings, Loop
from biomux.training import loop
from biomux.training.build import make_examples, make_head
from biomux.training.encoders.transformer import Transformer
from biomux.training.model import Model, TorchSession
from biomux.training.regimes import REGIMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from biomux.tasks.examples import Example
    from biomux.tasks.task import Task
    from biomux.training.plan import Plan

SPECIALS = Specials(0, 2, 3)
LIMIT = 40
DRUGS = "aspirin|zolmide|quatrine|bexol|velarin"
ILLS = "severe ulcer|acute fever|chronic tumour|fever|ulcer"


def documents(number: int, *, seed: int = 0, words: int = 25) -> list[Document]:
    """Documents in which drugs and ills are marked as Chemical and Disease."""
    chance = random.Random(seed)
    made = []
    for index in range(number):
        text = tiny.text(chance.randint(words // 2, words), seed=1000 * seed + index)
        found = [(match, "Chemical") for match in re.finditer(rf"\b({DRUGS})\b", text, re.IGNORECASE)]
        found += [(match, "Disease") for match in re.finditer(rf"\b({ILLS})\b", text, re.IGNORECASE)]
        spans = tuple(Span(match.start(), match.end(), type_, id=f"T{at}") for at, (match, type_) in enumerate(found))
        made.append(Document(f"{seed}:{index}", text, spans=spans))
    return made


def encoder(*, seed: int = 0, dropout: float = 0.0) -> Transformer:
    torch.manual_seed(seed)
    config = {**tiny.config(), "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    config.pop("model_type")
    body = BertModel(BertConfig(**config))
    body.pooler = None
    return Transformer(body)


def model(tasks: Sequence[Task], heads: Mapping[str, HeadSettings] | None = None, *, seed: int = 0) -> Model:
    body = encoder(seed=seed)
    made = {}
    for task in tasks:
        outputs = len(tiny.PIECES) if task.unit == "token" else len(task.labels)
        made[task.name] = make_head(
            (heads or {}).get(task.name, HeadSettings(settings={"dropout": 0.0})), body, outputs
        )
    return Model(body, made, {task.name: task.unit for task in tasks})


def plan(regime: str, tasks: Sequence[Task], **settings: Any) -> Plan:
    return REGIMES[regime]({task.name: task.objective for task in tasks}, **settings)


def examples(tasks: Sequence[Task], found: Mapping[str, Sequence[Document]], *, joint: bool = False) -> list[Example]:
    return make_examples(tasks, found, tiny.tokenizer(), limit=LIMIT, joint=joint)[0]


def run(
    folder: Path,
    network: Model,
    chosen: Plan,
    made: Sequence[Example],
    *,
    events: list[dict[str, Any]] | None = None,
    **settings: Any,
) -> loop.LoopInputs:
    defaults: dict[str, Any] = {"epochs": 1, "batch_tokens": 160, "learning_rate": 1e-3, "precision": "fp32"}
    folder.mkdir(parents=True, exist_ok=True)
    journal = (lambda _: None) if events is None else events.append
    return loop.LoopInputs(
        folder, network, chosen, Loop(**(defaults | settings)), made, SPECIALS, lambda: None, journal
    )


def annotator(network: Model, tasks: Sequence[Any]) -> Annotator:
    return Annotator.of_tasks(TorchSession(network), tiny.tokenizer(), SPECIALS, tasks, limit=LIMIT)


def moved(before: Mapping[str, Any], network: Model) -> set[str]:
    """The parameters that are not what they were."""
    return {name for name, value in network.named_parameters() if not torch.equal(before[name], value)}


def copy(network: Model) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in network.named_parameters()}
