"""Broken data of one's own: each kind has its message, in one line, with its place and a way out; never a traceback."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

import pytest

from biomux.cli import run as command

if TYPE_CHECKING:
    from pathlib import Path

CONLL = "Aspirin\tB-Drug\nhelps\tO\n.\tO\n\n"
LINE = (
    json.dumps({"biomux": 1, "id": "1", "text": "Aspirin helps.", "spans": [{"start": 0, "end": 7, "type": "Drug"}]})
    + "\n"
)
REGION = {"id": "1", "from_name": "label", "to_name": "text", "type": "labels"}
TASK = {
    "data": {"text": "Aspirin helps."},
    "annotations": [{"result": [{**REGION, "value": {"start": 0, "end": 70, "text": "Aspirin", "labels": ["Drug"]}}]}],
}
BIOC = (
    "<?xml version='1.0'?><collection><source/><date/><key/><document><id>1</id><passage><offset>0</offset><text>Aspirin</text>"
    "<annotation id='T1'><infon key='type'>Drug</infon><location offset='50' length='7'/><text>Aspirin</text></annotation>"
    "</passage></document></collection>"
)
ROWS = "".join(f"{number},Text number {number},good\n" for number in range(30))

BROKEN: dict[str, tuple[dict[str, str | bytes], str]] = {
    "an empty folder": ({}, "BX211: there are no files in"),
    "an empty file": ({"a.tsv": ""}, "BX110: .*a.tsv: cannot recognise the format: the file is empty"),
    "an empty export": ({"a.labelstudio.json": ""}, "BX113: .*expected a JSON array, but the file is empty"),
    "an export without tasks": ({"a.labelstudio.json": "[]"}, "BX211: .*no documents could be read from the data"),
    "a token without its tag": (
        {"a.conll": "Aspirin\tB-Drug\nhelps\n.\tO\n"},
        "BX116: .*a.conll:2: the token 'helps' has no tag",
    ),
    "a tag of no scheme": ({"a.conll": "Aspirin\tX-Drug\nhelps\tO\n"}, "BX113: .*a.conll:1: the tag 'X-Drug'"),
    "plain text": ({"a.txt": "Aspirin helps."}, "BX212: .*a.txt is plain text, without annotations"),
    "annotations without their text": ({"a.ann": "T1\tDrug 0 7\tAspirin\n"}, "BX119: .*there is no a.txt beside it"),
    "a text without annotations": (
        {"a.ann": "T1\tDrug 0 7\tAspirin\n", "a.txt": "Aspirin helps.", "b.txt": "Aspirin"},
        "BX212: .*b.txt has no .ann file beside it",
    ),
    "offsets beyond the text": (
        {"a.ann": "T1\tDrug 0 70\tAspirin\n", "a.txt": "Aspirin helps."},
        "BX114: .*a.ann:1: T1 is at 0..70, but the text has 14 characters",
    ),
    "another text at the offsets": (
        {"a.ann": "T1\tDrug 0 7\tIbuprof\n", "a.txt": "Aspirin helps."},
        "BX115: .*a.ann:1: the mention is 'Ibuprof', but the text there is 'Aspirin'",
    ),
    "blanks in place of tabs": (
        {"a.ann": "T1 Drug 0 7 Aspirin\n", "a.txt": "Aspirin helps."},
        "BX113: .*a.ann:1: a T line needs a type and offsets",
    ),
    "a relation to nothing": (
        {"a.ann": "T1\tDrug 0 7\tAspirin\nR1\ttreats Arg1:T1 Arg2:T9\n", "a.txt": "Aspirin helps."},
        "BX113: .*relation 'treats' points at span 'T9', which does not exist",
    ),
    "columns that nobody knows": (
        {"a.tsv": "Aspirin\tB-Drug\nhelps\n\n"},
        "BX110: .*it has the columns.*name it: {path: PATH",
    ),
    "a line that is cut short": ({"a.jsonl": LINE + LINE[:30]}, "BX117: .*a.jsonl:2: the line is not valid JSON"),
    "a span beyond the text": ({"a.jsonl": LINE.replace('"end": 7', '"end": 70')}, "BX114: .*a.jsonl:1 .*at 0..70"),
    "objects without a text": (
        {"a.json": '[{"id": 1, "words": "x"}]'},
        "BX110: .*its objects have the keys 'id', 'words'",
    ),
    "XML that is cut short": ({"a.xml": BIOC[:130]}, "BX117: .*the XML is not well-formed"),
    "BioC offsets beyond the text": ({"a.xml": BIOC}, "BX114: .*an annotation is at 50, 7 long"),
    "PubTator with another text": (
        {"a.pubtator": "1|t|Aspirin helps.\n1|a|So.\n1\t0\t7\tIbuprof\tDrug\n\n"},
        "BX115: .*a.pubtator:3: the mention is 'Ibuprof'",
    ),
    "a Label Studio region beyond the text": ({"a.json": json.dumps([TASK])}, "BX115: .*a region's text is 'Aspirin'"),
    "a doccano label beyond the text": (
        {"a.jsonl": '{"text": "Aspirin", "label": [[0, 70, "Drug"]]}\n'},
        "BX114: .*a.jsonl:1 .*at 0..70",
    ),
    "a table without a text column": (
        {"a.csv": "id,words,label\n1,Aspirin,good\n"},
        "BX110: .*columns 'id', 'words', 'label'",
    ),
    "a row with too many cells": (
        {"a.csv": f"id,text,label\n{ROWS}31,a,b,c\n"},
        "BX113: .*a.csv:32: the row has 4 cells",
    ),
    "a score that is no number": (
        {"a.tsv": "text\tpair\tscore\nA\tB\tfar\n"},
        "BX113: .*a.tsv:2: the score must be a number",
    ),
    "UTF-16": ({"a.tsv": CONLL.encode("utf-16")}, "BX110: .*it is UTF-16; convert it to UTF-8"),
    "Latin-1": ({"a.tsv": "caf\xe9\tB-Drug\n\n".encode("latin-1")}, "BX111: .*a.tsv:1: byte 3 .* is not UTF-8"),
    "gzip that is cut short": (
        {"a.tsv.gz": gzip.compress(CONLL.encode() * 100)[:-20]},
        "BX112: .*gzip data is damaged",
    ),
    "a PDF": ({"a.pdf": b"%PDF-1.7\n%\xe2\xe3"}, "BX110: .*it is a PDF; extract its text first"),
    "references as RIS": (
        {"a.ris": "TY  - JOUR\nAB  - Aspirin\nER  - \n"},
        "BX110: .*it is RIS; export the references",
    ),
    "references as BibTeX": (
        {"a.bib": "@article{a, title={Aspirin}}\n"},
        "BX110: .*it is BibTeX; export the references",
    ),
    "an office file": ({"a.docx": b"PK\x03\x04\x14\x00"}, "BX110: .*it is a zip or office file"),
    "files of different formats": ({"a.tsv": CONLL, "b.jsonl": LINE}, "BX212: .*a.tsv is conll, .*b.jsonl is jsonl"),
    "no training part": ({"test.tsv": CONLL}, "BX211: there is no training part.*only test"),
    "a name that means two splits": ({"train-test.tsv": CONLL}, "BX211: cannot tell the split of 'train-test.tsv'"),
    "a single document": ({"a.jsonl": LINE}, "BX211: .*cannot cut devel: the data have only one text"),
    "no annotations": (
        {"a.csv": "id,text\n" + "".join(f"{n},Text {n}\n" for n in range(30))},
        "train has no annotation",
    ),
    "one class only": ({"a.csv": f"id,text,label\n{ROWS}"}, "every document of train has the class 'good'"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_data_are_told_in_a_sentence(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, said = BROKEN[kind]
    data = tmp_path / "data"
    data.mkdir()
    for name, content in files.items():
        (data / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert command(["corpora", "check", str(data)]) == 2
    told = capsys.readouterr()
    assert re.search(rf"^error: {said}", told.err + told.out, re.MULTILINE), told
    assert len(told.err.splitlines()) <= 1
    assert command(["init", str(data), "-o", str(tmp_path / "my.yaml")]) == 2
    assert not (tmp_path / "my.yaml").exists()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_check_lists_every_malformed_record_of_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [LINE.replace('"1"', f'"{number}"').replace("helps", f"helps {number}") for number in range(10)]
    lines[2], lines[6] = "{broken\n", LINE.replace('"end": 7', '"end": 700')
    (tmp_path / "train.jsonl").write_text("".join(lines))
    (tmp_path / "test.jsonl").write_text(lines[0] + "{broken too\n")
    assert command(["corpora", "check", str(tmp_path)]) == 2
    shown = capsys.readouterr().out
    assert re.findall(r"^error: .*?(\w+\.jsonl:\d+)", shown, re.MULTILINE) == [
        "train.jsonl:3",
        "train.jsonl:7",
        "test.jsonl:2",
    ]
    assert re.search(r"^documents +7 +1 +1$", shown, re.MULTILINE), shown


def test_check_lists_malformed_records_although_no_part_can_be_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text(LINE + "{broken\n{broken\n")
    assert command(["corpora", "check", str(tmp_path), "--json"]) == 2
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert re.findall(r"a.jsonl:\d|cannot cut devel", "\n".join(errors)) == [
        "a.jsonl:2",
        "a.jsonl:3",
        "cannot cut devel",
    ]


def test_there_are_at_least_twenty_kinds() -> None:
    assert len(BROKEN) >= 20
