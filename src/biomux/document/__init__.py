"""The document: a text and everything known about it.

Offsets count characters of `Document.text` (Unicode code points, as in Python), and the end of a range is not included. The text is never
changed, so `document.text[span.start:span.end]` is always the mention. For a discontinuous span, this is everything from its
first fragment to its last; `Document.mention` joins the fragments.

>>> document = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "chemical"), Span(15, 21, "disease")))
>>> [(entity.text, entity.type) for entity in document.entities]
[('Aspirin', 'chemical'), ('ulcers', 'disease')]
"""
# `document` has the class, `parts` its components, `record_read` and `record_write` its JSON object, `html` its page, `spacy_doc` its spaCy form.

from biomux.document.document import Document
from biomux.document.parts import Answer, Argument, Entity, Label, Passage, Question, Range, Relation, Span

__all__ = [
    "Answer",
    "Argument",
    "Document",
    "Entity",
    "Label",
    "Passage",
    "Question",
    "Range",
    "Relation",
    "Span",
]
