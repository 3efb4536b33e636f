"""The tokens of a text on disk, made once for all runs that read it with the same vocabulary, and read by memory map.

    PLACE/KEY/train.tokens      the tokens of all documents, one after the other, a separator after each
    PLACE/KEY/held-out.tokens   those of the held-out documents
    PLACE/KEY/about.json        how many documents and tokens there are; written last

A token is a number of two bytes, or of four if the vocabulary is larger; its highest bit says that a word begins with it. The key is a checksum of the text, the
vocabulary and what is held out. A window is as many tokens as an encoder reads at once: windows do not overlap, and only the last one is shorter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from tokenizers import models

from biomux.errors import TrainingError
from biomux.files import whole_file
from biomux.tasks.examples import Example, ModelInput
from biomux.text.tokens import SPACES, Tokens
from biomux.training.disk_cache import filling
from biomux.training.encoders.vocabulary import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.tasks.examples import Masking
    from biomux.training.plain_text import PlainText

FOLDER = ".text-tokens"
"""Where tokens are kept, beside the runs that read them."""
VERSION = 1
AT_ONCE = 1_000_000
"""How many characters are split into tokens at a time."""
LONGEST = 100_000
"""Maximum length of a text to split in one piece; a longer one is cut at a blank."""
SHARD = 65_536
"""How many windows are shuffled together: an epoch reads shard after shard, each once."""
SMALL = 1 << 15
"""The largest vocabulary that fits into two bytes together with the extra bit."""


@dataclass(frozen=True, slots=True)
class About:
    """The numbers of documents and tokens of a text."""

    documents: int
    tokens: int
    held_out_documents: int
    held_out_tokens: int
    empty: int
    small: bool


@dataclass(frozen=True, slots=True)
class TokenFile:
    """Tokens as they are on disk."""

    raw: NDArray[Any]

    def window(self, number: int, limit: int) -> Tokens:
        """The tokens of a window. Words have no characters here."""
        raw = self.raw[number * limit : (number + 1) * limit]
        top = 8 * raw.dtype.itemsize - 1
        first = np.flatnonzero(raw >> top).astype(np.int32)
        nowhere = np.zeros(len(first), dtype=np.int32)
        return Tokens((raw & ((1 << top) - 1)).astype(np.int32), first, nowhere, nowhere)


class Windows(Sequence[Example]):
    """The windows of a file as examples for the head `task`, each made on access."""

    def __init__(self, file: TokenFile, *, limit: int, task: str, masking: Masking) -> None:
        self._file, self._limit, self._task, self._masking = file, limit, task, masking

    def __len__(self) -> int:
        return -(-len(self._file.raw) // self._limit)

    @overload
    def __getitem__(self, place: int) -> Example: ...
    @overload
    def __getitem__(self, place: slice) -> list[Example]: ...
    def __getitem__(self, place: int | slice) -> Example | list[Example]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        model_input = ModelInput(self._file.window(place % len(self), self._limit))
        return Example(self._task, model_input, source=("", place), masking=self._masking)


class ShuffledBatches(Sequence[list[int]]):
    """The batches of an epoch: shards in an order decided by the seed, the windows of each shuffled. Only the current shard is in memory."""

    def __init__(self, windows: int, *, rows: int, seed: int, epoch: int, shard: int = SHARD) -> None:
        self._windows, self._rows, self._shard, self._seed = windows, rows, shard, [seed, epoch]
        self._order = np.random.default_rng(self._seed).permutation(-(-windows // shard))
        sizes = [self._size(int(shard_number)) for shard_number in self._order]
        self._ends = np.cumsum([-(-size // rows) for size in sizes])
        self._open: tuple[int, NDArray[np.int64]] = (-1, np.zeros(0, dtype=np.int64))

    def _size(self, shard: int) -> int:
        return min(self._shard, self._windows - shard * self._shard)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, place: int) -> list[int]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[int]]: ...
    def __getitem__(self, place: int | slice) -> list[int] | list[list[int]]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        at = int(np.searchsorted(self._ends, place, side="right"))
        shard, begin = int(self._order[at]), int(self._ends[at - 1]) if at else 0
        if self._open[0] != shard:
            mixed = np.random.default_rng([*self._seed, shard]).permutation(self._size(shard)) + shard * self._shard
            self._open = shard, mixed
        chosen: list[int] = self._open[1][(place - begin) * self._rows : (place - begin + 1) * self._rows].tolist()
        return chosen


def kept(
    text: PlainText,
    tokenizer: Tokenizer,
    *,
    place: Path,
    checksum: str,
    separator: int,
    seed: int,
    listen: Callable[[str], None],
) -> tuple[TokenFile, TokenFile, About]:
    """The tokens to train on and those held out: from disk, or made and kept."""
    held_out = text.held_out
    key = [VERSION, checksum, tokenizer.to_str(), separator, held_out if isinstance(held_out, float) else "files"]
    name = sha256(json.dumps([*key, seed if isinstance(held_out, float) and held_out else 0]).encode()).hexdigest()[:24]
    folder = place / name
    about = _about(folder)
    if about is None:
        with filling(
            folder,
            busy="another process is splitting this text into tokens",
            failure="cannot save the tokens of the text",
            listen=listen,
            hint="free some disk space, then start again",
        ):
            about = _about(folder) or _write(text, tokenizer, folder, separator, seed, listen)
    else:
        listen(f"reading {about.tokens:,} tokens of {about.documents:,} documents from {folder}")
    _check(text, about)
    return _mapped(folder / "train.tokens", about), _mapped(folder / "held-out.tokens", about), about


def _check(text: PlainText, about: About) -> None:
    """Refuse text without anything to train on, or without anything to score although some should be held out."""
    if not about.tokens:
        raise TrainingError(
            "BX550", "the text has no words to train on", where="text → files", hint="check the files and text.format"
        )
    if text.held_out and not about.held_out_tokens:
        number = about.documents
        raise TrainingError(
            "BX550",
            f"nothing was held out: the text has {number:,} document{'' if number == 1 else 's'}",
            where="text → held_out",
            hint="raise the share, set text.format to lines if each line is a document, or set text.held_out to 0",
        )


def _write(
    text: PlainText,
    tokenizer: Tokenizer,
    folder: Path,
    separator: int,
    seed: int,
    listen: Callable[[str], None],
) -> About:
    small = tokenizer.get_vocab_size() <= SMALL
    sample, stored, total = text.sample(on_hint=listen)
    ratio = sum(len(row) for row in _split(tokenizer, sample, separator, small)) / stored
    size = ratio * total * (2 if small else 4)
    listen(f"splitting {_bytes(total)} of files into tokens: about {_bytes(size)} in {folder}")
    documents = [0, 0]
    tokens = [0, 0]
    empty = 0
    with (
        whole_file(folder / "train.tokens") as train,
        whole_file(folder / "held-out.tokens") as held_out_file,
        train.open("wb") as ours,
        held_out_file.open("wb") as theirs,
    ):
        streams: tuple[BinaryIO, BinaryIO] = (ours, theirs)
        for group, always in ((text.documents(), False), (text.held_out_documents(), True)):
            for chunk in _chunks(group):
                for document, row in zip(chunk, _split(tokenizer, chunk, separator, small), strict=True):
                    if len(row) <= 1:
                        empty += 1
                        continue
                    side = int(always or text.is_held_out(document, seed))
                    streams[side].write(row.tobytes())
                    documents[side] += 1
                    tokens[side] += len(row)
    about = About(documents[0], tokens[0], documents[1], tokens[1], empty, small)
    with whole_file(folder / "about.json") as fresh:
        fresh.write_text(json.dumps(asdict(about), indent=2) + "\n")
    listen(f"{about.tokens:,} tokens of {about.documents:,} documents, and {about.held_out_tokens:,} held out")
    return about


def _split(tokenizer: Tokenizer, texts: Sequence[str], separator: int, small: bool) -> Iterator[NDArray[Any]]:
    """Each text's tokens as they are written, with the separator at the end; only the separator for a text without words."""
    kind: type[np.unsignedinteger[Any]] = np.uint16 if small else np.uint32
    top = 15 if small else 31
    parts = [list(_cut(SPACES.sub(" ", text))) for text in texts]
    begins = _beginnings(tokenizer)
    split = tokenizer.encode_batch if begins is None else tokenizer.encode_batch_fast
    encodings = iter(split([text_part for text_parts in parts for text_part in text_parts], add_special_tokens=False))
    for text_parts in parts:
        rows = []
        for _ in text_parts:
            encoding = next(encodings)
            ids = np.array(encoding.ids, dtype=np.uint32)
            if begins is not None:
                first = begins[ids]
            else:
                words = np.array(encoding.word_ids, dtype=np.int64)
                first = np.ones(len(ids), dtype=np.uint32)
                first[1:] = words[1:] != words[:-1]
            rows.append(ids | (first << top))
        yield np.concatenate([*rows, np.array([separator | 1 << top], dtype=np.uint32)]).astype(kind)


