"""Pairs of texts: similarity and inference.

A pair is read as one row. Where that is longer than the model's limit, tokens are left out at the end of the longer text; how many stands in the
document's metadata, under `UNREAD`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from biomux.document import Document
from biomux.engine import asked_tasks
from biomux.engine.query import Query
from biomux.errors import AnnotateError, BiomuxError, UsageError
from biomux.tasks import text_inputs
from biomux.text import tokens as text_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tokenizers import Tokenizer

    from biomux.engine.annotator import Annotator

UNREAD = "tokens not read"
"""Key of the metadata of a pair that was cut."""


def find(
    annotator: Annotator,
    pairs: Iterable[tuple[str, str] | Document],
    *,
    heads: Sequence[str] | None = None,
    threshold: float | None = None,
    on_error: Callable[[Document, BiomuxError], None] | None = None,
) -> Iterator[Document]:
    """What the heads for pairs say of each pair, as labels of a document."""
    if isinstance(pairs, str | Document):
        raise UsageError("BX001", "pairs() takes a list of pairs", hint="give [(first text, second text)]")
    query = Query(tasks=asked_tasks.of_group(asked_tasks.PAIRS, heads), threshold=threshold)
    return annotator.annotate_query(_documents(pairs), query, on_error=on_error)


def measured(documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int, strict: bool) -> Iterator[Document]:
    """The documents; those whose pair is longer than `limit` tokens say how many were not read. With `strict` that is an error."""
    for document in documents:
        texts = (document.text, document.pair or "")
        tokens = [text_tokens.split(tokenizer, text, [(0, len(text))])[0] for text in texts]
        unread = sum(map(len, tokens)) - (limit - 1)
        if unread <= 0:
            yield replace(document, metadata={k: v for k, v in document.metadata.items() if k != UNREAD})
            continue
        if strict:
            raise AnnotateError(
                "BX613",
                f"{unread:,} tokens of the pair were not read",
                where=f"document {document.id!r}",
                hint=f"shorten the texts: the model reads {limit - 1} tokens of both together",
            )
        share = text_inputs.shares(len(tokens[0]), len(tokens[1]), limit - 1)[0]
        read = tokens[0].window(0, share)
        last = int(read.ends[-1]) if read.words else 0
        yield replace(
            document,
            coverage=tuple((start, min(end, last)) for start, end in document.coverage or () if start < last),
            metadata={**document.metadata, UNREAD: unread},
        )


def _documents(pairs: Iterable[tuple[str, str] | Document]) -> Iterator[Document]:
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, Document):
            yield pair
        elif isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(text, str) for text in pair):
            yield Document(f"pair-{number}", pair[0], pair=pair[1])
        else:
            raise UsageError(
                "BX001",
                f"a pair must be two strings or a Document, got {type(pair).__name__}",
                where=f"pair {number}",
                hint="give (first text, second text)",
            )
