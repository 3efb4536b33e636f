"""Label Studio as a client: pre-annotations under the project's own labels, with what its server sends."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import Client, serving, shipped

from biomux import formats
from biomux.document import Argument, Relation
from biomux.engine.annotator import Annotator
from biomux.errors import ServeError
from biomux.serve import label_config

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERFACE = """<View>
  <Labels name="ents" toName="abstract"><Label value="Gene/Protein"/><Label value="Drug"/><Label value="Species"/><Label value="Person"/></Labels>
  <Text name="abstract" value="$body"/>
</View>"""
TEXT = "Aspirin inhibits COX-2 in mice with colon cancer."
SENT: dict[str, Any] = {
    "tasks": [{"id": 7, "data": {"body": TEXT, "pmid": 1}, "annotations": [], "predictions": []}],
    "model_version": "older",
    "project": "3.1794965827",
    "label_config": INTERFACE,
    "params": {"login": None, "password": None, "context": None},
}
"""A request of Label Studio 1.x, as its server's api_connector builds it."""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(max_documents=20) as (client, _):
        yield client


def test_tasks_get_spans_under_the_projects_labels(client: Client) -> None:
    reply = client.post("/predict", SENT)
    assert reply.status == 200
    (prediction,) = reply.json["results"]
    assert prediction["model_version"] == shipped().version
    assert 0 < prediction["score"] <= 1
    found = {one["value"]["text"]: one for one in prediction["result"]}
    assert {text: one["value"]["labels"] for text, one in found.items()} == {
        "Aspirin": ["Drug"],
        "COX-2": ["Gene/Protein"],
        "mice": ["Species"],
    }
    for one in found.values():
        assert (one["from_name"], one["to_name"], one["type"]) == ("ents", "abstract", "labels")
        assert TEXT[one["value"]["start"] : one["value"]["end"]] == one["value"]["text"]
        assert 0 < one["score"] <= 1
    assert len({one["id"] for one in prediction["result"]}) == len(prediction["result"])


def test_predictions_are_read_back_as_our_own_format_reads_them(client: Client) -> None:
    (prediction,) = client.post("/predict", SENT).json["results"]
    task = {"data": {"id": "7", "text": TEXT}, "predictions": [prediction]}
    source = formats.of_bytes("tasks.labelstudio.json", json.dumps([task]).encode())
    (document,) = formats.read_source(source, format="labelstudio")
    assert {document.mention(span) for span in document.spans} == {"Aspirin", "COX-2", "mice"}


def test_setup_tells_which_type_a_label_stands_for(client: Client) -> None:
    reply = client.post("/setup", {"project": "3.1", "schema": INTERFACE, "hostname": "http://x", "access_token": "t"})
    assert reply.json == {
        "model_version": shipped().version,
        "labels": {"Gene/Protein": "gene", "Drug": "chemical", "Species": "species"},
        "labels_without_type": ["Person"],
    }
    assert client.post("/setup", {"project": "3.1"}).json == {"model_version": shipped().version}


def test_health_and_webhook_answer_as_label_studio_expects(client: Client) -> None:
    assert client.get("/health").json["status"] == "UP"
    reply = client.post("/webhook", {"action": "ANNOTATION_CREATED", "annotation": {}, "project": {"id": 3}})
    assert (reply.status, reply.json["status"]) == (201, "not used")
    assert client.post("/webhook", [1]).code == "BX802"


@pytest.mark.parametrize(
    "changed",
    [
        {"label_config": "<View><Image name='i' value='$i'/></View>"},
        {"label_config": "<View><Text name='t' value='$body'/></View>"},
        {
            "label_config": "<View><Text name='t' value='$body'/><Labels name='l' toName='t'><Label value='Person'/></Labels></View>"
        },
        {"label_config": "<View"},
        {"label_config": ""},
        {"label_config": '<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>'},
        {"tasks": [{"id": 9, "data": {"text": "x"}}]},
        {"tasks": [{"id": 9}]},
    ],
)
def test_a_project_that_cannot_be_pre_annotated_says_why(client: Client, changed: dict[str, Any]) -> None:
    reply = client.post("/predict", {**SENT, **changed})
    assert (reply.status, reply.code) == (422, "BX814")


def test_limits_hold_for_tasks_too(client: Client) -> None:
    assert client.post("/predict", {**SENT, "tasks": SENT["tasks"] * 21}).code == "BX803"
    assert client.post("/predict", {"tasks": "all"}).code == "BX802"
    assert client.post("/predict", {**SENT, "tasks": []}).json == {"results": []}


class Related(Annotator):
    """Links the first two entities of every document."""

    def annotate_query(self, documents: Any, query: Any, *, on_error: Any = None) -> Any:
        for document in super().annotate_query(documents, replace(query, tasks=None), on_error=on_error):
            named = tuple(replace(span, id=f"T{place}") for place, span in enumerate(document.spans))
            linked = Relation("inhibition", (Argument("a", "T0"), Argument("b", "T1")), score=0.75)
            yield replace(document, spans=named, relations=(linked,))


def test_relations_are_given_where_the_interface_has_them() -> None:
    inner = shipped().annotator
    related = Related(**{name: getattr(inner, name) for name in inner.__dataclass_fields__})
    with serving(model=replace(shipped(), annotator=related)) as (client, _):
        without = client.post("/predict", SENT).json["results"][0]["result"]
        interface = INTERFACE.replace("</View>", '<Relations><Relation value="Inhibition"/></Relations></View>')
        found = client.post("/predict", {**SENT, "label_config": interface}).json["results"][0]["result"]
    assert [one["type"] for one in without] == ["labels"] * 3
    assert found[-1] == {
        "type": "relation",
        "from_id": "T0",
        "to_id": "T1",
        "direction": "right",
        "labels": ["Inhibition"],
        "score": 0.75,
    }


@pytest.mark.parametrize(
    ("label", "type_"),
    [
        ("GENE", "gene"),
        ("Genes", "gene"),
        ("Protein", "gene"),
        ("cell_line", "cell line"),
        ("CellType", "cell type"),
        ("Diseases", "disease"),
        ("Chemical compound", "chemical"),
        ("Location", None),
        ("PER", None),
    ],
)
def test_labels_are_matched_by_name(label: str, type_: str | None) -> None:
    assert label_config.nearest_type(label, shipped().annotator.types) == type_


@given(st.text(max_size=200) | st.text("<>/View Textnamvlu=\"'$", max_size=200))
def test_whatever_the_interface_is_it_is_read_or_refused(config: str) -> None:
    with contextlib.suppress(ServeError):
        assert label_config.read(config, ["gene"]).types
