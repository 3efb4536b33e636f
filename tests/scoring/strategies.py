"""Invented documents for the tests of this room."""

from __future__ import annotations

from hypothesis import strategies as st

from biomux.document import Document, Span

TEXT = "Aspirin and IL-2 cut TNF-alpha levels in rat liver cells."
TYPES = ("gene", "chemical", "cell")


@st.composite
def spans(draw: st.DrawFn) -> Span:
    """A span, sometimes in fragments."""
    cuts = sorted(draw(st.sets(st.integers(0, len(TEXT)), min_size=2, max_size=4)))
    type_ = draw(st.sampled_from(TYPES))
    if len(cuts) == 4:
        return Span(cuts[0], cuts[3], type_, fragments=((cuts[0], cuts[1]), (cuts[2], cuts[3])))
    return Span(cuts[0], cuts[-1], type_)


@st.composite
def pairs(draw: st.DrawFn, max_size: int = 6) -> list[tuple[Document, Document]]:
    """Gold and predicted documents; predictions borrow spans of gold, so that matches are common."""
    made = []
    for number in range(draw(st.integers(0, max_size))):
        gold = draw(st.lists(spans(), max_size=5))
        own = draw(st.lists(spans(), max_size=3))
        kept = [span for span in gold if draw(st.booleans())]
        retyped = [Span(span.start, span.end, "cell", fragments=span.fragments) for span in gold if draw(st.booleans())]
        made.append(
            (
                Document(str(number), TEXT, spans=tuple(gold)),
                Document(str(number), TEXT, spans=(*own, *kept, *retyped)),
            )
        )
    return made
