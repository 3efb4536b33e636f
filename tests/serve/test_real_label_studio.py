"""The real Label Studio as a client, where BIOMUX_LABEL_STUDIO names its command: a project, its ML backend, predictions, and the export read back.

python3 -m venv ls && ls/bin/pip install label-studio && BIOMUX_LABEL_STUDIO=ls/bin/label-studio pytest tests/serve/test_real_label_studio.py
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from serving import Client, serving, shipped

from biomux import formats

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = os.environ.get("BIOMUX_LABEL_STUDIO")
TOKEN = "0123456789abcdef0123456789abcdef01234567"
INTERFACE = """<View><Labels name="ents" toName="abstract"><Label value="Gene/Protein"/><Label value="Drug"/><Label value="Person"/></Labels>
<Text name="abstract" value="$text"/></View>"""

pytestmark = pytest.mark.skipif(not COMMAND, reason="needs Label Studio: BIOMUX_LABEL_STUDIO names its command")


def test_a_project_gets_pre_annotations_and_its_export_is_read_back(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        **os.environ,
        "LABEL_STUDIO_BASE_DATA_DIR": str(tmp_path),
        "COLLECT_ANALYTICS": "False",
        "LATEST_VERSION_CHECK": "False",
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "ML_BLOCK_LOCAL_IP": "false",
        "SSRF_PROTECTION_ENABLED": "false",
    }
    account = ["--username", "curator@example.org", "--password", "secret-enough-1", "--user-token", TOKEN]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(COMMAND), "start", "--no-browser", "--port", str(port), *account], env=settings, stdout=log, stderr=log
        )
        try:
            wait_for(port)
            with serving() as (client, _):
                curate(Client(port, {"Authorization": f"Token {TOKEN}"}), f"http://127.0.0.1:{client.port}", tmp_path)
        finally:
            process.terminate()
            process.wait(60)


def wait_for(port: int) -> None:
    end = time.monotonic() + 900
    while time.monotonic() < end:
        try:
            if Client(port).get("/health").status == 200:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(1)
    raise AssertionError("Label Studio did not start")


def curate(studio: Client, backend: str, folder: Path) -> None:
    def post(path: str, value: Any) -> Any:
        reply = studio.post(path, value)
        assert reply.status < 300, reply.content[:500]
        return reply.json

    project = post("/api/projects/", {"title": "biomux", "label_config": INTERFACE})["id"]
    post(f"/api/projects/{project}/import", [{"text": "Aspirin inhibits COX-2."}, {"text": "TP53 🧬 and cisplatin."}])
    assert post("/api/ml/", {"url": backend, "project": project, "title": "Biomux"})["readable_state"] == "Connected"
    everything = {"selectedItems": {"all": True, "excluded": []}, "ordering": []}
    post(f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", everything)
    predictions = studio.get(f"/api/predictions?project={project}").json
    assert {one["model_version"] for one in predictions} == {shipped().version}
    exported = studio.get(f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true").json
    for task in exported:
        task["predictions"] = [one for one in predictions if one["task"] == task["id"]]
    (folder / "export.json").write_text(json.dumps(exported), encoding="utf-8")
    documents = list(formats.read(folder / "export.json", format="labelstudio"))
    found = {(document.mention(span), span.type) for document in documents for span in document.spans}
    assert found == {("Aspirin", "Drug"), ("COX-2", "Gene/Protein"), ("TP53", "Gene/Protein"), ("cisplatin", "Drug")}
