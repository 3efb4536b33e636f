"""One more head on a finished bundle: what was there answers as before, to the bit, and the new type is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
import yaml
from training import invented

import biomux
from biomux import formats
from biomux.cli import run as command
from biomux.document import Document, Span
from biomux.engine.bundle import onnx_check, reader
from biomux.engine.graph_session import Place
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.packing import pack
from biomux.tasks.examples import ModelInput
from biomux.text import tokens

torch = pytest.importorskip("torch")

from biomux.engine.load import annotator as annotator_of  # noqa: E402
from biomux.training import run as runs  # noqa: E402
from biomux.training.add_head import add  # noqa: E402
from biomux.training.bundle_graph import AddedHead, with_head, with_states  # noqa: E402
from biomux.training.encoders import from_bundle  # noqa: E402
from biomux.training.export import export  # noqa: E402

if TYPE_CHECKING:
    from biomux.engine.packing import Batch

FIXTURES = Path(__file__).parent.parent / "fixtures" / "release-0.1.0"
TEXTS = [tiny.text(30, seed=seed) for seed in range(12)]


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle as it is exported today."""
    place = tmp_path_factory.mktemp("today")
    invented.corpora(place / "corpora")
    runs.start(invented.recipe(loop={"epochs": 1}), place / "run", directory=place / "corpora")
    export(place / "run", place / "bundle", measure=False, precision="int8")
    return place / "bundle"


@pytest.fixture(params=["bundle", "bundle-int8", "today"])
def bundle(request: pytest.FixtureRequest) -> Path:
    return Path(request.getfixturevalue("today") if request.param == "today" else FIXTURES / request.param)


def batches(read: reader.Bundle) -> list[Batch]:
    tokenizer = annotator_of(read).tokenizer
    cut = [one for text in TEXTS for one in tokens.split(tokenizer, text, [(0, len(text))])]
    return list(pack([ModelInput(one) for one in cut], specials=read.specials, budget=128))


def head(layers: int, width: int, labels: int) -> AddedHead:
    chance = np.random.default_rng(7)

    def matrix(rows: int, columns: int) -> Any:
        return chance.normal(size=(rows, columns)).astype(np.float32)

    return AddedHead(
        [0.5, 0.0, *[0.3] * (layers - 2)],
        [(matrix(width, 8), matrix(1, 8)[0]), (matrix(8, labels), matrix(1, labels)[0])],
    )


