"""What several models find in one text, side by side: a case study, as papers print one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from biomux.document import Document


@dataclass(frozen=True, slots=True)
class CaseMention:
    """A mention that at least one model finds, with the score that each model gives it; None where it does not find it."""

    start: int
    end: int
    type: str
    text: str
    scores: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "start": self.start,
            "end": self.end,
            "type": self.type,
            "text": self.text,
            "scores": dict(self.scores),
        }


def case_study(models: Mapping[str, Callable[[str], Document]], text: str) -> list[CaseMention]:
    """The mentions of all models in the order of the text.

    >>> from biomux.document import Document, Span
    >>> finds = lambda *spans: lambda text: Document("1", text, spans=spans)
    >>> models = {"one": finds(Span(0, 7, "Drug", score=0.9)), "two": finds()}
    >>> [(mention.text, dict(mention.scores)) for mention in case_study(models, "Aspirin helps.")]
    [('Aspirin', {'one': 0.9, 'two': None})]
    """
    by_model = {
        name: {(span.start, span.end, span.type): 1.0 if span.score is None else span.score for span in tag(text).spans}
        for name, tag in models.items()
    }
    places = sorted({place for scores in by_model.values() for place in scores})
    return [
        CaseMention(
            start,
            end,
            type_,
            text[start:end],
            {name: scores.get((start, end, type_)) for name, scores in by_model.items()},
        )
        for start, end, type_ in places
    ]
