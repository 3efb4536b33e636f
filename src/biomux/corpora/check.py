"""Check that the files in a corpora directory match the cards."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from biomux import formats
from biomux.corpora import stats
from biomux.corpora.corpus import Corpus
from biomux.corpora.directory import locate
from biomux.errors import BiomuxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from biomux.corpora.card import Card, File

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One difference from the card."""

    kind: Literal["missing", "damaged", "counts"]
    what: str
    """The file or the split."""
    message: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of checking a corpus. "absent": none of its files is here, which is not a fault."""

    corpus: str
    state: Literal["ok", "absent", "faulty"]
    files: int
    faults: tuple[Fault, ...] = ()


def check(card: Card, root: Path, *, counts: bool = True) -> CheckResult:
    """Compare one corpus with its card: files and checksums, then, if these are right, the counts of each split."""
    present = [file for file in card.files if locate(root, file.path)]
    if not present:
        return CheckResult(card.name, "absent", 0)
    faults = [fault for file in card.files for fault in _file_faults(file, root)]
    if counts and not faults:
        faults += _count_faults(Corpus(card, root))
    return CheckResult(card.name, "faulty" if faults else "ok", len(present), tuple(faults))


def damage(file: File, path: Path, *, on_bytes: Callable[[int], None] | None = None) -> str | None:
    """What is wrong with the decompressed content of a file; None if it is right, or if the card has no checksum."""
    if file.sha256 is None and file.blob is None:
        return None
    source = formats.of_path(path)
    try:
        if file.sha256 is None:
            actual, expected, kind = _git_blob(source), str(file.blob), "git blob id"
        else:
            digest = hashlib.sha256()
            for block in _blocks(source):
                digest.update(block)
                if on_bytes:
                    on_bytes(len(block))
            actual, expected, kind = digest.hexdigest(), file.sha256, "sha256"
    except BiomuxError as error:
        return error.message
    return None if actual == expected else f"its {kind} is {actual[:12]}…, not {expected[:12]}…"


def _file_faults(file: File, root: Path) -> Iterator[Fault]:
    path = locate(root, file.path)
    if path is None and not file.optional:
        yield Fault("missing", file.path, "the file is missing")
    elif path is not None and (message := damage(file, path)):
        yield Fault("damaged", file.path, message)


def _count_faults(corpus: Corpus) -> Iterator[Fault]:
    optional = {file.path for file in corpus.card.files if file.optional and not locate(corpus.root, file.path)}
    for name, split in corpus.card.splits.items():
        if optional.intersection(split.files):
            continue
        try:
            counts = stats.count(corpus.documents(name))
        except BiomuxError as error:
            yield Fault("damaged", name, str(error))
            continue
        for message in stats.differences(split.counts, counts):
            yield Fault("counts", name, message)


def _blocks(source: formats.Source) -> Iterator[bytes]:
    with source.open() as stream:
        while block := stream.read(_BLOCK):
            yield block


def _git_blob(source: formats.Source) -> str:
    """Git's id of the content. The hash begins with the length, so the content is read twice."""
    size = sum(map(len, _blocks(source)))
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for block in _blocks(source):
        digest.update(block)
    return digest.hexdigest()
