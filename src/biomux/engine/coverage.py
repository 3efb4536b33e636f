"""Which characters of a text an annotator read.

`Document.coverage` lists the sentences that went through the session. White space is never in question: it says nothing, whether a sentence
holds it or it stands between two. Every other character counts as read if it stands in a sentence; a word that the vocabulary lacks
is read as an unknown token, and control characters are passed over as the tokenizer does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from biomux.document import Document, Range


def gaps(document: Document) -> list[Range]:
    """The stretches that were not read and are not blank, without white space around them.

    >>> from biomux.document import Document
    >>> gaps(Document("1", "One. Two.  Three.", coverage=((0, 4), (11, 17))))
    [(5, 9)]
    """
    unread: list[Range] = []
    at = 0
    for start, end in (*(document.coverage or ()), (len(document.text), len(document.text))):
        between = document.text[at:start]
        if between and not between.isspace():
            first = at + len(between) - len(between.lstrip())
            unread.append((first, at + len(between.rstrip())))
        at = end
    return unread


def visible(text: str) -> int:
    """How many characters are not white space."""
    return sum(map(len, text.split()))


def unread(document: Document) -> int:
    """How many characters that are not white space were not read."""
    return sum(visible(document.text[start:end]) for start, end in gaps(document))
