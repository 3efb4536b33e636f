"""Data of one's own in every format through the whole way: init, train --quick, export, annotate, evaluate."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

import pytest
import tiny

from biomux import formats
from biomux.cli import run as command
from biomux.document import Argument, Document, Label, Relation, Span

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")

DRUGS, ILLS = ("aspirin", "zolmide", "quatrine"), ("ulcer", "fever", "tumour")
RANDOM = ("--set", "model.encoder={kind: random, layers: 1}", "--set", "loop.threads=1")


def documents(number: int, *, seed: int = 1) -> list[Document]:
    """Sentences with drugs and ills; where both are in one sentence, the first drug treats the first ill."""
    chance = random.Random(seed)
    made = []
    for index in range(number):
        words = [chance.choice(tiny.WORDS) for _ in range(12)] + [chance.choice(DRUGS), "and", chance.choice(ILLS)]
        chance.shuffle(words)
        text = " ".join(words) + "."
        found = sorted(
            (match.start(), match.end(), type_)
            for type_, names in (("Drug", DRUGS), ("Ill", ILLS))
            for match in re.finditer(rf"\b({'|'.join(names)})\b", text)
        )
        spans = tuple(Span(*one, id=f"T{place}") for place, one in enumerate(found, 1))
        first = {span.type: span.id for span in reversed(spans)}
        link = Relation("treats", (Argument("Drug", str(first["Drug"])), Argument("Ill", str(first["Ill"]))), id="R1")
        made.append(Document(f"{10_000_000 + index}", text, spans=spans, relations=(link,)))
    return made


def bare(number: int, *, seed: int = 1) -> list[Document]:
    return [Document(one.id, one.text, spans=one.spans) for one in documents(number, seed=seed)]


def conll(place: Path) -> str:
    (place / "data").mkdir()
    for seed, (name, number) in enumerate({"train": 30, "dev": 8, "test": 8}.items()):
        formats.write(bare(number, seed=seed), place / "data" / f"{name}.tsv", format="conll", on_loss=formats.ignore)
    return "data/"


def one_file(name: str, format: str | None = None) -> Callable[[Path], str]:
    def write(place: Path) -> str:
        formats.write(bare(40), place / name, format=format, on_loss=formats.ignore)
        return name

    return write


def labels(place: Path) -> str:
    rows = "".join(f'{one.id},"{one.text}",{"short" if len(one.text) < 100 else "long"}\n' for one in documents(40))
    (place / "texts.csv").write_text(f"id,text,label\n{rows}")
    return "texts.csv"


def pairs(place: Path) -> str:
    found = [
        Document(one.id, one.text, pair=other.text, labels=(Label("similarity", value=index % 5),))
        for index, (one, other) in enumerate(zip(documents(40), documents(40, seed=2), strict=True))
    ]
    formats.write(found, place / "pairs.tsv", format="pairs", on_loss=formats.ignore)
    return "pairs.tsv"


def relations(place: Path) -> str:
    formats.write(documents(40), place / "linked", format="brat")
    return "linked/"


WAYS: dict[str, tuple[Callable[[Path], str], tuple[str, ...]]] = {
    "conll": (conll, ("tagging",)),
    "brat": (one_file("notes", "brat"), ("tagging",)),
    "bioc": (one_file("notes.bioc.xml"), ("tagging",)),
    "pubtator": (one_file("notes.pubtator"), ("tagging",)),
    "labelstudio": (one_file("notes.labelstudio.json"), ("tagging",)),
    "jsonl": (one_file("notes.jsonl"), ("tagging",)),
    "doccano": (one_file("notes.doccano.jsonl", "doccano"), ("tagging",)),
    "prodigy": (one_file("notes.prodigy.jsonl", "prodigy"), ("tagging",)),
    "csv": (labels, ("classification",)),
    "pairs": (pairs, ("similarity",)),
    "relations": (relations, ("tagging", "relation")),
}


@pytest.mark.parametrize("name", WAYS)
def test_data_go_the_whole_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIOMUX_CORPORA", raising=False)
    write, kinds = WAYS[name]
    data = write(tmp_path)
    assert command(["corpora", "check", data]) == 0
    assert command(["init", data, "-o", "my.yaml", "--no-estimate"]) == 0
    written = (tmp_path / "my.yaml").read_text()
    assert re.findall(r"^    kind: (\S+)$", written, re.MULTILINE) == list(kinds)
    assert command(["train", "my.yaml", "--quick", "--run", "run", *RANDOM]) == 0
    capsys.readouterr()
    assert command(["evaluate", "run", "all", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["columns"]) == len(kinds)
    bundle = str(tmp_path / "bundle")  # whole: annotate keeps the model of a path that it has loaded
    assert command(["export", "run", bundle, "--no-gate"]) == 0
    assert command(["evaluate", bundle, "my.yaml", "--no-cross"]) == 0
    if kinds == ("similarity",):
        assert command(["pairs", data, "--model", bundle, "-o", "out.jsonl"]) == 0
        return
    (tmp_path / "new.txt").write_text(documents(1, seed=9)[0].text)
    assert command(["annotate", "new.txt", "--model", bundle, "-o", "out.jsonl"]) == 0
    (found,) = formats.read("out.jsonl")
    assert bool(found.labels) == ("classification" in kinds)
