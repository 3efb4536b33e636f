"""Your own data as a corpus: a file, a folder, a glob, or files by split.

    corpus: data/                      a folder: its files or folders called train, devel and test; without such names, all of it is train
    corpus: data/notes.jsonl           a file: all of it is train
    corpus: {train: data/*.ann, devel: 0.15, test: 0.2, format: brat, rename: {Protein: gene}}

Formats are recognised. Without a development part, one is cut from the training part: seeded, by document, with equal texts on the same
side. Paths are relative to the working directory.

In Python such a corpus is named by its path, or by the mapping as JSON text (`spec`); `corpora.get` accepts both.
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
"""The share of the training documents that is cut for development if the data have no such part."""
SPLITS = ("train", "devel", "test")
_WORDS = {
    "train": ("train", "training", "trn"),
    "devel": ("dev", "devel", "development", "valid", "validation", "val"),
    "test": ("test", "testing", "heldout"),
}
"""Split → words in names of files and folders that mean it."""
_BY_WORD = {word: split for split, words in _WORDS.items() for word in words}
_CLASSES = ("label", "labels", "class", "classes", "category", "categories", "gold_label")
"""Columns that hold a text's class if none is given."""

Share = Annotated[float, Field(gt=0, lt=1)]
Files = str | Annotated[tuple[str, ...], Field(min_length=1)]


class OwnData(BaseModel):
    """The mapping under `corpus:` for your own data: a `path` whose splits are found by name, or the files of `train`.

    `devel` and `test` are files, or a share of the training documents to cut. `label` is the column or key that holds a text's class.
    `rename` gives types other names, and merges those that get the same name; `types` are those to keep, by their new names.
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
            raise ValueError("options need a format: name it with format")
        return self


def of_spec(spec: str) -> OwnData | None:
    """The user data that a corpus' name refers to; None if it is a name of the catalogue."""
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
    """The data argument of a command: a path, or a mapping as in a recipe."""
    return (of_spec(data) if data.startswith("{") else None) or OwnData(path=data)


def of_mapping(raw: Mapping[str, Any], *, where: str = "corpus") -> OwnData:
    """Check the mapping under `corpus:`; an error lists all mistakes."""
    try:
        return OwnData.model_validate(raw)
    except ValidationError as error:
        message = "; ".join(dict.fromkeys(_plain(mistake) for mistake in mistakes(error, OwnData)))
        raise CorpusError("BX210", message, where=where, hint="see docs/how-to/own-data.md") from None


def spec(corpus: str, *, types: Sequence[str] | None = None, rename: Mapping[str, str] | None = None) -> str:
    """The name of user data, with these types and renamings.

    >>> spec("./data", types=["gene"], rename={"Protein": "gene"})
    '{"path": "./data", "rename": {"Protein": "gene"}, "types": ["gene"]}'
    """
    data = of_spec(corpus)
    if data is None:
        raise CorpusError("BX210", f"{corpus!r} is a corpus of the catalogue, not your own data", hint="name a path")
    if types is None and not rename:
        return corpus
    changed = data.model_copy(
        update={"types": tuple(types) if types else data.types, "rename": {**data.rename, **(rename or {})}}
    )
    return to_spec(changed)


def to_spec(data: OwnData) -> str:
    """The data as a corpus' name: JSON text of everything but defaults."""
    return json.dumps(data.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)


def short_name(corpus: str) -> str:
    """The name of a corpus in tables, folders and bundles: the last part of a path.

    >>> short_name("data/My notes/"), short_name("bc5cdr")
    ('my-notes', 'bc5cdr')
    """
    data = of_spec(corpus)
    return corpus if data is None else _name(data)


