"""A model scored on corpora: documents are annotated once, and every column takes what it needs."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from biomux.corpora import corpus
from biomux.corpora.seen import Unseen, text_keys
from biomux.errors import CorpusError, ScoreError
from biomux.evaluation.score_folder import column_writer, signed
from biomux.scoring.score_sheet import Sheet
from biomux.scoring.signature import Checksum
from biomux.text import words
from biomux.text.tokens import Splitter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from biomux.document import Document, Range
    from biomux.evaluation.columns import Column
    from biomux.evaluation.model_heads import EvaluatedHead, EvaluatedModel

SPLITS = ("train", "devel", "test")
"""The splits of a training corpus that must not contain a test document of another corpus."""

Known = tuple["Mapping[str, frozenset[int]]", "tuple[str, ...]"]
"""The keys of each training part, and the corpora that could not be read."""


def evaluate(
    model: EvaluatedModel,
    columns: Sequence[Column],
    heads: Sequence[EvaluatedHead],
    *,
    directory: str | Path | None = None,
    limit: int | None = None,
    examples: int = 5,
    keep_seen: bool = False,
    found_entities: bool = False,
    folder: Path | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[dict[str, Any]]:
    """The scores of each column, as in `scores.json`; predictions and counts go to `folder`.

    Documents of a corpus that no head was trained on are left out if a corpus that a head was trained on also has them, unless
    `keep_seen`. Heads that read entities (relations) are given the gold ones, or with `found_entities` those that the model finds. `tick` is called after each
    document.
    """
    training_keys: Known | None = None
    trained = tuple(dict.fromkeys(head.base for head in heads if head.base))
    trained_names = {head.called for head in heads}
    for group in _groups(columns):
        first = group[0]
        unseen: Unseen | None = None
        unread: tuple[str, ...] = ()
        documents = corpus.get(first.corpus, directory=directory).documents(first.split)
        if not keep_seen and first.called not in trained_names:
            training_keys = training_keys or training_text(trained, directory)
            unseen, unread = Unseen(training_keys[0]), training_keys[1]
            documents = unseen.of(documents)
        checksum = Checksum()
        gold = checksum.watch(islice(documents, limit))
        scores = _score(model, group, gold, folder, examples, tick, found_entities=found_entities)
        if not checksum.documents:
            raise ScoreError(
                "BX704",
                f"no document of {first.corpus!r}, split {first.split!r}, is left to score",
                hint="score another split, or keep documents of the training text with --keep-seen",
            )
        for column, (column_scores, facts) in zip(group, scores, strict=True):
            yield _described(column, column_scores, facts, checksum, unseen, unread, limit)


def training_text(names: Iterable[str], directory: str | Path | None) -> Known:
    """The keys of all text of these corpora, and those of them that are not in the corpora directory."""
    keys: dict[str, frozenset[int]] = {}
    unread: list[str] = []
    for name in names:
        try:
            loaded = corpus.get(name, directory=directory)
            for split in SPLITS:
                if split in loaded.splits:
                    keys[f"{name} {split}"] = text_keys(loaded.documents(split))
        except CorpusError:
            unread.append(name)
    return keys, tuple(unread)


def annotated(
    model: EvaluatedModel, documents: Iterable[Document], **chosen: Sequence[str] | None
) -> Iterator[tuple[Document, Document]]:
    """(gold, predicted) pairs. The model gets the documents without their annotations."""
    waiting: deque[Document] = deque()

    def bare() -> Iterator[Document]:
        for document in documents:
            waiting.append(document)
            yield replace(document, spans=(), relations=(), labels=())

    for predicted in model.annotate(bare(), **chosen):
        yield waiting.popleft(), predicted


def token_ranges(model: EvaluatedModel) -> Callable[[str], list[Range]] | None:
    """How the model cuts a text into tokens; None for one without a tokenizer."""
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None:
        return None
    if isinstance(tokenizer, Splitter):
        return words.split
    return lambda text: [
        (start, end) for start, end in tokenizer.encode(text, add_special_tokens=False).offsets if start < end
    ]


def _groups(columns: Sequence[Column]) -> list[list[Column]]:
    """Columns over the same documents, which are annotated together. Heads that find no spans are run one by one."""
    groups: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], list[Column]] = {}
    for column in columns:
        alone = () if column.tags else column.heads
        groups.setdefault((column.corpus, column.split, column.plain, alone), []).append(column)
    return list(groups.values())


Scored = tuple[dict[str, Any], dict[str, Any]]
"""The scores of a column as plain JSON, and what its signature says about them."""


def _score(
    model: EvaluatedModel,
    columns: Sequence[Column],
    documents: Iterable[Document],
    folder: Path | None,
    examples: int,
    tick: Callable[[], None],
    *,
    found_entities: bool,
) -> Sequence[Scored]:
    if not columns[0].tags:
        return [_score_head(model, columns[0], documents, folder, tick, found_entities=found_entities)]
    tokens = token_ranges(model)
    sheets = [Sheet(tokens=tokens, examples=examples) for _ in columns]
    if columns[0].plain:
        pairs = annotated(model, documents, types=columns[0].plain, tasks=("entities",))
    else:
        pairs = annotated(model, documents, heads=sorted({head for column in columns for head in column.heads}))
    with ExitStack() as stack:
        writers = [stack.enter_context(column_writer(folder, column.name)) for column in columns]
        for gold, predicted in pairs:
            gold = replace(gold, relations=(), labels=(), questions=())
            for column, sheet, writer in zip(columns, sheets, writers, strict=True):
                row = sheet.add(column.types.of_gold(gold), column.types.of_predicted(predicted))
                writer.add(column.types.only(predicted), row)
            tick()
    return [
        (sheet.to_json(), {"types": str(column.types)} if column.cross else {})
        for column, sheet in zip(columns, sheets, strict=True)
    ]


def _score_head(
    model: EvaluatedModel,
    column: Column,
    documents: Iterable[Document],
    folder: Path | None,
    tick: Callable[[], None],
    *,
    found_entities: bool,
) -> Scored:
    """Score a head that finds no spans by its task. It reads documents without its answers, as when training scores it."""
    task = next(task for task in model.asking if task.name == column.heads[0])
    gold: list[Document] = []
    predicted: list[Document] = []

    def bare() -> Iterator[Document]:
        for document in documents:
            gold.append(document)
            yield task.bare(document)

    end_to_end = found_entities and getattr(task, "reads_spans", False)
    if end_to_end:
        _must_find_entities(model, task)
        answered = model.annotate((replace(document, spans=()) for document in bare()), tasks=[task.name])
    else:
        answered = model.answer(bare(), heads=[task.name])
    for document in answered:
        predicted.append(document)
        tick()
    evaluation = task.evaluate(gold, predicted)
    if gold and not evaluation.scored:
        raise ScoreError(
            "BX704",
            f"{column.corpus!r}, split {column.split!r}, has nothing that head {task.name!r} answers",
            hint="score a corpus with classes, numbers, relations or questions of the kind that the head learned",
        )
    with column_writer(folder, column.name) as writer:
        for document, row in zip(predicted, evaluation.document_rows([document.id for document in gold]), strict=True):
            writer.add(document, row)
    stated = {**getattr(task, "facts", {}), **({"mentions": "found"} if end_to_end else {})}
    return {"documents": len(gold), **evaluation.to_json()}, {"kind": column.kind, "main": evaluation.main, **stated}


def _must_find_entities(model: EvaluatedModel, task: Any) -> None:
    reason = "the model has no head that finds entities" if not model.tasks else ""
    if getattr(task, "between", "mentions") == "concepts":
        reason = "the corpus links concepts, and entities that are found have no identifiers"
    if reason:
        raise ScoreError(
            "BX606",
            f"cannot score head {task.name!r} on entities that the model finds: {reason}",
            hint="leave out --found-entities",
        )


def _described(
    column: Column,
    scores: dict[str, Any],
    facts: dict[str, Any],
    checksum: Checksum,
    unseen: Unseen | None,
    unread: Sequence[str],
    limit: int | None,
) -> dict[str, Any]:
    if limit is not None:
        facts["limit"] = limit
    if unseen is not None:
        facts["removed"] = unseen.removed
    if unread:
        facts["unchecked"] = "+".join(unread)
    line = signed(
        scores,
        scheme=column.scheme,
        corpus=column.signed,
        checksum=checksum.value,
        split=column.split,
        documents=checksum.documents,
        heads="+".join(column.heads) or "plain",
        **facts,
    )
    return {
        "name": column.name,
        "corpus": column.corpus,
        "split": column.split,
        "heads": list(column.heads),
        "cross": column.cross,
        "map": str(column.types) or None,
        **({} if column.tags else {"kind": column.kind}),
        "checksum": checksum.value,
        "removed": None if unseen is None else {"documents": unseen.removed, "found_in": dict(unseen.by_part)},
        "unchecked": list(unread),
        "signature": line,
        **scores,
    }
