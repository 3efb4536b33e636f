"""Protocol buffers as bytes: a reader that knows a message only by a table of its fields, and refuses what the table does not name.

Nothing is copied: values of fields are numbers, or places in the file. Stricter than the format: a varint must be as short as it
can be, a field that is not repeated may stand once, groups are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from biomux.errors import BundleError

LONGEST_VARINT = 10
"""Bytes of a varint: ten hold 64 bits."""

Place = tuple[int, int]
"""Begin and end in the file."""

Kind = Literal["number", "numbers", "text", "message", "bytes", "fixed32"]
_WIRE: dict[Kind, int] = {"number": 0, "numbers": 0, "text": 2, "message": 2, "bytes": 2, "fixed32": 5}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message. With `refused` it may not be there at all: that is the error's code, and `name` what is refused."""

    name: str
    kind: Kind = "text"
    many: bool = False
    refused: str | None = None


Fields = dict[int, Field]


class Message:
    """The fields of one message: `numbers` by name, and `places` of everything else."""

    __slots__ = ("numbers", "places")

    def __init__(self) -> None:
        self.numbers: dict[str, list[int]] = {}
        self.places: dict[str, list[Place]] = {}

    def number(self, name: str) -> int:
        """The number of a field, 0 where it is not there."""
        values = self.numbers.get(name)
        return values[0] if values else 0

    def place(self, name: str) -> Place | None:
        """The place of a field that may stand once."""
        places = self.places.get(name)
        return places[0] if places else None


class ProtobufReader:
    """Reads messages of one file."""

    __slots__ = ("name", "view")

    def __init__(self, content: bytes, name: str) -> None:
        self.view = memoryview(content)
        self.name = name

    def message(self, place: Place, fields: Fields, what: str) -> Message:
        """The message at a place."""
        at, end = place
        view = self.view
        message = Message()
        while at < end:
            tag = view[at]
            at += 1
            if tag > 127:
                tag, at = self.varint(at - 1, end)
            number, wire = tag >> 3, tag & 7
            field = fields.get(number)
            if field is None:
                self.refuse("BX521", f"{what} has a field {number}, which is unknown")
            if field.refused is not None:
                self.refuse(field.refused, f"{what} has {field.name}")
            if wire == 0:
                value, at = self.varint(at, end)
                if _WIRE[field.kind] != 0:
                    self.refuse("BX520", f"the {field.name} of {what} is a number")
                values = message.numbers.setdefault(field.name, [])
                values.append(value)
                if len(values) > 1 and not field.many:
                    self.refuse("BX521", f"{what} has more than one {field.name}")
                continue
            if wire == 2:
                size, begin = self.varint(at, end)
                at = begin + size
            elif wire == 5:
                begin, at = at, at + 4
            else:
                self.refuse("BX520", f"{what} has a field of kind {wire}")
            if at > end:
                self.refuse("BX520", f"the {field.name} of {what} ends after its message")
            if field.kind == "numbers" and wire == 2:
                message.numbers.setdefault(field.name, []).extend(self._packed(begin, at))
                continue
            if _WIRE[field.kind] != wire:
                self.refuse("BX520", f"the {field.name} of {what} is not of its kind")
            places = message.places.setdefault(field.name, [])
            places.append((begin, at))
            if len(places) > 1 and not field.many:
                self.refuse("BX521", f"{what} has more than one {field.name}")
        return message

    def varint(self, at: int, end: int) -> tuple[int, int]:  # noqa: RET503
        """The number that begins at a place, and where it ends."""
        value = shift = 0
        for index in range(at, min(end, at + LONGEST_VARINT)):
            byte = self.view[index]
            value |= (byte & 127) << shift
            if byte < 128:
                if (byte == 0 and index > at) or value >> 64:
                    self.refuse("BX520", "a number is written longer than it is")
                return value, index + 1
            shift += 7
        self.refuse("BX520", "a number is cut short")

    def text(self, place: Place | None, *, longest: int) -> str:
        """The text at a place, "" for None."""
        if place is None:
            return ""
        if place[1] - place[0] > longest:
            self.refuse("BX529", f"a name has {place[1] - place[0]} bytes; at most {longest} are allowed")
        try:
            return str(self.view[place[0] : place[1]], "utf-8")
        except UnicodeDecodeError:
            self.refuse("BX520", "a name is not valid UTF-8")

    def _packed(self, at: int, end: int) -> list[int]:
        values = []
        while at < end:
            value, at = self.varint(at, end)
            values.append(value)
        return values

    def refuse(self, code: str, message: str) -> NoReturn:
        """Raise the error."""
        raise BundleError(code, message, where=self.name, hint="do not use this file; fetch the bundle again")
