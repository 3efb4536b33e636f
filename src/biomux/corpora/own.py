"""Data of one's own as a corpus: a file, a folder, a glob, or files by split.

    corpus: data/                      a folder: its files or folders called train, devel and test; all of it is train where there are none
    corpus: data/notes.jsonl           a file: all of it is train
    corpus: {train: data/*.ann, devel: 0.15, test: 0.2, format: brat, rename: {Protein: gene}}

Formats are recognised. Without a development part one is cut from the training part: seeded, by document, equal texts on one side. Paths
are relative to the folder that a command is run in.

In Python a corpus of one's own is named by its path, or by the mapping as a JSON text (`spec`); both are what `corpora.get` takes.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from biomux import formats
from biomux.corpora.card import Card, CutSplit, File, FormatOf, Home, Split
from biomux.corpora.splits import group_key, position
from biomux.errors import CorpusError, FormatError
from biomux.validation import mistakes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SHARE = 0.15
"""The share of the training documents that is cut for development where the data have no such part."""
SPLITS = ("train", "devel", "test")
_WORDS = {
    "train": ("train", "training", "trn"),
    "devel": ("dev", "devel", "development", "valid", "validation", "val"),
    "test": ("test", "testing", "heldout"),
}
"""Split → words of file and folder names that mean it."""
_BY_WORD = {word: split for split, words in _WORDS.items() for word in words}
_CLASSES = ("label", "labels", "class", "classes", "category", "categories", "gold_label")
"""Columns that hold a text's class where none is named."""

Share = Annotated[float, Field(gt=0, lt=1)]
Files = str | Annotated[tuple[str, ...], Field(min_length=1)]


class OwnData(BaseModel):
    """What `corpus:` says about data of one's own: a `path` whose splits are found by name, or the files of `train`.

    `devel` and `test` are files, or a share of the training documents to cut. `label` is the column or key that holds a text's class.
    `rename` gives types other names, and merges those that get the same; `types` are those that are kept, by their new names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str | None = None
    train: Files | None = None
    devel: Share | Files | None = None
    test: Share | Files | None = None
    format: str | None = None
    options: dict[str, Any] = {}
    label: str | None = None
    rename: dict[str, str] = {}
    types: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")] | None = None
    seed: int = 1

    @model_validator(mode="after")
    def _path_or_train(self) -> OwnData:
        if (self.path is None) == (self.train is None):
            raise ValueError("give either path or train, but not both")
        if self.options and self.format is None:
            raise ValueError("options are those of a format: name it with format")
        return self


def of_spec(spec: str) -> OwnData | None:
    """The data of one's own that a corpus' name means; None if it is a name of the catalogue."""
    if spec.startswith("{"):
        try:
            raw = yaml.safe_load(spec)
        except yaml.YAMLError:
            raw = None
        if not isinstance(raw, dict):
            raise CorpusError("BX210", f"cannot parse {spec[:60]!r} as a corpus", hint="write {train: FILES, …}")
        return of_mapping(raw)
    return OwnData(path=spec) if _is_path(spec) else None


def of_argument(data: str) -> OwnData:
    """What a command is given as data: a path, or a mapping as a recipe writes it."""
    return (of_spec(data) if data.startswith("{") else None) or OwnData(path=data)


def of_mapping(raw: Mapping[str, Any], *, where: str = "corpus") -> OwnData:
    """What `corpus:` says, checked; every mistake is named at once."""
    try:
        return OwnData.model_validate(raw)
    except ValidationError as error:
        said = "; ".join(dict.fromkeys(_plain(one) for one in mistakes(error, OwnData)))
        raise CorpusError("BX210", said, where=where, hint="see docs/how-to/own-data.md") from None


def spec(corpus: str, *, types: Sequence[str] | None = None, rename: Mapping[str, str] | None = None) -> str:
    """The name of data of one's own, with these types and new names of types.

    >>> spec("./data", types=["gene"], rename={"Protein": "gene"})
    '{"path": "./data", "rename": {"Protein": "gene"}, "types": ["gene"]}'
    """
    data = of_spec(corpus)
    if data is None:
        raise CorpusError("BX210", f"{corpus!r} is a corpus of the catalogue, not data of your own", hint="name a path")
    if types is None and not rename:
        return corpus
    changed = data.model_copy(
        update={"types": tuple(types) if types else data.types, "rename": {**data.rename, **(rename or {})}}
    )
    return to_spec(changed)


def to_spec(data: OwnData) -> str:
    """The data as a corpus' name: a JSON text of what is not left to the default."""
    return json.dumps(data.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)


def short_name(corpus: str) -> str:
    """What a corpus is called in tables, folders and bundles: the last part of a path.

    >>> short_name("data/My notes/"), short_name("bc5cdr")
    ('my-notes', 'bc5cdr')
    """
    data = of_spec(corpus)
    return corpus if data is None else _name(data)


