"""The examples of a run, kept in its folder, so that it resumes within seconds and with exactly the examples it started with.

    RUN/cache/examples.npz        the arrays of all examples, end to end
    RUN/cache/examples.json       which array belongs to which example, and the key: the recipe and the checksums of its corpora
    RUN/cache/development/        the development documents of each task

Weights are not here: they are in the checkpoint, without which the cache is not used.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from biomux.corpora import corpus, view
from biomux.corpora import directory as directories
from biomux.errors import BiomuxError
from biomux.files import replaced_folder
from biomux.formats import jsonl, of_path, stop
from biomux.tasks.examples import Example, Labels, Masking, ModelInput
from biomux.text.tokens import Tokens
from biomux.training.plain_text import PlainText
from biomux.training.task_documents import corpora_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.recipes.schema import Recipe

VERSION = 1
Found = tuple[list[Example], dict[str, Counter[str]], dict[str, list["Document"]]]


def key(recipe: Recipe, directory: Path | None) -> str:
    """A checksum of the recipe and of every file of its corpora."""
    description = json.dumps([VERSION, recipe.training()], sort_keys=True)
    return sha256((description + corpora_checksum(recipe, directory)).encode()).hexdigest()


def corpora_checksum(recipe: Recipe, directory: Path | None) -> str:
    """A checksum of every file of a recipe's corpora, and of the text that its teachers label."""
    digest = sha256()
    names = {view.parse(name)[0] for task in recipe.tasks.values() for name in corpora_of(task)}
    for name in sorted(names):
        loaded = corpus.get(name, directory=directory)
        for file in loaded.card.files:
            path = directories.locate(loaded.root, file.path)
            digest.update(f"{file.path}\0".encode())
            if path is not None:
                with of_path(path).open() as stream:
                    while data := stream.read(1 << 20):
                        digest.update(data)
    if recipe.teacher is not None and recipe.teacher.text is not None:
        digest.update(PlainText(recipe.teacher.text).checksum().encode())
    return digest.hexdigest()


def save(
    place: Path,
    *,
    own: str,
    examples: Sequence[Example],
    counts: Mapping[str, Counter[str]],
    development: Mapping[str, Sequence[Document]],
) -> None:
    """Write a cache under its key."""
    arrays, description = _packed(examples)
    description |= {"key": own, "counts": counts, "development": list(development)}
    with replaced_folder(place) as fresh:
        (fresh / "development").mkdir()
        np.savez(fresh / "examples.npz", **arrays)  # type: ignore[arg-type]
        for number, documents in enumerate(development.values()):
            with (fresh / "development" / f"{number}.jsonl").open("wb") as stream:
                stream.writelines(map(jsonl.line, documents))
        (fresh / "examples.json").write_text(json.dumps(description))


def load(place: Path, *, own: str) -> Found | None:
    """Examples, counts and development documents, in their original order; None if they have another key or are damaged."""
    try:
        description = json.loads((place / "examples.json").read_text())
        if description["key"] != own:
            return None
        with (place / "examples.npz").open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            examples = _unpacked({name: arrays[name] for name in arrays.files}, description)
        development = {
            name: list(jsonl.read(of_path(place / "development" / f"{number}.jsonl"), on_error=stop))
            for number, name in enumerate(description["development"])
        }
    except (OSError, ValueError, KeyError, IndexError, TypeError, BadZipFile, BiomuxError):
        return None
    return examples, {name: Counter(numbers) for name, numbers in description["counts"].items()}, development


PIECES = ("ids", "first", "starts", "ends")


def _packed(examples: Sequence[Example]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    tasks = list(dict.fromkeys(example.task for example in examples))
    sources = list(dict.fromkeys(example.source[0] for example in examples))
    masks = list(dict.fromkeys(example.masking for example in examples))
    index = {
        name: {entry: place for place, entry in enumerate(group)} for name, group in (("t", tasks), ("s", sources))
    }
    masking = {mask: place for place, mask in enumerate(masks)}
    arrays: dict[str, NDArray[Any]] = {
        "task": np.array([index["t"][example.task] for example in examples]),
        "source": np.array([(index["s"][example.source[0]], example.source[1]) for example in examples]).reshape(-1, 2),
        "masking": np.array([masking[example.masking] for example in examples]),
    }
    for part in ("tokens", "prefix"):
        token_groups = [getattr(example.input, part) for example in examples]
        for column in PIECES:
            arrays |= _joined(
                f"{part}/{column}", [None if group is None else getattr(group, column) for group in token_groups]
            )
    arrays |= _joined("pairs", [example.input.pairs for example in examples])
    units: dict[str, str] = {}
    for head in dict.fromkeys(head for example in examples for head in example.labels):
        labels = [example.labels.get(head) for example in examples]
        units[head] = next(head_labels.unit for head_labels in labels if head_labels is not None)
        arrays |= _joined(
            f"labels/{head}", [None if head_labels is None else head_labels.values for head_labels in labels]
        )
    description = {
        "tasks": tasks,
        "sources": sources,
        "masks": [None if mask is None else asdict(mask) for mask in masks],
        "units": units,
    }
    return arrays, description


def _unpacked(arrays: dict[str, NDArray[Any]], description: dict[str, Any]) -> list[Example]:
    tasks, sources, units = description["tasks"], description["sources"], description["units"]
    masks = [None if mask is None else Masking(**mask) for mask in description["masks"]]
    parts = {
        part: zip(*(_split(arrays, f"{part}/{column}") for column in PIECES), strict=True)
        for part in ("tokens", "prefix")
    }
    heads = {head: _split(arrays, f"labels/{head}") for head in units}
    examples = []
    for task, source, mask, tokens, prefix, pairs in zip(
        arrays["task"].tolist(),
        arrays["source"].tolist(),
        arrays["masking"].tolist(),
        parts["tokens"],
        parts["prefix"],
        _split(arrays, "pairs"),
        strict=True,
    ):
        values = {head: next(arrays_of_head) for head, arrays_of_head in heads.items()}
        labels = {head: Labels(units[head], array) for head, array in values.items() if array is not None}
        model_input = ModelInput(Tokens(*tokens), None if prefix[0] is None else Tokens(*prefix), pairs)
        examples.append(Example(tasks[task], model_input, labels, (sources[source[0]], source[1]), masks[mask]))
    return examples


def _joined(name: str, values: Sequence[NDArray[Any] | None]) -> dict[str, NDArray[Any]]:
    """Arrays end to end, with the length of each; −1 for a missing one."""
    present = [value for value in values if value is not None]
    return {
        name: np.concatenate(present) if present else np.zeros(0, dtype=np.int32),
        f"{name}/sizes": np.array([-1 if value is None else len(value) for value in values], dtype=np.int64),
    }


def _split(arrays: dict[str, NDArray[Any]], name: str) -> Iterator[Any]:
    array, begin = arrays[name], 0
    for size in arrays[f"{name}/sizes"].tolist():
        if size < 0:
            yield None
        else:
            yield array[begin : begin + size]
            begin += size
