"""Predictions in files, scored against gold in files."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from biomux.errors import ScoreError, UsageError
from biomux.evaluation.score_folder import column_writer, signed
from biomux.scoring.align import align
from biomux.scoring.score_sheet import Sheet
from biomux.scoring.signature import Checksum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from biomux.document import Document, Range
    from biomux.scoring.mapping import TypeMap
    from biomux.scoring.spans import Ranges


def score_files(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    name: str,
    types: TypeMap | None = None,
    negative: Iterable[str] = (),
    directed: bool = False,
    tokens: Ranges | None = None,
    examples: int = 5,
    folder: Path | None = None,
    tick: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The column of `scores.json` for two streams of documents; predictions and counts go to `folder`."""
    name = re.sub(r"[^\w.+~-]", "_", name).lstrip(".") or "gold"
    negative = tuple(negative)
    checksum = Checksum()
    sheet = Sheet(tokens=tokens, examples=examples, negative=negative, directed=directed)
    seen: tuple[set[str], set[str]] = (set(), set())
    with column_writer(folder, name) as writer:
        for left, right in align(*_same_names(checksum.watch(gold), predicted)):
            seen[0].update(span.type for span in left.spans)
            seen[1].update(span.type for span in right.spans)
            scored = (left, right) if types is None else (types.of_gold(left), types.of_predicted(right))
            row = sheet.add(*scored)
            if types is not None:
                sheet.left_out["relations (a map is of spans)"] += len(left.relations)
            writer.add(right if types is None else types.only(right), row)
            tick()
    if not sheet.documents:
        raise ScoreError("BX704", "there are no documents to score", hint="check what the two files hold")
    if types is not None:
        _must_meet(types, *seen)
    scores = sheet.to_json()
    facts = {"types": str(types)} if types else {}
    line = signed(
        scores,
        corpus=name,
        checksum=checksum.value,
        split="file",
        documents=checksum.documents,
        **facts,
        **({"negative": "+".join(negative)} if negative else {}),
        **({"direction": "numbered+named" if directed else "named"} if "relations" in scores else {}),
    )
    return {
        "name": name,
        "corpus": name,
        "split": "file",
        "cross": False,
        "map": str(types) if types else None,
        "checksum": checksum.value,
        "signature": line,
        **scores,
    }


def _same_names(
    gold: Iterable[Document], predicted: Iterable[Document]
) -> tuple[Iterator[Document], Iterator[Document]]:
    """Both sides, the predictions under gold's name where ids are a file's name and a number: gold.tsv has `gold:1`, mine.tsv `mine:1`."""
    left, right = iter(gold), iter(predicted)
    first, other = next(left, None), next(right, None)
    wanted, given = (_made_up(document.id) if document else None for document in (first, other))
    left = chain([first] if first else [], left)
    right = chain([other] if other else [], right)
    if wanted is None or given is None or wanted == given:
        return left, right
    return left, (
        replace(document, id=wanted + document.id[len(given) :]) if _made_up(document.id) == given else document
        for document in right
    )


def _made_up(id: str) -> str | None:
    name, colon, number = id.rpartition(":")
    return name if colon and number.isdecimal() else None


def _must_meet(types: TypeMap, gold: set[str], said: set[str]) -> None:
    """A map that names nothing of either side is a slip, not a score of zero."""
    if not (gold | said) or gold & set(types.gold) or said & {name.rpartition("/")[2] for name in types.said}:
        return
    there = " and ".join(
        f"{side} {', '.join(sorted(found)) or 'none'}"
        for side, found in (("gold has", gold), ("predictions have", said))
    )
    raise ScoreError(
        "BX704", f"neither side has a type of the map {str(types)!r}", hint=f"{there}; write GOLD=PREDICTED"
    )


def tokenizer_tokens(path: Path) -> Callable[[str], list[Range]]:
    """How a tokenizer.json cuts a text into tokens."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        raise UsageError(
            "BX002", f"cannot read the tokenizer: {error}", where=str(path), hint="name a tokenizer.json"
        ) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: [
        (start, end) for start, end in tokenizer.encode(text, add_special_tokens=False).offsets if start < end
    ]