def card(data: OwnData, *, on_error: Callable[[FormatError], None] = formats.stop) -> Card:
    """The card of the user's own data: which files are which split, their format, and where parts are cut.

    Cutting parts reads the documents: malformed records go to `on_error`.
    """
    found, left_out = _files(data)
    formats_of = {split: _format(data, split, paths) for split, paths in found.items()}
    splits = {
        split: Split(
            files=tuple(map(str, paths)),
            format=formats_of[split],
            members="*" if any(map(formats.is_archive, paths)) else None,
        )
        for split, paths in found.items()
    }
    made = Card(
        name=_name(data),
        title=f"{data.path or data.train}",
        tasks=(),
        types=(),
        format=formats_of["train"],
        label=data.label or _label(formats_of["train"], found["train"], on_error),
        rename=data.rename,
        files=tuple(File(path=str(path)) for paths in found.values() for path in paths),
        splits=splits,
        home=Home(note="your own data"),
        licence=(),
        citation=(),
        notes=tuple(f"not read: {path}" for path in left_out),
    )
    shares = {
        split: share
        for split in ("devel", "test")
        if isinstance(share := _share(data, split, found), float) and split not in found
    }
    if not shares:
        return made
    signature = tuple(_signature(path) for path in found["train"])
    cuts = _cuts(made.model_dump_json(by_alias=True), signature, tuple(shares.items()), data.seed, on_error)
    return made.model_copy(update={"splits": {**splits, **cuts}})


def _share(data: OwnData, split: str, found: Mapping[str, Sequence[Path]]) -> float | None:
    """The share to cut for a split. What is asked for though the data have the part is refused."""
    asked = data.devel if split == "devel" else data.test
    if isinstance(asked, float) and split in found:
        raise CorpusError(
            "BX210",
            f"{split} must not be a share of the training part: the data have a {split} part ({found[split][0]})",
            hint=f"leave {split} out",
        )
    return asked if isinstance(asked, float) else SHARE if split == "devel" else None


def _files(data: OwnData) -> tuple[dict[str, list[Path]], list[Path]]:
    """The files of each split, and those of a folder with splits that belong to none."""
    given: dict[str, list[Path]] = {}
    left_out: list[Path] = []
    if data.path is not None:
        given, left_out = _by_name(data.path)
    for split in SPLITS:
        named = getattr(data, split)
        if isinstance(named, str | tuple):
            if split in given:
                raise CorpusError(
                    "BX210",
                    f"{split} is given, but {data.path} has such a part too ({given[split][0]})",
                    hint="leave one of them out",
                )
            given[split] = list(_walk((named,) if isinstance(named, str) else named))
    if "train" not in given:
        raise CorpusError(
            "BX211",
            f"there is no training part in {str(data.path)!r}, only {' and '.join(given)}",
            hint="call a file or folder train, or name the files: corpus: {train: …, devel: …, test: …}",
        )
    twice = sorted({str(p) for p in given["train"]} & {str(p) for s in given if s != "train" for p in given[s]})
    if twice:
        raise CorpusError("BX211", f"{twice[0]} is both trained on and held out", hint="name it in one split only")
    return {split: given[split] for split in SPLITS if split in given}, left_out


def _by_name(path: str) -> tuple[dict[str, list[Path]], list[Path]]:
    """Splits by the names of files and folders; all is train where no name tells one."""
    paths = list(_walk((path,)))
    root = Path(path).expanduser()
    found: dict[str, list[Path]] = {}
    left_out = []
    for one in paths:
        parts = one.relative_to(root).parts if root.is_dir() else (one.name,)
        split = _split_of(parts)
        if split is None:
            left_out.append(one)
        else:
            found.setdefault(split, []).append(one)
    if not found or (len(paths) == 1 and root.is_file()):
        return {"train": paths}, []
    return found, left_out


def _split_of(parts: Sequence[str]) -> str | None:
    """The split that a path's outermost telling part means.

    >>> _split_of(("corpus", "NCBI_train_v2.txt")), _split_of(("dev", "test-results.txt")), _split_of(("pretest.txt",))
    ('train', 'devel', None)
    """
    for part in parts:
        meant = {_BY_WORD[word] for word in re.split(r"[^a-z]+", part.lower()) if word in _BY_WORD}
        if len(meant) > 1:
            raise CorpusError(
                "BX211",
                f"cannot tell the split of {'/'.join(parts)!r}: its name means {' and '.join(sorted(meant))}",
                hint="name the files by split: corpus: {train: …, devel: …, test: …}",
            )
        if meant:
            return meant.pop()
    return None


def _walk(named: Iterable[str]) -> Iterable[Path]:
    for one in named:
        found = list(formats.files(str(Path(one).expanduser())))
        if not found:
            raise CorpusError("BX211", f"there is no file in {one!r}", hint="check the path")
        yield from found


