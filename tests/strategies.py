"""Hypothesis strategies: documents with everything that breaks careless software.

`documents(holds)` draws documents whose features are among `holds`, so that a format can be given what it says it holds;
`documents()` draws all features. Give `text=XML_TEXT` where control characters cannot be held.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from hypothesis import strategies as st

from biomux.document import Answer, Argument, Document, Label, Passage, Question, Range, Relation, Span
from biomux.formats import Feature

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

ALL: frozenset[Feature] = frozenset(get_args(Feature))

_PIECES = [
    "TP53",
    "aspirin",
    " ",
    " ",
    ". ",
    "α-синуклеин",
    "e\u0301",
    "\u200d",
    "\u202e",
    "𝛼",
    "🧬",
    "👩🏽‍🔬",
    "﷽",
    "ß",
    '"',
    "&<>",
    "\\",
]
_LINES = ["\n", "\r\n", "\r", "\t", "\n\n", "\u2028", "\u0085", "\u00a0"]
_CONTROLS = ["\0", "\x0b", "\x0c", "\x1b", "\x1f", "\x7f", "\ufeff", "\ufffe", "\uffff"]


def _texts(pieces: list[str], characters: SearchStrategy[str], *, min_size: int = 0) -> SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces) | characters, min_size=min_size, max_size=12).map("".join)


TEXT = _texts(_PIECES + _LINES + _CONTROLS, st.characters(exclude_categories=["Cs"]))
"""Any text that UTF-8 can hold."""

XML_TEXT = _texts(
    [*_PIECES, *_LINES, "\x7f", "\ufeff"],
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"),
)
"""Text that XML 1.0 can hold."""

LINE_TEXT = _texts(_PIECES, st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")))
"""Text of one line, without control characters."""

NAMES = st.sampled_from(["Gene", "Disease", "CellLine", "Regulon-operon", "DNA_part"]) | st.text(
    alphabet=st.characters(categories=("Lu", "Ll", "Nd")), min_size=1, max_size=6
)
"""Names of types, roles, heads and kinds: one word."""

ODD_NAMES = st.sampled_from(["cell line", "B-", "O", "type\twith tab", "", "🧬", "a,b;c|d", '"q"', "línea"])
"""Names that some formats cannot hold."""

IDS = st.text(alphabet="abcXYZ0189_", min_size=1, max_size=8)

JSON: SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | LINE_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def documents(
    draw: DrawFn,
    holds: frozenset[Feature] | None = None,
    *,
    text: SearchStrategy[str] = TEXT,
    names: SearchStrategy[str] = NAMES,
    ids: SearchStrategy[str] = IDS,
) -> Document:
    """A document with features of `holds` only (all if None)."""
    holds = ALL if holds is None else holds
    drawn = draw(text)
    size = len(drawn)
    spans = draw(_spans(size, holds, text, names)) if "spans" in holds and size else ()
    return Document(
        draw(ids),
        drawn,
        passages=draw(_passages(size, holds, names)) if "passages" in holds else (),
        sentences=draw(_optional(_ranges(size))) if "sentences" in holds else None,
        tokens=draw(_optional(_ranges(size))) if "tokens" in holds else None,
        spans=spans,
        relations=draw(_relations(spans, holds, names)) if "relations" in holds else (),
        labels=draw(st.lists(_label(size, holds, names), max_size=2).map(tuple)) if "labels" in holds else (),
        pair=draw(st.none() | text) if "pair" in holds else None,
        questions=draw(_questions(drawn, holds, text, names)) if "questions" in holds else (),
        coverage=draw(_optional(_ranges(size))) if "coverage" in holds else None,
        metadata=draw(st.dictionaries(NAMES, JSON, max_size=2)) if "metadata" in holds else {},
    )


def collections(
    holds: frozenset[Feature] | None = None,
    *,
    text: SearchStrategy[str] = TEXT,
    names: SearchStrategy[str] = NAMES,
    ids: SearchStrategy[str] = IDS,
) -> SearchStrategy[list[Document]]:
    """A few documents, each with an id of its own (without regard to case: file names)."""
    one = documents(holds, text=text, names=names, ids=ids)
    return st.lists(one, max_size=3, unique_by=lambda document: document.id.casefold())


def _optional(ranges: SearchStrategy[tuple[Range, ...]]) -> SearchStrategy[tuple[Range, ...] | None]:
    """None or at least one: only Biomux's own format tells none from unknown."""
    return ranges.map(lambda found: found or None)


@st.composite
def _ranges(draw: DrawFn, size: int, *, most: int = 4) -> tuple[Range, ...]:
    """Ranges in order, without overlap; some touch, some lie at both ends."""
    cuts = sorted(draw(st.sets(st.integers(0, size) | st.sampled_from([0, size]), max_size=most + 1)))
    between = list(pairwise(cuts))
    kept = draw(st.lists(st.booleans(), min_size=len(between), max_size=len(between)))
    return tuple(range_ for range_, keep in zip(between, kept, strict=True) if keep)


