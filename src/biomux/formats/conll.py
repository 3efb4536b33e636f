"""CoNLL columns: one token and its tag per line, an empty line after each sentence.

Reading. Columns are separated by a tab or, in a line without tabs, by spaces: two to four columns, the token first, the tag last. A third column
of `+` or `-` after the tag is HUNER's: whether a space follows the token. There are no quotes or missing values, and a token may begin with `#`. A line before a sentence
that begins with `#` and cannot be a token with its tag (`# sent_id = 7`: it has no tab although the sentence has tabs, or does not end in a tag)
is a comment, which goes to `metadata["comments"]`. With `comments=true` every line that begins with `#` and has no tab is a comment, with `comments=false` none is. A tag is split at its first hyphen. Tags are decoded by one set of rules that fits IOB1, IOB2, IOBES and BILOU: `B`,
`S` and `U` begin a mention, `I`, `E` and `L` continue one of the same type or else begin one, `E`, `L`, `S` and `U` end it. Tags without a type get
the option `type`. The option `scheme` ("iob1", "iob2", "iobes") makes the reader refuse tags that the scheme does not allow.

A line that begins with `-DOCSTART-` begins a document: the sentences up to the next such line, joined by a space. Each sentence before any such line is
a document. `by="sentence"` and `by="document"` override this; without marks, the latter makes the file one document. Documents are
named `<stem>:<n>`, n counted from 1.

White space is not recorded, so the text is rebuilt (see `spacing`); `spacing="blank"` puts one space between any two tokens. HUNER's
column, if present, is followed exactly.

Writing. Two columns, IOB2. Sentences are the document's; without any, the text is split, but never inside a span. White space in
a type becomes `_` (`B-cell_line`), which is reported. Tokens are the document's, or words and single punctuation characters if it has none; they are split where a span begins or ends inside them, so
that nothing is lost. Of overlapping spans the longest is kept (of equal ones the leftmost, then the first given); the others are reported.
A discontinuous span is written from its start to its end, and reported. `-DOCSTART-` is written from the first document on that
is not exactly one sentence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from biomux.document import Document, Range, Span
from biomux.errors import FormatError, UsageError
from biomux.formats._conll_write import HOLDS, MARK, write
from biomux.formats._detokenize import join, lay_out
from biomux.formats._format import Format, stop
from biomux.formats._source import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.formats._source import Source

_BEGIN, _GO_ON, _END, _SINGLE, _OUTSIDE = range(5)
_PREFIXES = {"B": _BEGIN, "I": _GO_ON, "E": _END, "L": _END, "S": _SINGLE, "U": _SINGLE, "O": _OUTSIDE}
_ALLOWED = {"auto": set("BIELSUO"), "iob1": set("BIO"), "iob2": set("BIO"), "iobes": set("BIELSUO")}
_TAG = re.compile(r"O|[BIELSU](-.*)?", re.DOTALL)

_Tag = tuple[int, str]


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    type: str = "entity",
    scheme: Literal["auto", "iob1", "iob2", "iobes"] = "auto",
    by: Literal["auto", "sentence", "document"] = "auto",
    spacing: Literal["rebuilt", "blank"] = "rebuilt",
    comments: bool | None = None,
) -> Iterator[Document]:
    """One document per sentence or per `-DOCSTART-` block; see the module's docstring for the options."""
    _choice("scheme", scheme, _ALLOWED)
    _choice("by", by, ("auto", "sentence", "document"))
    _choice("spacing", spacing, ("rebuilt", "blank"))
    tag_cache: dict[str, _Tag] = {}
    stem = source.stem
    for number, block in enumerate(_blocks(source, by, comments), 1):
        try:
            document = _document(block, f"{stem}:{number}", source.name, type, scheme, spacing, tag_cache)
        except FormatError as error:
            on_error(error)
            continue
        yield document


class _Sentence:
    """The lines of a sentence as columns; `line` is the number of its first line."""

    __slots__ = ("blanks", "comments", "line", "problem", "tags", "tokens")

    def __init__(self, line: int, comments: list[str]) -> None:
        self.line = line
        self.comments = comments
        self.tokens: list[str] = []
        self.tags: list[str] = []
        self.blanks: list[bool] = []
        self.problem: FormatError | None = None


def _blocks(source: Source, by: str, comments: bool | None) -> Iterator[list[_Sentence]]:
    """The sentences of each document."""
    block: list[_Sentence] | None = [] if by == "document" else None
    for sentence in _sentences(source, comments):
        if sentence is None:
            if by != "sentence":
                if block is not None and (block or by != "document"):
                    yield block
                block = []
        elif block is None:
            yield [sentence]
        else:
            block.append(sentence)
    if block is not None and (block or by != "document"):
        yield block


