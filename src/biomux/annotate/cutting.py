"""Cutting the inputs into parts, and how far a run has come with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from biomux.annotate import input_stretches
from biomux.annotate.inputs import InputReader
from biomux.annotate.parts import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.annotate.input_stretches import ShareDone
    from biomux.annotate.inputs import Inputs, InputStretch
    from biomux.annotate.part_work import PartWork
    from biomux.annotate.parts import Failures, Part


def cut_inputs(
    inputs: Inputs,
    found: list[InputStretch],
    failures: Failures,
    work: PartWork,
    *,
    part_size: int,
    on_known: Callable[[InputStretch, ShareDone], None],
) -> Iterator[Part]:
    """The parts of all inputs, read in this process: as one stream if they have no stretches.

    A stretch that is wholly done is not read again, but told to `on_known`.
    """
    if not found:
        yield from cut(inputs.documents(), failures, characters=part_size, reached=lambda: inputs.done)
        return
    behind = 0
    for stretch in found:
        if (known := input_stretches.known(stretch, work)) is not None:
            inputs.add(known.read)
            on_known(stretch, known)
        else:
            reader = InputReader(reads=inputs.reads)
            number = 0
            for part in input_stretches.parts(stretch, reader, failures, part_size=part_size):
                number += 1
                yield replace(part, reached=behind + reader.done)
            input_stretches.note(stretch, work, number=number, read=reader.summary())
            inputs.add(reader.summary())
        behind += stretch.size


class Reached:
    """How far a run has come: stored bytes of the parts that are done, and of those that are being made by their share of characters."""

    def __init__(self, on_read: Callable[[float, int], None]) -> None:
        self._on_read = on_read
        self._cut = self._done = self._characters = 0
        self._bytes: dict[str, int] = {}
        self._share: dict[str, float] = {}

    def cut(self, part: Part) -> None:
        """A part begins where the one before it ended."""
        self._bytes[part.name], self._cut = part.reached - self._cut, part.reached

    def skip(self, stored: int) -> int:
        """Stored bytes that need not be read; those of all that are done."""
        self._cut += stored
        self._done += stored
        return self._done

    def read(self, part: Part, characters: int) -> None:
        """More characters of a part were read."""
        self._characters += characters
        self._share[part.name] = min(1.0, self._share.get(part.name, 0.0) + characters / max(1, part.characters))
        making = sum(self._bytes[name] * share for name, share in self._share.items())
        self._on_read(self._done + making, self._characters)

    def done(self, part: Part) -> int:
        """A part is done; the stored bytes of all that are."""
        self._share.pop(part.name, None)
        self._done += self._bytes.pop(part.name)
        return self._done
