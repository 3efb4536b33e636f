"""Cut splits: seeded, with each group on one side.

The side of a document depends only on the seed and its group, not on other documents. So the same text is on the same side in
every corpus that is cut with the same seed and group, and removing a document does not move any other.
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
    """The text without white space and in lower case; texts are equal if this is.

    >>> squeezed(" IL-2  gene\\n")
    'il-2gene'
    """
    return "".join(text.split()).lower()


def group_key(document: Document, group: str) -> str:
    """The key that a document is grouped by: "text", "pair" (the second text), "id", or a key of its metadata."""
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
    """The name of the cut that takes the document; None if it stays.

    Cuts of the same seed and group are adjacent, so their fractions are shares of the whole: with 0.1 and 0.2, 70 % stay.
    """
    reached: dict[tuple[int, str], float] = {}
    for name, cut in cuts:
        low = reached.get((cut.seed, cut.group), 0.0)
        if low <= position(group_key(document, cut.group), cut.seed) < low + cut.fraction:
            return name
        reached[cut.seed, cut.group] = low + cut.fraction
    return None
