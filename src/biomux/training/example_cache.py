"""The examples of a run, kept in its folder: it resumes within seconds, and with exactly the examples that it started with.

    RUN/cache/examples.npz        the arrays of all examples, end to end
    RUN/cache/examples.json       what belongs to which, and the key: the recipe and the checksums of its corpora
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
    told = json.dumps([VERSION, recipe.training()], sort_keys=True)
    return sha256((told + corpora_checksum(recipe, directory)).encode()).hexdigest()


def corpora_checksum(recipe: Recipe, directory: Path | None) -> str:
    """A checksum of every file of a recipe's corpora, and of the text that its teachers label."""
    digest = sha256()
    names = {view.parse(name)[0] for task in recipe.tasks.values() for name in corpora_of(task)}
    for name in sorted(names):
        found = corpus.get(name, directory=directory)
        for file in found.card.files:
            path = directories.locate(found.root, file.path)
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
    arrays, told = _packed(examples)
    told |= {"key": own, "counts": counts, "development": list(development)}
    with replaced_folder(place) as fresh:
        (fresh / "development").mkdir()
        np.savez(fresh / "examples.npz", **arrays)  # type: ignore[arg-type]
        for number, documents in enumerate(development.values()):
            with (fresh / "development" / f"{number}.jsonl").open("wb") as stream:
                stream.writelines(map(jsonl.line, documents))
        (fresh / "examples.json").write_text(json.dumps(told))


def load(place: Path, *, own: str) -> Found | None:
    """Examples, counts and development documents, in the order in which they were kept; None if they are others, or damaged."""
    try:
        told = json.loads((place / "examples.json").read_text())
        if told["key"] != own:
            return None
        with (place / "examples.npz").open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            examples = _unpacked({name: arrays[name] for name in arrays.files}, told)
        development = {
            name: list(jsonl.read(of_path(place / "development" / f"{number}.jsonl"), on_error=stop))
            for number, name in enumerate(told["development"])
        }
    except (OSError, ValueError, KeyError, IndexError, TypeError, BadZipFile, BiomuxError):
        return None
    return examples, {name: Counter(found) for name, found in told["counts"].items()}, development


PIECES = ("ids", "first", "starts", "ends")


def _packed(examples: Sequence[Example]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    tasks = list(dict.fromkeys(example.task for example in examples))
    sources = list(dict.fromkeys(example.source[0] for example in examples))
    masks = list(dict.fromkeys(example.masking for example in examples))
    index = {name: {one: at for at, one in enumerate(group)} for name, group in (("t", tasks), ("s", sources))}
    masking = {one: at for at, one in enumerate(masks)}
    arrays: dict[str, NDArray[Any]] = {
        "task": np.array([index["t"][example.task] for example in examples]),
        "source": np.array([(index["s"][example.source[0]], example.source[1]) for example in examples]).reshape(-1, 2),
        "masking": np.array([masking[example.masking] for example in examples]),
    }
    for part in ("tokens", "prefix"):
        found = [getattr(example.input, part) for example in examples]
        for column in PIECES:
            arrays |= _joined(f"{part}/{column}", [None if one is None else getattr(one, column) for one in found])
    arrays |= _joined("pairs", [example.input.pairs for example in examples])
    units: dict[str, str] = {}
    for head in dict.fromkeys(head for example in examples for head in example.labels):
        labels = [example.labels.get(head) for example in examples]
        units[head] = next(one.unit for one in labels if one is not None)
        arrays |= _joined(f"labels/{head}", [None if one is None else one.values for one in labels])
    told = {
        "tasks": tasks,
        "sources": sources,
        "masks": [None if one is None else asdict(one) for one in masks],
        "units": units,
    }
    return arrays, told


def _unpacked(arrays: dict[str, NDArray[Any]], told: dict[str, Any]) -> list[Example]:
    tasks, sources, units = told["tasks"], told["sources"], told["units"]
    masks = [None if one is None else Masking(**one) for one in told["masks"]]
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
        values = {head: next(found) for head, found in heads.items()}
        labels = {head: Labels(units[head], one) for head, one in values.items() if one is not None}
        read = ModelInput(Tokens(*tokens), None if prefix[0] is None else Tokens(*prefix), pairs)
        examples.append(Example(tasks[task], read, labels, (sources[source[0]], source[1]), masks[mask]))
    return examples


def _joined(name: str, found: Sequence[NDArray[Any] | None]) -> dict[str, NDArray[Any]]:
    """Arrays end to end, with the length of each; −1 for one that is not there."""
    there = [one for one in found if one is not None]
    return {
        name: np.concatenate(there) if there else np.zeros(0, dtype=np.int32),
        f"{name}/sizes": np.array([-1 if one is None else len(one) for one in found], dtype=np.int64),
    }


def _split(arrays: dict[str, NDArray[Any]], name: str) -> Iterator[Any]:
    whole, at = arrays[name], 0
    for size in arrays[f"{name}/sizes"].tolist():
        if size < 0:
            yield None
        else:
            yield whole[at : at + size]
            at += size
