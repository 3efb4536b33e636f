"""Writing NLI4CT: `statements.json` and `CT_json.tar.gz` in a folder.

The reports hold the sections that the documents have, and are packed at the end.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.errors import FormatError
from biomux.formats.fields import to_json
from biomux.formats.format import Feature, Loss, report_losses
from biomux.formats.joined import report_label_parts
from biomux.formats.json_array import loads
from biomux.formats.shelf import Once, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from biomux.document import Document, Label, Passage

HOLDS: frozenset[Feature] = frozenset({"passages", "sentences", "labels", "pair", "metadata"})
"""Passages must be the one or two trials' sections; sentences must be their lines."""
ROLES = ("Primary", "Secondary")
EVIDENCE = "evidence"
STATEMENTS = "statements.json"
ARCHIVE = "CT_json.tar.gz"
FOLDER = "CT json"
OWN_ID = "Clinical Trial ID"

TRIAL_ID = re.compile(r"\w[\w.-]*")
"""It becomes part of a path, so it must be a plain name."""

_OWN = ("Section_id", "Primary_id", "Secondary_id", "Statement", "Label")


def write_folder(documents: Iterable[Document], folder: Path, *, on_loss: Callable[[Loss], None]) -> None:
    """The statements as they come, the reports when all are known."""
    trials = _Trials()
    with (folder / STATEMENTS).open("wb") as statements:
        before = b"{"
        for document in documents:
            report_losses(document, HOLDS, on_loss)
            record = to_json({document.id: _record(document, trials, on_loss)}, document.id)
            statements.write(before + b"\n" + record[1:-1])
            before = b","
        statements.write(b"\n}\n" if before == b"," else b"{}\n")
    _pack(trials, folder / ARCHIVE)


def _record(document: Document, trials: _Trials, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    if document.pair is None:
        raise _refused(document, "there is no statement", "write to jsonl")
    passages = document.passages
    places = [(0, len(document.text))]
    if len(passages) == 2:
        places = [(0, passages[0].end), (passages[0].end + 1, len(document.text))]
    roles = [role.lower() for role in ROLES[: len(passages)]]
    fits = [(passage.start, passage.end) for passage in passages] == places
    fits &= [passage.extra.get("role") for passage in passages] == roles
    fits &= all(set(passage.extra) == {"role", "trial"} for passage in passages)
    fits &= all(isinstance(passage.extra.get("trial"), str) for passage in passages)
    fits &= all(TRIAL_ID.fullmatch(str(passage.extra.get("trial"))) is not None for passage in passages)
    fits &= len({passage.kind for passage in passages}) == 1
    if not fits or document.text[places[0][1] : places[-1][0]] not in ("", "\n"):
        raise _refused(
            document, "the text is not the same section of one or two trials", "give such passages, or write to jsonl"
        )
    for passage in passages:
        _keep(document, passage, trials)
    _report(document, on_loss)
    label = _label(document)
    kept = {key: value for key, value in document.metadata.items() if key not in _OWN}
    if len(kept) < len(document.metadata):
        on_loss(Loss(document.id, "metadata", len(document.metadata) - len(kept), "keys that the format has itself"))
    ids = {f"{role}_id": passage.extra["trial"] for role, passage in zip(ROLES, passages, strict=False)}
    for key, numbers in _evidence(document).items():
        if not _agree(document, kept.get(key, []), numbers):
            on_loss(Loss(document.id, "metadata", 1, f"{key} says what the labels say"))
            kept[key] = sorted(numbers)
    return {
        "Section_id": passages[0].kind,
        **ids,
        "Statement": document.pair,
        **({"Label": label.name} if label else {}),
        **kept,
    }


@dataclass(slots=True)
class _Trials:
    """The sections of reports, by trial, and a digest of each."""

    sections: Shelf = field(default_factory=Shelf)
    digests: Once = field(default_factory=Once)


def _keep(document: Document, passage: Passage, trials: _Trials) -> None:
    trial = passage.extra["trial"]
    section = to_json([passage.kind, document.text[passage.start : passage.end].split("\n")], document.id)
    digest = hashlib.sha256(section).digest()
    before = trials.digests.put(f"{trial}\0{passage.kind}", digest) if passage.kind != OWN_ID else b""
    if before is None:
        trials.sections.add(trial, section.decode())
    elif before != digest:
        raise _refused(
            document, f"section {passage.kind!r} of {trial!r} has been written with other lines", "rename one"
        )


def _report(document: Document, on_loss: Callable[[Loss], None]) -> None:
    lines, at = [], 0
    for line in document.text.split("\n"):
        if line:
            lines.append((at, at + len(line)))
        at += len(line) + 1
    if document.sentences and list(document.sentences) != lines:
        on_loss(Loss(document.id, "sentences", len(document.sentences), "lines are read as sentences"))
    report_label_parts(document, on_loss)
    label = _label(document)
    lost = [
        other
        for other in document.labels
        if other is not label and (other.name != EVIDENCE or (other.start, other.end) not in lines)
    ]
    if lost:
        on_loss(Loss(document.id, "labels", len(lost), "one label, and evidence lines"))


def _label(document: Document) -> Label | None:
    return next((label for label in document.labels if label.start is None), None)


def _evidence(document: Document) -> dict[str, set[int]]:
    """The numbers of the evidence lines, by the key of their role."""
    return {
        f"{role}_evidence_index": {
            document.text.count("\n", passage.start, label.start)
            for label in document.labels
            if label.name == EVIDENCE and label.start is not None and passage.start <= label.start < passage.end
        }
        for role, passage in zip(ROLES, document.passages, strict=False)
    }


def _agree(document: Document, told: Any, numbers: set[int]) -> bool:
    """Whether indices name these lines and otherwise only empty ones, which no label can be anchored to."""
    if not isinstance(told, list) or not all(isinstance(number, int) for number in told):
        return False
    return numbers <= set(told) and (set(told) == numbers or "\n\n" in document.text)


def _pack(trials: _Trials, path: Path) -> None:
    """The same reports give the same bytes: no times, no owners."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for trial, sections in trials.sections.groups():
            report = {OWN_ID: trial, **dict(loads(section.encode(), trial) for section in sections)}
            data = to_json(report, trial, indent=True)
            member = tarfile.TarInfo(f"{FOLDER}/{trial}.json")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
            archive.members.clear()  # type: ignore[attr-defined]  # notes on all that it has written


def _refused(document: Document, message: str, hint: str) -> FormatError:
    return FormatError("BX120", message, where=f"document {document.id!r}", hint=hint)