def card(data: OwnData, *, on_error: Callable[[FormatError], None] = formats.stop) -> Card:
    """The card of the user's own data: the files of each split, their format, and the cuts.

    Cutting parts reads the documents: malformed records go to `on_error`.
    """
    files_by_split, left_out = _files(data)
    formats_of = {split: _format(data, split, paths) for split, paths in files_by_split.items()}
    splits = {
        split: Split(
            files=tuple(map(str, paths)),
            format=formats_of[split],
            members="*" if any(map(formats.is_archive, paths)) else None,
        )
        for split, paths in files_by_split.items()
    }
    base = Card(
        name=_name(data),
        title=f"{data.path or data.train}",
        tasks=(),
        types=(),
        format=formats_of["train"],
        label=data.label or _label(formats_of["train"], files_by_split["train"], on_error),
        rename=data.rename,
        files=tuple(File(path=str(path)) for paths in files_by_split.values() for path in paths),
        splits=splits,
        home=Home(note="your own data"),
        licence=(),
        citation=(),
        notes=tuple(f"not read: {path}" for path in left_out),
    )
    shares = {
        split: share
        for split in ("devel", "test")
        if isinstance(share := _share(data, split, files_by_split), float) and split not in files_by_split
    }
    if not shares:
        return base
    signature = tuple(_signature(path) for path in files_by_split["train"])
    cuts = _cuts(base.model_dump_json(by_alias=True), signature, tuple(shares.items()), data.seed, on_error)
    return base.model_copy(update={"splits": {**splits, **cuts}})


def _share(data: OwnData, split: str, files_by_split: Mapping[str, Sequence[Path]]) -> float | None:
    """The share to cut for a split; refused if the data already have that part."""
    share = data.devel if split == "devel" else data.test
    if isinstance(share, float) and split in files_by_split:
        raise CorpusError(
            "BX210",
            f"{split} must not be a share of the training part: the data have a {split} part ({files_by_split[split][0]})",
            hint=f"leave {split} out",
        )
    return share if isinstance(share, float) else SHARE if split == "devel" else None


def _files(data: OwnData) -> tuple[dict[str, list[Path]], list[Path]]:
    """The files of each split, and the files that belong to no split."""
    files_by_split: dict[str, list[Path]] = {}
    left_out: list[Path] = []
    if data.path is not None:
        files_by_split, left_out = _by_name(data.path)
    for split in SPLITS:
        patterns = getattr(data, split)
        if isinstance(patterns, str | tuple):
            if split in files_by_split:
                raise CorpusError(
                    "BX210",
                    f"{split} is given, but {data.path} has such a part as well ({files_by_split[split][0]})",
                    hint="leave one of them out",
                )
            files_by_split[split] = list(_walk((patterns,) if isinstance(patterns, str) else patterns))
    if "train" not in files_by_split:
        raise CorpusError(
            "BX211",
            f"there is no training part in {str(data.path)!r}, only {' and '.join(files_by_split)}",
            hint="call a file or folder train, or name the files: corpus: {train: …, devel: …, test: …}",
        )
    repeated = sorted(
        {str(path) for path in files_by_split["train"]}
        & {str(path) for other in files_by_split if other != "train" for path in files_by_split[other]}
    )
    if repeated:
        raise CorpusError("BX211", f"{repeated[0]} is both trained on and held out", hint="name it in one split only")
    return {split: files_by_split[split] for split in SPLITS if split in files_by_split}, left_out


def _by_name(path: str) -> tuple[dict[str, list[Path]], list[Path]]:
    """Assign files to splits by their names and folders; all are train if no name says otherwise."""
    paths = list(_walk((path,)))
    root = Path(path).expanduser()
    files_by_split: dict[str, list[Path]] = {}
    left_out = []
    for file in paths:
        parts = file.relative_to(root).parts if root.is_dir() else (file.name,)
        split = _split_of(parts)
        if split is None:
            left_out.append(file)
        else:
            files_by_split.setdefault(split, []).append(file)
    if not files_by_split or (len(paths) == 1 and root.is_file()):
        return {"train": paths}, []
    return files_by_split, left_out