def test_old_logits_are_the_same_to_the_bit_and_the_new_ones_are_those_of_the_head(bundle: Path) -> None:
    import onnxruntime

    read = reader.read(bundle)
    content, names = with_states(read.graph)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    width = from_bundle.weights(read.graph).config["hidden_size"]
    made = head(len(names), width, 3)
    last = max(place.end for place in read.places.values())
    grown = with_head(read.graph, made)
    again = with_head(grown, made)
    assert onnx_check.check(grown).outputs["logits"] == last + 3
    assert onnx_check.check(again).outputs["logits"] == last + 6
    before = OnnxSession(read.graph, read.places)
    places = {"new": Place("logits", last, last + 3), "newer": Place("logits", last + 3, last + 6)}
    after = OnnxSession(again, {**read.places, **places})
    for batch in batches(read):
        old, new = before.run(batch), after.run(batch)
        for name in read.places:
            assert old[name].tobytes() == new[name].tobytes()
        states = session.run(names, {"ids": batch.ids, "mask": batch.mask, "first": batch.first})
        mixed = sum(share * state for share, state in zip(made.shares, states, strict=True))
        (first, bias), (second, other) = made.layers
        wanted = np.maximum(mixed @ first + bias, 0) @ second + other
        np.testing.assert_allclose(new["new"], wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(new["newer"], wanted, rtol=1e-4, atol=1e-4)


def test_the_encoder_of_a_bundle_becomes_floats_again(bundle: Path) -> None:
    import onnxruntime

    read = reader.read(bundle)
    content, names = with_states(read.graph)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    from biomux.recipes.schema import EncoderSettings

    encoder, _, _ = from_bundle.load(EncoderSettings(bundle=str(bundle), limit=read.limit))
    encoder.eval()
    for batch in batches(read)[:3]:
        states = session.run(names, {"ids": batch.ids, "mask": batch.mask, "first": batch.first})
        with torch.inference_mode():
            found = encoder.layers(torch.from_numpy(batch.ids), torch.from_numpy(batch.mask))
        for wanted, layer in zip(states, found, strict=True):
            rows = layer.reshape(-1, layer.shape[-1])[batch.first].numpy()
            cosine = (rows * wanted).sum(1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(wanted, axis=1)
            assert cosine.min() > 0.99


def described(place: Path, **task: Any) -> Path:
    raw = {
        "name": "tools",
        "tasks": {"tools": {"corpus": {"path": "tools.jsonl", "test": 0.2}, **task}},
        "model": {"encoder": {"bundle": "default"}},
    }
    (place / "tools.yaml").write_text(yaml.safe_dump(raw))
    return place / "tools.yaml"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIOMUX_CORPORA", raising=False)
    words = [word for word in tiny.WORDS if word.isalpha()]
    chance = np.random.default_rng(1)
    made = []
    for index in range(40):
        chosen = [str(word) for word in chance.choice(words, 20)]
        text = " ".join(chosen) + "."
        starts = np.cumsum([0, *(len(word) + 1 for word in chosen)])
        spans = tuple(
            Span(int(start), int(start) + len(word), "tool")
            for word, start in zip(chosen, starts, strict=False)
            if word in words[:4]
        )
        made.append(Document(f"t{index}", text, spans=spans))
    formats.write(made, tmp_path / "tools.jsonl")
    return tmp_path


def test_a_bundle_gets_one_more_type_by_the_command(
    place: Path, today: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described(place)
    assert command(["train", "tools.yaml", "--with", str(today)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "runs/tools-1/bundle"
    assert "taken" in said.out
    grown, old = biomux.load("runs/tools-1/bundle"), biomux.load(today)
    assert set(grown.heads) == {*old.heads, "tools"}
    for text in TEXTS:
        assert [one for one in grown(text).spans if one.head != "tools"] == list(old(text).spans)
    assert "## Added head `tools`" in (place / "runs/tools-1/bundle/card.md").read_text()
    assert command(["verify", "runs/tools-1/bundle"]) == 0
    assert biomux.load("runs/tools-1").heads == grown.heads  # the folder of the run stands for its bundle
    capsys.readouterr()
    assert command(["runs", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["run"], listed["kind"], listed["state"]) == ("runs/tools-1", "add", "done")
    assert set(listed["scores"]) == {"tools"}
    assert command(["runs"]) == 0
    assert "runs/tools-1\ttools\tdone" in capsys.readouterr().out
    assert command(["export", "runs/tools-1", "again"]) == 2
    assert "use the new bundle, runs/tools-1/bundle" in capsys.readouterr().err
    assert command(["evaluate", "runs/tools-1", "tools.yaml", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["columns"][0]["spans"]["matchings"]["strict"]["micro"]["f1"] > 0.5


@pytest.mark.parametrize(
    ("task", "name", "said"),
    [
        ({"kind": "classification"}, "tools", "has the kind 'classification'"),
        ({}, "genes", "already has a head 'genes'"),
    ],
)
def test_what_cannot_be_added_is_told(place: Path, today: Path, task: dict[str, Any], name: str, said: str) -> None:
    from biomux.recipes.read import check

    raw = yaml.safe_load(described(place, **task).read_text())
    raw["tasks"] = {name: raw["tasks"]["tools"]}
    with pytest.raises(biomux.BiomuxError, match=f"BX308.*{said}"):
        add(check(raw, where="x"), str(today), place / "new")


def test_a_type_that_the_shipped_bundle_has_is_refused(place: Path) -> None:
    from biomux.recipes.read import read

    described(place, rename={"tool": "gene"})
    with pytest.raises(biomux.BiomuxError, match=r"BX308.*already has a type 'gene'.*rename it"):
        add(read("tools.yaml"), "default", place / "new")
