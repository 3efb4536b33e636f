"""Abstracts with the role of each sentence: PubMed RCT and NICTA-PIBOSO.

    ###707740
    population⇥Patients were examined .
    outcome⇥Most recovered .

A line `###id` begins an abstract, a blank line ends it. One document per abstract: its sentences joined by a space, each role a label at
the place of its sentence. An empty role gives no label. Roles are kept as written (NICTA-PIBOSO in lower case, PubMed RCT in upper case).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats._fields import build
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join
from biomux.formats._source import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"sentences", "labels"})
MARK = "###"


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per abstract."""
    current: str | None = None
    sentences: list[tuple[str, str]] = []
    where = ""
    for number, line in lines(source):
        place = f"{source.name}:{number}"
        if line.startswith(MARK) or not line:
            if current is not None:
                yield _document(current, sentences, where)
            current, sentences, where = line.removeprefix(MARK) if line else None, [], place
            continue
        try:
            sentences.append(_sentence(line, current, place))
        except FormatError as error:
            on_error(error)
    if current is not None:
        yield _document(current, sentences, where)


def _sentence(line: str, current: str | None, where: str) -> tuple[str, str]:
    if current is None:
        raise FormatError(
            "BX113", "there is a sentence outside an abstract", where=where, hint=f"begin it with {MARK}id"
        )
    role, tab, sentence = line.partition("\t")
    if not tab:
        raise FormatError("BX116", "there is no tab between role and sentence", where=where, hint="write role⇥sentence")
    if not sentence or "\t" in sentence:
        problem = "has a tab" if sentence else "is empty"
        raise FormatError("BX113", f"the sentence {problem}", where=where, hint="write role⇥sentence")
    return role, sentence


def _document(id: str, sentences: list[tuple[str, str]], where: str) -> Document:
    text, ranges = join((sentence for _, sentence in sentences), " ")
    labels = tuple(
        Label(role, start=start, end=end) for (role, _), (start, end) in zip(sentences, ranges, strict=True) if role
    )
    return build(where, id, text, sentences=tuple(ranges), labels=labels)


def _sniff(_: str, head: bytes) -> bool:
    # With a space after ### it would be a Markdown heading.
    return re.match(rb"(?:\xef\xbb\xbf)?\s*###(?! )[^\n#\t]*\n(?:[^\n\t]*\t|\s*(?:\Z|###))", head) is not None


FORMAT = Format(
    name="rct",
    title="abstracts with the role of each sentence (PubMed RCT, NICTA-PIBOSO)",
    suffixes=(".rct.txt",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
