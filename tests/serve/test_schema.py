"""What the OpenAPI description says is what the service does: schemathesis asks all of it, and finds nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from serving import serving

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "negative_data_rejection",
)


def test_schemathesis_finds_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("schemathesis", reason="needs schemathesis")
    code = "import sys; from schemathesis.cli import schemathesis; sys.argv[0] = 'st'; schemathesis()"
    with serving(queue_tokens=20_000, body_timeout=2.0) as (client, _):
        address = f"http://127.0.0.1:{client.port}/openapi.json"
        options = ["--checks", ",".join(CHECKS), "--max-examples", "25", "--seed", "1", "--request-timeout", "20"]
        done = subprocess.run(
            [sys.executable, "-c", code, "run", address, *options],
            capture_output=True,
            text=True,
            cwd=tmp_path_factory.mktemp("schemathesis"),
            timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr
