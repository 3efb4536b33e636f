"""Survey data before training: counts, overlaps, mentions that cut words, leaks, duplicates, rare types.

>>> from biomux.document import Document, Span
>>> result = survey({"train": [Document("1", "TP53 it is", spans=(Span(0, 2, "gene"),))]})
>>> result.counts["mentions", "gene"], result.warnings[0].partition(",")[0]
({'train': 1}, '1 mention begins or ends inside a word')
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING, Any

from biomux.corpora.leaks import filter_leaks
from biomux.corpora.splits import squeezed
from biomux.errors import CorpusError, did_you_mean
from biomux.text import sentences, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from biomux.document import Document, Span

FEW = 20
"""A type with fewer examples in the training part is hard to learn."""
TIMES = 10
"""A rare type may be a misspelling of a similar one that is at least this many times as frequent."""
ALIKE = 0.85
"""Minimum similarity of the two names, as difflib measures it."""
LISTED = 5
"""How many types a warning lists."""
SHOWN = 20
"""How many errors are printed; JSON has all of them."""

Kind = tuple[str, str]
"""What is counted: "mentions", "relations" or "labels", and the type or class."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The findings. `counts` has types and classes by split; `errors` make training impossible, `warnings` make it worse, `notes` say what training will do."""

    sizes: Mapping[str, Mapping[str, int]]
    """Split → numbers of documents, words and so on."""
    counts: Mapping[Kind, Mapping[str, int]]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def types(self, kind: str) -> list[str]:
        """The types of mentions, relations or labels, in order."""
        return [name for counted, name in self.counts if counted == kind]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {
            "splits": {split: dict(sizes) for split, sizes in self.sizes.items()},
            "types": [
                {"kind": kind, "type": name, "splits": dict(numbers)} for (kind, name), numbers in self.counts.items()
            ],
            "errors": list(self.errors),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        splits = list(self.sizes)
        columns = list(dict.fromkeys(unit for sizes in self.sizes.values() for unit in sizes))
        rows = [
            ("", *splits),
            *((unit, *(_number(self.sizes[split].get(unit, 0)) for split in splits)) for unit in columns),
        ]
        for (kind, name), numbers in self.counts.items():
            prefix = {"mentions": "", "relations": "relation ", "labels": "class "}[kind]
            rows.append((f"  {prefix}{name}", *(_number(numbers.get(split, 0)) for split in splits)))
        widths = [max(len(row[column]) for row in rows) for column in range(len(splits) + 1)]
        lines = [
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
            if splits
        ]
        lines += [f"error: {message}" for message in self.errors[:SHOWN]]
        if len(self.errors) > SHOWN:
            lines.append(f"error: … and {len(self.errors) - SHOWN:,} more; --json lists them all")
        lines += [f"warning: {message}" for message in self.warnings]
        lines += [f"note: {message}" for message in self.notes]
        return "\n".join(lines)


@dataclass
class _Finds:
    """A count of findings, with the place of the first."""

    number: int = 0
    first: str = ""

    def add(self, where: str) -> None:
        self.first = self.first or where
        self.number += 1


@dataclass
class _Tally:
    overlaps: _Finds = field(default_factory=_Finds)
    inside_words: _Finds = field(default_factory=_Finds)
    across_sentences: _Finds = field(default_factory=_Finds)
    fragments: _Finds = field(default_factory=_Finds)
    empty: _Finds = field(default_factory=_Finds)
    bare: _Finds = field(default_factory=_Finds)


def survey(
    splits: Mapping[str, Sequence[Document]],
    *,
    errors: Iterable[str] = (),
    notes: Iterable[str] = (),
    few: int = FEW,
) -> Survey:
    """Look at the documents of each split; "train" is for training, the others are held out. `errors` are of records that could not be read."""
    tally = _Tally()
    sizes = {split: _sizes(documents) for split, documents in splits.items()}
    counts = _counts(splits)
    for documents in splits.values():
        for document in documents:
            _look(document, tally)
    warnings = [
        *_span_warnings(tally),
        *_duplicates(splits),
        *_shared_ids(splits),
        *_ids_in_several_splits(splits),
        *_leaks(splits),
        *_rare(counts, splits, few),
        *_misspelled(counts, few),
    ]
    all_notes = [*notes]
    if tally.bare.number and counts:
        documents_have = "1 document has" if tally.bare.number == 1 else f"{tally.bare.number:,} documents have"
        all_notes.append(f"{documents_have} no annotations: taggers learn that there are no entities in them")
    return Survey(sizes, counts, (*errors, *_errors(splits, counts)), tuple(warnings), tuple(all_notes))


def look(
    splits: Mapping[str, Sequence[Document]], *, types: Sequence[str] | None = None, where: str | None = None
) -> Survey:
    """As `survey`; raises an error if nothing can be learned from the data, or if they lack one of `types`."""
    result = survey(splits)
    if result.errors:
        raise CorpusError(
            "BX213", result.errors[0], where=where, hint="`biomux corpora check PATH` shows what the data hold"
        )
    names = {name for _, name in result.counts}
    for name in types or ():
        if name not in names:
            raise CorpusError(
                "BX213", f"the data have no type {name!r}", where=where, hint=did_you_mean(name, sorted(names))
            )
    return result


def _sizes(documents: Sequence[Document]) -> dict[str, int]:
    sizes = {
        "documents": len(documents),
        "words": sum(len(document.text.split()) for document in documents),
        "mentions": sum(len(document.spans) for document in documents),
        "relations": sum(len(document.relations) for document in documents),
        "labels": sum(len(document.labels) for document in documents),
        "pairs": sum(document.pair is not None for document in documents),
        "questions": sum(len(document.questions) for document in documents),
    }
    return {unit: number for unit, number in sizes.items() if number or unit == "documents"}


def _counts(splits: Mapping[str, Sequence[Document]]) -> dict[Kind, dict[str, int]]:
    counts: dict[Kind, dict[str, int]] = {}
    for split, documents in splits.items():
        split_counts: Counter[Kind] = Counter()
        for document in documents:
            split_counts.update(("mentions", span.type) for span in document.spans)
            split_counts.update(("relations", relation.type) for relation in document.relations)
            split_counts.update(("labels", label.name) for label in document.labels)
        for kind, number in split_counts.items():
            counts.setdefault(kind, {})[split] = number
    order = ("mentions", "relations", "labels")
    return dict(sorted(counts.items(), key=lambda item: (order.index(item[0][0]), -sum(item[1].values()), item[0][1])))


def _look(document: Document, tally: _Tally) -> None:
    """Count the annotations of a document that cannot be learned as they are."""
    if not document.text.strip():
        tally.empty.add(f"document {document.id!r}")
    if not (document.spans or document.relations or document.labels or document.questions):
        tally.bare.add(f"document {document.id!r}")
    spans = sorted(document.spans, key=lambda span: (span.start, -span.end))
    if not spans:
        return
    starts, ends = (
        (set(edges) for edges in zip(*words.split(document.text), strict=True)) if document.text else (set(), set())
    )
    breaks = [end for _, end in sentences.of(document)][:-1]
    reach = -1
    for span in spans:
        if span.start < reach:
            tally.overlaps.add(_place(document, span))
        reach = max(reach, span.end)
        if len(span.fragments) > 1:
            tally.fragments.add(_place(document, span))
        if span.start not in starts or span.end not in ends:
            tally.inside_words.add(_place(document, span))
        if any(span.start < edge < span.end for edge in breaks):
            tally.across_sentences.add(_place(document, span))


def _place(document: Document, span: Span) -> str:
    return f"document {document.id!r} at {span.start}-{span.end}: {document.text[span.start : span.end][:40]!r}"


def _span_warnings(tally: _Tally) -> Iterator[str]:
    for finds, singular, plural in (
        (tally.overlaps, "mention overlaps another, of which a tagger learns the longer", "mentions overlap others, of which a tagger learns the longer"),
        (tally.fragments, "mention is discontinuous, and is learned from its start to its end", "mentions are discontinuous, and are learned from their start to their end"),
        (tally.inside_words, "mention begins or ends inside a word, which taggers cannot learn", "mentions begin or end inside words, which taggers cannot learn"),
        (tally.across_sentences, "mention crosses the end of a sentence, and is not learned", "mentions cross the end of a sentence, and are not learned"),
        (tally.empty, "document has no text", "documents have no text"),
    ):  # fmt: skip
        if finds.number:
            yield f"{finds.number:,} {singular if finds.number == 1 else plural}, for instance {finds.first}"


def _duplicates(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    """Texts that occur in a split more than once, and those of them that are annotated differently."""
    for split, documents in splits.items():
        first_by_text: dict[str, Document] = {}
        duplicates, different = _Finds(), _Finds()
        for document in documents:
            key = squeezed(document.text) + "\0" + squeezed(document.pair or "")
            original = first_by_text.setdefault(key, document)
            if original is not document and document.text.strip():
                duplicates.add(f"{original.id!r} and {document.id!r}")
                if _annotations(original) != _annotations(document):
                    different.add(f"{original.id!r} and {document.id!r}")
        if duplicates.number:
            yield f"{split} has {duplicates.number:,} duplicate {_plural('document', duplicates)}, for instance {duplicates.first}"
        if different.number:
            verb = "is" if different.number == 1 else "are"
            yield f"{split} has {different.number:,} {_plural('duplicate', different)} that {verb} annotated differently, for instance {different.first}"


def _plural(word: str, finds: _Finds) -> str:
    return word if finds.number == 1 else f"{word}s"


def _shared_ids(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    """Documents that were numbered (`7#2`), because an earlier one has the same id but a different text."""
    for split, documents in splits.items():
        texts = {document.id: document.text for document in documents}
        shared = _Finds()
        for name, text in texts.items():
            first, _, number = name.rpartition("#")
            if number.isdigit() and texts.get(first, text) != text:
                shared.add(f"{first!r} and {name!r}")
        if shared.number:
            verb, called = ("has", "is called") if shared.number == 1 else ("have", "are called")
            yield (
                f"{shared.number:,} {_plural('document', shared)} of {split} {verb} the id of an earlier one with a different text, "
                f"and {called} by that id with a number, for instance {shared.first}"
            )


def _ids_in_several_splits(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    """Ids that two splits share, with different texts: perhaps parts of one document. Running numbers prove nothing and are left out."""
    texts = {split: {_own_id(document, split): document.text for document in splits[split]} for split in splits}
    for first, second in combinations(splits, 2):
        shared = _Finds()
        for name, text in texts[second].items():
            running = name.isdecimal() and int(name) <= len(splits[second])
            if not running and texts[first].get(name, text) != text:
                shared.add(repr(name))
        if shared.number:
            documents_have = "1 document has" if shared.number == 1 else f"{shared.number:,} documents have"
            yield (
                f"{documents_have} the same id in {first} and {second} but different texts, for instance {shared.first}: "
                "if these are parts of one document, put them in the same split"
            )


def _own_id(document: Document, split: str) -> str:
    """The id that the source gives a document; corpora put their name and split before it."""
    return document.id.partition(f"/{split}:")[2] or document.id


def _annotations(document: Document) -> Any:
    return (
        sorted((span.start, span.end, span.type) for span in document.spans),
        sorted((label.name, label.value or 0.0) for label in document.labels),
        sorted(relation.type for relation in document.relations),
    )


def _leaks(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    held_out = {split: documents for split, documents in splits.items() if split != "train"}
    if "train" not in splits or not held_out:
        return
    _, report = filter_leaks({"train": splits["train"]}, held_out)
    for leak in report.leaks:
        yield (
            f"{leak.units:,} of {leak.held_out_units:,} sentences of {leak.held_out} also occur in train; "
            "they are removed from train unless the recipe says leaks: ignore"
        )


def _rare(
    counts: Mapping[Kind, Mapping[str, int]], splits: Mapping[str, Sequence[Document]], few: int
) -> Iterator[str]:
    words_of = {"mentions": "mentions", "relations": "relations", "labels": "texts"}
    for kind, unit in words_of.items():
        by_type = {name: numbers for (counted, name), numbers in counts.items() if counted == kind}
        rare = {name: numbers.get("train", 0) for name, numbers in by_type.items() if numbers.get("train", 0) < few}
        if "train" in splits and rare and not _numbers(splits, kind):
            yield f"too few examples in train (fewer than {few} {unit}): {_listed(f'{name} ({n:,})' for name, n in rare.items())}"
        for split in splits:
            unseen = [name for name, numbers in by_type.items() if not numbers.get(split) and numbers.get("train")]
            if split != "train" and unseen and splits[split]:
                yield f"{split} has no {unit} of {_listed(unseen)}: it cannot show how well they are found"


def _misspelled(counts: Mapping[Kind, Mapping[str, int]], few: int) -> Iterator[str]:
    """Rare types whose names are similar to those of frequent ones: they may be misspelled."""
    totals = {kind: sum(numbers.values()) for kind, numbers in counts.items()}
    for (kind, name), number in totals.items():
        if number >= few:
            continue
        frequent = [
            similar
            for (counted, similar), total in totals.items()
            if counted == kind and total >= TIMES * number and similar != name
        ]
        similar_name = next((similar for similar in frequent if _alike(name, similar)), None)
        if similar_name is not None:
            yield (
                f"{name!r} ({number:,}) is spelled almost like {similar_name!r} ({totals[kind, similar_name]:,}): "
                f"if they mean the same, correct it, or write rename: {{{name}: {similar_name}}} in the recipe"
            )


def _alike(name: str, similar: str) -> bool:
    """Whether one name may be a misspelling of the other: they differ in case or in few letters, not only in digits.

    >>> _alike("Parasit", "Parasite"), _alike("gene", "Gene"), _alike("CPR:3", "CPR:4"), _alike("cell line", "cell type")
    (True, True, False, False)
    """
    if name.lower() == similar.lower():
        return True
    if re.sub(r"\d", "", name) == re.sub(r"\d", "", similar):
        return False
    return SequenceMatcher(None, name.lower(), similar.lower()).ratio() >= ALIKE


def _numbers(splits: Mapping[str, Sequence[Document]], kind: str) -> bool:
    """Whether the labels are numbers, so that there are no classes to count."""
    labels = [label for document in splits.get("train", ()) for label in document.labels]
    return kind == "labels" and bool(labels) and all(label.value is not None for label in labels)


def _errors(splits: Mapping[str, Sequence[Document]], counts: Mapping[Kind, Mapping[str, int]]) -> Iterator[str]:
    documents = splits.get("train", ())
    if not documents:
        yield "train has no documents"
    elif not any(doc.spans or doc.relations or doc.labels or doc.questions for doc in documents):
        yield "train has no annotations: there is nothing to learn from"
    else:
        classes = [name for (kind, name), numbers in counts.items() if kind == "labels" and numbers.get("train")]
        only_labels = not any(doc.spans or doc.questions for doc in documents)
        if (
            only_labels
            and len(classes) == 1
            and not _numbers(splits, "labels")
            and all(doc.labels for doc in documents)
        ):
            yield f"every document of train has the class {classes[0]!r}: there is nothing to distinguish"


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - LISTED
    return ", ".join(listed[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _number(value: int) -> str:
    return f"{value:,}"