def _format(data: OwnData, split: str, paths: Sequence[Path]) -> FormatOf:
    """The format that all files of a split have."""
    if data.format is not None:
        formats.get(data.format)
        return FormatOf(name=data.format, options=data.options)
    first: tuple[str, Path] | None = None
    for path in paths:
        for source in formats.sources(path):
            found = _guessed(source)
            if first is None:
                first = (found, path)
            elif found != first[0]:
                raise _mixed(split, first, (found, path))
    if first is None:
        raise CorpusError("BX211", f"the files of {split} are empty archives", hint="check the path")
    if first[0] in ("text", "lines"):
        raise CorpusError(
            "BX212",
            f"{first[1]} is plain text, without annotations to learn from",
            hint="if there are annotations in other files (brat's .ann), put them beside it; `biomux formats` lists formats that hold both",
        )
    return FormatOf(name=first[0])


def _guessed(source: formats.Source) -> str:
    """The format of a file; what to do if it cannot be recognised is said as recipes and commands write it."""
    try:
        return formats.guess(source).name
    except FormatError as error:
        if "--" not in (error.hint or ""):
            raise
        hint = "name it: {path: PATH, format: NAME}, with options: {text: COLUMN, id: COLUMN} for a table; `biomux formats` lists all"
        raise FormatError(error.code, error.message, where=error.where, hint=hint) from None


def _label(format: FormatOf, paths: Sequence[Path], on_error: Callable[[FormatError], None]) -> str | None:
    """The column or key of a table that is called as classes usually are."""
    if format.name not in ("csv", "tsv", "json"):
        return None
    for source in formats.sources(paths[0]):
        first = next(formats.read_source(source, format=format.name, on_error=on_error, **format.options), None)
        keys = {} if first is None or first.labels else {key.lower(): key for key in first.metadata}
        return next((keys[name] for name in _CLASSES if name in keys), None)
    return None


def _mixed(split: str, first: tuple[str, Path], other: tuple[str, Path]) -> CorpusError:
    if {first[0], other[0]} == {"brat", "text"}:
        bare = first[1] if first[0] == "text" else other[1]
        return CorpusError(
            "BX212",
            f"{bare} has no .ann file beside it",
            hint="an empty .ann says that nothing was found; move texts that are not annotated elsewhere",
        )
    return CorpusError(
        "BX212",
        f"files of {split} have different formats: {first[1]} is {first[0]}, {other[1]} is {other[0]}",
        hint="name the files and their format: corpus: {train: FILES, format: NAME}",
    )


def _signature(path: Path) -> tuple[str, int, int]:
    found = path.stat()
    return str(path.resolve()), found.st_size, found.st_mtime_ns


@lru_cache(maxsize=64)
def _cuts(
    card_json: str,
    signature: tuple[tuple[str, int, int], ...],
    shares: tuple[tuple[str, float], ...],
    seed: int,
    on_error: Callable[[FormatError], None],
) -> dict[str, Split]:
    """Cuts that take exactly their share of the distinct texts. `signature` is here so that changed files are read again."""
    from biomux.corpora.corpus import Corpus

    del signature
    whole = Corpus(Card.model_validate_json(card_json), Path())
    places = sorted({position(group_key(one, "text"), seed) for one in whole.documents("train", on_error=on_error)})
    if not places:
        raise CorpusError(
            "BX211",
            "there are no documents in the data",
            where=whole.card.title,
            hint="export or write them again, or name other files",
        )
    wanted = [max(1, round(share * len(places))) for _, share in shares]
    if len(places) <= sum(wanted):
        raise CorpusError(
            "BX211",
            f"cannot cut {' and '.join(name for name, _ in shares)} from {len(places)} documents with different texts",
            where=whole.card.title,
            hint="annotate more documents, or give files for these parts",
        )
    made: dict[str, Split] = {}
    low, taken = 0.0, 0
    for (name, _), number in zip(shares, wanted, strict=True):
        taken += number
        high = (places[taken - 1] + places[taken]) / 2
        cut = CutSplit.model_validate({"from": "train", "fraction": high - low, "seed": seed, "group": "text"})
        made[name] = Split(made=cut)
        low = high
    return made


def _is_path(name: str) -> bool:
    """Whether a name is that of a path: it has a slash, a dot or a tilde at its begin, or a suffix. Catalogue names have none of these."""
    return "/" in name or "\\" in name or name.startswith((".", "~")) or bool(PurePath(name).suffix) or "*" in name


def _name(data: OwnData) -> str:
    if data.name:
        return data.name
    named = data.path or (data.train if isinstance(data.train, str) else (data.train or ("data",))[0])
    parts = [part for part in PurePath(named).parts if not set(part) & set("*?") and _split_of((part,)) is None]
    last = parts[-1] if parts and parts[-1] not in ("/", ".", "..", "~") else Path.cwd().name if not parts else "data"
    stem = last if Path(named).is_dir() else last.removesuffix(".gz").partition(".")[0]
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "data"


def _plain(mistake: str) -> str:
    """A mistake without pydantic's names for the members of a union."""
    return re.sub(r" → (float|str|tuple\[[^:]*|constrained-[^:]*|function-[^:]*)(?=:)", "", mistake)
