"""spaCy's own NER (token vectors by convolution, transitions), trained on a corpus for some minutes: its speed, and strict F1 by our scoring."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import spacy
from spacy.training import Example
from spacy.util import compounding, minibatch

import biomux
from benchmarks.contest import Table, alternate
from biomux.corpora import corpus as corpora
from biomux.document import Document, Span
from biomux.scoring.spans import score
from biomux.text import sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def compare(
    corpus: str, *, minutes: float, seconds: float, bundle: str | None, threads: int, most: int | None = None
) -> Table:
    """Train, score on the test split, and measure; a bundle runs beside it on the same documents. `most` documents of each split at most."""
    train, test = ([*corpora.load(corpus, split)][:most] for split in ("train", "test"))
    nlp, epochs = trained(train, minutes=minutes)
    texts = [document.text for document in test[:200]]
    contestants: dict[str, Callable[[], object]] = {"spaCy": lambda: list(nlp.pipe(texts, batch_size=64))}
    rates = {"spaCy": _f1(test, (_document(nlp(gold.text), gold) for gold in test))}
    annotator = biomux.load(bundle, threads=threads)
    bare = [replace(document, spans=(), relations=()) for document in test]
    contestants["Biomux"] = lambda: list(annotator.annotate(bare[:200]))
    own = [name for name in annotator.heads if name == corpus]
    if own:
        rates["Biomux"] = _f1(test, annotator.annotate(bare, heads=own))
    found = alternate(contestants, seconds=seconds)
    words = sum(len(text.split()) for text in texts)
    rows = [(name, words / one.median, rates.get(name)) for name, one in found.items()]
    notes = (
        f"Words between white space of {len(texts)} documents of the test split of {corpus}; strict F1 on all {len(test)} of it. "
        f"spaCy: blank English, tok2vec and ner with default settings, {epochs} passes over {len(train):,} documents in "
        f"{minutes:g} minutes. Biomux: all heads of the bundle, F1 of the corpus's own head.",
    )
    return Table(f"spaCy's NER trained on {corpus}", ("", "words per second", "strict F1"), tuple(rows), notes)


def trained(documents: Sequence[Document], *, minutes: float) -> tuple[Any, int]:
    """A pipeline trained for so long, and how many passes that were; whole passes, at least one."""
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("ner")
    examples = [example for document in documents for example in _examples(nlp, document)]
    for type_ in sorted({span.type for document in documents for span in document.spans}):
        ner.add_label(type_)
    optimizer = nlp.initialize(lambda: examples[:200])
    chance, epochs, ends = random.Random(1), 0, time.monotonic() + 60 * minutes
    sizes = compounding(8.0, 64.0, 1.002)
    while not epochs or time.monotonic() < ends:
        chance.shuffle(examples)
        for batch in minibatch(examples, size=sizes):
            nlp.update(batch, sgd=optimizer, drop=0.2)
        epochs += 1
    return nlp, epochs


def _examples(nlp: Any, document: Document) -> Iterator[Example]:
    """An example for each sentence; spans that do not fall on spaCy's tokens are left out of training, as spaCy must."""
    for start, end in sentences.of(document):
        doc = nlp.make_doc(document.text[start:end])
        inside = [span for span in document.spans if start <= span.start and span.end <= end]
        found = [doc.char_span(span.start - start, span.end - start, label=span.type) for span in inside]
        flat = spacy.util.filter_spans([span for span in found if span is not None])
        if len(doc):
            yield Example.from_dict(doc, {"entities": [(span.start_char, span.end_char, span.label_) for span in flat]})


def _document(doc: Any, gold: Document) -> Document:
    spans = tuple(Span(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents)
    return replace(gold, spans=spans, relations=())


def _f1(gold: Sequence[Document], predicted: Iterator[Document]) -> float:
    return 100 * float(score(zip(gold, predicted, strict=True), matchings=("strict",))["strict"].f1)
