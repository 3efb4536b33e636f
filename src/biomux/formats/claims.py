"""Claims checked against abstracts: SciFact, and HealthVer and CovidFact in the form of MultiVerS.

    claims_train.jsonl   {"id": 2, "claim": "…", "cited_doc_ids": [13], "evidence": {"13": [{"sentences": [4], "label": "SUPPORT"}]}}
    corpus.jsonl         {"doc_id": 13, "title": "…", "abstract": ["sentence", …], "structured": false}

Read it from a claims file, with `corpus.jsonl` beside it, whose lines are looked up by id while the claims are read. One document per pair of
claim and abstract, named `<claim>:<doc>`: the text is the abstract, its sentences joined by a space; the pair is the claim; the
label is SUPPORT, CONTRADICT, or `none` for an abstract that is named but has no evidence. Sentences of a rationale have a label `rationale` at their
place; which of them belong together is in `metadata["rationales"]`. `cited_doc_ids` and `doc_ids` mean the same. An abstract that a claim names
twice (as in one case in SciFact) gives two documents, the second named `<claim>:<doc>:2`.

A claim that names no abstract (SciFact's test set) is a document with an empty text, the claim as its pair, and no label, named `<claim>`.
`corpus.jsonl` gives no documents of its own, unless it is read with `abstracts=True`: then each abstract is one, without a pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats._fields import build, field, integers, name_of, optional, strings
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join
from biomux.formats._json_array import loads
from biomux.formats._source import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

CORPUS = "corpus.jsonl"
HOLDS: frozenset[Feature] = frozenset({"sentences", "labels", "pair", "metadata"})
NONE = "none"
RATIONALE = "rationale"


def read(
    source: Source, *, on_error: Callable[[FormatError], None] = stop, abstracts: bool = False
) -> Iterator[Document]:
    """One document per pair of claim and abstract."""
    if source.plain_name == CORPUS:
        if abstracts:
            for where, record in _records(source, on_error):
                try:
                    name, document = _abstract(record, where)
                except FormatError as error:
                    on_error(error)
                    continue
                yield build(where, name, document.text, sentences=document.sentences, metadata=document.metadata)
        return
    corpus: dict[str, Document] | None = None
    for where, record in _records(source, on_error):
        try:
            abstract_ids = _named(record, where)
            if abstract_ids and corpus is None:
                corpus = _corpus(source, on_error)
            documents = [*_pairs(record, abstract_ids, corpus, where)]
        except FormatError as error:
            if error.code == "BX119":
                raise
            on_error(error)
            continue
        yield from documents


def _records(source: Source, on_error: Callable[[FormatError], None]) -> Iterator[tuple[str, Any]]:
    for number, line in lines(source):
        if not line.strip():
            continue
        where = f"{source.name}:{number}"
        try:
            record = loads(line.encode(), where)
        except FormatError as error:
            on_error(error)
            continue
        yield where, record


def _corpus(source: Source, on_error: Callable[[FormatError], None]) -> dict[str, Document]:
    companion = source.companion(CORPUS)
    if companion is None:
        raise FormatError(
            "BX119", "the file of abstracts is missing", where=source.name, hint=f"put {CORPUS} into the same folder"
        )
    corpus: dict[str, Document] = {}
    for where, record in _records(companion, on_error):
        try:
            name, abstract = _abstract(record, where)
        except FormatError as error:
            on_error(error)
            continue
        corpus[name] = abstract
    return corpus


def _abstract(record: Any, where: str) -> tuple[str, Document]:
    name = name_of(field(record, "doc_id", object, where), "the field 'doc_id'", where)
    sentences = strings(record, "abstract", where)
    if not all(sentences):
        raise FormatError("BX113", "a sentence of the abstract is empty", where=where, hint="remove it")
    text, ranges = join(sentences, " ")
    metadata = {key: value for key, value in record.items() if key not in ("doc_id", "abstract")}
    return name, build(where, name, text, sentences=tuple(ranges), metadata=metadata)


def _named(record: Any, where: str) -> list[str]:
    """The ids of the abstracts that a claim names, including those of its evidence."""
    field(record, "id", object, where)
    ids = optional(record, "cited_doc_ids", list, where) or optional(record, "doc_ids", list, where) or []
    evidence = optional(record, "evidence", dict, where) or {}
    cited = [name_of(raw, "the id of an abstract", where) for raw in ids]
    return [*cited, *(doc_id for doc_id in evidence if doc_id not in cited)]


def _pairs(record: Any, abstract_ids: list[str], corpus: dict[str, Document] | None, where: str) -> Iterator[Document]:
    claim = field(record, "claim", str, where)
    name = name_of(record["id"], "the field 'id'", where)
    read_fields = ("id", "claim", "cited_doc_ids", "doc_ids", "evidence")
    claim_fields = {"claim_id": name, **{key: value for key, value in record.items() if key not in read_fields}}
    if not abstract_ids:
        yield Document(name, "", pair=claim, metadata=claim_fields)
    evidence = optional(record, "evidence", dict, where)
    for number, doc_id in enumerate(abstract_ids):
        abstract = corpus.get(doc_id) if corpus is not None else None
        if abstract is None:
            raise FormatError(
                "BX113",
                f"claim {name!r} names abstract {doc_id!r}, which is not in {CORPUS}",
                where=where,
                hint="add it",
            )
        labels, rationales = _evidence(evidence, doc_id, abstract, f"{where} (claim {name!r})")
        metadata = {
            **claim_fields,
            "doc_id": doc_id,
            **abstract.metadata,
            **({"rationales": rationales} if any(rationales) else {}),
        }
        yield build(
            where,
            _pair_id(name, doc_id, abstract_ids[:number].count(doc_id)),
            abstract.text,
            sentences=abstract.sentences,
            pair=claim,
            labels=labels,
            metadata=metadata,
        )


def _pair_id(claim: str, doc_id: str, before: int) -> str:
    """The id of a pair; `before` is how often the claim has named this abstract already."""
    return f"{claim}:{doc_id}:{before + 1}" if before else f"{claim}:{doc_id}"


def _evidence(
    evidence: dict[str, Any] | None, id: str, abstract: Document, where: str
) -> tuple[tuple[Label, ...], list[list[int]]]:
    """The label of the pair and those of its rationale sentences; and which sentences belong together."""
    if evidence is None:
        return (), []
    if id not in evidence:
        return (Label(NONE),), []
    evidence_parts = field(evidence, id, list, where)
    names = {field(part, "label", str, where) for part in evidence_parts}
    if len(names) != 1:
        raise FormatError(
            "BX113", f"the evidence of abstract {id!r} has {len(names)} labels", where=where, hint="give it one"
        )
    rationales = [integers(field(part, "sentences", list, where), "sentences", where) for part in evidence_parts]
    sentences = abstract.sentences or ()
    anchored = []
    for number in sorted({number for rationale in rationales for number in rationale}):
        if not 0 <= number < len(sentences):
            raise FormatError(
                "BX114",
                f"rationale sentence {number} is not one of the {len(sentences)} of abstract {id!r}",
                where=where,
                hint="sentences are counted from 0",
            )
        anchored.append(Label(RATIONALE, start=sentences[number][0], end=sentences[number][1]))
    return (Label(names.pop()), *anchored), rationales


def _sniff(name: str, head: bytes) -> bool:
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    if first[:1] != b"{" or b'"biomux"' in first[:40]:
        return False
    claim = b'"claim"' in first and b'"id"' in first
    return claim or (name == CORPUS and b'"doc_id"' in first and b'"abstract"' in first)


FORMAT = Format(
    name="claims",
    title="claims and abstracts (SciFact, HealthVer, CovidFact)",
    suffixes=(".claims",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