def _beginnings(tokenizer: Tokenizer) -> NDArray[np.uint32] | None:
    """For each token of a WordPiece vocabulary, whether a word begins with it; None for others, for which the tokenizer itself must tell, more slowly."""
    if not isinstance(tokenizer.model, models.WordPiece):
        return None
    return np.array([not token.startswith("##") for token in in_order(tokenizer)], dtype=np.uint32)


def _cut(text: str) -> Iterator[str]:
    """A text in parts that are not too long, cut at a blank if there is one."""
    begin = 0
    while len(text) - begin > LONGEST:
        end = text.rfind(" ", begin, begin + LONGEST) + 1 or begin + LONGEST
        yield text[begin:end]
        begin = end
    yield text[begin:]


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text) + 1
        if size >= AT_ONCE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _about(folder: Path) -> About | None:
    """What a folder holds; None if it is incomplete."""
    try:
        about = About(**json.loads((folder / "about.json").read_text()))
        width = 2 if about.small else 4
        sizes = [(folder / name).stat().st_size for name in ("train.tokens", "held-out.tokens")]
    except (OSError, ValueError, TypeError):
        return None
    return about if sizes == [about.tokens * width, about.held_out_tokens * width] else None


def _mapped(path: Path, about: About) -> TokenFile:
    kind = np.uint16 if about.small else np.uint32
    if not path.stat().st_size:  # an empty file cannot be mapped
        return TokenFile(np.zeros(0, dtype=kind))
    return TokenFile(np.memmap(path, dtype=kind, mode="r"))


def _bytes(number: float) -> str:
    """
    >>> _bytes(44_600_000), _bytes(900)
    ('44.6 MB', '900 bytes')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:,.0f} bytes"
