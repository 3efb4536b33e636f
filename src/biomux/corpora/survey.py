"""What data hold, and what is wrong with them, before anything is trained: counts, overlaps, cut words, leaks, duplicates, rare types.

>>> from biomux.document import Document, Span
>>> found = survey({"train": [Document("1", "TP53 it is", spans=(Span(0, 2, "gene"),))]})
>>> found.counts["mentions", "gene"], found.warnings[0].partition(",")[0]
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
"""How many times as frequent a type must be for a rare one with a similar name to be taken for a misspelling of it."""
ALIKE = 0.85
"""How alike two names must be for that, as difflib measures it."""
LISTED = 5
"""Types that a warning lists."""
SHOWN = 20
"""Errors that are printed; JSON has all of them."""

Kind = tuple[str, str]
"""What is counted: "mentions", "relations" or "labels", and the type or class."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found. `counts` are of types and classes by split; `errors` make training impossible, `warnings` make it worse, `notes` say what will be done."""

    sizes: Mapping[str, Mapping[str, int]]
    """Split → documents, words, and what else there is."""
    counts: Mapping[Kind, Mapping[str, int]]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def types(self, kind: str) -> list[str]:
        """The types of mentions, relations or labels, in order."""
        return [name for found, name in self.counts if found == kind]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {
            "splits": {split: dict(found) for split, found in self.sizes.items()},
            "types": [
                {"kind": kind, "type": name, "splits": dict(found)} for (kind, name), found in self.counts.items()
            ],
            "errors": list(self.errors),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        splits = list(self.sizes)
        columns = list(dict.fromkeys(what for found in self.sizes.values() for what in found))
        rows = [
            ("", *splits),
            *((what, *(_number(self.sizes[one].get(what, 0)) for one in splits)) for what in columns),
        ]
        for (kind, name), found in self.counts.items():
            what = {"mentions": "", "relations": "relation ", "labels": "class "}[kind]
            rows.append((f"  {what}{name}", *(_number(found.get(split, 0)) for split in splits)))
        widths = [max(len(row[column]) for row in rows) for column in range(len(splits) + 1)]
        lines = [
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
            if splits
        ]
        lines += [f"error: {said}" for said in self.errors[:SHOWN]]
        if len(self.errors) > SHOWN:
            lines.append(f"error: … and {len(self.errors) - SHOWN:,} more; --json lists them all")
        lines += [f"warning: {said}" for said in self.warnings]
        lines += [f"note: {said}" for said in self.notes]
        return "\n".join(lines)


@dataclass
class _Finds:
    """Something that is counted, with its first place."""

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
    """Look at the documents of each split; "train" is what is learned from, the others are held out. `errors` are those of records that could not be read."""
    tally = _Tally()
    sizes = {split: _sizes(documents) for split, documents in splits.items()}
    counts = _counts(splits)
    for documents in splits.values():
        for document in documents:
            _look(document, tally)
    warnings = [
        *_told(tally),
        *_duplicates(splits),
        *_shared_ids(splits),
        *_ids_in_several_splits(splits),
        *_leaks(splits),
        *_rare(counts, splits, few),
        *_misspelled(counts, few),
    ]
    said = [*notes]
    if tally.bare.number and counts:
        who = "1 document has" if tally.bare.number == 1 else f"{tally.bare.number:,} documents have"
        said.append(f"{who} no annotation: taggers learn that there is nothing there")
    return Survey(sizes, counts, (*errors, *_errors(splits, counts)), tuple(warnings), tuple(said))


def look(
    splits: Mapping[str, Sequence[Document]], *, types: Sequence[str] | None = None, where: str | None = None
) -> Survey:
    """As `survey`; refused if nothing can be learned from the data, or if a type that is asked for is not there."""
    found = survey(splits)
    if found.errors:
        raise CorpusError("BX213", found.errors[0], where=where, hint="`biomux corpora check PATH` shows what is there")
    known = {name for _, name in found.counts}
    for name in types or ():
        if name not in known:
            raise CorpusError(
                "BX213", f"the data have no type {name!r}", where=where, hint=did_you_mean(name, sorted(known))
            )
    return found


def _sizes(documents: Sequence[Document]) -> dict[str, int]:
    found = {
        "documents": len(documents),
        "words": sum(len(one.text.split()) for one in documents),
        "mentions": sum(len(one.spans) for one in documents),
        "relations": sum(len(one.relations) for one in documents),
        "labels": sum(len(one.labels) for one in documents),
        "pairs": sum(one.pair is not None for one in documents),
        "questions": sum(len(one.questions) for one in documents),
    }
    return {what: number for what, number in found.items() if number or what == "documents"}


def _counts(splits: Mapping[str, Sequence[Document]]) -> dict[Kind, dict[str, int]]:
    found: dict[Kind, dict[str, int]] = {}
    for split, documents in splits.items():
        own: Counter[Kind] = Counter()
        for document in documents:
            own.update(("mentions", span.type) for span in document.spans)
            own.update(("relations", relation.type) for relation in document.relations)
            own.update(("labels", label.name) for label in document.labels)
        for kind, number in own.items():
            found.setdefault(kind, {})[split] = number
    order = ("mentions", "relations", "labels")
    return dict(sorted(found.items(), key=lambda one: (order.index(one[0][0]), -sum(one[1].values()), one[0][1])))


def _look(document: Document, tally: _Tally) -> None:
    """Count what of a document cannot be learned as annotated."""
    if not document.text.strip():
        tally.empty.add(f"document {document.id!r}")
    if not (document.spans or document.relations or document.labels or document.questions):
        tally.bare.add(f"document {document.id!r}")
    spans = sorted(document.spans, key=lambda one: (one.start, -one.end))
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


def _told(tally: _Tally) -> Iterator[str]:
    for found, one, many in (
        (tally.overlaps, "mention overlaps another, of which a tagger learns the longer", "mentions overlap others, of which a tagger learns the longer"),
        (tally.fragments, "mention is in pieces, and is learned from its start to its end", "mentions are in pieces, and are learned from their start to their end"),
        (tally.inside_words, "mention begins or ends inside a word, which taggers cannot learn", "mentions begin or end inside words, which taggers cannot learn"),
        (tally.across_sentences, "mention goes over the end of a sentence, and is not learned", "mentions go over the end of a sentence, and are not learned"),
        (tally.empty, "document has no text", "documents have no text"),
    ):  # fmt: skip
        if found.number:
            yield f"{found.number:,} {one if found.number == 1 else many}, for instance {found.first}"


def _duplicates(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    """Texts that stand in one split more than once, and those that are annotated differently."""
    for split, documents in splits.items():
        seen: dict[str, Document] = {}
        again, differ = _Finds(), _Finds()
        for document in documents:
            key = squeezed(document.text) + "\0" + squeezed(document.pair or "")
            first = seen.setdefault(key, document)
            if first is not document and document.text.strip():
                again.add(f"{first.id!r} and {document.id!r}")
                if _said(first) != _said(document):
                    differ.add(f"{first.id!r} and {document.id!r}")
        if again.number:
            yield f"{split} has {again.number:,} duplicate {_plural('document', again)}, for instance {again.first}"
        if differ.number:
            verb = "is" if differ.number == 1 else "are"
            yield f"{split} has {differ.number:,} {_plural('duplicate', differ)} that {verb} annotated differently, for instance {differ.first}"


def _plural(word: str, found: _Finds) -> str:
    return word if found.number == 1 else f"{word}s"


def _shared_ids(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    """Documents that a corpus has numbered (`7#2`), since an earlier one has the same id and another text."""
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
                f"{shared.number:,} {_plural('document', shared)} of {split} {verb} the id of an earlier one with another text, "
                f"and {called} by it with a number, for instance {shared.first}"
            )


def _ids_in_several_splits(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    """Ids that two splits share, with different texts: perhaps parts of one document. Running numbers say nothing and are left out."""
    texts = {split: {_own_id(document, split): document.text for document in splits[split]} for split in splits}
    for first, second in combinations(splits, 2):
        shared = _Finds()
        for name, text in texts[second].items():
            running = name.isdecimal() and int(name) <= len(splits[second])
            if not running and texts[first].get(name, text) != text:
                shared.add(repr(name))
        if shared.number:
            who = "1 document has" if shared.number == 1 else f"{shared.number:,} documents have"
            yield (
                f"{who} the same id in {first} and {second} but different texts, for instance {shared.first}: "
                "if these are parts of one document, put them in the same split"
            )


def _own_id(document: Document, split: str) -> str:
    """The id that the source gives a document; corpora put their name and split before it."""
    return document.id.partition(f"/{split}:")[2] or document.id


def _said(document: Document) -> Any:
    return (
        sorted((span.start, span.end, span.type) for span in document.spans),
        sorted((label.name, label.value or 0.0) for label in document.labels),
        sorted(relation.type for relation in document.relations),
    )


def _leaks(splits: Mapping[str, Sequence[Document]]) -> Iterator[str]:
    held = {split: documents for split, documents in splits.items() if split != "train"}
    if "train" not in splits or not held:
        return
    _, report = filter_leaks({"train": splits["train"]}, held)
    for leak in report.leaks:
        yield (
            f"{leak.units:,} of {leak.held_out_units:,} sentences of {leak.held_out} also stand in train; "
            "they are taken out of train unless the recipe says leaks: ignore"
        )


def _rare(
    counts: Mapping[Kind, Mapping[str, int]], splits: Mapping[str, Sequence[Document]], few: int
) -> Iterator[str]:
    words_of = {"mentions": "mentions", "relations": "relations", "labels": "texts"}
    for kind, unit in words_of.items():
        own = {name: found for (one, name), found in counts.items() if one == kind}
        rare = {name: found.get("train", 0) for name, found in own.items() if found.get("train", 0) < few}
        if "train" in splits and rare and not _numbers(splits, kind):
            yield f"too few examples in train (fewer than {few} {unit}): {_listed(f'{name} ({n:,})' for name, n in rare.items())}"
        for split in splits:
            unseen = [name for name, found in own.items() if not found.get(split) and found.get("train")]
            if split != "train" and unseen and splits[split]:
                yield f"{split} has no {unit} of {_listed(unseen)}: nothing can be said about how well they are found"


def _misspelled(counts: Mapping[Kind, Mapping[str, int]], few: int) -> Iterator[str]:
    """Rare types whose names are nearly those of frequent ones: they may be slips of the pen."""
    totals = {kind: sum(found.values()) for kind, found in counts.items()}
    for (kind, name), number in totals.items():
        if number >= few:
            continue
        often = [other for (one, other), n in totals.items() if one == kind and n >= TIMES * number and other != name]
        like = next((other for other in often if _alike(name, other)), None)
        if like is not None:
            yield (
                f"{name!r} ({number:,}) is spelled nearly as {like!r} ({totals[kind, like]:,}): "
                f"if they mean the same, correct it, or write rename: {{{name}: {like}}} in the recipe"
            )


def _alike(name: str, other: str) -> bool:
    """Whether two names differ by a slip of the pen: in case, or in few letters; not in their digits alone.

    >>> _alike("Parasit", "Parasite"), _alike("gene", "Gene"), _alike("CPR:3", "CPR:4"), _alike("cell line", "cell type")
    (True, True, False, False)
    """
    if name.lower() == other.lower():
        return True
    if re.sub(r"\d", "", name) == re.sub(r"\d", "", other):
        return False
    return SequenceMatcher(None, name.lower(), other.lower()).ratio() >= ALIKE


def _numbers(splits: Mapping[str, Sequence[Document]], kind: str) -> bool:
    """Whether labels are numbers, so that there are no classes to count."""
    labels = [label for one in splits.get("train", ()) for label in one.labels]
    return kind == "labels" and bool(labels) and all(label.value is not None for label in labels)


def _errors(splits: Mapping[str, Sequence[Document]], counts: Mapping[Kind, Mapping[str, int]]) -> Iterator[str]:
    documents = splits.get("train", ())
    if not documents:
        yield "train has no documents"
    elif not any(one.spans or one.relations or one.labels or one.questions for one in documents):
        yield "train has no annotation: there is nothing to learn from"
    else:
        classes = [name for (kind, name), found in counts.items() if kind == "labels" and found.get("train")]
        only = not any(one.spans or one.questions for one in documents)
        if only and len(classes) == 1 and not _numbers(splits, "labels") and all(one.labels for one in documents):
            yield f"every document of train is of the class {classes[0]!r}: there is nothing to tell apart"


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - LISTED
    return ", ".join(found[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _number(value: int) -> str:
    return f"{value:,}"