def _sentences(source: Source, comments: bool | None) -> Iterator[_Sentence | None]:
    """Each sentence; None for a line that begins a document."""
    sentence: _Sentence | None = None
    pending_comments: list[str] = []
    for number, line, is_comment in _lines(source, comments):
        if is_comment:
            (pending_comments if sentence is None else sentence.comments).append(line)
            continue
        columns = line.split("\t")
        if len(columns) == 1:
            columns = _columns(line)
        if not columns or (not columns[0] and not line.strip(" \t")):
            if sentence is not None:
                yield sentence
                sentence = None
            continue
        token = columns[0]
        if token.startswith(MARK) and (token == MARK or token.startswith(MARK + " ")):
            if sentence is not None:
                yield sentence
                sentence = None
            yield None
            continue
        if sentence is None:
            sentence, pending_comments = _Sentence(number, pending_comments), []
        sentence.tokens.append(token)
        if len(columns) == 2 and token:
            sentence.tags.append(columns[1])
            continue
        _unusual(sentence, columns, f"{source.name}:{number}")
    if sentence is not None:
        yield sentence


def _lines(source: Source, comments: bool | None) -> Iterator[tuple[int, str, bool]]:
    """Each line, and whether it is a comment. Possible comments are held back until the next line shows whether there are tabs."""
    waiting: list[tuple[int, str]] = []
    between = True
    for number, line in lines(source):
        if line.startswith("#") and "\t" not in line and comments is not False:
            if comments:
                yield number, line, True
                continue
            if between:
                waiting.append((number, line))
                continue
        between = not line.strip(" \t") or line.startswith(MARK)
        if waiting:
            tabs = "\t" in line.strip(" \t")
            yield from (
                (held_number, held_line, tabs or not _is_tagged(held_line)) for held_number, held_line in waiting
            )
            waiting = []
        yield number, line, False
    yield from ((held_number, held_line, not _is_tagged(held_line)) for held_number, held_line in waiting)


def _is_tagged(line: str) -> bool:
    """Whether it has the columns of a token, with a tag last."""
    columns = _columns(line)
    if len(columns) >= 3 and columns[-1] in ("+", "-"):
        del columns[-1]
    return 2 <= len(columns) <= 4 and _TAG.fullmatch(columns[-1]) is not None


def _columns(line: str) -> list[str]:
    columns = line.split("\t")
    return columns if len(columns) > 1 else [column for column in line.split(" ") if column]


def _unusual(sentence: _Sentence, columns: list[str], where: str) -> None:
    """Add the tag of a line that is not just a token and a tag; a problem is kept until the document is made."""
    huner = len(columns) >= 3 and columns[-1] in ("+", "-")
    sentence.tags.append(columns[-2] if huner else columns[-1])
    if huner:
        sentence.blanks.append(columns[-1] == "+")
    if sentence.problem is not None:
        return
    if not columns[0]:
        sentence.problem = FormatError(
            "BX113", "the token must not be empty", where=where, hint="give a token before the TAB"
        )
    elif len(columns) == 1:
        sentence.problem = FormatError(
            "BX116", f"the token {_short(columns[0])} has no tag", where=where, hint="give token, TAB, tag"
        )
    elif len(columns) > 4:
        sentence.problem = FormatError(
            "BX113",
            f"the line has {len(columns)} columns",
            where=where,
            hint="a line has 2 to 4 columns, with the token first and the tag last",
        )


def _document(
    block: list[_Sentence], name: str, file: str, type: str, scheme: str, spacing: str, tag_cache: dict[str, _Tag]
) -> Document:
    pieces: list[str] = []
    tokens: list[Range] = []
    sentences: list[Range] = []
    spans: list[Span] = []
    position = 0
    spaced = True
    for sentence in block:
        if sentence.problem is not None:
            raise sentence.problem
        text, places = _text(sentence, spacing, file)
        if pieces and spaced:
            pieces.append(" ")
            position += 1
        spaced = not sentence.blanks or sentence.blanks[-1]
        if position:
            places = [(start + position, end + position) for start, end in places]
        pieces.append(text)
        tokens += places
        sentences.append((position, position + len(text)))
        position += len(text)
        if sentence.tags.count("O") != len(sentence.tags):
            tags = _tags(sentence, type, scheme, tag_cache, file)
            spans += [Span(places[first][0], places[last][1], kind) for first, last, kind in _mentions(tags)]
    comments = [comment for sentence in block for comment in sentence.comments]
    return Document(
        name,
        "".join(pieces),
        sentences=tuple(sentences),
        tokens=tuple(tokens),
        spans=tuple(spans),
        metadata={"comments": comments} if comments else {},
    )