@st.composite
def _range(draw: DrawFn, size: int) -> Range:
    start, end = sorted(draw(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))))
    return draw(st.sampled_from([(start, end + 1), (start, end + 1), (0, size), (0, 1), (size - 1, size)]))


@st.composite
def _spans(
    draw: DrawFn, size: int, holds: frozenset[Feature], text: SearchStrategy[str], names: SearchStrategy[str]
) -> tuple[Span, ...]:
    places: list[tuple[Range, ...]]
    if "overlaps" in holds:
        one = _range(size).map(lambda found: (found,))
        places = draw(st.lists(one | _ranges(size) if "fragments" in holds else one, max_size=5))
        places = [place for place in places if place]
    else:
        places = [(place,) for place in draw(_ranges(size))]
        if "fragments" in holds and len(places) > 2 and draw(st.booleans()):
            places = [(*places[0], *places[1]), *places[2:]]
    ids = draw(st.booleans()) if "span ids" in holds else False
    return tuple(draw(_span(place, f"T{n}" if ids else None, holds, text, names)) for n, place in enumerate(places, 1))


@st.composite
def _span(
    draw: DrawFn,
    place: tuple[Range, ...],
    id: str | None,
    holds: frozenset[Feature],
    text: SearchStrategy[str],
    names: SearchStrategy[str],
) -> Span:
    identifiers = st.lists(st.sampled_from(["mesh:D009369", "NCBITaxon:10090", "7157", "-"]), max_size=2, unique=True)
    return Span(
        place[0][0],
        place[-1][1],
        draw(names),
        score=draw(_scores(holds)),
        head=draw(_heads(holds, names)),
        identifiers=tuple(draw(identifiers)) if "identifiers" in holds else (),
        fragments=place if len(place) > 1 else (),
        id=id,
        extra=draw(_extra(holds)),
    )


@st.composite
def _relations(
    draw: DrawFn, spans: tuple[Span, ...], holds: frozenset[Feature], names: SearchStrategy[str]
) -> tuple[Relation, ...]:
    targets: list[tuple[str, Any]] = [("concept", "mesh:D009369"), ("concept", "7157")]
    targets += [("span", span.id) for span in spans if span.id is not None] * 3
    found: list[Relation] = []
    for number in range(draw(st.integers(0, 2))):
        ends = draw(st.lists(st.sampled_from(targets), min_size=2, max_size=3))
        arguments = tuple(Argument(draw(names), target, kind) for kind, target in ends)
        name = draw(st.none() | st.just(f"R{number}"))
        found.append(
            Relation(
                draw(names), arguments, draw(_scores(holds)), draw(_heads(holds, names)), name, draw(_extra(holds))
            )
        )
        if name is not None:
            targets.append(("relation", name))
    return tuple(found)


@st.composite
def _passages(draw: DrawFn, size: int, holds: frozenset[Feature], names: SearchStrategy[str]) -> tuple[Passage, ...]:
    places: list[Range] = list(draw(_ranges(size)))
    if draw(st.booleans()):
        places.append((size, size))
    return tuple(Passage(start, end, draw(names), draw(_extra(holds))) for start, end in places)


@st.composite
def _label(draw: DrawFn, size: int, holds: frozenset[Feature], names: SearchStrategy[str]) -> Label:
    start, end = draw(_range(size)) if size and draw(st.booleans()) else (None, None)
    return Label(
        draw(names), draw(st.none() | _numbers()), start, end, draw(_scores(holds)), draw(_heads(holds, names))
    )


@st.composite
def _questions(
    draw: DrawFn, document: str, holds: frozenset[Feature], text: SearchStrategy[str], names: SearchStrategy[str]
) -> tuple[Question, ...]:
    found = []
    for number in range(draw(st.integers(0, 2))):
        answers = draw(st.lists(_answer(document, holds, text, names), max_size=2).map(tuple))
        kind = draw(st.sampled_from(["factoid", "list"]))
        found.append(
            Question(f"Q{number}", draw(text), answers, kind, not answers and draw(st.booleans()), draw(_extra(holds)))
        )
    return tuple(found)


@st.composite
def _answer(
    draw: DrawFn, document: str, holds: frozenset[Feature], text: SearchStrategy[str], names: SearchStrategy[str]
) -> Answer:
    if document and draw(st.booleans()):
        start, end = draw(_range(len(document)))
        return Answer(document[start:end], start, end, draw(_scores(holds)), draw(_heads(holds, names)))
    return Answer(draw(text), None, None, draw(_scores(holds)), draw(_heads(holds, names)))


def _numbers() -> SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False)


def _scores(holds: frozenset[Feature]) -> SearchStrategy[float | None]:
    return st.none() | st.floats(0, 1) if "scores" in holds else st.none()


def _heads(holds: frozenset[Feature], names: SearchStrategy[str]) -> SearchStrategy[str | None]:
    return st.none() | names if "heads" in holds else st.none()


def _extra(holds: frozenset[Feature]) -> SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, JSON, max_size=2) if "span extra" in holds else st.just({})
