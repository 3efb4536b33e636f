"""Splits made here: seeded, and a group stays on one side.

The side of a document depends on the seed and its group alone, not on the documents around it. So the same text falls on the same
side in every corpus that is cut with the same seed and group, and a corpus that loses a document keeps the sides of all others.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from biomux.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.corpora.card import CutSplit
    from biomux.document import Document


def squeezed(text: str) -> str:
    """The text without blanks and case: what counts as equal text.

    >>> squeezed(" IL-2  gene\\n")
    'il-2gene'
    """
    return "".join(text.split()).lower()


def group_key(document: Document, group: str) -> str:
    """What a document is grouped by: "text", "pair" (the second text), "id", or a key of its metadata."""
    if group == "text":
        return squeezed(document.text)
    if group == "pair" and document.pair is not None:
        return squeezed(document.pair)
    if group == "id":
        return document.id
    if group in document.metadata:
        return str(document.metadata[group])
    raise CorpusError(
        "BX207",
        f"cannot group by {group!r}: the document has no such metadata",
        where=f"document {document.id!r}",
        hint="group by text, pair, id, or a key of the metadata",
    )


def position(key: str, seed: int) -> float:
    """A number in [0, 1) for a group, the same on every machine.

    >>> position("GSE57120", 13) == position("GSE57120", 13) != position("GSE57120", 14)
    True
    """
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(8, "big", signed=True))
    return (int.from_bytes(digest.digest(), "big") >> 11) / (1 << 53)


def side(document: Document, cuts: Sequence[tuple[str, CutSplit]]) -> str | None:
    """The name of the cut that takes the document; None if it stays where it is.

    Cuts of the same seed and group lie side by side, so their fractions are shares of the whole: with 0.1 and 0.2, 70 % stay.
    """
    taken: dict[tuple[int, str], float] = {}
    for name, made in cuts:
        low = taken.get((made.seed, made.group), 0.0)
        if low <= position(group_key(document, made.group), made.seed) < low + made.fraction:
            return name
        taken[made.seed, made.group] = low + made.fraction
    return None
