"""How fast each format is read and written, beside a plain pass over the same bytes in the same run.

    python benchmarks/formats.py                        # all formats, 2,000 documents each
    python benchmarks/formats.py jsonl medline --documents 20000
    python benchmarks/formats.py --gigabyte                 # memory while 1 GB of each is written and read

The documents are made here from a seed. A plain pass is what reading costs before any document is made: `json.loads` of each
line or of the file, lxml's `iterparse` with freed elements, or a loop over lines; it is chosen by what the format writes. The best of
`--repeat` runs counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux import formats
from biomux.document import Answer, Document, Label, Passage, Question, Span
from biomux.errors import BiomuxError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from biomux.formats import Format

clock = time.perf_counter
GIGABYTE = 10**9
WORDS = [
    "the",
    "of",
    "and",
    "in",
    "to",
    "with",
    "a",
    "was",
    "were",
    "by",
    "for",
    "TP53",
    "MDM2",
    "aspirin",
    "p53",
    "tumour",
    "expression",
    "patients",
    "cells",
    "α-synuclein",
    "binding",
    "inhibited",
    "mice",
    "kinase",
    "increased",
    "levels",
    "protein",
    "after",
    "treatment",
    "(5",
    "mg/kg)",
    "significantly",
    "β-catenin",
    "HeLa",
    "ulcers,",
    "dose-dependent.",
]
TYPES = ("gene", "chemical", "disease", "cell line")


def documents(count: int, *, seed: int = 0) -> Iterator[Document]:
    """Invented abstracts of about 200 words, with a title, sentences and some twenty spans, as an annotator leaves them."""
    noise = random.Random(seed)
    for number in range(count):
        title = " ".join(noise.choices(WORDS, k=12))
        sentences = [title] + [" ".join(noise.choices(WORDS, k=20)) for _ in range(9)]
        body = " ".join(sentences[1:])
        text = f"{title}\n{body}"
        yield Document(
            str(30_000_000 + number),
            text,
            passages=(Passage(0, len(title), "title"), Passage(len(title) + 1, len(text), "abstract")),
            sentences=tuple(_places(sentences)),
            spans=tuple(_spans(text, noise)),
        )


def _places(parts: list[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for part in parts:
        yield at, at + len(part)
        at += len(part) + 1


def _spans(text: str, noise: random.Random) -> Iterator[Span]:
    at = 0
    for word in text.split():
        at = text.index(word, at)
        if noise.random() < 0.1:
            yield Span(at, at + len(word), noise.choice(TYPES), score=round(noise.random(), 4), head="bench")
        at += len(word)


def on_one_line(document: Document) -> Document:
    """The same without its title's line end and passages: for tables."""
    return replace(document, text=document.text.replace("\n", " "), passages=())


def as_pair(document: Document) -> Document:
    """With a second text and a label: for pair tasks."""
    plain = replace(on_one_line(document), spans=(), sentences=None)
    return replace(plain, pair=document.text[:80].replace("\n", " "), labels=(Label("entailment"),))


def as_question(document: Document) -> Document:
    """With a question that a word of the text answers."""
    span = document.spans[0] if document.spans else Span(0, 4, "gene")
    answer = Answer(document.text[span.start : span.end], span.start, span.end)
    question = Question(document.id, "Which one was it?", (answer,))
    return replace(document, spans=(), sentences=None, passages=(), questions=(question,))


Shape = Callable[[Document], Document]
SHAPES: tuple[Shape, ...] = (lambda document: document, on_one_line, as_pair, as_question)
"""What documents may be made into, until a format takes them."""


def shape_for(chosen: Format) -> Shape:
    """The first shape that the format can hold."""
    few = list(documents(3))
    for shape in SHAPES:
        with contextlib.suppress(BiomuxError), tempfile.TemporaryDirectory() as scratch:
            write_files(chosen, [shape(document) for document in few], Path(scratch))
            return shape
    return SHAPES[0]


def write_files(chosen: Format, made: Iterable[Document], folder: Path) -> tuple[Path, float]:
    """The documents in that format under a new name, and the seconds that took."""
    suffix = chosen.suffixes[0] if chosen.suffixes else ""
    path = folder / (f"bench{suffix}" if chosen.write is not None else f"bench-{chosen.name}")
    start = clock()
    formats.write(made, path, format=chosen.name, on_loss=formats.ignore)
    return path, clock() - start


def read_files(chosen: Format, path: Path, **options: Any) -> int:
    """How many documents the format's reader gives."""
    return sum(
        1
        for source in formats.sources(path)
        if path.is_file() or chosen.sniff(source.plain_name, source.head())
        for _ in chosen.read(source, on_error=formats.stop, **options)
    )


