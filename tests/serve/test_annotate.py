"""POST /annotate answers what the command answers, in every shape, whatever else is being computed."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import Client, serving, shipped

from biomux import cli, formats
from biomux.document import Document
from biomux.engine.query import Query
from biomux.serve.responses import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "Aspirin inhibits COX-2 in mice. TP53 mutations were found in breast cancer, and in HeLa cells cisplatin lowered BRCA1."
OTHERS = [TEXT, "Nothing here.", "", "β-catenin and interleukin-6 in T cells of patients with sepsis.", "🧬 TP53 🧬"]

MEDLINE = """<?xml version="1.0"?><PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>12</PMID><Article><ArticleTitle>Aspirin in mice.</ArticleTitle>
<Abstract><AbstractText>COX-2 is inhibited.</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving() as (client, _):
        yield client


def of_command(tmp_path: Path, format: str, *options: str) -> bytes:
    source = tmp_path / "in.jsonl"
    formats.write([Document("1", TEXT), Document("2", OTHERS[3])], source)
    target = tmp_path / f"out-{format}"
    assert cli.run(["annotate", str(source), "-o", str(target), "--format", format, *options]) == 0
    return target.read_bytes() if target.is_file() else b""


@pytest.mark.parametrize("format", [name for name in SHAPES if name not in ("json", "hf", "brat")])
def test_the_answer_has_the_bytes_that_the_command_writes(client: Client, tmp_path: Path, format: str) -> None:
    documents = [{"id": "1", "text": TEXT}, {"id": "2", "text": OTHERS[3]}]
    reply = client.annotate(documents=documents, format=format)
    assert reply.status == 200
    assert reply.content == of_command(tmp_path, format)


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"types": "gene,species"}, ("--types", "gene,species")),
        ({"types": ["gene"], "threshold": 0.5}, ("--types", "gene", "--threshold", "0.5")),
        ({"threshold": {"gene": 0.99, "*": 0.2}}, ("--threshold", "gene=0.99", "--threshold", "0.2")),
        ({"heads": ["bc5cdr", "jnlpba"]}, ("--heads", "bc5cdr,jnlpba")),
        ({"precision": 0.9}, ("--precision", "0.9")),
        ({"resolve": True, "abbreviations": True}, ("--resolve", "--abbreviations")),
        ({"consistent": False}, ("--no-consistent",)),
    ],
)
def test_options_mean_what_they_mean_for_the_command(
    client: Client, tmp_path: Path, fields: dict[str, Any], options: tuple[str, ...]
) -> None:
    documents = [{"id": "1", "text": TEXT}, {"id": "2", "text": OTHERS[3]}]
    reply = client.annotate(documents=documents, format="jsonl", **fields)
    assert reply.content == of_command(tmp_path, "jsonl", *options)


def test_json_holds_the_lines_of_the_documents(client: Client) -> None:
    reply = client.annotate(text=TEXT)
    assert reply.json["documents"] == [json.loads(client.annotate(text=TEXT, format="jsonl").content)]
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-biomux-model"] == shipped().version


def test_the_hugging_face_shape_is_a_list_for_a_text_and_lists_for_several(client: Client) -> None:
    alone = client.annotate(text=TEXT, format="hf").json
    assert alone == shipped().annotator(TEXT).to_hf()
    assert client.annotate(texts=[TEXT, ""], format="hf").json == [alone, []]


def test_brat_is_a_zip_whose_bytes_depend_on_its_content_alone(client: Client) -> None:
    first, second = (client.annotate(text=TEXT, format="brat") for _ in range(2))
    assert first.content == second.content
    with zipfile.ZipFile(io.BytesIO(first.content)) as archive:
        assert archive.read("text.txt").decode() == TEXT
        assert b"\tchemical 0 7\tAspirin" in archive.read("text.ann")


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "application/json"),
        ("text/*", "text/tab-separated-values; charset=utf-8"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("application/xml;q=0.9, text/tab-separated-values;q=0.1", "application/xml"),
        ("text/html, application/zip;q=0.5", "application/zip"),
    ],
)
def test_the_format_may_be_asked_for_by_header(client: Client, accept: str, media: str) -> None:
    assert client.annotate({"Accept": accept}, text=TEXT).headers["content-type"] == media


