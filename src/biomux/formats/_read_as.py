"""How the sources of a command are read: the format and its options. Shared by every command that reads files."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from biomux import formats
from biomux.errors import FormatError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from biomux.document import Document
    from biomux.formats import Format, Source

HINT_BYTES = 1 << 16
"""How much of a plain text file is examined to tell whether its lines are documents."""
_NAMES = ("text", "id")


@dataclass
class ReadAs:
    """A format, or None to recognise that of each source; and options, as they were typed.

    `on_hint` gets, once, a hint that another format may suit a source better.
    """

    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    on_hint: Callable[[str], None] = lambda _: None
    _taken: set[str] = field(default_factory=set)
    _hinted: bool = False

    def format_of(self, source: Source) -> Format:
        """The format of a source; if columns are named, a format with columns."""
        if self.format:
            return formats.get(self.format)
        requested = [name for name in _NAMES if name in self.options]
        try:
            chosen = formats.guess(source)
        except FormatError:
            if with_columns := _with_columns(source) if requested else None:
                return with_columns
            raise
        if any(name not in option_names(chosen) for name in requested):
            chosen = _with_columns(source) or chosen
        if chosen.name == "text" and "by" not in self.options:
            self._hint(source)
        return chosen

    def options_of(self, found: Format, *, alone: bool = True) -> dict[str, object]:
        """The options as the format's reader expects them; one that it does not have is an error if the source is the only one (`alone`)."""
        names = option_names(found)
        relevant = {name: value for name, value in self.options.items() if alone or name in names}
        options = _values(found, relevant)
        self._taken.update(options)
        return options

    def taken(self) -> list[str]:
        """The options that were used by at least one format."""
        return sorted(self._taken)

    def take(self, names: Iterable[str]) -> None:
        """Count options as used, by another process that read with them."""
        self._taken.update(names)

    def not_taken(self) -> str | None:
        """An option that no format used; None if there is none."""
        return min(self.options.keys() - self._taken, default=None)

    def must_be_taken(self) -> None:
        """Raise an error if there is such an option."""
        if unused := self.not_taken():
            raise UsageError(
                "BX001", f"none of the formats that were read has an option {unused!r}", hint="leave it out"
            )

    def read(self, where: str) -> Iterator[Document]:
        """The documents of a path, as `formats.read` returns them."""
        stems = formats.UniqueStems([where])
        for source in map(stems.of, formats.sources(where, unique_members=True)):
            chosen = self.format_of(source)
            yield from chosen.read(source, on_error=formats.stop, **self.options_of(chosen, alone=False))

    def _hint(self, source: Source) -> None:
        from biomux.formats.text_lines import look_like_documents

        if self._hinted:
            return
        count = look_like_documents(source.head(HINT_BYTES) if source.size else source.head())
        if count:
            self._hinted = True
            self.on_hint(
                f"{source.name} is read as one document, but each of its lines looks like a document: "
                "--from lines reads one document per line"
            )


def option_pairs(options: list[str] | None) -> dict[str, str]:
    """Names and values of `-O NAME=VALUE`."""
    pairs = [option.partition("=") for option in options or ()]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise UsageError("BX001", f"option {name!r} needs a value", hint=f"write -O {name or 'NAME'}=VALUE")
    return {name: value for name, _, value in pairs}


def option_names(found: Format) -> dict[str, str]:
    """The options of a format's reader → the types of their values."""
    parameters = inspect.signature(found.read).parameters.items()
    return {
        name: str(parameter.annotation)
        for name, parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY and "Callable" not in str(parameter.annotation)
    }


def _values(format_: Format, options: Mapping[str, str]) -> dict[str, object]:
    """Convert to numbers, true or false where the reader expects it; else text."""
    names = option_names(format_)
    values: dict[str, object] = {}
    for name, value in options.items():
        if name not in names:
            hint = did_you_mean(name, names) if names else "it has no options"
            raise UsageError("BX001", f"format {format_.name!r} has no option {name!r}", hint=hint)
        kinds = names[name]
        if "bool" in kinds and value in ("true", "false"):
            values[name] = value == "true"
        elif "bool" in kinds and "str" not in kinds:
            raise UsageError("BX001", f"option {name!r} must be true or false, got {value!r}")
        elif "int" in kinds and value.isdecimal():
            values[name] = int(value)
        else:
            values[name] = value.replace("\\t", "\t")
    return values


def _with_columns(source: Source) -> Format | None:
    """The format with named columns that a source may have: JSON by its first character, tables by their suffix or first line."""
    head = source.head()
    name = source.plain_name.lower()
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return formats.get("json")
    if name.endswith((".csv", ".tsv", ".tab")):
        return formats.get("csv" if name.endswith(".csv") else "tsv")
    if name.endswith(".txt") or source.size is None:
        first = head.split(b"\n", 1)[0]
        return formats.get("tsv" if b"\t" in first else "csv") if b"\t" in first or b"," in first else None
    return None
