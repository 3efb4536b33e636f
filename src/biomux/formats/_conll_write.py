"""The writing half of `conll`: tokens, sentences and tags of a document, and what they cannot hold."""

from __future__ import annotations

import re
from bisect import bisect
from typing import TYPE_CHECKING, BinaryIO

from biomux.errors import FormatError
from biomux.formats._detokenize import join
from biomux.formats._format import Feature, Loss, report_losses
from biomux.text import sentences as text_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from biomux.document import Document, Range, Span

MARK = "-DOCSTART-"
HOLDS: frozenset[Feature] = frozenset({"sentences", "tokens", "spans"})
# A word keeps its combining marks; any other character is a token by itself.
_WORD = re.compile(r"[\w\u0300-\u036f\u200d]+|[^\w\s]")
_UNHOLDABLE = re.compile(r"[\t\n\r]")
_BLANK = re.compile(r"\s")


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Token, TAB, IOB2 tag; see `conll` for the rules."""
    marked = False
    first = True
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        on_loss(Loss(document.id, "id", detail="documents are numbered when read back"))
        spans = _flat(document, on_loss)
        sentences = _sentences(document, spans)
        _report_changes(document, sentences, on_loss)
        tags = _tags(document, sentences, spans, on_loss)
        marked |= len(sentences) != 1
        block = f"{MARK}\tO\n\n" if marked else ""
        for sentence in sentences:
            rows = [f"{document.text[start:end]}\t{tags.get((start, end), 'O')}\n" for start, end in sentence]
            block += "".join(rows) + "\n"
        if first and block.startswith("\ufeff"):
            block = "\ufeff" + block  # a reader drops the first one as a byte-order mark
        first = False
        try:
            stream.write(block.encode())
        except UnicodeEncodeError:
            raise FormatError(
                "BX120",
                "the text or a type has half of a surrogate pair, which UTF-8 cannot represent",
                where=f"document {document.id!r}",
                hint="repair the text",
            ) from None


def _flat(document: Document, on_loss: Callable[[Loss], None]) -> list[Span]:
    """The spans that are kept, from left to right, without overlaps."""
    chosen: list[Span] = []
    starts: list[int] = []
    for span in sorted(document.spans, key=lambda span: (span.start - span.end, span.start)):
        index = bisect(starts, span.start)
        rival = next(
            (neighbour for neighbour in chosen[max(index - 1, 0) : index + 1] if neighbour.overlaps(span)), None
        )
        if rival is None:
            chosen.insert(index, span)
            starts.insert(index, span.start)
        else:
            on_loss(Loss(document.id, "overlaps", detail=f"{_name(document, span)} overlaps {_name(document, rival)}"))
    return chosen


def _sentences(document: Document, spans: Sequence[Span]) -> list[list[Range]]:
    """The tokens to write, sentence by sentence; a sentence without tokens is left out."""
    borders = sorted({offset for sentence in text_sentences.of(document) for offset in sentence})
    if document.sentences is None:
        borders = _outside(borders, spans)
    cuts = sorted({*borders, *(span.start for span in spans), *(span.end for span in spans)})
    groups: list[list[Range]] = []
    group: list[Range] = []
    border = 0
    for start, end in _cut(document.text, _tokens(document), cuts):
        while border < len(borders) and borders[border] <= start:
            border += 1
            if group:
                groups.append(group)
                group = []
        group.append((start, end))
    if group:
        groups.append(group)
    return groups


def _outside(borders: list[int], spans: Sequence[Span]) -> list[int]:
    """The borders that cut no span: where sentences are only guessed, a span is better evidence."""
    starts = [span.start for span in spans]
    outside = []
    for border in borders:
        index = bisect(starts, border - 1)
        if not index or spans[index - 1].end <= border:
            outside.append(border)
    return outside


def _tokens(document: Document) -> Iterator[Range]:
    """The document's tokens, and words and punctuation of the text between them, so that no character is left out."""
    position = 0
    for start, end in (*(document.tokens or ()), (len(document.text), len(document.text))):
        for match in _WORD.finditer(document.text, position, start):
            yield match.span()
        if start < end:
            yield start, end
        position = end


