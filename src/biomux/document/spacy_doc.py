"""A document in spaCy: its entities as spans of tokens."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Literal

from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.tokens import Span as TokenSpan

    from biomux.document.document import Document
    from biomux.document.parts import Span

Align = Literal["split", "expand"]


def make(document: Document, nlp: Language, *, key: str = "biomux", align: Align = "split") -> Doc:
    """A new `Doc`, tokenized by the pipeline, with the document's entities; see `Document.to_spacy`."""
    if not callable(getattr(nlp, "make_doc", None)):
        raise UsageError(
            "BX001", f"nlp must be a spaCy pipeline, got {type(nlp).__name__}", hint="make one: spacy.blank('en')"
        )
    doc = nlp.make_doc(document.text)
    fill(doc, document, one_layer=longest(document.spans), key=key, align=align)
    return doc


def fill(doc: Doc, document: Document, *, one_layer: Sequence[Span] | None, key: str, align: Align) -> None:
    """Put a document's entities into the `Doc` of the same text: all of them into `doc.spans[key]`, and those of `one_layer` into `doc.ents`.

    `doc.spans[key].attrs` has their scores and heads, in order, like the scores of spaCy's span categorizer. Labels of the whole document go to `doc.cats`, relations, as plain
    values, to `doc.user_data["biomux_relations"]`. Entities that other components have put into `doc.ents` stay unless they overlap ours.
    """
    from spacy.tokens import SpanGroup

    if align not in ("split", "expand"):
        raise UsageError("BX001", f"align must be 'split' or 'expand', got {align!r}")
    if align == "split":
        split_tokens(doc, document.spans)
    token_spans = [_token_span(doc, span) for span in document.spans]
    attrs = {"scores": [span.score for span in document.spans], "heads": [span.head for span in document.spans]}
    doc.spans[key] = SpanGroup(doc, name=key, spans=token_spans, attrs=attrs)
    if one_layer is not None:
        by_span = dict(zip(document.spans, token_spans, strict=True))
        _set_ents(doc, [by_span[span] for span in one_layer])
    for label in document.labels:
        if label.start is None:
            doc.cats[label.name] = 1.0 if label.score is None else label.score
    if document.relations:
        doc.user_data[f"{key}_relations"] = document.to_dict()["relations"]


def split_tokens(doc: Doc, spans: Sequence[Span]) -> None:
    """Split the tokens inside which an entity begins or ends."""
    if all(doc.char_span(span.start, span.end) is not None for span in spans):
        return
    starts = [token.idx for token in doc]
    cuts: dict[int, set[int]] = {}
    for place in {place for span in spans for place in (span.start, span.end)}:
        number = bisect_right(starts, place) - 1
        if starts[number] < place < starts[number] + len(doc[number]):
            cuts.setdefault(number, set()).add(place - starts[number])
    with doc.retokenize() as retokenizer:
        for number, places in cuts.items():
            token = doc[number]
            ends = [*sorted(places), len(token)]
            orths = [token.text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
            heads: list[Any] = [(token, 0) if token.head == token else token.head, *[(token, 0)] * len(places)]
            retokenizer.split(token, orths, heads=heads)


def longest(spans: Sequence[Span]) -> list[Span]:
    """Choose spans that do not overlap: longer ones first, of equal length the leftmost."""
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        if not any(span.overlaps(longer) for longer in chosen):
            chosen.append(span)
    return chosen


def _token_span(doc: Doc, span: Span) -> TokenSpan:
    """The tokens of an entity: those that it fills, or else all that it touches; if it is only the space after a token, that token."""
    from spacy.tokens import Span as TokenSpan

    identifier = span.identifiers[0] if span.identifiers else ""
    exact = doc.char_span(span.start, span.end, label=span.type, kb_id=identifier)
    if exact is not None:
        return exact
    first = bisect_right([token.idx + len(token) for token in doc], span.start)
    end = bisect_left([token.idx for token in doc], span.end)
    if end <= first:
        first, end = end - 1, end
    return TokenSpan(doc, first, end, label=span.type, kb_id=identifier)


def _set_ents(doc: Doc, ents: Sequence[TokenSpan]) -> None:
    """Set `doc.ents` to our entities that share no token, and the previous ones that do not overlap them."""
    chosen: list[TokenSpan] = []
    used: set[int] = set()
    for ent in [*ents, *doc.ents]:
        tokens = range(ent.start, ent.end)
        if used.isdisjoint(tokens):
            chosen.append(ent)
            used.update(tokens)
    doc.ents = chosen
