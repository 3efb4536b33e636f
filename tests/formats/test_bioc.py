"""BioC XML and JSON, with the `bioc` package as the independent reader and writer."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import bioc as bioc_package
import pytest
from bioc import biocjson, biocxml
from hypothesis import HealthCheck, given, settings
from strategies import XML_TEXT, collections

from biomux.document import Argument, Document, Passage, Relation, Span
from biomux.errors import FormatError, UsageError
from biomux.formats import Format, Loss, bioc_json, bioc_xml, guess, of_bytes

both = pytest.mark.parametrize("format", [bioc_json.FORMAT, bioc_xml.FORMAT], ids=lambda one: one.name)

DOCUMENT = Document(
    "PMC1",
    "BRCA1 & breast cancer\n\nIt is  so. In mice.",
    passages=(Passage(0, 21, "title"), Passage(23, 42, "abstract", {"section_type": "ABSTRACT"})),
    sentences=((23, 33), (34, 42)),
    spans=(
        Span(0, 5, "Gene", id="T1", identifiers=("672", "675")),
        Span(0, 21, "Odd", id="T2", fragments=((0, 5), (15, 21)), score=0.25, head="net"),
        Span(
            37,
            41,
            "Species",
            id="T3",
            extra={"identifier": "10090;10116", "note": "a\tb"},
            identifiers=("10090", "10116"),
        ),
        Span(15, 28, "Across", id="T4"),
    ),
    relations=(
        Relation("Binds", (Argument("a", "T1"), Argument("b", "T3")), id="R1", score=0.5, extra={"why": "text"}),
        Relation("Causes", (Argument("", "R1", "relation"), Argument("c", "mesh:D1", "concept")), id="R2"),
    ),
    metadata={"license": "CC0", "collection": {"source": "invented", "infons": {"made": "here"}}},
)


def written(format: Format, *given: Document) -> tuple[bytes, list[Loss]]:
    stream, losses = io.BytesIO(), list[Loss]()
    assert format.write is not None
    format.write(given, stream, on_loss=losses.append)
    return stream.getvalue(), losses


def documents(format: Format, data: bytes | str, **options: Any) -> list[Document]:
    raw = data if isinstance(data, bytes) else data.encode()
    return list(format.read(of_bytes(f"x{format.suffixes[0]}", raw), **options))


def failure(format: Format, data: bytes | str, **options: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        documents(format, data, **options)
    return caught.value


def load(format: Format, data: bytes) -> Any:
    return biocjson.loads(data.decode()) if format is bioc_json.FORMAT else biocxml.loads(data.decode())


def dump(format: Format, collection: Any) -> str:
    text: str = biocjson.dumps(collection) if format is bioc_json.FORMAT else biocxml.dumps(collection)
    return text


@both
class TestBoth:
    def test_a_document_with_everything_comes_back(self, format: Format) -> None:
        data, losses = written(format, DOCUMENT, Document("2", ""))
        assert [(loss.document, loss.feature) for loss in losses] == [("2", "metadata")]
        assert documents(format, data)[0] == DOCUMENT
        assert guess(of_bytes("file", data)) is format

    def test_the_bioc_package_reads_the_same(self, format: Format) -> None:
        collection = load(format, written(format, DOCUMENT)[0])
        (document,) = collection.documents
        assert (collection.source, collection.infons) == ("invented", {"made": "here"})
        annotations: dict[str | None, Any] = {}
        for passage in document.passages:
            for node in (passage, *passage.sentences):
                annotations |= {annotation.id: annotation for annotation in node.annotations}
                if node.text:
                    assert DOCUMENT.text[node.offset : node.offset + len(node.text)] == node.text
        annotations |= {annotation.id: annotation for annotation in document.annotations}
        for span in DOCUMENT.spans:
            found = annotations[span.id]
            assert [(at.offset, at.end) for at in found.locations] == list(span.ranges)
            assert (found.text, found.infons["type"]) == (DOCUMENT.mention(span), span.type)
        assert [[node.refid for node in relation.nodes] for relation in document.relations] == [
            ["T1", "T3"],
            ["R1", "mesh:D1"],
        ]

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(found=collections(bioc_xml.FORMAT.holds - {"span extra", "metadata"}, text=XML_TEXT))
    def test_the_bioc_package_counts_the_same(self, format: Format, found: list[Document]) -> None:
        collection = load(format, written(format, *found)[0])
        assert len(collection.documents) == len(found)
        for document, theirs in zip(found, collection.documents, strict=True):
            nodes = [
                theirs,
                *theirs.passages,
                *(sentence for passage in theirs.passages for sentence in passage.sentences),
            ]
            assert sum(len(node.annotations) for node in nodes) == len(document.spans)
            assert len(theirs.relations) == len(document.relations)
            assert theirs.id == document.id

    def test_what_the_bioc_package_writes_is_read(self, format: Format) -> None:
        collection = bioc_package.BioCCollection()
        document = bioc_package.BioCDocument()
        document.id = "7"
        for offset, text in ((0, "A title"), (10, "TP53 is α.")):
            passage = bioc_package.BioCPassage()
            passage.offset, passage.text = offset, text
            passage.infons["type"] = "part"
            document.add_passage(passage)
        annotation = bioc_package.BioCAnnotation()
        annotation.id, annotation.text = "a1", "TP53"
        annotation.infons = {"type": "Gene", "identifier": "7157", "database": "NCBI"}
        annotation.add_location(bioc_package.BioCLocation(10, 4))
        document.passages[1].add_annotation(annotation)
        collection.add_document(document)
        (read,) = documents(format, dump(format, collection))
        assert read.text == "A title   TP53 is α."
        assert read.passages == (Passage(0, 7, "part"), Passage(10, 20, "part"))
        assert read.spans == (Span(10, 14, "Gene", id="a1", identifiers=("7157",), extra={"database": "NCBI"}),)

    @pytest.mark.parametrize(
        ("location", "text", "code"),
        [
            ((0, 99), "x", "BX114"),
            ((-1, 2), "x", "BX114"),
            ((0, 0), "", "BX114"),
            ((0, 4), "TP54", "BX115"),
            (None, "TP53", "BX116"),
        ],
    )
    def test_annotations_that_do_not_fit_are_told(
        self, format: Format, location: tuple[int, int] | None, text: str, code: str
    ) -> None:
        locations = [] if location is None else [{"offset": location[0], "length": location[1]}]
        error = failure(format, _one(format, "TP53", locations, text))
        assert error.code == code
        assert "document '1'" in (error.where or "")

    def test_offsets_in_bytes_are_read_when_asked_for(self, format: Format) -> None:
        data = _one(format, "α and TP53", [{"offset": 7, "length": 4}], "TP53")
        error = failure(format, data)
        assert error.code in ("BX114", "BX115")
        (document,) = documents(format, data, offsets="bytes")
        assert document.mention(document.spans[0]) == "TP53"
        with pytest.raises(UsageError):
            documents(format, data, offsets="words")

    def test_damage_is_told(self, format: Format) -> None:
        data, _ = written(format, DOCUMENT, DOCUMENT)
        assert failure(format, data[: len(data) * 2 // 3]).code == "BX117"
        assert failure(format, gzip.compress(data)[:-30]).code == "BX112"
        assert failure(format, data.replace(b"breast", b"br\xff\xfest")).code in ("BX111", "BX117")

    def test_passages_that_overlap_or_lie_far_away_are_told(self, format: Format) -> None:
        for offset in (2, 10**12, -1):
            assert failure(format, _one(format, "abc", [], "", second=offset)).code == "BX114"


def _one(format: Format, text: str, locations: list[dict[str, int]], mention: str, second: int | None = None) -> str:
    """A collection of one document with one annotation, if it has a location or text."""
    annotation = {"id": "1", "infons": {"type": "Gene"}, "text": mention, "locations": locations}
    passages: list[dict[str, Any]] = [
        {"offset": 0, "text": text, "annotations": [annotation] if mention or locations else []}
    ]
    if second is not None:
        passages.append({"offset": second, "text": "abc", "annotations": []})
    if format is bioc_json.FORMAT:
        return json.dumps({"infons": {}, "documents": [{"id": "1", "passages": passages}]})
    body = ""
    for passage in passages:
        inner = "".join(
            f"<annotation><infon key='type'>Gene</infon><text>{one['text']}</text>"
            + "".join(f"<location offset='{at['offset']}' length='{at['length']}'/>" for at in one["locations"])
            + "</annotation>"
            for one in passage["annotations"]
        )
        body += f"<passage><offset>{passage['offset']}</offset><text>{passage['text']}</text>{inner}</passage>"
    return f"<collection><document><id>1</id>{body}</document></collection>"


class TestJson:
    bare = '{"id": 5, "passages": [{"offset": 0, "infons": {"type": "title"}, "text": "TP53"}], "pmid": 5}'

    @pytest.mark.parametrize(
        "data",
        [
            bare,
            f"{bare}\n{bare}\n",
            f"[{bare}, {bare}]",
            f'{{"PubTator3": [{bare}]}}',
            f'[{{"source": "PMC", "documents": [{bare}]}}]',
            json.dumps(json.loads(bare), indent=1),
        ],
    )
    def test_pubtators_containers_are_read(self, data: str) -> None:
        found = documents(bioc_json.FORMAT, data)
        assert {(document.id, document.text) for document in found} == {("5", "TP53")}
        assert len(found) == data.count("offset")
        assert found[0].metadata["pmid"] == 5
        if '"PMC"' in data:
            assert found[0].metadata["collection"] == {"source": "PMC"}

    def test_sentences_give_the_text_of_a_passage_without_one(self) -> None:
        sentences = [{"offset": 3, "text": "One."}, {"offset": 9, "text": "Two.", "infons": {"x": "y"}}]
        (document,) = documents(bioc_json.FORMAT, json.dumps({"passages": [{"offset": 2, "sentences": sentences}]}))
        assert document.text == "   One.  Two."
        assert document.sentences == ((3, 7), (9, 13))
        assert document.metadata == {"sentence infons": {"9": {"x": "y"}}}
        again = documents(bioc_json.FORMAT, written(bioc_json.FORMAT, document)[0])
        assert again == [document]

    @pytest.mark.parametrize(
        "record",
        [
            '{"text": "of another format"}',
            '{"passages": 1}',
            '{"passages": [1]}',
            '{"passages": [{}]}',
            '{"passages": [{"offset": "x"}]}',
            '{"id": [], "passages": []}',
        ],
    )
    def test_a_malformed_document_is_told_and_the_next_is_read(self, record: str) -> None:
        errors: list[FormatError] = []
        found = documents(bioc_json.FORMAT, f'{{"documents": [\n{record},\n{self.bare}]}}', on_error=errors.append)
        assert [document.id for document in found] == ["5"]
        assert [error.code in ("BX113", "BX116") for error in errors] == [True]


class TestXml:
    @pytest.mark.parametrize(
        "data",
        [
            '<!DOCTYPE c [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><collection><document><id>&b;</id></document></collection>',
            '<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/hostname">]><collection><document><id>&x;</id></document></collection>',
        ],
    )
    def test_entities_are_refused(self, data: str) -> None:
        assert failure(bioc_xml.FORMAT, data).code == "BX118"

    def test_a_doctype_alone_is_read(self) -> None:
        data = '<!DOCTYPE collection SYSTEM "BioC.dtd"><collection><document><id>1</id></document></collection>'
        assert documents(bioc_xml.FORMAT, data) == [Document("1", "")]

    def test_characters_that_xml_cannot_hold_are_refused(self) -> None:
        with pytest.raises(FormatError, match="BX120"):
            written(bioc_xml.FORMAT, Document("1", "a\x00b"))

    def test_values_that_are_not_text_are_told(self) -> None:
        _, losses = written(bioc_xml.FORMAT, Document("1", "a", metadata={"year": 2020}))
        assert [loss.feature for loss in losses] == ["metadata"]


def bioc(passage: dict[str, Any], relations: tuple[dict[str, Any], ...] = ()) -> str:
    return json.dumps({"documents": [{"id": "1", "passages": [{"offset": 0, **passage}], "relations": relations}]})


def annotation(start: int, text: str, **infons: str) -> dict[str, Any]:
    return {"id": text, "infons": infons, "text": text, "locations": [{"offset": start, "length": len(text)}]}


@pytest.mark.parametrize("format", ["bioc-json", "bioc-xml"])
def test_an_empty_text_beside_sentences_is_none(format: str) -> None:
    if format == "bioc-json":
        sentences = [
            {"offset": 0, "text": "One."},
            {"offset": 5, "text": "Two.", "annotations": [annotation(5, "Two")]},
        ]
        (document,) = documents(bioc_json.FORMAT, bioc({"text": "", "sentences": sentences}))
    else:
        body = "<sentence><offset>0</offset><text>One.</text></sentence><sentence><offset>5</offset><text>Two.</text></sentence>"
        passage = f"<passage><offset>0</offset><text/>{body}</passage>"
        data = f"<collection><document><id>1</id>{passage}</document></collection>"
        (document,) = documents(bioc_xml.FORMAT, data)
    assert (document.text, document.sentences) == ("One. Two.", ((0, 4), (5, 9)))


@pytest.mark.parametrize("passage", [{}, {"text": ""}, {"sentences": [{"offset": 0}]}])
def test_annotations_without_text_are_told_as_that(passage: dict[str, Any]) -> None:
    error = failure(bioc_json.FORMAT, bioc({**passage, "annotations": [annotation(0, "TP53", type="Gene")]}))
    assert (error.code, error.message) == ("BX116", "the document has annotations but no text")


@pytest.mark.parametrize(
    ("infons", "identifiers"),
    [
        ({"identifier": "7157"}, ("7157",)),
        ({"Identifier": "7157"}, ("7157",)),
        ({"MESH": "D016159|D016158"}, ("D016159", "D016158")),
        ({"NCBI Gene": "7157;7158"}, ("7157", "7158")),
        ({"NCBI GENE": "7157", "other": "1"}, ("7157",)),
        ({"NCBI Taxonomy": "9606"}, ("9606",)),
        ({"identifier": "-", "MESH": "D1"}, ("D1",)),
        ({"identifier": "D2", "MESH": "D1"}, ("D2",)),
        ({"MESH": "-1"}, ()),
    ],
)
@both
def test_identifiers_stand_under_many_names(
    format: Format, infons: dict[str, str], identifiers: tuple[str, ...]
) -> None:
    data = bioc({"text": "TP53", "annotations": [annotation(0, "TP53", type="Gene", **infons)]})
    (document,) = documents(bioc_json.FORMAT, data)
    assert document.spans[0].identifiers == identifiers
    again, losses = written(format, document)
    assert losses == []
    assert documents(format, again) == [document]


@pytest.mark.parametrize(
    ("infons", "relation"),
    [
        (
            {"relation": "CID", "Chemical": "D1", "Disease": "D2"},
            Relation("CID", (Argument("Chemical", "D1", "concept"), Argument("Disease", "D2", "concept")), id="R1"),
        ),
        (
            {"type": "Association", "entity1": "D1", "entity2": "D9", "novel": "Novel"},
            Relation(
                "Association",
                (Argument("entity1", "D1", "concept"), Argument("entity2", "D9", "concept")),
                id="R1",
                extra={"novel": "Novel"},
            ),
        ),
        ({"type": "x", "why": "y"}, Relation("x", (), id="R1", extra={"why": "y"})),
    ],
)
@both
def test_a_relation_without_nodes_is_between_what_its_infons_name(
    format: Format, infons: dict[str, str], relation: Relation
) -> None:
    annotations = [
        annotation(0, "aspirin", type="Chemical", MESH="D1"),
        annotation(8, "ulcer", type="Disease", MESH="D2"),
    ]
    data = bioc({"text": "aspirin ulcer", "annotations": annotations}, ({"id": "R1", "infons": infons},))
    (document,) = documents(bioc_json.FORMAT, data)
    assert document.relations == (relation,)
    again, losses = written(format, document)
    assert losses == []
    assert documents(format, again) == [document]


def test_infons_that_would_be_read_as_more_are_told() -> None:
    document = Document(
        "1",
        "TP53",
        spans=(Span(0, 4, "gene", extra={"MESH": "D1"}),),
        relations=(Relation("x", (), id="R1", extra={"entity1": "a", "entity2": "b"}),),
    )
    assert {loss.feature for loss in written(bioc_json.FORMAT, document)[1]} == {"identifiers", "relation arguments"}


def relation_to(target: str, **infons: str) -> bytes:
    annotation: dict[str, Any] = {"id": "a", "infons": {"type": "Gene", "identifier": "7157"}, "text": "TP53"}
    annotation["locations"] = [{"offset": 0, "length": 4}]
    relation = {"id": "R1", "infons": {"type": "x", **infons}, "nodes": [{"refid": target, "role": "r"}]}
    passage = {"offset": 0, "infons": {}, "text": "TP53", "annotations": [annotation], "relations": [relation]}
    return json.dumps({"documents": [{"id": "1", "infons": {}, "passages": [passage]}]}).encode()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (relation_to("a"), "span"),
        (relation_to("R1"), "relation"),
        (relation_to("7157"), "concept"),
        (relation_to("D9", biomux="concepts"), "concept"),
        (relation_to("0", role1="Gene|7157"), "concept"),
    ],
)
def test_a_relation_points_at_spans_relations_or_concepts(data: bytes, kind: str) -> None:
    (document,) = bioc_json.read(of_bytes("a.bioc.json", data))
    assert document.relations[0].arguments[0].kind == kind


def test_a_reference_to_nothing_is_malformed() -> None:
    with pytest.raises(FormatError, match=r"BX113: .*a relation refers to 'ZZ', which is not an annotation"):
        list(bioc_json.read(of_bytes("a.bioc.json", relation_to("ZZ"))))


def test_a_concept_that_no_span_has_is_kept_and_marked() -> None:
    relation = Relation("treats", (Argument("drug", "mesh:D1", "concept"),), id="R1")
    stream = io.BytesIO()
    losses: list[Loss] = []
    bioc_json.write([Document("1", "TP53", relations=(relation,))], stream, on_loss=losses.append)
    (back,) = bioc_json.read(of_bytes("a.bioc.json", stream.getvalue()))
    assert back.relations == (relation,)
    assert losses == []
    assert b'"biomux":"concepts"' in stream.getvalue()


@both
def test_a_score_that_is_no_number_is_told(format: Format) -> None:
    losses: list[Loss] = []
    document = Document("1", "TP53", spans=(Span(0, 4, "gene", score=float("nan")),))
    assert format.write is not None
    format.write([document], io.BytesIO(), on_loss=losses.append)
    assert losses == [Loss("1", "scores", detail="nan is not a number")]
