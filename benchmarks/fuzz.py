"""Strange and large inputs through `biomux annotate`, each in a process of its own: right offsets or a clear error, in how long and how much memory.

    python -m benchmarks.fuzz [--bundle BUNDLE] [--megabytes 10] [--documents 100000] [--only sentences]

A case is right if every document comes back in order with its text as it was and every visible character read, or if it is told as failed where it must be. In
the line of sentences the same sentence stands in several places, and what is found in it must be the same everywhere. Memory is flat if a line or a number
of documents ten times as large needs little more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import invented
from biomux import formats
from biomux.annotate.bench import PROGRAM
from biomux.engine.coverage import gaps

SENTENCE = "Metformin lowers blood glucose in mice that lack SIRT3."

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Document

PLACES = 5
"""How often the sentence that must be found alike stands in a long line."""


@dataclass(frozen=True)
class Case:
    """An input: `write` makes it at a path; `texts` are what must come back; `fails` is the code of what must be told instead."""

    name: str
    suffix: str
    write: Callable[[Path], None]
    texts: Callable[[], Iterator[str]]
    fails: str | None = None
    alike: bool = False


def line_of_sentences(characters: int) -> str:
    """Invented sentences in one line, with SENTENCE at the beginning, at the end and between."""
    pieces = [SENTENCE]
    size, seed, stretch = 0, 0, characters // (PLACES - 1)
    while size < characters - stretch // 2:
        sentences = invented.abstract(seed).replace("\n", " ")
        pieces.append(sentences)
        if size // stretch != (size + len(sentences)) // stretch:
            pieces.append(SENTENCE)
        size += len(sentences) + 1
        seed += 1
    return " ".join([*pieces, SENTENCE])


def line_without_a_stop(characters: int) -> str:
    """Words in one line, and nowhere a place to cut it."""
    words = [word.strip(".,;:()") for seed in range(50) for word in invented.abstract(seed).split()]
    whole = " ".join(words)
    return (whole * (characters // len(whole) + 1))[:characters].strip()


def tiny(number: int) -> str:
    """One of very many very short texts, some of them empty."""
    return ("", "Fever.", "TP53 in mice", "\U0001f9ec", "aspirin 5 mg")[number % 5] + (
        "" if number % 5 < 2 else f" {number}"
    )


def of_text(name: str, text: str, *, alike: bool = False) -> Case:
    """A file of plain text, byte for byte."""
    return Case(name, ".txt", lambda path: _bytes(path, text.encode()), lambda: iter([text]), alike=alike)


def of_documents(name: str, number: int) -> Case:
    """JSON lines of tiny texts."""

    def write(path: Path) -> None:
        with path.open("wb") as stream:
            for index in range(number):
                stream.write(json.dumps({"biomux": 1, "id": str(index), "text": tiny(index)}).encode() + b"\n")

    return Case(name, ".jsonl", write, lambda: map(tiny, range(number)))


def cases(megabytes: float, documents: int) -> list[Case]:
    """All of them; the small ones first."""
    surrogate = b'{"biomux":1,"id":"1","text":"Fever."}\n{"biomux":1,"id":"2","text":"\\ud800"}\n{"biomux":1,"id":"3","text":"Aspirin."}\n'
    large = int(megabytes * 1e6)
    return [
        of_text("empty text", ""),
        of_text("blank text", " \n\t \n"),
        of_text("only emoji", "\U0001f9ec\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20_000),
        of_text("right to left", "\u05d0\u05e1\u05e4\u05d9\u05e8\u05d9\u05df aspirin \u0627\u0644\u0623\u0633\u0628\u0631\u064a\u0646. " * 2000),
        of_text("NULs", "\x00aspirin\x00 was given.\x00\x00 " * 2000),
        of_text("one word of 1 MB", "x" * 1_000_000),
        of_text("line ends of Windows", "Aspirin was given.\r\nFever fell in mice.\r\n" * 1000),
        Case("half a surrogate pair in JSON", ".jsonl", lambda path: _bytes(path, surrogate), lambda: iter(["Fever.", "Aspirin."]), "BX117"),
        Case("not UTF-8", ".txt", lambda path: _bytes(path, b"caf\xe9 aspirin"), lambda: iter([]), "BX111"),
        of_documents(f"{documents // 10:,} tiny documents", documents // 10),
        of_documents(f"{documents:,} tiny documents", documents),
        of_text(f"a line of {megabytes / 10:g} MB, sentences", line_of_sentences(large // 10), alike=True),
        of_text(f"a line of {megabytes:g} MB, sentences", line_of_sentences(large), alike=True),
        of_text(f"a line of {megabytes / 10:g} MB without a stop", line_without_a_stop(large // 10)),
        of_text(f"a line of {megabytes:g} MB without a stop", line_without_a_stop(large)),
    ]  # fmt: skip


def wrong(case: Case, output: Path, errors: Path) -> str | None:
    """What is wrong with the output, if anything."""
    texts = case.texts()
    for document in formats.read(output, format="jsonl"):
        if document.text != next(texts, None):
            return f"document {document.id!r} is not what was given"
        if gaps(document):
            return f"document {document.id!r} was not wholly read"
        if case.alike and (found := _differs(document)):
            return found
    if next(texts, None) is not None:
        return "documents are missing"
    told = [json.loads(line)["code"] for line in errors.read_bytes().splitlines()] if errors.exists() else []
    return None if told == ([case.fails] if case.fails else []) else f"told as failed: {told}"


def _differs(document: Document) -> str | None:
    """Whether SENTENCE has other entities in one place than in another."""
    answers, at = [], document.text.find(SENTENCE)
    while at >= 0:
        end = at + len(SENTENCE)
        inside = [one for one in document.spans if at <= one.start and one.end <= end]
        answers.append((at, {(one.start - at, one.end - at, one.type, one.score) for one in inside}))
        at = document.text.find(SENTENCE, end)
    if len(answers) < PLACES:
        return f"the sentence stands in {len(answers)} places only"
    other = [place for place, found in answers if found != answers[0][1]]
    return f"entities at {other[0]} are not those at 0" if other else None


def run(case: Case, folder: Path, options: list[str]) -> tuple[str, float, float | None]:
    """What came of it ("right" or what is wrong), seconds, and the peak of memory in MB."""
    source, output, told = folder / f"in{case.suffix}", folder / "out.jsonl", folder / "peak.json"
    case.write(source)
    arguments = [str(source), "-o", str(output), "--part-size", "1000000", *options]
    command = [sys.executable, "-c", PROGRAM, str(told), "annotate", *arguments]
    begun = time.perf_counter()
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - begun
    said = done.stderr.decode(errors="replace").strip().splitlines()
    if done.returncode != (3 if case.fails else 0):
        return f"exit code {done.returncode}: {said[-1] if said else ''}", seconds, None
    peak = json.loads(told.read_text())
    found = wrong(case, output, folder / "out.jsonl.errors.jsonl")
    return found or "right", seconds, None if peak is None else peak / 1e6


def main() -> None:
    """Run all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="else the one included")
    parser.add_argument("--megabytes", type=float, default=10.0, help="of the longest line")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", default="", help="only inputs with this in their name")
    asked = parser.parse_args()
    options = ["--bundle", asked.bundle] if asked.bundle else []
    options += ["--threads", str(asked.threads)] if asked.threads else []
    print("| input | result | seconds | peak MB |\n| --- | --- | ---: | ---: |", flush=True)
    failed = 0
    for case in cases(asked.megabytes, asked.documents):
        if asked.only not in case.name:
            continue
        with tempfile.TemporaryDirectory() as place:
            result, seconds, peak = run(case, Path(place), options)
        failed += result != "right"
        shown = ("told as failed: " + case.fails) if case.fails and result == "right" else result
        print(f"| {case.name} | {shown} | {seconds:.1f} | {'' if peak is None else f'{peak:.0f}'} |", flush=True)
    sys.exit(1 if failed else 0)


def _bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


if __name__ == "__main__":
    main()
