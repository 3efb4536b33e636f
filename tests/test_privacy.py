"""Biomux sends nothing, anywhere: no file beside what was asked for, no name looked up, no connection."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

OURS = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY", "RAY_USAGE_STATS_ENABLED")


def as_a_new_user(home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command as run by a user with an empty home folder and none of our variables set."""
    hidden = {*OURS, "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CI", "TF_BUILD", "JENKINS_URL"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {"HOME": str(home)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_annotating_leaves_no_file_in_an_empty_home(tmp_path: Path) -> None:
    done = as_a_new_user(tmp_path, sys.executable, "-m", "biomux", "annotate", "Aspirin causes ulcers.")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_annotating_looks_up_no_name_and_opens_no_connection(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    home.mkdir()
    trace = ("strace", "-f", "-qq", "-e", "trace=connect,sendto,openat", "-o", str(log))
    done = as_a_new_user(home, *trace, sys.executable, "-m", "biomux", "annotate", "Aspirin causes ulcers.")
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.skip(f"strace may not trace here: {done.stderr.strip()[:80]}")
    assert done.returncode == 0, done.stderr
    calls = log.read_text(encoding="utf-8", errors="replace")
    assert "graph.onnx" in calls, "the trace must have seen the bundle being read"
    signs = ("connect(", "AF_INET", "resolv.conf", "DeveloperTools")
    reports = [line for line in calls.splitlines() if any(sign in line for sign in signs)]
    assert reports == []


def test_switches_are_set_before_onnxruntime_is_imported_and_a_users_own_choice_stays() -> None:
    code = "import sys, os, biomux; print('onnxruntime' in sys.modules, os.environ['ORT_DISABLE_TELEMETRY'])"
    free = {name: value for name, value in os.environ.items() if name not in OURS}
    for environment, told in ((free, "False 1"), (free | {"ORT_DISABLE_TELEMETRY": "0"}, "False 0")):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == told


def test_openvino_cannot_import_its_reporter(tmp_path: Path) -> None:
    (tmp_path / "openvino_telemetry.py").write_text("raise SystemExit('reported')", encoding="utf-8")
    code = "import biomux\ntry:\n    import openvino_telemetry\nexcept ImportError:\n    print('absent')"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "absent", done.stderr