def _text(sentence: _Sentence, spacing: str, file: str) -> tuple[str, list[Range]]:
    tokens = sentence.tokens
    if sentence.blanks:
        if len(sentence.blanks) != len(tokens):
            raise FormatError(
                "BX116",
                "some tokens of the sentence have a third column of + or -, but some do not",
                where=f"{file}:{sentence.line}",
                hint="give it for all or for none",
            )
        return lay_out(tokens, [False, *(not blank for blank in sentence.blanks[:-1])])
    return join(tokens) if spacing == "rebuilt" else lay_out(tokens, [False] * len(tokens))


def _tags(sentence: _Sentence, type: str, scheme: str, tag_cache: dict[str, _Tag], file: str) -> list[_Tag]:
    decoded = []
    for offset, tag in enumerate(sentence.tags):
        pair = tag_cache.get(tag)
        if pair is None:
            if not _TAG.fullmatch(tag) or tag[0] not in _ALLOWED[scheme]:
                raise FormatError(
                    "BX113",
                    f"the tag {_short(tag)} of token {_short(sentence.tokens[offset])} is not one of {_scheme_name(scheme)}",
                    where=f"{file}:{sentence.line + offset}",
                    hint="tags are O, or B, I, E, S, L, U with or without a hyphen and a type",
                )
            prefix, hyphen, kind = tag.partition("-")
            pair = tag_cache[tag] = (_PREFIXES[prefix], kind if hyphen else "" if prefix == "O" else type)
        decoded.append(pair)
    if scheme in ("iob2", "iobes"):
        _check_scheme(sentence, decoded, scheme, file)
    return decoded


def _mentions(tags: list[_Tag]) -> list[tuple[int, int, str]]:
    """The first token, last token and type of each mention."""
    mentions: list[tuple[int, int, str]] = []
    begin = -1
    open_type = ""
    for index, (prefix, kind) in enumerate(tags):
        continues = prefix in (_GO_ON, _END) and begin >= 0 and kind == open_type
        if begin >= 0 and not continues:
            mentions.append((begin, index - 1, open_type))
            begin = -1
        if prefix != _OUTSIDE and not continues:
            begin, open_type = index, kind
        if prefix in (_END, _SINGLE):
            mentions.append((begin, index, kind))
            begin = -1
    if begin >= 0:
        mentions.append((begin, len(tags) - 1, open_type))
    return mentions


def _check_scheme(sentence: _Sentence, tags: list[_Tag], scheme: str, file: str) -> None:
    """IOB2: a mention begins with B. IOBES: it is S alone, or begins with B and ends with E."""
    inside = ""
    is_open = False
    for offset, (prefix, kind) in enumerate([*tags, (_OUTSIDE, "")]):
        continues = prefix in (_GO_ON, _END)
        unended = scheme == "iobes" and is_open and not continues
        if unended or (continues and not (is_open and kind == inside)):
            tag = sentence.tags[offset] if offset < len(tags) else "the end of the sentence"
            raise FormatError(
                "BX113",
                f"{_short(tag)} cannot follow here in {_scheme_name(scheme)}",
                where=f"{file}:{sentence.line + min(offset, len(tags) - 1)}",
                hint="leave out the scheme so that it is recognised, or correct the tags",
            )
        is_open = prefix in (_BEGIN, _GO_ON)
        inside = kind


def _scheme_name(scheme: str) -> str:
    return "IOB1, IOB2, IOBES or BILOU" if scheme == "auto" else scheme.upper()


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


def _choice(name: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise UsageError("BX001", f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def _sniff(name: str, head: bytes) -> bool:
    if name.endswith((".json", ".jsonl", ".xml", ".csv", ".ann")):
        return False
    text = head.decode("utf-8", "ignore").removeprefix("\ufeff")
    head_lines = text.split("\n")
    if len(head) >= 4096:
        del head_lines[-1]
    recognised, between = 0, True
    for line in head_lines:
        line = line.removesuffix("\r")
        if line.startswith(MARK):
            recognised += 1
            continue
        if not line.strip(" \t"):
            between = True
            continue
        if not _is_tagged(line):
            if line.startswith("#") and "\t" not in line and between:
                continue  # a comment
            return False
        recognised += 1
        between = False
    return recognised > 0


FORMAT = Format(
    name="conll",
    title="CoNLL columns (IOB1, IOB2, IOBES, HUNER)",
    suffixes=(".conll", ".iob", ".iob2", ".bio"),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
