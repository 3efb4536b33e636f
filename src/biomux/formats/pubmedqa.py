"""PubMedQA: a question and an abstract without its conclusion, answered yes, no or maybe.

    {"21645374": {"QUESTION": "Do …?", "CONTEXTS": ["…", "…"], "LABELS": ["BACKGROUND", "RESULTS"], "final_decision": "yes", …}}

One document per member: the text is the contexts, one per line, each a passage named by its section; the pair is the question; the
label is the decision. All other fields go to `metadata` under their own names. `LONG_ANSWER` is the abstract's conclusion and
stays there: a model that reads it is cheating. If `test_ground_truth.json` is beside the file, its ids have `split: test` in
`metadata` and their answers must agree. That file gives no documents of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.document import Document, Label, Passage
from biomux.errors import FormatError
from biomux.formats._fields import build, field, of_kind, optional, strings
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join
from biomux.formats._json_array import MAX_ITEM, loads
from biomux.formats._json_object import members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "labels", "pair", "metadata"})
TEST = "test_ground_truth.json"

_OWN = ("QUESTION", "CONTEXTS", "LABELS", "final_decision")


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per question."""
    if source.plain_name == TEST:
        if source.companion("ori_pqal.json") is None:
            raise FormatError(
                "BX119", "the file of questions is missing", where=source.name, hint="put ori_pqal.json into the folder"
            )
        return
    test = _test_answers(source)
    for line, pmid, record in members(source, on_error=on_error):
        where = f"{source.name}:{line}"
        try:
            document = _document(pmid, record, test, where)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _test_answers(source: Source) -> dict[str, Any]:
    companion = source.companion(TEST)
    if companion is None:
        return {}
    with companion.open() as stream:
        return of_kind(loads(stream.read(MAX_ITEM), companion.name), dict, "the list of test answers", companion.name)


def _document(pmid: str, record: dict[str, Any], test: dict[str, Any], where: str) -> Document:
    question = field(record, "QUESTION", str, where)
    contexts = strings(record, "CONTEXTS", where)
    kinds = strings(record, "LABELS", where) if record.get("LABELS") is not None else ["context"] * len(contexts)
    if len(kinds) != len(contexts):
        raise FormatError(
            "BX113", f"there are {len(contexts)} contexts and {len(kinds)} LABELS", where=where, hint="make them equal"
        )
    decision = optional(record, "final_decision", str, where)
    metadata = {key: value for key, value in record.items() if key not in _OWN}
    if pmid in test:
        metadata["split"] = "test"
        if decision is not None and decision != test[pmid]:
            raise FormatError(
                "BX113",
                f"the decision is {decision!r}, but {TEST} says {test[pmid]!r}",
                where=where,
                hint="correct one",
            )
        decision = of_kind(test[pmid], str, f"the answer of {pmid!r} in {TEST}", where)
    text, ranges = join(contexts, "\n")
    passages = tuple(Passage(start, end, kind) for (start, end), kind in zip(ranges, kinds, strict=True))
    labels = (Label(decision),) if decision is not None else ()
    return build(where, pmid, text, passages=passages, pair=question, labels=labels, metadata=metadata)


def _sniff(name: str, head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and (name == TEST or (b'"QUESTION"' in head and b'"CONTEXTS"' in head))


FORMAT = Format(
    name="pubmedqa",
    title="PubMedQA JSON",
    suffixes=(".pubmedqa.json",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
