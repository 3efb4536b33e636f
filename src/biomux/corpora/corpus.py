"""A corpus: its card, and its documents split by split.

>>> for document in load("bc5cdr[Chemical]", "train"):     # doctest: +SKIP
...     print(document.id, len(document.spans))
bc5cdr/train:1 2

"train+devel" gives one after the other. Documents come lazily; reading a corpus twice reads its files twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from biomux import formats
from biomux.corpora import catalogue, directory, own, view
from biomux.corpora.splits import side
from biomux.document import Label
from biomux.errors import CorpusError, FormatError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.corpora.card import Card, Ids, Split
    from biomux.document import Document
    from biomux.formats import Source


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus in a directory; `types` maps the types that this view keeps to what they are called, None for all."""

    card: Card
    root: Path
    types: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that the card names."""
        return tuple(self.card.splits)

    def files(self) -> list[Path]:
        """The files that are there, in the order of the card."""
        found = (directory.locate(self.root, file.path) for file in self.card.files)
        return [path for path in found if path is not None]

    def documents(self, split: str, *, on_error: Callable[[FormatError], None] = formats.stop) -> Iterator[Document]:
        """The documents of a split, or of several joined by "+". What is missing is told now, what is malformed later."""
        parts = [self._part(name.strip(), on_error) for name in split.split("+")]
        return chain.from_iterable(parts)

    def _part(self, name: str, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
        if name not in self.card.splits:
            raise CorpusError(
                "BX207", f"corpus {self.name!r} has no split {name!r}", hint=did_you_mean(name, self.splits)
            )
        split = self.card.splits[name]
        given = split.made.origin if split.made else name
        origin = self.card.splits[given]
        files = [(path, self._find(path)) for path in origin.files]
        ids = self._ids(origin.ids) if origin.ids else None
        read = self._read(origin, [path for _, path in files], ids, on_error)
        cuts = [(cut, made) for cut in self.card.cuts(given) if (made := self.card.splits[cut].made)]
        if cuts:
            wanted = name if split.made else None
            read = (document for document in read if side(document, cuts) == wanted)
        stem = formats.of_path(files[0][1]).stem if len(files) == 1 and not origin.members else None
        return self._named(read, name, stem)

    def _read(
        self,
        split: Split,
        files: Iterable[Path],
        ids: tuple[frozenset[str], bool] | None,
        on_error: Callable[[FormatError], None],
    ) -> Iterator[Document]:
        chosen = split.format or self.card.format
        if chosen is None:
            raise CorpusError(
                "BX206", "the card has files but no format", where=f"card {self.name!r}", hint="add a format"
            )
        for path in files:
            for source in _sources(path, split.members):
                stem = f"{source.stem}:"
                try:
                    for document in formats.read_source(
                        source, format=chosen.name, on_error=on_error, **chosen.options
                    ):
                        if ids is None or (document.id.removeprefix(stem) in ids[0]) == ids[1]:
                            yield document
                except FormatError as error:  # the rest of this file cannot be read
                    on_error(error)

    def _named(self, documents: Iterable[Document], split: str, stem: str | None) -> Iterator[Document]:
        """Documents with ids that are unique in the house, and the types of this view.

        `stem` is what the format calls a document by that has no id of its own; None if that is to stay.
        """
        seen: dict[str, int] = {}
        rename = self.card.rename
        for document in documents:
            local = document.id.removeprefix(f"{stem}:") if stem else document.id
            again = seen[local] = seen.get(local, 0) + 1
            name = f"{self.name}/{split}:{local}" + (f"#{again}" if again > 1 else "")
            named = replace(document, id=name)
            if self.card.label:
                named = _with_classes(named, self.card.label)
            if rename:
                named = view.rename(named, rename)
            yield named if self.types is None else view.keep(named, self.types)

    def _ids(self, chosen: Ids) -> tuple[frozenset[str], bool]:
        found = set(chosen.listed)
        if chosen.file:
            found |= _id_file(self._find(chosen.file))
        return frozenset(found), chosen.keep

    def _find(self, path: str) -> Path:
        found = directory.locate(self.root, path)
        if found is None:
            raise missing(self.card, path, self.root)
        return found


def get(
    name: str,
    *,
    directory: str | Path | None = None,
    types: Iterable[str] | Mapping[str, str] | None = None,
) -> Corpus:
    """The corpus of that name, or a view of it: "bc5cdr[Chemical]", or `types=` (a mapping renames). A path is data of one's own."""
    base, kept = view.parse(name)
    data = own.of_spec(base)
    card = catalogue.card(base) if data is None else own.card(data)
    if types is not None:
        if kept is not None:
            raise CorpusError("BX207", f"cannot use both brackets and types= for {name!r}", hint="use one of them")
        kept = dict(types) if isinstance(types, Mapping) else {one: one for one in types}
    if data is not None:
        kept = {one: one for one in data.types} if kept is None and data.types else kept
        return Corpus(card, Path(), kept)
    if kept is not None and (card.types or catalogue.folder_of(base) is None):
        view.check_types(kept, card.types, corpus=base)
    return Corpus(card, _root(card, directory), kept)


