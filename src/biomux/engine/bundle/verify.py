"""Does a bundle still answer as it did when it was made? Its own examples say: `examples.jsonl`, one document a line.

    {"id", "text", "spans": [{"start", "end", "type", "head", "score"}…], "logits": {head: [[…], …]}}

`spans` are what every tagger says on its own; `logits` the first rows of every head for the first sentence: of words, of the window, of the pair of
its first and last word, of where an answer may begin and end. Spans must be the same; numbers may differ by what processors differ by. Examples in which a decision is close are not stored, if there are enough others.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.document import Document
from biomux.engine import load, runtimes
from biomux.engine.bundle import checksums, reader
from biomux.engine.bundle.strict_json import Fields, parse
from biomux.engine.packing import pack
from biomux.engine.session import SessionAnswers
from biomux.errors import BiomuxError, BundleError
from biomux.tasks.examples import ModelInput
from biomux.text import sentences
from biomux.text import tokens as text_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.engine.annotator import Annotator

LOGITS_WITHIN = 0.05
SCORES_WITHIN = 0.02
WORDS_KEPT = 3
"""Words of an example whose logits are stored."""
CLEAR = 0.3
"""The least distance between the best two logits of a word for its decision to be clear."""
AT_LEAST = 3
MOST_EXAMPLES = 1000
LONGEST_TEXT = 100_000
TEXTS = (
    "Aspirin reduced fever in 12 of 30 patients, but caused gastric ulcers in two.",
    "Mutations of the BRCA1 gene were found in breast tumours of young women.",
    "Mice were given 5 mg/kg of cisplatin; their kidneys showed acute tubular necrosis after 3 days.",
    "HeLa cells were infected with Salmonella enterica and treated with ciprofloxacin.",
    "Phosphorylation of STAT3 by JAK2 was blocked in human T cells.",
    "The liver and spleen of Wistar rats were examined. No lesions were seen.",
    "Interleukin-6 levels rose in serum (p < 0.01), as did those of tumour necrosis factor alpha.",
    "Warfarin-induced bleeding in a 67-year-old man with atrial fibrillation: a case report.",
    "Saccharomyces cerevisiae strains lacking RAD52 are sensitive to ionizing radiation.",
    "This sentence names nothing of interest.",
)
"""Sentences that a bundle is asked at its export. Written for this purpose."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `error` is None where it is fine."""

    what: str
    said: str
    error: BiomuxError | None = None


def examples(annotator: Annotator, texts: Sequence[str] = TEXTS) -> bytes:
    """The content of examples.jsonl for an annotator."""
    candidates = []
    for number, text in enumerate(texts, 1):
        document = annotator_says(annotator, Document(f"example-{number}", text))
        logits = first_logits(annotator, document)
        candidates.append(
            (_margin(logits, annotator.heads), document, {head: rows[:WORDS_KEPT] for head, rows in logits.items()})
        )
    clearest = sorted((margin for margin, _, _ in candidates), reverse=True)[:AT_LEAST]
    clear = [candidate for candidate in candidates if candidate[0] >= min(CLEAR, clearest[-1])]
    return b"".join(_line(document, logits) for _, document, logits in clear)


def verify(folder: Path) -> Iterator[Check]:
    """Look at everything, one after the other; the iteration ends with the first thing that is wrong."""
    try:
        manifest = checksums.read_manifest(folder)
        yield Check(checksums.MANIFEST, f"{checksums.FORMAT} {checksums.VERSION}, written by Biomux {manifest.biomux}")
        for name in manifest.files:
            content = checksums.read_file(folder, name, manifest)
            yield Check(name, f"{len(content):,} bytes, as the manifest says")
        strange = checksums.unlisted(folder, manifest)
        if strange:
            raise BundleError(
                "BX519", f"{strange[0]!r} is not named in the manifest", where=str(folder), hint="remove it"
            )
        read = reader.read(folder)
        yield Check(
            "contents", f"{len(read.tasks)} heads, {len(read.merges)} plain types, windows of {read.limit} tokens"
        )
        annotator = load.annotator(read, runtime=runtimes.REFERENCE)
        yield Check("session", "opens")
        if "examples.jsonl" in manifest.files:
            number = _compare(
                annotator, checksums.read_file(folder, "examples.jsonl", manifest), str(folder / "examples.jsonl")
            )
            yield Check("examples", f"{number} answered as they should be")
        else:
            yield Check("examples", "none in the bundle")
    except BiomuxError as error:
        yield Check("error", error.code, error)