def _cut(text: str, tokens: Iterable[Range], cuts: Sequence[int]) -> Iterator[Range]:
    """Tokens, cut at each of `cuts` and at characters that a column cannot hold; a piece that looks like the document mark is cut after its hyphen."""
    index = 0
    for start, end in tokens:
        while index < len(cuts) and cuts[index] <= start:
            index += 1
        whole = start < end and (index == len(cuts) or cuts[index] >= end)
        if whole and not text.startswith(MARK, start, end) and not _UNHOLDABLE.search(text, start, end):
            yield start, end
            continue
        begin = start
        while begin < end:
            if index < len(cuts) and cuts[index] < end:
                stop = cuts[index]
                index += 1
            else:
                stop = end
            yield from _clean(text, begin, stop)
            begin = stop


def _clean(text: str, start: int, end: int) -> Iterator[Range]:
    for match in re.finditer(r"[^\t\n\r]+", text[start:end]):
        low, high = start + match.start(), start + match.end()
        if text[low:high] == MARK or text.startswith(MARK + " ", low, high):
            yield low, low + 1
            low += 1
        yield low, high


def _tags(
    document: Document, sentences: list[list[Range]], spans: Sequence[Span], on_loss: Callable[[Loss], None]
) -> dict[Range, str]:
    """The tag of each token that is inside a span."""
    tags: dict[Range, str] = {}
    tokens = [(place, number) for number, sentence in enumerate(sentences) for place in sentence]
    index = 0
    for span in spans:
        while index < len(tokens) and tokens[index][0][0] < span.start:
            index += 1
        inside = []
        while index < len(tokens) and tokens[index][0][1] <= span.end:
            inside.append(tokens[index])
            index += 1
        name = _name(document, span)
        if not inside:
            on_loss(Loss(document.id, "spans", detail=f"{name} has no token"))
            continue
        if len({number for _, number in inside}) > 1:
            on_loss(Loss(document.id, "spans cut", detail=f"{name} crosses a sentence's end and is cut there"))
        elif (inside[0][0][0], inside[-1][0][1]) != (span.start, span.end):
            on_loss(Loss(document.id, "spans trimmed", detail=f"{name} is trimmed to its tokens"))
        kind = _BLANK.sub("_", span.type)
        if kind != span.type:
            on_loss(Loss(document.id, "span types", detail=f"{span.type!r} becomes {kind!r}"))
        sentence_before = -1
        for place, number in inside:
            tags[place] = f"{'I' if number == sentence_before else 'B'}-{kind}"
            sentence_before = number
    return tags


def _report_changes(document: Document, sentences: list[list[Range]], on_loss: Callable[[Loss], None]) -> None:
    """Report whether text, tokens or sentences will be read back differently."""
    written = [place for sentence in sentences for place in sentence]
    text = " ".join(join([document.text[start:end] for start, end in sentence])[0] for sentence in sentences)
    if text != document.text:
        on_loss(
            Loss(document.id, "text spacing", detail="white space is not recorded; offsets follow the rebuilt text")
        )
        if document.spans:
            on_loss(Loss(document.id, "spans moved", len(document.spans)))
        if document.tokens:
            on_loss(Loss(document.id, "tokens moved", len(document.tokens)))
        if document.sentences:
            on_loss(Loss(document.id, "sentences moved", len(document.sentences)))
    if document.tokens is not None and written != list(document.tokens):
        on_loss(Loss(document.id, "tokens", detail="tokens were cut, or made for text that had none"))
    if document.sentences is not None and [(group[0][0], group[-1][1]) for group in sentences] != list(
        document.sentences
    ):
        on_loss(Loss(document.id, "sentences", detail="sentences begin and end with a token"))


def _name(document: Document, span: Span) -> str:
    mention = document.mention(span)
    return f"{span.type} {span.start}..{span.end} {(mention if len(mention) <= 60 else mention[:57] + '…')!r}"
