"""The card of a corpus: what it holds, where it comes from, and the counts that loading it must give.

A card is a YAML file, `cards/NAME.yaml`. Every key is checked: an unknown key is refused with a suggestion.
Paths are relative to the corpora directory; `x.tsv` and `x.tsv.gz` name the same file.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from biomux.errors import CorpusError
from biomux.validation import mistakes

NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
GitId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class SplitCounts(_Part):
    """What a split holds once loaded. None means not counted; a map has the count of each type or label."""

    documents: Count | None = None
    sentences: Count | None = None
    tokens: Count | None = None
    words: Count | None = None
    mentions: dict[str, Count] | None = None
    relations: dict[str, Count] | None = None
    labels: dict[str, Count] | None = None
    pairs: Count | None = None
    questions: Count | None = None


class FormatOf(_Part):
    """The format that reads the files, and the options for its reader."""

    name: str
    options: dict[str, Any] = {}


class Home(_Part):
    """Where the public copy is: a path in a repository at a commit, or a site."""

    repository: str | None = None
    path: str | None = None
    commit: GitId | None = None
    site: str | None = None
    note: str | None = None


class File(_Part):
    """One file of the corpus. `sha256` and `bytes` are of the uncompressed content; `blob` is git's id of it."""

    path: str
    sha256: Sha256 | None = None
    bytes: Count | None = None
    blob: GitId | None = None
    source: str | None = None
    """The path in the home's repository, if the file is there unchanged."""
    home: Home | None = None
    """The home of this file, if it is not the card's."""
    url: str | None = None
    """A direct address, if it is not the raw file in the home's repository."""
    made: str | None = None
    """How it was made, if no public copy is identical."""
    optional: bool = False
    """Listed for completeness: train, devel and test do not need it."""


class CutSplit(_Part):
    """A split cut from another one, by seed; documents of the same `group` stay together (see `biomux.corpora.splits`)."""

    origin: str = Field(alias="from")
    fraction: Annotated[float, Field(gt=0, lt=1)]
    seed: int
    group: str


class Ids(_Part):
    """Documents chosen by their ids: those in a file or list, or all but those."""

    file: str | None = None
    listed: tuple[str, ...] = Field(default=(), alias="list")
    keep: bool = True
    """True: only these. False: all but these."""


class Split(_Part):
    """One part of a corpus: files, or a cut from another split."""

    files: tuple[str, ...] = ()
    members: str | None = None
    """For an archive: read the members whose path matches this pattern."""
    ids: Ids | None = None
    made: CutSplit | None = None
    format: FormatOf | None = None
    """The format of these files, if it is not the card's."""
    labelled: bool = True
    counts: SplitCounts = SplitCounts()

    @model_validator(mode="after")
    def _files_or_made(self) -> Split:
        if bool(self.files) == bool(self.made):
            raise ValueError("give either files or made, but not both")
        return self


class Licence(_Part):
    """A licence, and who states it."""

    name: str
    stated: str


class Card(_Part):
    """Everything known about a corpus before its first byte is read."""

    name: Annotated[str, Field(pattern=NAME)]
    title: str
    tasks: tuple[str, ...]
    types: tuple[str, ...] = ()
    format: FormatOf | None = None
    rename: dict[str, str] = {}
    """Types in the files → types of the loaded corpus; also for relations and classes."""
    label: str | None = None
    """The key of a document's metadata (a column of its table) that holds its class; several classes are separated by `;` or `|`."""
    files: tuple[File, ...] = ()
    splits: dict[str, Split] = {}
    home: Home
    licence: tuple[Licence, ...]
    citation: tuple[str, ...]
    credentialed: bool = False
    apply: str | None = None
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Card:
        listed = {file.path for file in self.files}
        for name, split in self.splits.items():
            needed = {*split.files, *([split.ids.file] if split.ids and split.ids.file else [])}
            if needed - listed:
                raise ValueError(f"split {name} names files that are not listed: {', '.join(sorted(needed - listed))}")
            if split.made and not (self.splits.get(split.made.origin) and self.splits[split.made.origin].files):
                raise ValueError(f"split {name} is made from {split.made.origin!r}, which has no files")
        if any(split.files for split in self.splits.values()) and self.format is None:
            raise ValueError("there are files but no format")
        if self.credentialed and not self.apply:
            raise ValueError("a credentialed corpus must say how to apply, in the key apply")
        return self

    def cuts(self, split: str) -> tuple[str, ...]:
        """The splits that are cut out of this one, in the order of the card."""
        return tuple(name for name, other in self.splits.items() if other.made and other.made.origin == split)


def parse(data: object, *, where: str) -> Card:
    """A card from the content of its YAML file; an error lists all mistakes."""
    try:
        return Card.model_validate(data)
    except ValidationError as error:
        message = "; ".join(mistakes(error, Card))
        raise CorpusError(
            "BX206", f"the card is not valid: {message}", where=where, hint="correct these keys"
        ) from None
