"""Answers to a question: a list on a terminal, a table or JSON lines elsewhere.

1. BRCA1  0.97
   Mutations of BRCA1 were found in all patients.
   12345678, 13..18
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from biomux.cli.ui.render import visible, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from biomux.engine.questions import FoundAnswer

COLUMNS = ("document", "start", "end", "answer", "score", "sentence", "head")


def terminal(answers: Sequence[FoundAnswer]) -> None:
    """The best first, each with the sentence around it and its place."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    room = max(console.width - 3, 10)
    for number, answer in enumerate(answers, 1):
        first = True
        for line in _lines(answer.text, room):
            console.print(Text(f"{number}. " if first else "   ").append(line, style="bold"))
            first = False
        sentence = visible(answer.sentence).replace("\n", " ")
        begin, end = answer.start - answer.sentence_start, answer.end - answer.sentence_start
        for low, high in wrapped(sentence, room):
            shown = Text(f"   {sentence[low:high]}")
            shown.stylize("underline", max(begin, low) - low + 3, max(3, min(end, high) - low + 3))
            console.print(shown)
        for line in _lines(f"{answer.score:.2f}  {answer.document}, {answer.start}..{answer.end}", room):
            console.print(Text(f"   {line}", style="dim"))


def tsv(answers: Sequence[FoundAnswer]) -> bytes:
    """A row each, without quoting; signs that do not print are escapes."""
    from biomux.formats.entity_table import one_line

    rows = [COLUMNS, *map(_cells, answers)]
    return b"".join("\t".join(map(one_line, row)).encode("utf-8", "backslashreplace") + b"\n" for row in rows)


def csv(answers: Sequence[FoundAnswer]) -> bytes:
    """A row each, quoted where needed."""
    from biomux.formats._delimited import csv_line

    return b"".join(csv_line(row, row[0]) for row in (COLUMNS, *map(_cells, answers)))


def jsonl(answers: Sequence[FoundAnswer]) -> bytes:
    """An object a line."""
    import orjson

    return b"".join(orjson.dumps(asdict(answer), option=orjson.OPT_APPEND_NEWLINE) for answer in answers)


WRITTEN: dict[str, Callable[[Sequence[FoundAnswer]], bytes]] = {"tsv": tsv, "csv": csv, "jsonl": jsonl}


def _cells(answer: FoundAnswer) -> tuple[str, ...]:
    place = (answer.document, str(answer.start), str(answer.end))
    return (*place, answer.text, f"{answer.score:.4f}", answer.sentence, answer.head)


def _lines(text: str, room: int) -> list[str]:
    flat = visible(text).replace("\n", " ")
    return [flat[start:end] for start, end in wrapped(flat, room)]
