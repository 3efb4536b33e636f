"""One line that says how a figure was computed; every table has one below it.

>>> line = signature(matching="strict", scheme="bio", corpus="ncbi-disease", checksum="ab12" * 16, split="test", documents=940, version="0.1.0")
>>> line
'biomux:0.1.0|matching:strict|scheme:bio|corpus:ncbi-disease|sha256:ab12ab12ab12|split:test|documents:940'
>>> read_signature(line)["matching"]
'strict'
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from biomux import __version__
from biomux.errors import UsageError
from biomux.scoring.span_matching import keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from biomux.document import Document

DIGITS = 12
"""Digits of the checksum in a signature."""


def signature(
    *,
    matching: str,
    corpus: str,
    checksum: str,
    split: str,
    documents: int,
    scheme: str = "none",
    version: str = __version__,
    **more: str | int | float,
) -> str:
    """The line. Two figures are comparable if their lines differ only in what is being compared. `more` goes at the end, sorted by name."""
    fields: dict[str, str | int | float] = {
        "biomux": version,
        "matching": matching,
        "scheme": scheme,
        "corpus": corpus,
        "sha256": checksum[:DIGITS],
        "split": split,
        "documents": documents,
        **dict(sorted(more.items())),
    }
    for name, value in fields.items():
        if any(sign in str(value) for sign in "|\n") or not str(value):
            raise UsageError(
                "BX001",
                f"cannot write the {name} {value!r} into a signature: it is empty, or has a bar or a line break",
            )
    return "|".join(f"{name}:{value}" for name, value in fields.items())


def read_signature(line: str) -> dict[str, str]:
    """The fields of a signature."""
    fields = dict(part.split(":", 1) for part in line.strip().split("|") if ":" in part)
    if "biomux" not in fields:
        raise UsageError("BX001", f"{line[:60]!r} is not a signature", hint="a signature begins with 'biomux:'")
    return fields


def common_signature(lines: Sequence[str]) -> str:
    """What several signatures have in common, for a table over all of them.

    >>> common_signature(["biomux:0.1.0|matching:strict|corpus:a", "biomux:0.1.0|matching:strict|corpus:b"])
    'biomux:0.1.0|matching:strict|columns:2'
    """
    read = [read_signature(line) for line in lines]
    same = [
        f"{name}:{value}" for name, value in read[0].items() if all(signature.get(name) == value for signature in read)
    ]
    return "|".join([*same, f"columns:{len(lines)}"])


class Checksum:
    """A checksum of gold documents (ids, texts, spans, labels) while they go by; the order of documents does not matter.

    >>> from biomux.document import Document
    >>> checksum = Checksum()
    >>> [document.id for document in checksum.watch([Document("1", "Text.")])]
    ['1']
    >>> checksum.documents, len(checksum.value)
    (1, 64)
    """

    def __init__(self) -> None:
        self.documents = 0
        self._sum = 0

    def watch(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Pass documents on, and take each into the checksum."""
        for document in documents:
            self.documents += 1
            self._sum = (self._sum + int.from_bytes(_digest(document), "big")) % (1 << 256)
            yield document

    @property
    def value(self) -> str:
        return f"{self._sum:064x}"


def _digest(document: Document) -> bytes:
    parts = (
        document.id,
        document.text,
        document.pair,
        sorted(keys(document.spans)),
        sorted(
            (label.name, label.value is None, label.value or 0.0, label.start or -1, label.end or -1)
            for label in document.labels
        ),
        sorted(
            (relation.type, sorted((a.role, a.target) for a in relation.arguments)) for relation in document.relations
        ),
        sorted(
            (question.id, question.text, sorted(answer.text for answer in question.answers))
            for question in document.questions
        ),
    )
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()