def plain_pass(path: Path) -> tuple[str, Callable[[], object]]:
    """What to compare with, by what the bytes are."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    head = files[0].open("rb").read(1).lstrip() if files else b""
    if path.suffix == ".jsonl":
        return "json.loads", lambda: [_json_lines(file) for file in files]
    if path.suffix == ".parquet":
        return "bytes", lambda: [len(file.read_bytes()) for file in files]
    if head == b"<":
        return "lxml", lambda: [_lxml(file) for file in files]
    if head in (b"{", b"[") and path.suffix == ".json":
        return "json.loads", lambda: [len(json.loads(file.read_bytes())) for file in files]
    return "lines", lambda: [_lines(file) for file in files]


def _json_lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(1 for line in stream if json.loads(line))


def _lxml(path: Path) -> int:
    from lxml import etree

    count = 0
    for _, element in etree.iterparse(str(path), resolve_entities=False, no_network=True, load_dtd=False):
        count += 1
        element.clear()
    return count


def _lines(path: Path) -> int:
    with path.open(encoding="utf-8", newline="\n") as stream:
        return sum(len(line) for line in stream)


def best(run: Callable[[], object], repeat: int) -> float:
    """Seconds of the fastest run."""
    times = []
    for _ in range(repeat):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def row(name: str, made: list[Document], folder: Path, repeat: int) -> str:
    """One line of the table."""
    chosen = formats.get(name)
    shape = shape_for(chosen)
    made = [shape(document) for document in made]
    try:
        path, seconds = write_files(chosen, made, folder)
        for _ in range(repeat - 1):
            seconds = min(seconds, write_files(chosen, made, Path(tempfile.mkdtemp(dir=folder)))[1])
        count = read_files(chosen, path)
        reading = best(lambda: read_files(chosen, path), repeat)
        against, plain = plain_pass(path)
        passing = best(plain, repeat)
    except BiomuxError as error:
        return f"| {name} | – | – | – | – | – | – | {error.code}: {error.message} |"
    size = size_of(path) / 1e6
    note = against if count == len(made) else f"{against}; {count} documents read"
    return (
        f"| {name} | {size:.1f} | {count / reading:,.0f} | {size / reading:.1f} | {len(made) / seconds:,.0f} | {size / seconds:.1f} "
        f"| {size / passing:.1f} | {note} |"
    )


def table(names: list[str], count: int, repeat: int) -> None:
    """The Markdown table of all formats."""
    made = list(documents(count))
    print(
        f"{count:,} documents, best of {repeat}, {'processor' if clock is time.process_time else 'wall'} time; {machine()}\n"
    )
    print("| format | MB | read doc/s | read MB/s | write doc/s | write MB/s | plain pass MB/s | plain pass |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            folder = Path(scratch, name)
            folder.mkdir()
            print(row(name, made, folder, repeat), flush=True)


def machine() -> str:
    """Where and with what this was measured."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"Python {platform.python_version()}, {platform.machine()} {platform.system()}, commit {commit or 'unknown'}"


def gigabyte(names: list[str], size: int) -> None:
    """Memory while `size` bytes are written and read: in a process of their own, beside one with a hundredth of them."""
    print(
        "| format | MB | files | peak MB, a hundredth | peak MB, all | of it after writing | seconds to write | to read |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in names:
        small, large = (_in_process(name, part) for part in (size // 100, size))
        print(
            f"| {name} | {large['size'] / 1e6:,.0f} | {large['files']:,} | {small['peak']:.0f} | {large['peak']:.0f} "
            f"| {large['writing']:.0f} | {large['write seconds']:.0f} | {large['read seconds']:.0f} |",
            flush=True,
        )


def _in_process(name: str, size: int) -> dict[str, Any]:
    command = [sys.executable, __file__, name, "--child", str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


POOL = 1000
"""Documents that are made for a large file; it repeats them under new ids, since making each anew takes longer than reading it."""


def endless(shape: Shape, count: int) -> Iterator[Document]:
    """Documents in one shape, each with an id of its own."""
    pool = list(documents(min(count, POOL)))
    for number in range(count):
        yield shape(replace(pool[number % len(pool)], id=str(30_000_000 + number)))


def child(name: str, size: int) -> None:
    """Writes about `size` bytes from a generator, reads them, and prints the peaks of memory after each."""
    chosen = formats.get(name)
    shape = shape_for(chosen)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "few").mkdir()
        few, _ = write_files(chosen, endless(shape, POOL), Path(scratch, "few"))
        count = max(1, size * POOL // size_of(few))
        start = clock()
        path = _lines_of_text(endless(shape, count), Path(scratch)) if name == "text" else None
        if path is None:
            path, _ = write_files(chosen, endless(shape, count), Path(scratch))
        middle, writing = clock(), _peak()
        read = read_files(chosen, path, **({"by": "line"} if name == "text" else {}))
        end, peak = clock(), _peak()
        if read != count:
            raise SystemExit(f"{name}: wrote {count} documents and read {read}")
        told = {
            "size": size_of(path),
            "files": 1 if path.is_file() else sum(file.is_file() for file in path.rglob("*")),
            "writing": writing,
            "peak": peak,
            "write seconds": middle - start,
            "read seconds": end - middle,
        }
        print(json.dumps(told))


def _lines_of_text(made: Iterable[Document], folder: Path) -> Path:
    """One file with a document a line: the format itself writes a file for each."""
    path = folder / "large.txt"
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(on_one_line(document).text + "\n" for document in made)
    return path


def _peak() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="formats; all that can be written if none is named")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--gigabyte", action="store_true", help="measure memory on 1 GB of each format in place of speed"
    )
    parser.add_argument("--size", type=int, default=GIGABYTE, help="bytes for --gigabyte")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--cpu", action="store_true", help="count processor time: for a machine that is busy with other things"
    )
    chosen = parser.parse_args()
    if chosen.cpu:
        global clock
        clock = time.process_time
    names = chosen.names or [name for name in formats.FORMATS if formats.get(name).writable]
    if chosen.child is not None:
        child(names[0], chosen.child)
    elif chosen.gigabyte:
        gigabyte(names, chosen.size)
    else:
        table(names, chosen.documents, chosen.repeat)


if __name__ == "__main__":
    main()
