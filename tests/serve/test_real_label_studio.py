"""The real Label Studio, where BIOMUX_LABEL_STUDIO names its command: predictions from its ML backend or from a file, and the export read back.

python3 -m venv ls && ls/bin/pip install label-studio && BIOMUX_LABEL_STUDIO=ls/bin/label-studio pytest tests/serve/test_real_label_studio.py
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from serving import Client, serving, shipped

from biomux import formats
from biomux.document import Document, Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = os.environ.get("BIOMUX_LABEL_STUDIO")
TOKEN = "0123456789abcdef0123456789abcdef01234567"
INTERFACE = """<View><Labels name="ents" toName="abstract"><Label value="Gene/Protein"/><Label value="Drug"/><Label value="Person"/></Labels>
<Text name="abstract" value="$text"/></View>"""

FROM_A_FILE = """<View><Labels name="label" toName="text"><Label value="Gene"/><Label value="Drug"/></Labels>
<Text name="text" value="$text"/></View>"""
EVERYTHING = {"selectedItems": {"all": True, "excluded": []}, "ordering": []}

pytestmark = pytest.mark.skipif(not COMMAND, reason="needs Label Studio: BIOMUX_LABEL_STUDIO names its command")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("studio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        **os.environ,
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "COLLECT_ANALYTICS": "False",
        "LATEST_VERSION_CHECK": "False",
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "ML_BLOCK_LOCAL_IP": "false",
        "SSRF_PROTECTION_ENABLED": "false",
    }
    account = ["--username", "curator@example.org", "--password", "secret-enough-1", "--user-token", TOKEN]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(COMMAND), "start", "--no-browser", "--port", str(port), *account], env=settings, stdout=log, stderr=log
        )
        try:
            wait_for(port)
            yield Client(port, {"Authorization": f"Token {TOKEN}"})
        finally:
            process.terminate()
            process.wait(60)


def test_a_project_gets_pre_annotations_and_its_export_is_read_back(studio: Client, tmp_path: Path) -> None:
    with serving() as (client, _):
        curate(studio, f"http://127.0.0.1:{client.port}", tmp_path)


def test_a_file_of_suggestions_is_imported_accepted_and_exported(studio: Client, tmp_path: Path) -> None:
    text = "🧬 TP53\tand\r\ncisplatin  in 𝛃 cells."
    spans = (Span(2, 6, "Gene", 0.75, "genes"), Span(12, 21, "Drug", 0.5, "drugs"), Span(12, 21, "Gene", 0.5, "genes"))
    document = Document("d1", text, spans=spans)
    formats.write([document], tmp_path / "next.labelstudio.json")
    project = post(studio, "/api/projects/", {"title": "file", "label_config": FROM_A_FILE})["id"]
    post(studio, f"/api/projects/{project}/import", (tmp_path / "next.labelstudio.json").read_bytes())
    (offered,) = studio.get(f"/api/projects/{project}/next").json["predictions"]
    assert len(offered["result"]) == 3
    accept = f"/api/dm/actions?id=predictions_to_annotations&project={project}"
    post(studio, accept, {**EVERYTHING, "model_version": offered["model_version"]})
    (tmp_path / "export.json").write_bytes(studio.get(f"/api/projects/{project}/export?exportType=JSON").content)
    (back,) = formats.read(tmp_path / "export.json")
    assert (back.id, back.text) == ("d1", text)
    assert back.spans == tuple(replace(span, head=None) for span in spans)


def wait_for(port: int) -> None:
    end = time.monotonic() + 900
    while time.monotonic() < end:
        try:
            if Client(port).get("/health").status == 200:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(1)
    raise AssertionError("Label Studio did not start")


def post(studio: Client, path: str, value: Any) -> Any:
    reply = studio.post(path, value)
    assert reply.status < 300, reply.content[:500]
    return reply.json


def curate(studio: Client, backend: str, folder: Path) -> None:
    project = post(studio, "/api/projects/", {"title": "biomux", "label_config": INTERFACE})["id"]
    post(
        studio,
        f"/api/projects/{project}/import",
        [{"text": "Aspirin inhibits COX-2."}, {"text": "TP53 🧬 and cisplatin."}],
    )
    assert (
        post(studio, "/api/ml/", {"url": backend, "project": project, "title": "Biomux"})["readable_state"]
        == "Connected"
    )
    post(studio, f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", EVERYTHING)
    predictions = studio.get(f"/api/predictions?project={project}").json
    assert {one["model_version"] for one in predictions} == {shipped().version}
    exported = studio.get(f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true").json
    for task in exported:
        task["predictions"] = [one for one in predictions if one["task"] == task["id"]]
    (folder / "export.json").write_text(json.dumps(exported), encoding="utf-8")
    documents = list(formats.read(folder / "export.json", format="labelstudio"))
    found = {(document.mention(span), span.type) for document in documents for span in document.spans}
    assert found == {("Aspirin", "Drug"), ("COX-2", "Gene/Protein"), ("TP53", "Gene/Protein"), ("cisplatin", "Drug")}
