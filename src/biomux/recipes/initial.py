"""A first recipe for the user's own data: their annotations decide the tasks, their size the epochs.

| the data have | the recipe gets |
|---|---|
| mentions | a tagger of all types |
| relations between mentions | a head that reads both mentions, beside the tagger |
| classes of texts, sentences or pairs | a classifier; of several classes at once if a text has several |
| numbers of pairs | a similarity |
| questions with answers | a head for answers |
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from biomux.corpora import own
from biomux.corpora.corpus import Corpus
from biomux.corpora.survey import Survey, look

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from biomux.document import Document

TEST = 0.15
"""The share of documents that becomes the test part, if the data have none and there are enough of them."""
ENOUGH = 20
"""The number of documents that is enough for a test part."""
READ = 200_000
"""Words that a small corpus is read for in all epochs together."""
FEWEST, MOST = 4, 40
"""The fewest and the most epochs."""
PATIENCE = 5
"""The fewest epochs without a better development score before training stops."""
AT_HAND = (
    "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract",
    "dmis-lab/biobert-base-cased-v1.2",
    "allenai/scibert_scivocab_uncased",
    "thenlper/gte-small",
    "sentence-transformers/all-MiniLM-L6-v2",
)
"""Encoders that are used if they have been downloaded, the best first."""
_TAG = re.compile(r"@[\w-]+\$")


@dataclass(frozen=True)
class Data:
    """What a recipe needs to know about the user's own data."""

    name: str
    corpus: Any
    """What `corpus:` says: a path, or a mapping."""
    survey: Survey
    tasks: Mapping[str, Mapping[str, Any]]
    documents: int
    words: int
    notes: Sequence[str] = field(default_factory=list)

    @property
    def epochs(self) -> int:
        """More epochs for fewer words."""
        return min(max(round(READ / max(self.words, 1)), FEWEST), MOST)

    @property
    def patience(self) -> int:
        """Epochs without a better development score before training stops: more of them where an epoch has few steps, since their scores vary more."""
        return max(PATIENCE, self.epochs // 4)


def read(path: str, *, name: str | None = None, test: float | None = None) -> Data:
    """Look at data: a file, a folder or a glob, or a mapping as recipes write it. `test` is the share to cut for a test part, chosen by size unless given."""
    spec = own.of_argument(path).model_dump(mode="json", exclude_defaults=True)
    settings: dict[str, Any] = spec | ({"name": name} if name else {})
    corpus_read = _corpus(settings)
    parts = {split: list(corpus_read.documents(split)) for split in corpus_read.splits}
    notes = list(corpus_read.card.notes)
    if "test" not in parts:
        number = len(parts["train"])
        if test is not None or number >= ENOUGH:
            settings["test"] = test or TEST
            if corpus_read.card.splits["devel"].made:
                settings["devel"] = own.SHARE
            corpus_read = _corpus(settings)
            parts = {split: list(corpus_read.documents(split)) for split in corpus_read.splits}
        else:
            notes.append(
                f"{number} documents are too few to cut a test part from: scores are those on the development part"
            )
    survey = look(parts, where=path)
    train = parts["train"]
    # A bare name in a recipe is one of the catalogue; the path of data is told from it by its "./".
    path_written = path if own.of_spec(path) else f"./{path}"
    corpus = path_written if list(settings) == ["path"] else settings
    words = survey.sizes["train"].get("words", 0)
    tasks = dict(_tasks(corpus_read.name, train))
    return Data(corpus_read.name, corpus, survey, tasks, len(train), words, notes)


def text(
    data: Data, *, encoder: Mapping[str, Any], said: str, seconds: str | None = None, place: Path | None = None
) -> str:
    """The recipe, whole and commented. `said` is why this encoder was chosen, `seconds` how long training would take."""
    several = len(data.tasks) > 1
    small = data.words < 50_000
    file = place or f"{data.name}.yaml"
    lines = [
        f"# biomux train {file}",
        f"# biomux train {file} --set loop.epochs={max(data.epochs // 2, 1)}",
        *([f"# Estimated on this machine: {seconds}"] if seconds else []),
        f"name: {data.name}",
        f"about: {_flow(f'Trained on {data.name}: {data.documents:,} documents of {data.words:,} words.')}",
        "tasks:",
    ]
    for number, (name, task) in enumerate(data.tasks.items()):
        lines += [f"  {_flow(name)}:", f"    kind: {task['kind']}"]
        if number == 0:
            lines += [
                "    # A path, or {train: FILES, devel: FILES, test: FILES, format: NAME}; a number is a share to cut from train."
            ]
        lines += [f"    corpus: {_flow(data.corpus)}"]
        lines += [f"    # {line}" for line in task["about"]]
        lines += [f"    types: {_flow(task['types'])}"] if "types" in task else []
        if "types" in task and number == 0:
            lines += [
                "    # rename: {Old: new, Other: new}   # gives types other names, and merges those that get the same"
            ]
        lines += [f"    settings: {_flow(task['settings'])}"] if task.get("settings") else []
    lines += [
        "model:",
        f"  # {said}",
        f"  encoder: {_flow({**encoder, 'dropout': 0.1})}",
        "  head: {kind: linear}",
        f"# {'All tasks share the encoder, and batches have examples of all of them' if several else 'One task by itself'}.",
        f"regime: {{kind: {'mixed' if several else 'single'}}}",
        "loop:",
        f"  epochs: {data.epochs}           # fewer for more data; training stops earlier if the development score does not rise",
        f"  batch_tokens: {512 if small else 1024}",
        "  learning_rate: 1.0e-4",
        "  head_learning_rate: 1.0e-3",
        "  seed: 1",
        "development:",
        f"  patience: {data.patience}          # epochs without a better development score before it stops",
    ]
    return "\n".join(lines) + "\n"


def encoder(asked: str | None = None, *, at_hand: Callable[[str], bool] | None) -> tuple[dict[str, Any], str]:
    """The settings of an encoder, and why it was chosen. `at_hand` says whether a hub name can be loaded without a network."""
    if asked is not None and asked != "default":
        return {"name": asked}, "The encoder that was asked for: a folder or a hub name."
    for name in AT_HAND if asked is None else ():
        if at_hand is not None and at_hand(name):
            return {"name": name}, "Downloaded before. {bundle: default} is smaller and faster."
    return (
        {"bundle": "default"},
        "The encoder of the bundle that comes with Biomux: it has read biomedical text, and nothing is downloaded. Larger ones learn more: {name: HUB-NAME}.",
    )


def _corpus(settings: Mapping[str, Any]) -> Corpus:
    return Corpus(own.card(own.of_mapping(settings)), Path())


def _flow(value: Any) -> str:
    """A value as YAML within one line."""
    flow: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return flow.removesuffix("...\n").strip()


def _tasks(name: str, documents: Sequence[Document]) -> list[tuple[str, dict[str, Any]]]:
    spans: Counter[str] = Counter(
        span.type
        for document in documents
        for span in document.spans
        if not _TAG.fullmatch(document.text[span.start : span.end])
    )
    tasks: list[tuple[str, dict[str, Any]]] = []
    if spans:
        tasks.append(
            ("", {"kind": "tagging", "types": sorted(spans), "about": [f"Mentions in train: {_listed(spans)}."]})
        )
    if relations := Counter(relation.type for document in documents for relation in document.relations):
        settings = {"variant": "one-pass", "types": sorted(relations)} | _ends(documents)
        about = [f"Relations in train: {_listed(relations)}; pairs of mentions without one are negative."]
        tasks.append(("relations", {"kind": "relation", "settings": settings, "about": about}))
    tasks += _label_tasks(documents)
    if any(document.questions for document in documents):
        number = sum(len(document.questions) for document in documents)
        tasks.append(("answers", {"kind": "answers", "about": [f"{number:,} questions in train."]}))
    alone = len(tasks) == 1
    return [(name if alone or not part else f"{name}-{part}", task) for part, task in tasks]


def _ends(documents: Sequence[Document]) -> dict[str, Any]:
    """The types of first and second mentions of relations; none where they are not those of spans."""
    first: set[str] = set()
    second: set[str] = set()
    for document in documents:
        types = {span.id: span.type for span in document.spans}
        for relation in document.relations:
            ends = [types.get(end.target) for end in relation.arguments if end.kind == "span"]
            if len(ends) != 2 or None in ends:
                return {}
            first.add(str(ends[0]))
            second.add(str(ends[1]))
    return {"first": sorted(first), "second": sorted(second)}


def _label_tasks(documents: Sequence[Document]) -> list[tuple[str, dict[str, Any]]]:
    labels = [(document, label) for document in documents for label in document.labels]
    if not labels:
        return []
    pairs = any(document.pair is not None for document in documents)
    numbers = [label for _, label in labels if label.value is not None]
    if pairs and numbers:
        named = {"label": numbers[0].name} if numbers[0].name != "similarity" else {}
        about = [f"{len(numbers):,} pairs with a number in train."]
        return [("similarity", {"kind": "similarity", "settings": named, "about": about})]
    classes = Counter(label.name for _, label in labels if label.value is None)
    if not classes:
        return []
    placed = any(label.start is not None for _, label in labels)
    settings: dict[str, Any] = {"of": "pair"} if pairs else {"of": "sentence"} if placed else {}
    if any(len(document.labels) > 1 for document in documents) and not placed:
        settings["several"] = True
    settings["classes"] = sorted(classes)
    about = [f"Classes in train: {_listed(classes)}."]
    return [("classes", {"kind": "classification", "settings": settings, "about": about})]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.most_common())
