"""Sentence splitters side by side: exact cases, boundary F1 and speed, in one run.

    pip install pysbd blingfire syntok sentencex
    python benchmarks/sentences.py

Libraries that are not installed are left out and named. Accuracy is over `tests/text/hard_sentences.py`; speed is over the prose below,
six times a document (it is invented, and denser in stops than abstracts are), or over a file given with --text, one document a line.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Splitter = Callable[[str], list[str]]

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from text.hard_sentences import HELD_OUT, TUNED, parts  # noqa: E402

from biomux.text import sentences  # noqa: E402

PROSE = (
    "We cloned it in E. coli and measured 0.5 mg of p53 (Fig. 1A). The yield was high in all of the samples that were tested, e.g. liver and "
    "kidney. Smith et al. (2003) found no effect of the drug at 5 mg/kg i.v. Patients were watched for ten days, and none of them had fever. "
)


def biomux(text: str) -> list[str]:
    """The splitter of this package."""
    return [text[start:end] for start, end in sentences.split(text)]


def naive(text: str) -> list[str]:
    """A stop, white space, a capital or a digit; or an empty line."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z0-9])|\n\s*\n", text)


def libraries() -> dict[str, Callable[[Any], Splitter]]:
    """Module → how its splitter is made."""

    def pysbd(module: Any) -> Splitter:
        segmenter = module.Segmenter(language="en", clean=False)
        return lambda text: list(segmenter.segment(text))

    def blingfire(module: Any) -> Splitter:
        return lambda text: _slices(text, module.text_to_sentences_and_offsets(text)[1])

    def syntok(module: Any) -> Splitter:
        def split(text: str) -> list[str]:
            return [
                text[sentence[0].offset : sentence[-1].offset + len(sentence[-1].value)]
                for paragraph in module.analyze(text)
                for sentence in paragraph
            ]

        return split

    def sentencex(module: Any) -> Splitter:
        return lambda text: list(module.segment("en", text))

    return {"pysbd": pysbd, "blingfire": blingfire, "syntok.segmenter": syntok, "sentencex": sentencex}


def _slices(text: str, offsets: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in offsets]


def boundaries(found: list[str]) -> set[int]:
    """The inner ends of sentences, counted in visible characters, so that white space on either side does not matter."""
    ends, position = set[int](), 0
    for sentence in found:
        position += len("".join(sentence.split()))
        ends.add(position)
    return ends - {position, 0}


def accuracy(split: Splitter, cases: tuple[str, ...]) -> tuple[float, float]:
    """Share of cases split exactly, and F1 over inner boundaries."""
    exact = hits = said = true = 0
    for case in cases:
        text, expected = parts(case)
        got, gold = boundaries(split(text)), boundaries(expected)
        exact += got == gold
        hits, said, true = hits + len(got & gold), said + len(got), true + len(gold)
    return exact / len(cases), 2 * hits / (said + true)


def speed(split: Splitter, documents: list[str]) -> float:
    """Megabytes a second of CPU time, the best of three; slow splitters get fewer documents."""
    count, best = 10, 0.0
    while True:
        sample = documents[:count]
        start = time.process_time()
        for document in sample:
            split(document)
        if time.process_time() - start > 0.2 or count >= len(documents):
            break
        count *= 3
    size = sum(len(document.encode("utf-8", "surrogatepass")) for document in sample)
    for _ in range(3):
        start = time.process_time()
        for document in sample:
            split(document)
        best = max(best, size / (time.process_time() - start) / 1e6)
    return best


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="a UTF-8 file to measure speed on, one document a line")
    arguments = parser.parse_args()
    documents = arguments.text.read_text(encoding="utf-8").splitlines() if arguments.text else [PROSE * 6] * 3000
    splitters: dict[str, Splitter] = {"Biomux": biomux, "naive regex": naive}
    missing = []
    for name, make in libraries().items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            missing.append(name)
        else:
            splitters[name.partition(".")[0]] = make(module)
    print(
        f"Python {platform.python_version()}, {platform.machine()}; {len(TUNED)} tuned and {len(HELD_OUT)} held-out cases\n"
    )
    print("| splitter | tuned: exact | F1 | held-out: exact | F1 | MB/s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, split in splitters.items():
        (exact, f1), (held, held_f1) = accuracy(split, TUNED), accuracy(split, HELD_OUT)
        print(
            f"| {name} | {exact:.1%} | {f1:.1%} | {held:.1%} | {held_f1:.1%} | {speed(split, documents):.2f} |",
            flush=True,
        )
    if missing:
        print(f"\nNot installed: {', '.join(missing)}")


if __name__ == "__main__":
    main()
