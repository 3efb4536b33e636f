"""A corpus: its card, and its documents split by split.

>>> for document in load("bc5cdr[Chemical]", "train"):     # doctest: +SKIP
...     print(document.id, len(document.spans))
bc5cdr/train:1 2

"train+devel" reads one split after the other. Documents are read lazily; reading a corpus twice reads its files twice.
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
    """A corpus in a directory; `types` maps the types that this view keeps to their names in it; None keeps all."""

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
        """The files that exist, in the order of the card."""
        paths = (directory.locate(self.root, file.path) for file in self.card.files)
        return [path for path in paths if path is not None]

    def documents(self, split: str, *, on_error: Callable[[FormatError], None] = formats.stop) -> Iterator[Document]:
        """The documents of a split, or of several joined by "+". Missing files are reported at once, malformed documents as they are read."""
        parts = [self._part(name.strip(), on_error) for name in split.split("+")]
        return chain.from_iterable(parts)

    def _part(self, name: str, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
        if name not in self.card.splits:
            raise CorpusError(
                "BX207", f"corpus {self.name!r} has no split {name!r}", hint=did_you_mean(name, self.splits)
            )
        split = self.card.splits[name]
        origin_name = split.made.origin if split.made else name
        origin = self.card.splits[origin_name]
        files = [(path, self._find(path)) for path in origin.files]
        ids = self._ids(origin.ids) if origin.ids else None
        documents = self._read(origin, [path for _, path in files], ids, on_error)
        cuts = [(cut, settings) for cut in self.card.cuts(origin_name) if (settings := self.card.splits[cut].made)]
        if cuts:
            wanted_side = name if split.made else None
            documents = (document for document in documents if side(document, cuts) == wanted_side)
        stem = formats.of_path(files[0][1]).stem if len(files) == 1 and not origin.members else None
        return self._named(documents, name, stem)

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
        """Give the documents ids that are unique across corpora, and the types of this view.

        `stem` is the prefix that the format gives to ids of documents without an id, to be removed; None keeps it.
        """
        counts: dict[str, int] = {}
        rename = self.card.rename
        for document in documents:
            local = document.id.removeprefix(f"{stem}:") if stem else document.id
            number = counts[local] = counts.get(local, 0) + 1
            name = f"{self.name}/{split}:{local}" + (f"#{number}" if number > 1 else "")
            renamed = replace(document, id=name)
            if self.card.label:
                renamed = _with_classes(renamed, self.card.label)
            if rename:
                renamed = view.rename(renamed, rename)
            yield renamed if self.types is None else view.keep(renamed, self.types)

    def _ids(self, chosen: Ids) -> tuple[frozenset[str], bool]:
        ids = set(chosen.listed)
        if chosen.file:
            ids |= _id_file(self._find(chosen.file))
        return frozenset(ids), chosen.keep

    def _find(self, path: str) -> Path:
        file = directory.locate(self.root, path)
        if file is None:
            raise missing(self.card, path, self.root)
        return file


def get(
    name: str,
    *,
    directory: str | Path | None = None,
    types: Iterable[str] | Mapping[str, str] | None = None,
) -> Corpus:
    """The corpus of that name, or a view of it: "bc5cdr[Chemical]", or `types=` (a mapping renames). A path names your own data."""
    base, kept_types = view.parse(name)
    data = own.of_spec(base)
    card = catalogue.card(base) if data is None else own.card(data)
    if types is not None:
        if kept_types is not None:
            raise CorpusError("BX207", f"cannot use both brackets and types= for {name!r}", hint="use one of them")
        kept_types = dict(types) if isinstance(types, Mapping) else {type_: type_ for type_ in types}
    if data is not None:
        kept_types = {type_: type_ for type_ in data.types} if kept_types is None and data.types else kept_types
        return Corpus(card, Path(), kept_types)
    if kept_types is not None and (card.types or catalogue.folder_of(base) is None):
        view.check_types(kept_types, card.types, corpus=base)
    return Corpus(card, _root(card, directory), kept_types)


def types_of(name: str, *, directory: str | Path | None = None) -> tuple[str, ...]:
    """The types of a corpus' spans: those of its card, or, for your own data, those that occur in it."""
    base, kept_types = view.parse(name)
    if own.of_spec(base) is None and (catalogue.card(base).types or catalogue.folder_of(base) is None):
        if kept_types is None:
            return catalogue.card(base).types
        view.check_types(kept_types, catalogue.card(base).types, corpus=base)
        return tuple(kept_types.values())
    corpus = get(name, directory=directory)
    documents = chain.from_iterable(map(corpus.documents, corpus.splits))
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


def _root(card: Card, chosen: str | Path | None) -> Path:
    """The folder that the paths of a card are relative to: a user card's folder, if its files are beside it."""
    beside = catalogue.folder_of(card.name)
    if beside is not None and any(directory.locate(beside, file.path) for file in card.files):
        return beside
    return directory.find(chosen)


def _with_classes(document: Document, key: str) -> Document:
    """The document with the classes in its metadata as labels; an empty cell means none."""
    value = document.metadata.get(key)
    names = value if isinstance(value, list) else re.split(r"[;|]", "" if value is None else str(value))
    classes = dict.fromkeys(name for entry in names if (name := str(entry).strip()))
    return replace(document, labels=(*document.labels, *map(Label, classes)))


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
    """The error for a corpus that is only available on application: how to apply, and where to put it."""
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
    """The ids in a file: one per line, or the keys of a JSON object."""
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
