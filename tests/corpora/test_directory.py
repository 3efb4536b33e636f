"""Which directory the corpora lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from biomux.corpora import directory
from biomux.errors import CorpusError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(directory.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def configure(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "config" / "biomux"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(text, encoding="utf-8")


def test_argument_then_variable_then_configuration_then_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("argument", "variable", "configured", "corpora"):
        (tmp_path / name).mkdir()
    assert directory.find().resolve() == tmp_path / "corpora"
    configure(tmp_path, f"corpora: {tmp_path / 'configured'}\n")
    assert directory.find() == tmp_path / "configured"
    monkeypatch.setenv(directory.VARIABLE, str(tmp_path / "variable"))
    assert directory.find() == tmp_path / "variable"
    assert directory.find(tmp_path / "argument") == tmp_path / "argument"


def test_configuration_is_in_the_home_without_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert directory.config_file() == tmp_path / ".config" / "biomux" / "config.yaml"


def test_a_missing_directory_is_told_with_what_named_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(
        CorpusError, match=r"^BX202: no such corpora directory: 'corpora' \(the default\); give --corpora"
    ):
        directory.find()
    configure(tmp_path, f"corpora: {gone}\n")
    with pytest.raises(CorpusError, match=r"gone' \(named by the key `corpora` in .*config\.yaml\)"):
        directory.find()
    monkeypatch.setenv(directory.VARIABLE, str(gone))
    with pytest.raises(CorpusError, match=r"gone' \(named by the environment variable BIOMUX_CORPORA\)"):
        directory.find()
    with pytest.raises(CorpusError, match=r"gone' \(named by --corpora\)"):
        directory.find(gone)


@pytest.mark.parametrize("text", ["corpora: [", "corpora: [a, b]", "corpora: 3"])
def test_a_broken_configuration_is_told(tmp_path: Path, text: str) -> None:
    configure(tmp_path, text)
    with pytest.raises(CorpusError, match=r"BX202: .*config\.yaml"):
        directory.find()


@pytest.mark.parametrize("text", ["", "other: 1", "corpora:", "- list"])
def test_a_configuration_may_say_nothing(tmp_path: Path, text: str) -> None:
    configure(tmp_path, text)
    (tmp_path / "corpora").mkdir()
    assert directory.find().name == "corpora"


@pytest.mark.parametrize(("named", "stored"), [("a.tsv.gz", "a.tsv"), ("a.tsv", "a.tsv.gz"), ("a.tsv", "a.tsv")])
def test_plain_and_gzipped_name_the_same_file(tmp_path: Path, named: str, stored: str) -> None:
    (tmp_path / stored).write_bytes(b"")
    assert directory.locate(tmp_path, named) == tmp_path / stored
    assert directory.locate(tmp_path, "b.tsv") is None