def _split_of(parts: Sequence[str]) -> str | None:
    """The split that a path names; its outermost part that names one decides.

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


def _walk(patterns: Iterable[str]) -> Iterable[Path]:
    for pattern in patterns:
        files = list(formats.files(str(Path(pattern).expanduser())))
        if not files:
            raise CorpusError("BX211", f"there are no files in {pattern!r}", hint="check the path")
        yield from files


def _format(data: OwnData, split: str, paths: Sequence[Path]) -> FormatOf:
    """The common format of all files of a split."""
    if data.format is not None:
        formats.get(data.format)
        return FormatOf(name=data.format, options=data.options)
    first: tuple[str, Path] | None = None
    for path in paths:
        for source in formats.sources(path):
            name = _guessed(source)
            if first is None:
                first = (name, path)
            elif name != first[0]:
                raise _mixed(split, first, (name, path))
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
    """The format of a file; if it cannot be recognised, the hint says how to name it in recipes and commands."""
    try:
        return formats.guess(source).name
    except FormatError as error:
        if "--" not in (error.hint or ""):
            raise
        hint = "name it: {path: PATH, format: NAME}, with options: {text: COLUMN, id: COLUMN} for a table; `biomux formats` lists all"
        raise FormatError(error.code, error.message, where=error.where, hint=hint) from None


def _label(format: FormatOf, paths: Sequence[Path], on_error: Callable[[FormatError], None]) -> str | None:
    """The column or key of a table with a usual name for classes."""
    if format.name not in ("csv", "tsv", "json"):
        return None
    for source in formats.sources(paths[0]):
        first = next(formats.read_source(source, format=format.name, on_error=on_error, **format.options), None)
        keys = {} if first is None or first.labels else {key.lower(): key for key in first.metadata}
        return next((keys[name] for name in _CLASSES if name in keys), None)
    return None


def _mixed(split: str, first: tuple[str, Path], second: tuple[str, Path]) -> CorpusError:
    if {first[0], second[0]} == {"brat", "text"}:
        bare = first[1] if first[0] == "text" else second[1]
        return CorpusError(
            "BX212",
            f"{bare} has no .ann file beside it",
            hint="an empty .ann file means that there are no entities; move texts without annotations elsewhere",
        )
    return CorpusError(
        "BX212",
        f"files of {split} have different formats: {first[1]} is {first[0]}, {second[1]} is {second[0]}",
        hint="name the files and their format: corpus: {train: FILES, format: NAME}",
    )


def _signature(path: Path) -> tuple[str, int, int]:
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns


@lru_cache(maxsize=64)
def _cuts(
    card_json: str,
    signature: tuple[tuple[str, int, int], ...],
    shares: tuple[tuple[str, float], ...],
    seed: int,
    on_error: Callable[[FormatError], None],
) -> dict[str, Split]:
    """Cuts that take exactly their share of the distinct texts. `signature` makes the cache read changed files again."""
    from biomux.corpora.corpus import Corpus

    del signature
    whole = Corpus(Card.model_validate_json(card_json), Path())
    places = sorted(
        {position(group_key(document, "text"), seed) for document in whole.documents("train", on_error=on_error)}
    )
    if not places:
        raise CorpusError(
            "BX211",
            "no documents could be read from the data",
            where=whole.card.title,
            hint="check that the files hold documents, and correct what else is reported",
        )
    sizes = [max(1, round(share * len(places))) for _, share in shares]
    if len(places) <= sum(sizes):
        amount = f"{len(places)} different texts" if len(places) > 1 else "one text"
        raise CorpusError(
            "BX211",
            f"cannot cut {' and '.join(name for name, _ in shares)}: the data have only {amount}",
            where=whole.card.title,
            hint="annotate more documents, or give files for these parts",
        )
    splits: dict[str, Split] = {}
    low, end = 0.0, 0
    for (name, _), number in zip(shares, sizes, strict=True):
        end += number
        high = (places[end - 1] + places[end]) / 2
        cut = CutSplit.model_validate({"from": "train", "fraction": high - low, "seed": seed, "group": "text"})
        splits[name] = Split(made=cut)
        low = high
    return splits


def _is_path(name: str) -> bool:
    """Whether a name is a path: it has a slash, a suffix or an asterisk, or begins with a dot or a tilde. Catalogue names have none of these."""
    return "/" in name or "\\" in name or name.startswith((".", "~")) or bool(PurePath(name).suffix) or "*" in name


def _name(data: OwnData) -> str:
    if data.name:
        return data.name
    path = data.path or (data.train if isinstance(data.train, str) else (data.train or ("data",))[0])
    parts = [part for part in PurePath(path).parts if not set(part) & set("*?") and _split_of((part,)) is None]
    last = parts[-1] if parts and parts[-1] not in ("/", ".", "..", "~") else Path.cwd().name if not parts else "data"
    stem = last if Path(path).is_dir() else last.removesuffix(".gz").partition(".")[0]
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "data"


def _plain(mistake: str) -> str:
    """A mistake without pydantic's names for the members of a union."""
    return re.sub(r" → (float|str|tuple\[[^:]*|constrained-[^:]*|function-[^:]*)(?=:)", "", mistake)
