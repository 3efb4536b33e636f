"""Biomux: read biomedical text once, answer many questions about it."""

from __future__ import annotations

from biomux.document import Answer, Argument, Document, Label, Passage, Question, Relation, Span
from biomux.errors import BiomuxError

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Argument",
    "BiomuxError",
    "Document",
    "Label",
    "Passage",
    "Question",
    "Relation",
    "Span",
    "__version__",
]
