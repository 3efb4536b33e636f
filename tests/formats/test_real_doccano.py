"""The real doccano, where BIOMUX_DOCCANO names its command: our files are imported, and its exports read back.

python3 -m venv d && d/bin/pip install doccano 'marshmallow<4' 'numpy<2' && BIOMUX_DOCCANO=$PWD/d/bin/doccano pytest tests/formats/test_real_doccano.py
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from serving import Client, LostError

from biomux import formats
from biomux.document import Argument, Document, Relation, Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = os.environ.get("BIOMUX_DOCCANO")
TEXT = "🧬 TP53\tand\r\ncisplatin  in 𝛃 cells."

pytestmark = pytest.mark.skipif(not COMMAND, reason="needs doccano: BIOMUX_DOCCANO names its command")


def test_files_are_imported_and_exports_read_back(tmp_path: Path) -> None:
    spans = (Span(2, 6, "gene"), Span(12, 21, "chemical"), Span(12, 21, "gene"))
    plain = [
        Document("d1", TEXT, spans=spans, metadata={"year": 1998}),
        Document("d2", "é", metadata={"filename": "a.txt"}),
    ]
    ends = (Argument("from", "T1"), Argument("to", "T2"))
    linked = Document("d3", TEXT, spans=(Span(2, 6, "gene", id="T1"), Span(12, 21, "chemical", id="T2")))
    linked = replace(linked, relations=(Relation("binds", ends, id="R1"),))
    with doccano(tmp_path) as client:
        found = round_trip(client, plain, tmp_path / "plain.doccano.jsonl", relations=False)
        assert [replace(one, metadata={**one.metadata, "Comments": []}) for one in plain] == found
        (back,) = round_trip(client, [linked], tmp_path / "linked.doccano.jsonl", relations=True)
        assert [(span.start, span.end, span.type) for span in back.spans] == [(2, 6, "gene"), (12, 21, "chemical")]
        assert [argument.target for argument in back.relations[0].arguments] == [span.id for span in back.spans]


def round_trip(client: Client, documents: list[Document], path: Path, *, relations: bool) -> list[Document]:
    formats.write(documents, path)
    kind = {"project_type": "SequenceLabeling", "resourcetype": "SequenceLabelingProject"}
    settings = {"allow_overlapping": True, "use_relation": relations, "tags": []}
    asked = {"name": "biomux", "description": "a test", "guideline": "", **kind, **settings}
    project = f"/v1/projects/{post(client, '/v1/projects', asked)['id']}"
    form = b'--x\r\nContent-Disposition: form-data; name="filepond"; filename="a.jsonl"\r\n\r\n%b\r\n--x--\r\n'
    upload = client.post(
        "/v1/fp/process/", form % path.read_bytes(), {"Content-Type": "multipart/form-data; boundary=x"}
    )
    columns = {"column_data": "text", "column_label": "label", "encoding": "utf_8"}
    task = {"task": "RelationExtraction"} if relations else {"task": "SequenceLabeling", **columns}
    asked = {"format": "JSONL", "uploadIds": [upload.content.decode()], **task}
    assert wait(client, post(client, f"{project}/upload", asked)["task_id"]) == {"error": []}
    task_id = post(client, f"{project}/download", {"format": "JSONL", "exportApproved": False})["task_id"]
    wait(client, task_id)
    exported = path.with_suffix(".zip")
    exported.write_bytes(client.get(f"{project}/download?taskId={task_id}").content)
    return list(formats.read(exported))


@contextmanager
def doccano(home: Path) -> Iterator[Client]:
    """Doccano with its web server and its worker, and somebody logged in."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {**os.environ, "HOME": str(home)}
    with (home / "log").open("wb") as log:
        running: dict[str, Any] = {"env": settings, "stdout": log, "stderr": log}
        subprocess.run([str(COMMAND), "init"], check=True, **running)
        account = ["--username", "admin", "--password", "secret-enough-1"]
        subprocess.run([str(COMMAND), "createuser", *account], check=True, **running)
        lines = (["webserver", "--port", str(port)], ["task"])
        processes = [subprocess.Popen([str(COMMAND), *line], **running) for line in lines]
        try:
            yield logged_in(port)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(60)


def logged_in(port: int) -> Client:
    account = {"username": "admin", "password": "secret-enough-1"}
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            key = post(Client(port), "/v1/auth/login/", account)["key"]
            return Client(port, {"Authorization": f"Token {key}"})
        except LostError:
            time.sleep(1)
    raise AssertionError("doccano did not start")


def post(client: Client, path: str, value: Any) -> Any:
    reply = client.post(path, value)
    assert reply.status < 300, reply.content[:500]
    return reply.json


def wait(client: Client, task: str) -> Any:
    for _ in range(120):
        status = client.get(f"/v1/tasks/status/{task}").json
        if status["ready"]:
            assert status["error"] is None, status
            return status["result"]
        time.sleep(0.5)
    raise AssertionError("doccano did not finish a task")
