"""Writing claims and abstracts: `claims.jsonl` and `corpus.jsonl` in a folder.

Documents of one claim must follow each other; they become one line of claims. Of the abstracts, a digest of each is kept, so that each is
written once and two that differ under one id are refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from biomux.errors import FormatError
from biomux.formats.fields import to_json
from biomux.formats.format import Feature, Loss, report_losses
from biomux.formats.joined import report_label_parts, sentences_of
from biomux.formats.shelf import Once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from biomux.document import Document, Label, Range

HOLDS: frozenset[Feature] = frozenset({"sentences", "labels", "pair"})
"""Of the metadata: the ids of claim and abstract, the abstract's title and whether it is structured, and the rationales."""
NONE = "none"
RATIONALE = "rationale"

_ABSTRACT = ("title", "structured")


@dataclass(slots=True)
class _Claim:
    """The line of a claim as it grows, pair by pair."""

    record: dict[str, Any]
    unlabelled: list[str] = field(default_factory=list)
    """Documents without label: if another pair of the claim has one, they are read as `none`."""


def write_folder(documents: Iterable[Document], folder: Path, *, on_loss: Callable[[Loss], None]) -> None:
    """One line a claim, one line an abstract."""
    abstracts, written = Once(), Once()
    with (folder / "claims.jsonl").open("wb") as claim_lines, (folder / "corpus.jsonl").open("wb") as corpus_lines:
        for (name, pair), pairs in groupby(documents, key=lambda document: (_claim_id(document), document.pair)):
            claim = _Claim({"id": _number(name), "claim": pair})
            for document in pairs:
                if document.pair is None:
                    raise _refused(document, "there is no claim", "write to jsonl")
                if "cited_doc_ids" not in claim.record and written.put(name) is not None:
                    raise _refused(document, f"claim {name!r} has been written already", "sort documents by claim")
                if (line := _add(document, name, claim, abstracts, on_loss)) is not None:
                    corpus_lines.write(line)
            if "evidence" in claim.record:
                for unlabelled in claim.unlabelled:
                    on_loss(Loss(unlabelled, "labels", 1, "read as none, since another pair of the claim has a label"))
            claim_lines.write(to_json(claim.record, name) + b"\n")


def pair_id(claim: str, doc_id: str, before: int) -> str:
    """What a pair is called; `before` is how often the claim has named this abstract already."""
    return f"{claim}:{doc_id}:{before + 1}" if before else f"{claim}:{doc_id}"


def _number(id: str) -> str | int:
    """An id as these files write it: a number where it looks like one."""
    return int(id) if id.isascii() and id.isdecimal() and str(int(id[:18])) == id else id


def _claim_id(document: Document) -> str:
    told = document.metadata.get("claim_id")
    return told if isinstance(told, str) else document.id.partition(":")[0]


def _doc_id(document: Document, claim: str) -> str | None:
    told = document.metadata.get("doc_id")
    if isinstance(told, str):
        return told
    return document.id.removeprefix(f"{claim}:") if document.id != claim or document.text else None


def _add(document: Document, id: str, claim: _Claim, abstracts: Once, on_loss: Callable[[Loss], None]) -> bytes | None:
    """Puts the document into the claim; gives the line of its abstract if that is new."""
    doc_id = _doc_id(document, id)
    record = claim.record
    if "cited_doc_ids" in record and (doc_id is None or not record["cited_doc_ids"]):
        raise _refused(document, f"claim {id!r} stands alone and with an abstract", "give each claim an id of its own")
    ids = record.setdefault("cited_doc_ids", [])
    before = ids.count(_number(doc_id)) if doc_id is not None else 0
    report_losses(document, HOLDS | {"metadata"}, on_loss)
    known: dict[str, Any] = {"claim_id": id}
    labels: tuple[Label, ...] = ()
    line = None
    if doc_id is not None:
        ids.append(_number(doc_id))
        ranges = sentences_of(document, " ", on_loss)
        line = _abstract(document, doc_id, ranges, abstracts)
        labels, rationales = _evidence(document, ranges, on_loss)
        if labels:
            evidence = record.setdefault("evidence", {})
            given = [{"sentences": part, "label": labels[0].name} for part in rationales or [[]]]
            if labels[0].name == NONE:
                given = []
            if before and evidence.get(doc_id, []) != given:
                raise _refused(document, f"claim {id!r} has other evidence of this abstract", "give each pair once")
            if given:
                evidence[doc_id] = given
        else:
            claim.unlabelled.append(document.id)
        known |= {"doc_id": doc_id, **{key: document.metadata[key] for key in _ABSTRACT if key in document.metadata}}
        known |= {"rationales": rationales} if rationales else {}
    _report(document, id if doc_id is None else pair_id(id, doc_id, before), labels, known, on_loss)
    return line


def _report(
    document: Document, id: str, labels: tuple[Label, ...], metadata: dict[str, Any], on_loss: Callable[[Loss], None]
) -> None:
    if document.id != id:
        on_loss(Loss(document.id, "id", detail=f"it becomes {id!r}"))
    if len(labels) < len(document.labels):
        on_loss(Loss(document.id, "labels", len(document.labels) - len(labels), "one label, and rationale sentences"))
    if dict(document.metadata) != metadata:
        changed = set(document.metadata) ^ set(metadata)
        on_loss(Loss(document.id, "metadata", max(1, len(changed)), ", ".join(sorted(changed)[:5])))


def _evidence(
    document: Document, ranges: Sequence[Range], on_loss: Callable[[Loss], None]
) -> tuple[tuple[Label, ...], list[list[int]]]:
    """The labels that are held, that of the pair first; and the rationales."""
    report_label_parts(document, on_loss)
    first = next((label for label in document.labels if label.start is None and label.name), None)
    if first is None or first.name == NONE:
        return (first,) if first else (), []
    numbers: dict[tuple[int | None, int | None], int] = {at: number for number, at in enumerate(ranges)}
    anchored = dict.fromkeys(
        label for label in document.labels if label.name == RATIONALE and (label.start, label.end) in numbers
    )
    marked = sorted(numbers[label.start, label.end] for label in anchored)
    told = document.metadata.get("rationales")
    grouped: list[list[int]] = [[number] for number in marked]
    if told is not None and _same_sentences(told, marked):
        grouped = told
    return (first, *anchored), grouped if any(grouped) else []


def _same_sentences(told: Any, marked: list[int]) -> bool:
    if not isinstance(told, list) or not all(isinstance(part, list) for part in told):
        return False
    numbers = [number for part in told for number in part]
    return all(isinstance(number, int) for number in numbers) and sorted(set(numbers)) == marked


def _abstract(document: Document, doc_id: str, ranges: Sequence[Range], abstracts: Once) -> bytes | None:
    record = {
        "doc_id": _number(doc_id),
        "abstract": [document.text[start:end] for start, end in ranges],
        **{key: document.metadata[key] for key in _ABSTRACT if key in document.metadata},
    }
    line = to_json(record, document.id) + b"\n"
    digest = hashlib.sha256(line).digest()
    before = abstracts.put(doc_id, digest)
    if before is None:
        return line
    if before != digest:
        raise _refused(document, f"another abstract {doc_id!r} has been written", "give each text an id of its own")
    return None


def _refused(document: Document, message: str, hint: str) -> FormatError:
    return FormatError("BX120", message, where=f"document {document.id!r}", hint=hint)