def test_what_a_format_cannot_hold_is_told(client: Client) -> None:
    held = client.annotate(text=TEXT, format="pubtator").headers["x-biomux-not-held"]
    assert "scores=" in held
    assert "x-biomux-not-held" not in client.annotate(text=TEXT).headers


def test_a_file_may_be_pasted_as_it_is(client: Client) -> None:
    (found,) = client.annotate(content=MEDLINE).json["documents"]
    assert (found["id"], found["passages"][0]["kind"]) == ("12", "title")
    assert found["text"].split() == ["Aspirin", "in", "mice.", "COX-2", "is", "inhibited."]
    lines = client.post("/annotate", {"content": "Aspirin.\nMice.\n", "from": "lines"})
    assert [one["text"] for one in lines.json["documents"]] == ["Aspirin.", "Mice."]


def test_documents_keep_their_ids_and_what_else_is_known(client: Client) -> None:
    reply = client.annotate(documents=[{"text": TEXT, "metadata": {"year": 2020}}, {"id": "π", "text": ""}])
    first, second = reply.json["documents"]
    assert (first["id"], first["metadata"], second["id"]) == ("1", {"year": 2020}, "π")


def test_times_and_request_ids_are_told(client: Client) -> None:
    reply = client.annotate({"X-Request-ID": "run-7"}, text=TEXT)
    assert reply.headers["x-request-id"] == "run-7"
    assert [part.split(";")[0] for part in reply.headers["server-timing"].split(", ")] == [
        "total",
        "queue",
        "inference",
    ]
    made = client.annotate({"X-Request-ID": "a b\t<script>"}, text=TEXT).headers["x-request-id"]
    assert len(made) == 32
    assert made != client.get("/health").headers["x-request-id"]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(OTHERS), min_size=1, max_size=4), min_size=2, max_size=10))
def test_an_answer_is_the_same_bytes_whatever_else_is_in_the_batch(client: Client, requests: list[list[str]]) -> None:
    """Requests at the same time, against each text by itself in the engine."""
    replies: dict[int, bytes] = {}

    def ask(place: int) -> None:
        replies[place] = client.annotate(texts=requests[place], format="jsonl").content

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, texts in enumerate(requests):
        assert replies[place] == b"".join(alone(number, text) for number, text in enumerate(texts, 1))


def alone(number: int, text: str) -> bytes:
    document = Document("text" if number == 1 else f"text-{number}", text)
    stream = io.BytesIO()
    write = formats.get("jsonl").write
    assert write is not None
    write(shipped().annotator.annotate_query([document], Query()), stream, on_loss=formats.ignore)
    return stream.getvalue()


def test_the_service_tells_what_it_serves(client: Client) -> None:
    info = client.get("/info").json
    assert {one["name"] for one in info["types"]} == set(shipped().annotator.types)
    assert info["limits"]["max_documents"] == 1_000
    assert info["formats"]["answers"] == list(SHAPES)
    assert "## Intended use" in info["card"]
    assert client.get("/health").json["status"] == "UP"
    assert client.get("/ready").json["model"] == shipped().version


def test_metrics_count_requests_and_batches(client: Client) -> None:
    client.annotate(text=TEXT)
    text = client.get("/metrics").content.decode()
    assert 'biomux_requests_total{route="/annotate",status="200"}' in text
    assert "biomux_batch_tokens_bucket" in text
    assert "biomux_queue_tokens 0.0" in text


def test_the_description_is_readable_without_scripts(client: Client) -> None:
    page = client.get("/docs").content.decode()
    assert "POST /annotate" in page
    assert "<script" not in page
