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
    types_seen: tuple[set[str], set[str]] = (set(), set())
    with column_writer(folder, name) as writer:
        for gold_document, predicted_document in align(*_same_names(checksum.watch(gold), predicted)):
            types_seen[0].update(span.type for span in gold_document.spans)
            types_seen[1].update(span.type for span in predicted_document.spans)
            scored = (
                (gold_document, predicted_document)
                if types is None
                else (types.of_gold(gold_document), types.of_predicted(predicted_document))
            )
            row = sheet.add(*scored)
            if types is not None:
                sheet.left_out["relations (a map is of spans)"] += len(gold_document.relations)
            writer.add(predicted_document if types is None else types.only(predicted_document), row)
            tick()
    if not sheet.documents:
        raise ScoreError("BX704", "there are no documents to score", hint="check what the two files hold")
    if types is not None:
        _must_meet(types, *types_seen)
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
    """Both sides. Where ids are a file's name and a number (`gold:1` in gold.tsv, `mine:1` in mine.tsv), predictions get the name of the gold file."""
    gold_documents, predicted_documents = iter(gold), iter(predicted)
    first_gold, first_predicted = next(gold_documents, None), next(predicted_documents, None)
    gold_prefix, predicted_prefix = (
        _made_up(document.id) if document else None for document in (first_gold, first_predicted)
    )
    gold_documents = chain([first_gold] if first_gold else [], gold_documents)
    predicted_documents = chain([first_predicted] if first_predicted else [], predicted_documents)
    if gold_prefix is None or predicted_prefix is None or gold_prefix == predicted_prefix:
        return gold_documents, predicted_documents
    return gold_documents, (
        replace(document, id=gold_prefix + document.id[len(predicted_prefix) :])
        if _made_up(document.id) == predicted_prefix
        else document
        for document in predicted_documents
    )


def _made_up(id: str) -> str | None:
    name, colon, number = id.rpartition(":")
    return name if colon and number.isdecimal() else None


def _must_meet(types: TypeMap, gold: set[str], predicted: set[str]) -> None:
    """Refuse a map that names no type of either side: it is a mistake, not a score of zero."""
    if not (gold | predicted) or gold & set(types.gold) or predicted & {name.rpartition("/")[2] for name in types.said}:
        return
    present = " and ".join(
        f"{side} {', '.join(sorted(names)) or 'none'}"
        for side, names in (("gold has", gold), ("predictions have", predicted))
    )
    raise ScoreError(
        "BX704", f"neither side has a type of the map {str(types)!r}", hint=f"{present}; write GOLD=PREDICTED"
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
