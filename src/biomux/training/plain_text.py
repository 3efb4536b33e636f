"""Plain text to pre-train on: the documents of files of any format, as a stream, and a checksum of their content."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from biomux import formats
from biomux.errors import FormatError, TrainingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from biomux.recipes.schema import TextFiles

SAMPLE = 500_000
"""How many characters of the first file are read to estimate the size of the whole."""


@dataclass(frozen=True)
class PlainText:
    """The text of a recipe. Documents are read again at each iteration; none is kept in memory."""

    settings: TextFiles

    def check(self) -> None:
        """Refuse a recipe without text before anything is made."""
        if not self.settings.files:
            raise TrainingError(
                "BX550",
                "there is no text to pre-train on",
                where="text → files",
                hint="name files or folders after the recipe, or in text.files",
            )
        for where in (*self.settings.files, *self._held_out_files):
            if where == "-":
                raise TrainingError(
                    "BX550",
                    "cannot read the text from standard input: it is read more than once",
                    where="text → files",
                    hint="write it to a file first",
                )
            if not any(True for _ in formats.files(where)):
                raise TrainingError("BX550", "no files found", where=where, hint="check the path")

    def __iter__(self) -> Iterator[str]:
        return self.documents()

    def documents(self) -> Iterator[str]:
        """The texts to train on and, if a share is held out, those of that share."""
        return islice(self._read(self.settings.files), self.settings.documents)

    def held_out_documents(self) -> Iterator[str]:
        """The texts of the files that are held out."""
        return self._read(self._held_out_files)

    def is_held_out(self, text: str, seed: int) -> bool:
        """Whether a text belongs to the held-out share. Only the text and the seed decide: one that occurs twice is never on both sides."""
        share = self.held_out
        if not isinstance(share, float) or not share:
            return False
        number = blake2b(text.encode(errors="replace"), digest_size=8, salt=seed.to_bytes(8, "little")).digest()
        return int.from_bytes(number, "little") < share * 2**64

    def checksum(self) -> str:
        """A checksum of all files, and of how they are read."""
        digest = sha256(self.settings.model_dump_json(exclude={"files", "held_out"}).encode())
        for group in (self.settings.files, self._held_out_files):
            digest.update(b"\0group\0")
            for where in group:
                for path in formats.files(where):
                    digest.update(f"{path.name}\0".encode())
                    with path.open("rb") as stream:
                        while data := stream.read(1 << 20):
                            digest.update(data)
        return digest.hexdigest()

    def sample(self, *, on_hint: Callable[[str], None] = lambda _: None) -> tuple[list[str], int, int]:
        """The first texts, the bytes that they take as stored, and the bytes of all files. `on_hint` is called if lines look like documents but are not read as such."""
        total = sum(formats.stored_size(path) for where in self.settings.files for path in formats.files(where))
        source = next(iter(formats.sources(self.settings.files[0])))
        opened: list[BinaryIO] = []

        def watched() -> BinaryIO:
            opened[:] = [source.open()]
            return opened[0]

        texts, size = [], 0
        reads = self._reads()
        reads.on_hint = lambda hint: on_hint(hint.replace("--from lines", "text.format=lines"))
        with _in_words_of_recipes():
            text_format = reads.format_of(source)
        options = reads.options_of(text_format, alone=False)
        for document in text_format.read(replace(source, open=watched), on_error=formats.stop, **options):
            texts.append(document.text)
            size += len(document.text)
            if size >= SAMPLE and opened and not opened[0].closed:
                return texts, max(1, formats.position(opened[0])), total
        return texts, max(1, source.size or total), total

    @property
    def _held_out_files(self) -> tuple[str, ...]:
        files = self.held_out
        return files if isinstance(files, tuple) else ()

    @property
    def held_out(self) -> float | tuple[str, ...]:
        """The share of the documents that is not trained on, or files of such documents; 0 for text with other purposes."""
        held_out_text: float | tuple[str, ...] = getattr(self.settings, "held_out", 0.0)
        return held_out_text

    def _reads(self) -> formats.ReadAs:
        return formats.ReadAs(self.settings.format, self.settings.options)

    def _read(self, files: Sequence[str]) -> Iterator[str]:
        """Each document's text, and the second text of a pair, if there is one."""
        reads = self._reads()
        for where in files:
            with _in_words_of_recipes():
                for document in reads.read(where):
                    yield document.text if document.pair is None else f"{document.text}\n\n{document.pair}"


@contextmanager
def _in_words_of_recipes() -> Iterator[None]:
    """Let errors name the recipe's setting instead of a command's option."""
    try:
        yield
    except FormatError as error:
        if "--from" not in (error.hint or ""):
            raise
        hint = (error.hint or "").replace("--from", "text.format")
        raise FormatError(error.code, error.message, where=error.where, hint=hint) from None