def types_of(name: str, *, directory: str | Path | None = None) -> tuple[str, ...]:
    """The types of a corpus' spans: those of its card, or, of data of one's own, those that are found in it."""
    base, kept = view.parse(name)
    if own.of_spec(base) is None and (catalogue.card(base).types or catalogue.folder_of(base) is None):
        if kept is None:
            return catalogue.card(base).types
        view.check_types(kept, catalogue.card(base).types, corpus=base)
        return tuple(kept.values())
    found = get(name, directory=directory)
    documents = chain.from_iterable(map(found.documents, found.splits))
    return tuple(sorted({span.type for document in documents for span in document.spans}))


def load(
    name: str,
    split: str,
    *,
    directory: str | Path | None = None,
    types: Iterable[str] | Mapping[str, str] | None = None,
    on_error: Callable[[FormatError], None] = formats.stop,
) -> Iterator[Document]:
    """The documents of a corpus' split ("train", "devel", "test", or "train+devel"), lazily."""
    return get(name, directory=directory, types=types).documents(split, on_error=on_error)


def _root(card: Card, given: str | Path | None) -> Path:
    """The folder that the paths of a card begin at: that of a card of one's own, if its files lie beside it."""
    beside = catalogue.folder_of(card.name)
    if beside is not None and any(directory.locate(beside, file.path) for file in card.files):
        return beside
    return directory.find(given)


def _with_classes(document: Document, key: str) -> Document:
    """The document with the classes that its metadata hold; an empty cell is none."""
    value = document.metadata.get(key)
    names = value if isinstance(value, list) else re.split(r"[;|]", "" if value is None else str(value))
    found = dict.fromkeys(name for one in names if (name := str(one).strip()))
    return replace(document, labels=(*document.labels, *map(Label, found)))


def missing(card: Card, path: str, root: Path) -> CorpusError:
    """The error for a file that is not in the corpora directory."""
    if card.credentialed:
        return not_open(card, root)
    return CorpusError(
        "BX203",
        f"corpus {card.name!r} has no file {path!r} in the corpora directory {str(root)!r}",
        hint=f"`biomux corpora fetch {card.name}` downloads it, or says where to get it",
    )


def not_open(card: Card, root: Path) -> CorpusError:
    """The error for a corpus that its holders give out on application only: how to apply, and where to put it."""
    places = ", ".join(str(root / file.path) for file in card.files)
    return CorpusError(
        "BX205",
        f"corpus {card.name!r} is only available on application",
        hint=f"{card.apply}; then put it at {places}",
    )


def _sources(path: Path, members: str | None) -> Iterator[Source]:
    if members is None:
        yield formats.of_path(path)
        return
    for source in formats.sources(path):
        if fnmatchcase(source.name.rpartition("!")[2], members):
            yield source


def _id_file(path: Path) -> set[str]:
    """The ids in a file: one a line, or the keys of a JSON object."""
    import json

    with formats.of_path(path).open() as stream:
        raw = stream.read()
    try:
        text = raw.decode("utf-8")
        if text.lstrip().startswith("{"):
            return set(json.loads(text))
    except ValueError as error:  # not UTF-8, or not JSON
        raise CorpusError(
            "BX204", f"cannot read the ids: {error}", where=str(path), hint="download it again"
        ) from error
    return {line.strip() for line in text.splitlines() if line.strip()}
