"""Errors that a user can cause. Each is one sentence: what went wrong, where, and what to do about it.

    BiomuxError
    ├── UsageError       the command line or a call asks for something that cannot be (BX0xx)
    │   └── UnreadableError  the system does not give out a file or folder (BX002)
    ├── DocumentError    a document contradicts itself (BX10x)
    ├── FormatError      bytes that a format cannot read, or a document that it cannot write (BX11x-BX19x)
    ├── CorpusError      a corpus is missing, incomplete or not what its card says (BX2xx)
    ├── RecipeError      a recipe has an unknown key or a bad value (BX3xx)
    ├── TrainingError    a run cannot start or cannot go on (BX4xx)
    ├── BundleError      a bundle is damaged, hostile or of another version (BX5xx)
    ├── AnnotateError    documents cannot be annotated as asked (BX6xx)
    ├── ScoreError       gold and predictions do not fit together (BX7xx)
    └── ServeError       the service cannot start, or cannot take a request (BX8xx)

The command prints the sentence with the address of the code's entry in docs/reference/errors.md, and exits with 2. The codes are in
`biomux.error_codes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.error_codes import CODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_LISTED = 40
"""Known names that a hint lists at most."""

__all__ = [
    "CODES",
    "AnnotateError",
    "BiomuxError",
    "BundleError",
    "CorpusError",
    "DocumentError",
    "FormatError",
    "RecipeError",
    "ScoreError",
    "ServeError",
    "TrainingError",
    "UnreadableError",
    "UsageError",
    "did_you_mean",
    "nearest",
]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that an unknown one was probably meant to be, whatever its case; None if none is close.

    >>> nearest("Bc5_cdr", ["bc5cdr", "jnlpba"])
    'bc5cdr'
    """
    from difflib import get_close_matches  # here: only an error needs it

    plain: dict[str, str] = {}
    for one in known:
        plain.setdefault(_plain(one), one)
    close = get_close_matches(_plain(name), plain, n=1, cutoff=0.5)
    return plain[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str | None = None) -> str:
    """The hint of an error about an unknown name: the nearest known one, and what else there is.

    `otherwise` takes the place of the list, where that would be long.

    >>> did_you_mean("gen", ["gene", "disease"])
    "did you mean 'gene'? choose from: gene, disease"
    """
    known = list(known)
    meant = nearest(name, known)
    rest = otherwise if otherwise is not None else f"choose from: {_listed(known)}" if known else "there are none"
    return f"did you mean {meant!r}? {rest}".strip() if meant else rest


def _listed(known: Sequence[str]) -> str:
    if len(known) <= MOST_LISTED:
        return ", ".join(known)
    return f"{', '.join(known[:MOST_LISTED])} and {len(known) - MOST_LISTED} more"


def _plain(name: str) -> str:
    return str(name).lower().replace("_", "-")


class BiomuxError(Exception):
    """The base of every error that a user can cause.

    >>> print(UsageError("BX001", "unknown type 'gen'", hint="did you mean 'gene'?"))
    BX001: unknown type 'gen'; did you mean 'gene'?
    """

    def __init__(self, code: str, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        if code not in CODES:
            raise KeyError(code)
        super().__init__(code, message, where, hint)
        self.code = code
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        way_out = f"; {self.hint}" if self.hint else ""
        return f"{self.code}: {place}{self.message}{way_out}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.message, self.where, self.hint)


def _rebuild(kind: type[BiomuxError], code: str, message: str, where: str | None, hint: str | None) -> BiomuxError:
    return kind(code, message, where=where, hint=hint)


class UsageError(BiomuxError):
    """The command line or a call asks for something that cannot be."""


class UnreadableError(UsageError):
    """The system does not give out a file or folder: one among several, so the others can be read."""


class DocumentError(BiomuxError):
    """A document contradicts itself."""


class FormatError(BiomuxError):
    """Bytes that a format cannot read, or a document that it cannot write."""


class CorpusError(BiomuxError):
    """A corpus is missing, incomplete or not what its card says."""


class RecipeError(BiomuxError):
    """A recipe has an unknown key or a bad value."""


class TrainingError(BiomuxError):
    """A run cannot start or cannot go on."""


class BundleError(BiomuxError):
    """A bundle is damaged, hostile or of another version."""


class AnnotateError(BiomuxError):
    """Documents cannot be annotated as asked."""


class ScoreError(BiomuxError):
    """Gold and predictions do not fit together."""


class ServeError(BiomuxError):
    """The service cannot start, or cannot take a request."""
