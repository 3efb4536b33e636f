"""Which runtime is taken, and what is refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
import tiny

import biomux
from biomux.engine import runtimes
from biomux.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("there", [True, False])
def test_auto_is_onnxruntime_whether_openvino_is_installed_or_not(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(runtimes, "installed", lambda: there)
    assert runtimes.named("auto") == runtimes.named("onnxruntime") == "onnxruntime"


def test_openvino_is_taken_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "installed", lambda: True)
    assert runtimes.named("openvino") == "openvino"


def test_a_runtime_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.bundle(tmp_path / "bundle")
    monkeypatch.setattr(runtimes, "installed", lambda: False)
    with pytest.raises(
        UsageError, match=r"BX003: the runtime openvino is not installed; pip install 'biomux\[openvino\]'"
    ):
        biomux.load(folder, runtime="openvino")
    with pytest.raises(UsageError, match="BX001: unknown runtime 'tensorrt'; choose from: auto, onnxruntime, openvino"):
        biomux.load(folder, runtime="tensorrt")


def test_a_folder_of_the_name_is_no_openvino(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "openvino").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "openvino", raising=False)
    assert not runtimes.installed()


def test_a_run_has_no_runtime_to_choose(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"BX001: .*this is a run, which only torch can compute, not onnxruntime"):
        biomux.load(tiny.run(tmp_path / "run"), runtime="onnxruntime")
