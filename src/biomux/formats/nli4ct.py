"""NLI4CT: statements about one or two clinical trials, entailed or contradicted by a section of their reports.

    train.json      {"5bc8…": {"Type": "Comparison", "Section_id": "Eligibility", "Primary_id": "NCT01", "Secondary_id": "NCT02",
                     "Statement": "…", "Label": "Contradiction", "Primary_evidence_index": [0], "Secondary_evidence_index": [2]}}
    CT_json.tar.gz  CT json/NCT01.json: {"Clinical Trial ID": "NCT01", "Eligibility": ["line", …], …}

Read it from a file of statements, with the reports beside it, as that archive or as the folder
`CT json`. One document per statement: the text is the section's lines, one per line with their indentation, the primary trial's first;
the pair is the statement; the label is Entailment or Contradiction (none in the unlabelled test file). Passages are the sections, with `trial` and
`role` (primary, secondary) in `extra`; lines that are not empty are the sentences; evidence lines have a label `evidence` at their place, and
the indices are kept in `metadata` as given. The reports themselves give no documents.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from typing import TYPE_CHECKING, Any

from biomux.document import Document, Label, Passage
from biomux.errors import FormatError
from biomux.formats._archive import each_member
from biomux.formats._fields import build, field, integers, of_kind, optional, strings
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join
from biomux.formats._json_array import MAX_ITEM, loads
from biomux.formats._json_object import members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

Trial = dict[str, Any]

HOLDS: frozenset[Feature] = frozenset({"passages", "sentences", "labels", "pair", "metadata"})
ROLES = ("Primary", "Secondary")
EVIDENCE = "evidence"
ARCHIVE = "CT_json.tar.gz"
FOLDER = "CT json"

TRIAL_ID = re.compile(r"\w[\w.-]*")
"""It becomes part of a path, so it must be a plain name."""

_OWN = ("Section_id", "Primary_id", "Secondary_id", "Statement", "Label")


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per statement."""
    if _is_trial(source.head()):
        return
    trials = _Trials(source)
    for line, name, record in members(source, on_error=on_error):
        try:
            document = _document(name, record, trials, f"{source.name}:{line}")
        except FormatError as error:
            if error.code == "BX119":
                raise
            on_error(error)
            continue
        yield document


class _Trials:
    """The reports beside a file of statements, by trial id."""

    def __init__(self, source: Source) -> None:
        self._source = source
        archive = source.companion(ARCHIVE.removesuffix(".gz"))
        self._reports = _unpacked(archive) if archive is not None else None

    def section(self, id: str, name: str, where: str) -> list[str]:
        """The lines of a section."""
        report = self._reports.get(id) if self._reports is not None else self._from_folder(id)
        if report is None:
            raise FormatError(
                "BX113" if self._reports is not None else "BX119",
                f"there is no report of trial {id!r}",
                where=where,
                hint=f"put {ARCHIVE} or the folder {FOLDER!r} beside the statements",
            )
        return strings(report, name, f"{where} (trial {id!r})")

    def _from_folder(self, id: str) -> Trial | None:
        file = self._source.companion(f"{FOLDER}/{id}.json") if TRIAL_ID.fullmatch(id) else None
        if file is None:
            return None
        with file.open() as stream:
            return of_kind(loads(stream.read(MAX_ITEM), file.name), dict, "the report", file.name)


def _unpacked(archive: Source) -> dict[str, Trial]:
    reports: dict[str, Trial] = {}
    try:
        with archive.open() as stream, tarfile.open(fileobj=stream, mode="r|") as members_:
            for member in each_member(members_):
                content = members_.extractfile(member) if member.isfile() and member.name.endswith(".json") else None
                if content is not None:
                    where = f"{archive.name}!{member.name}"
                    report = loads(content.read(MAX_ITEM), where)
                    reports[field(report, "Clinical Trial ID", str, where)] = report
    except (tarfile.TarError, EOFError, ValueError, zlib.error) as error:
        raise FormatError(
            "BX112", f"the archive is damaged: {error}", where=archive.name, hint="fetch it again"
        ) from error
    return reports


def _document(name: str, record: dict[str, Any], trials: _Trials, where: str) -> Document:
    where = f"{where} (statement {name!r})"
    section = field(record, "Section_id", str, where)
    statement = field(record, "Statement", str, where)
    label = optional(record, "Label", str, where)
    lines: list[str] = []
    cuts: list[tuple[str, str, int, int]] = []
    """Role, trial, and the numbers of its first line and the one after its last."""
    for role in ROLES:
        trial = optional(record, f"{role}_id", str, where)
        if trial is None:
            if role == "Primary":
                field(record, f"{role}_id", str, where)
            continue
        section_lines = trials.section(trial, section, where)
        if any("\n" in line for line in section_lines) or not section_lines:
            raise FormatError(
                "BX113",
                f"section {section!r} of {trial!r} is empty or has a line break inside a line",
                where=where,
                hint="repair it",
            )
        cuts.append((role, trial, len(lines), len(lines) + len(section_lines)))
        lines += section_lines
    text, ranges = join(lines, "\n")
    passages, labels = [], [Label(label)] if label is not None else []
    for role, trial, first, after in cuts:
        extra = {"trial": trial, "role": role.lower()}
        passages.append(Passage(ranges[first][0], ranges[after - 1][1], section, extra))
        indices = optional(record, f"{role}_evidence_index", list, where) or []
        for number in sorted(set(integers(indices, f"{role}_evidence_index", where))):
            if not 0 <= number < after - first:
                raise FormatError(
                    "BX114",
                    f"evidence line {number} is not one of the {after - first} of {trial!r}",
                    where=where,
                    hint="lines are counted from 0",
                )
            start, end = ranges[first + number]
            if start < end:
                labels.append(Label(EVIDENCE, start=start, end=end))
    return build(
        where,
        name,
        text,
        passages=tuple(passages),
        sentences=tuple((start, end) for start, end in ranges if start < end),
        pair=statement,
        labels=tuple(labels),
        metadata={key: value for key, value in record.items() if key not in _OWN},
    )


def _is_trial(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"Clinical Trial ID"' in head[:200]


def _sniff(_: str, head: bytes) -> bool:
    if head.lstrip()[:1] != b"{":
        return False
    return _is_trial(head) or (b'"Statement"' in head and b'"Section_id"' in head)


FORMAT = Format(
    name="nli4ct",
    title="NLI4CT statements and trial reports",
    suffixes=(".nli4ct",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