def annotator_says(annotator: Annotator, document: Document) -> Document:
    """The document with every tagger's own mentions, whatever they score."""
    if not annotator.heads:
        return document
    return next(iter(annotator.annotate([document], heads=annotator.heads, threshold=0)))


def first_logits(annotator: Annotator, document: Document) -> dict[str, NDArray[np.float32]]:
    """Every head's logits for a document's first window, as rows."""
    split = text_tokens.split(annotator.tokenizer, document.text, sentences.of(document)[:1])
    if not split or not len(split[0]):
        return {}
    window = split[0].window(0, annotator.limit) if len(split[0]) > annotator.limit else split[0]
    batch = next(pack([ModelInput(window)], specials=annotator.specials, budget=annotator.budget))
    answered = annotator.session.run(batch)
    rows_of: dict[str, NDArray[np.float32]] = {}
    for task in (*annotator.tasks, *annotator.asking):
        if task.unit == "pair" and isinstance(answered, SessionAnswers):
            ends = np.array([[0, 0, len(batch.first) - 1, len(batch.first) - 1]], dtype=np.int64)
            rows_of[task.name] = answered.pair_logits(task.name, ends[: len(batch.first)])
        else:
            rows = answered[task.name]
            rows_of[task.name] = rows.reshape(-1, rows.shape[-1])
    return rows_of


def _margin(logits: dict[str, NDArray[np.float32]], taggers: Sequence[str]) -> float:
    best = [np.sort(logits[head], axis=1) for head in taggers if len(logits.get(head, ()))]
    return min((float((rows[:, -1] - rows[:, -2]).min()) for rows in best), default=math.inf)


def _line(document: Document, logits: dict[str, NDArray[np.float32]]) -> bytes:
    spans = [
        {"start": span.start, "end": span.end, "type": span.type, "head": span.head, "score": span.score}
        for span in document.spans
    ]
    rows = {head: [[round(float(number), 5) for number in row] for row in values] for head, values in logits.items()}
    stored = {"id": document.id, "text": document.text, "spans": spans, "logits": rows}
    return json.dumps(stored, ensure_ascii=False).encode() + b"\n"


def _compare(annotator: Annotator, content: bytes, where: str) -> int:
    lines = content.splitlines()
    if len(lines) > MOST_EXAMPLES:
        raise BundleError("BX541", f"there are more than {MOST_EXAMPLES} examples", where=where, hint="fetch it again")
    for number, line in enumerate(lines, 1):
        place = f"{where}:{number}"
        example = Fields.of(parse(line, place), where=place, code="BX541")
        text = example.values.get("text")
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            example.refuse("'text' is no text")
        document = annotator_says(annotator, Document(example.text("id", longest=200), text))
        _compare_spans(example, document)
        _compare_logits(example, first_logits(annotator, document))
    return len(lines)


def _compare_spans(example: Fields, document: Document) -> None:
    stored: dict[tuple[int, int, str, str | None], float] = {}
    for value in example.several("spans", most=10_000):
        span = Fields.of(value, where=example.where, code="BX541")
        start, end = (span.whole(key, low=0, high=LONGEST_TEXT) for key in ("start", "end"))
        type_, head = (span.text(key, longest=200) for key in ("type", "head"))
        stored[start, end, type_, head] = span.number("score", low=0, high=1)
        span.end()
    actual = {(span.start, span.end, span.type, span.head): span.score or 0.0 for span in document.spans}
    for key in sorted({*stored, *actual}, key=repr):
        if key not in actual or key not in stored:
            fault = "is not found" if key in stored else "is found and should not be"
            example.refuse(f"{key[2]!r} at {key[0]}..{key[1]} by head {key[3]!r} {fault}")
        if abs(actual[key] - stored[key]) > SCORES_WITHIN:
            example.refuse(f"{key[2]!r} at {key[0]}..{key[1]} scores {actual[key]:.4f}, not {stored[key]:.4f}")


def _compare_logits(example: Fields, logits: dict[str, NDArray[np.float32]]) -> None:
    expected = example.object("logits")
    for head, rows in expected.entries(most=10_000, longest=200):
        actual = logits.get(head, np.zeros((0, 0), np.float32))[:WORDS_KEPT]
        try:
            wanted = np.asarray(rows, dtype=np.float64).reshape(actual.shape)
        except (TypeError, ValueError, OverflowError):
            expected.refuse(f"the logits of {head!r} are not of its shape")
        farthest = float(np.abs(wanted - actual).max()) if actual.size else 0.0
        if not farthest <= LOGITS_WITHIN:
            expected.refuse(
                f"the logits of {head!r} are {farthest:.3f} from what they were; at most {LOGITS_WITHIN} is fine"
            )
