"""Cards that another package brings by the entry point `biomux.corpora`: found, checked, read and trained on as ours are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from biomux import cli, corpora
from biomux.corpora import catalogue
from biomux.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONLL = "Aspirin\tB-Drug\ntreats\tO\nfever\tO\n\nMice\tO\ngot\tO\nmetformin\tB-Drug\n\n"
CARD = """name: brought
format: {name: conll}
types: [Drug]
splits: {train: {files: [train.tsv]}, devel: {files: [train.tsv]}}
files: [{path: train.tsv}]
"""
A_PATH = "from pathlib import Path\n\nCARDS = Path(__file__).parent / 'cards'\n"
A_FUNCTION = A_PATH + "\n\ndef cards():\n    return str(CARDS)\n"

if TYPE_CHECKING:
    Install = Callable[[str, str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package with cards: what its module says, and what of it the entry point names."""
    site = tmp_path / "site"
    monkeypatch.chdir(tmp_path)

    def package(module: str, named: str) -> Path:
        folder = site / "with_cards"
        (folder / "cards").mkdir(parents=True)
        (folder / "__init__.py").write_text(module)
        (folder / "cards" / "brought.yaml").write_text(CARD)
        (folder / "cards" / "train.tsv").write_text(CONLL)
        described = site / "with_cards-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text("Metadata-Version: 2.1\nName: with-cards\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text(f"[biomux.corpora]\nmine = with_cards:{named}\n")
        monkeypatch.syspath_prepend(site)
        catalogue._brought.cache_clear()
        return folder

    yield package
    sys.modules.pop("with_cards", None)
    catalogue._brought.cache_clear()


@pytest.mark.parametrize(("module", "named"), [(A_PATH, "CARDS"), (A_FUNCTION, "cards")])
def test_a_package_brings_cards(
    install: Install, module: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = install(module, named)
    assert "brought" in catalogue.names()
    assert catalogue.folder_of("brought") == folder / "cards"
    assert [[document.mention(span) for span in document.spans] for document in corpora.load("brought", "train")] == [
        ["Aspirin"],
        ["metformin"],
    ]
    assert cli.run(["corpora", "list"]) == 0
    assert "brought" in capsys.readouterr().out
    (tmp_path / "my.yaml").write_text(
        "name: mine\ntasks: {drug: {corpus: brought}}\nmodel: {encoder: {kind: random}}\nregime: {kind: single}\n"
    )
    assert cli.run(["train", "my.yaml", "--dry-run"]) == 0
    assert "drug" in capsys.readouterr().out


def test_a_card_of_the_folder_at_hand_comes_first(install: Install, tmp_path: Path) -> None:
    install(A_PATH, "CARDS")
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "brought.yaml").write_text(CARD.replace("Drug", "Chemical"))
    assert catalogue.card("brought").types == ("Chemical",)


def test_a_brought_card_cannot_take_the_name_of_ours(install: Install) -> None:
    folder = install(A_PATH, "CARDS")
    (folder / "cards" / "bc5cdr.yaml").write_text(CARD.replace("brought", "bc5cdr"))
    with pytest.raises(CorpusError, match=r"BX206.*must not have the name"):
        catalogue.card("bc5cdr")


@pytest.mark.parametrize(
    ("module", "said"),
    [("raise RuntimeError('half installed')\n", "half installed"), ("CARDS = 3\n", "TypeError"), ("", "no attribute")],
)
def test_a_broken_package_is_named_in_one_sentence(
    install: Install, module: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(module, "CARDS")
    assert cli.run(["corpora", "list"]) == 2
    err = capsys.readouterr().err
    assert "BX206" in err
    assert "'mine'" in err
    assert said in err
    assert "Traceback" not in err
