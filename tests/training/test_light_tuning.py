"""Light tuning: a bundle's graph learns in torch as it computes, its old heads hold it, and what changed is measured, told and bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
import tiny
import yaml
from onnx import numpy_helper
from training import invented

import biomux
from biomux import formats
from biomux.cli import run as command
from biomux.document import Document, Span
from biomux.engine.bundle import reader
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.packing import pack
from biomux.tasks.examples import ModelInput
from biomux.text import tokens

torch = pytest.importorskip("torch")

from biomux.cli import train as train_command  # noqa: E402
from biomux.engine.load import annotator as annotator_of  # noqa: E402
from biomux.training import frozen_head, light_tuning  # noqa: E402
from biomux.training import run as runs  # noqa: E402
from biomux.training.add_head import Choice, add  # noqa: E402
from biomux.training.bundle_graph import AddedHead, with_head  # noqa: E402
from biomux.training.export import export  # noqa: E402
from biomux.training.frozen_head import MixedHead  # noqa: E402
from biomux.training.graph_module import GraphEncoder, GraphHeads  # noqa: E402
from biomux.training.model import Model  # noqa: E402

if TYPE_CHECKING:
    from biomux.engine.packing import Batch
    from biomux.recipes.schema import Recipe

FIXTURES = Path(__file__).parent.parent / "fixtures" / "release-0.1.0"
TEXTS = [tiny.text(30, seed=seed) for seed in range(8)]


def exported(place: Path, **changes: Any) -> Path:
    invented.corpora(place / "corpora")
    recipe = invented.recipe(loop={"epochs": 1}, **changes)
    runs.start(recipe, place / "run", directory=place / "corpora")
    export(place / "run", place / "bundle", measure=False, precision="int8")
    return place / "bundle"


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle as it is exported today."""
    return exported(tmp_path_factory.mktemp("today"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose heads read mixes of layers and have two layers."""
    head = {"kind": "mix", "settings": {"head": "two-layer"}}
    return exported(tmp_path_factory.mktemp("mixed"), model={"encoder": {"kind": "random", "layers": 2}, "head": head})


@pytest.fixture(params=["bundle", "bundle-int8", "today", "mixed"])
def bundle(request: pytest.FixtureRequest) -> reader.Bundle:
    there = request.param in ("today", "mixed")
    return reader.read(Path(request.getfixturevalue(request.param) if there else FIXTURES / request.param))


def batches(read: reader.Bundle) -> list[Batch]:
    tokenizer = annotator_of(read).tokenizer
    cut = [one for text in TEXTS for one in tokens.split(tokenizer, text, [(0, len(text))])]
    return list(pack([ModelInput(one) for one in cut], specials=read.specials, budget=128))


def logits(model: Model, batch: Batch) -> Any:
    with torch.inference_mode():
        return model.heads["_old"](model.features(batch), torch.from_numpy(batch.first)).numpy()


def by_onnx(read: reader.Bundle, graph: bytes, batch: Batch) -> Any:
    outputs = OnnxSession(graph, read.places).run(batch)
    return np.concatenate([outputs[name] for name in sorted(read.places, key=lambda one: read.places[one].begin)], 1)


def module(graph: bytes, moving: tuple[str, ...] = light_tuning.MOVING) -> Model:
    return Model(GraphEncoder(graph, moving=moving), {"_old": GraphHeads(graph)})


def test_the_module_computes_what_the_graph_computes(bundle: reader.Bundle) -> None:
    model = module(bundle.graph)
    assert model.encoder.written(bundle.graph) == bundle.graph
    for batch in batches(bundle):
        np.testing.assert_allclose(logits(model, batch), by_onnx(bundle, bundle.graph, batch), atol=0.02)


def test_what_was_learned_is_what_the_graph_then_computes(bundle: reader.Bundle) -> None:
    grown = with_head(
        bundle.graph, AddedHead([0.0] * _depth(bundle) + [1.0], [_layer(_width(bundle), 4), _layer(4, 3)])
    )
    model = module(grown)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for batch in batches(bundle):
        loss = model.heads["_old"](model.features(batch), torch.from_numpy(batch.first)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    moved = model.encoder.written(grown)
    assert moved != grown
    places = max(place.end for place in bundle.places.values())
    for batch in batches(bundle):
        ours = logits(model, batch)[:, :places]
        np.testing.assert_allclose(ours, by_onnx(bundle, moved, batch), atol=0.02)
        assert np.abs(ours - by_onnx(bundle, grown, batch)).max() > 0.05
    left = {one.name: numpy_helper.to_array(one) for one in onnx.load_from_string(grown).graph.initializer}
    for one in onnx.load_from_string(moved).graph.initializer:
        value = numpy_helper.to_array(one)
        assert value.dtype == left[one.name].dtype
        if not one.name.startswith("encoder.layer.") or one.name.endswith(".scale"):
            assert value.tobytes() == left[one.name].tobytes()
        if value.dtype == np.int8 and one.name.startswith("encoder.layer."):
            assert np.abs(value.astype(int)).max() <= 63


def test_parameters_are_in_the_order_of_the_graph(bundle: reader.Bundle) -> None:
    """A checkpoint keeps the optimizer's state by the place of each parameter: another process must find the same order, however it hashes names."""
    places = {name: at for at, node in enumerate(onnx.load_from_string(bundle.graph).graph.node) for name in node.input}
    found = [places[key.replace("/", ".")] for key in GraphEncoder(bundle.graph, moving=light_tuning.MOVING).moving]
    assert len(found) > 10
    assert found == sorted(found)


def _width(read: reader.Bundle) -> int:
    return int(GraphEncoder(read.graph, moving=()).width)


def _depth(read: reader.Bundle) -> int:
    return int(GraphEncoder(read.graph, moving=()).depth)


def _layer(rows: int, columns: int) -> Any:
    chance = np.random.default_rng(rows)
    return chance.normal(size=(rows, columns)).astype(np.float32), chance.normal(size=columns).astype(np.float32)


def test_a_graph_with_an_operator_that_cannot_learn_is_refused(tmp_path: Path) -> None:
    made = reader.read(
        exported(
            tmp_path,
            model={"encoder": {"kind": "random", "layers": 1}, "head": {"kind": "bilstm", "settings": {"hidden": 4}}},
        )
    )
    with pytest.raises(biomux.BiomuxError, match=r"BX455.*--way frozen"):
        GraphHeads(made.graph)


@pytest.mark.parametrize("shares", [[0.0, 0.0, 1.0], [0.2, 0.3, 0.9]])
def test_a_head_goes_on_as_it_was_added(shares: list[float]) -> None:
    added = AddedHead(shares, [_layer(16, frozen_head.HIDDEN), _layer(frozen_head.HIDDEN, 3)])
    again = MixedHead.of(added).added()
    np.testing.assert_allclose(again.shares, shares, atol=1e-5)
    for (matrix, bias), (other, its) in zip(added.layers, again.layers, strict=True):
        np.testing.assert_array_equal(matrix, other)
        np.testing.assert_array_equal(bias, its)


def test_changes_are_counted_by_place_and_type() -> None:
    before = Document("a", "one two three", spans=(Span(0, 3, "x"), Span(4, 7, "x"), Span(8, 13, "y")))
    after = Document("a", "one two three", spans=(Span(0, 3, "x"), Span(4, 7, "y"), Span(0, 7, "z", head="new")))
    found = light_tuning.changes([before], [after], without=frozenset({"new"}))
    assert (found.before, found.after, found.same, found.documents) == (3, 2, 1, 1)
    assert found.share == pytest.approx(1 - 2 / 5)
    assert light_tuning.changes([before], [before]).share == 0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus of tools, and a recipe for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIOMUX_CORPORA", raising=False)
    monkeypatch.setattr(light_tuning, "EPOCHS", 3)
    monkeypatch.setattr(light_tuning, "BATCH_TOKENS", 160)
    monkeypatch.setattr(frozen_head, "EPOCHS", 4)
    write_tools("tools.jsonl", seed=1)
    raw = {
        "name": "tools",
        "tasks": {"tools": {"corpus": {"path": "tools.jsonl", "test": 0.2}}},
        "model": {"encoder": {"bundle": "default"}},
        "loop": {"batch_tokens": 160},
    }
    (tmp_path / "tools.yaml").write_text(yaml.safe_dump(raw))
    return tmp_path


def write_tools(name: str, *, seed: int) -> None:
    words = [word for word in tiny.WORDS if word.isalpha()]
    chance = np.random.default_rng(seed)
    made = []
    for index in range(30):
        chosen = [str(word) for word in chance.choice(words, 20)]
        starts = np.cumsum([0, *(len(word) + 1 for word in chosen)])
        spans = tuple(
            Span(int(start), int(start) + len(word), "tool")
            for word, start in zip(chosen, starts, strict=False)
            if word in words[:4]
        )
        made.append(Document(f"t{index}", " ".join(chosen) + ".", spans=spans))
    Path(name).unlink(missing_ok=True)
    formats.write(made, name)


def recipe() -> Recipe:
    from biomux.recipes.read import read

    return read("tools.yaml")


def drift(old: Path, new: Path) -> float:
    left, right = annotator_of(reader.read(old)), annotator_of(reader.read(new))
    heads = left.heads
    documents = [Document(str(number), text) for number, text in enumerate(TEXTS)]
    one, other = (list(each.annotate(documents, heads=heads, threshold=0)) for each in (left, right))
    scores = [
        {(span.start, span.end, span.type, span.head): span.score or 0.0 for span in document.spans}
        for document in (*one, *other)
    ]
    pairs = zip(scores[: len(one)], scores[len(one) :], strict=True)
    return sum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for a, b in pairs for key in {*a, *b})


def test_the_old_heads_outputs_hold_the_encoder(place: Path, today: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(light_tuning, "LEARNING_RATE", 0.01)
    found = {}
    for hold in (0.0, 10.0):
        monkeypatch.setattr(light_tuning, "HOLD", hold)
        add(recipe(), str(today), place / str(hold), choice=Choice("light", 1.0))
        found[hold] = drift(today, place / str(hold))
    assert 0 < found[10.0] < found[0.0] / 2


def test_both_ways_are_tried_and_told(place: Path, today: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "tools.yaml", "--with", str(today), "--way", "best", "--tolerance", "100"]
    assert command(arguments) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "runs/tools-1/bundle"
    for part in ("frozen encoder, a mix of layers", "frozen encoder, the last layer", "light tuning"):
        assert part in said.out
    assert "tools: With light tuning" in said.err
    told = json.loads(Path("runs/tools-1/added.json").read_text())["heads"]["tools"]
    f1 = told["development_f1"]
    assert set(f1) == {"mix", "last", "light"}
    assert f1[told["taken"]] == max(f1.values())
    assert told["light_tuning"]["old_answers"]["documents"] == 4
    assert told["light_tuning"]["part"] == 1
    card = Path("runs/tools-1/bundle/card.md").read_text()
    assert "| light tuning" in card
    assert "allowed: 100 %" in card
    assert command(["verify", "runs/tools-1/bundle"]) == 0
    assert set(biomux.load("runs/tools-1/bundle").heads) == {*biomux.load(today).heads, "tools"}
    assert not Path("runs/tools-1/light").exists()
    capsys.readouterr()
    assert command(["train", "--resume", "runs/tools-1"]) == 0
    assert "nothing to resume" in capsys.readouterr().err
    assert command([*arguments, "--run", "runs/tools-1"]) == 2
    assert "exists" in capsys.readouterr().err


def test_more_changes_than_allowed_leave_the_encoder_as_it_is(
    place: Path, today: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(light_tuning, "LEARNING_RATE", 0.05)
    monkeypatch.setattr(light_tuning, "HOLD", 0.0)
    arguments = ["train", "tools.yaml", "--with", str(today), "--tolerance", "0", "--way"]
    assert command([*arguments, "light", "--run", "runs/light"]) == 2
    said = capsys.readouterr().err
    assert "BX456" in said
    assert "--way best" in said
    assert not Path("runs/light/bundle").exists()
    assert command([*arguments, "best", "--run", "runs/best"]) == 0
    assert "left as it is" in capsys.readouterr().err
    told = json.loads(Path("runs/best/added.json").read_text())["heads"]["tools"]
    assert told["taken"] in ("mix", "last")
    assert set(told["development_f1"]) == {"mix", "last"}
    assert drift(today, Path("runs/best/bundle")) == 0
    card = Path("runs/best/bundle/card.md").read_text()
    assert "all other heads are unchanged" in card
    assert "too many" in card


def test_weights_go_as_far_as_the_tolerance_allows(place: Path, today: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(light_tuning, "LEARNING_RATE", 0.01)
    monkeypatch.setattr(light_tuning, "HOLD", 0.0)
    whole = add(recipe(), str(today), place / "whole", choice=Choice("light", 1.0)).light["tools"]
    assert whole.part == 1
    less = add(recipe(), str(today), place / "less", choice=Choice("best", whole.changes.share - 1e-6)).light["tools"]
    assert less.part < 1
    assert less.changes.share < whole.changes.share


def test_what_was_stopped_goes_on_to_the_same_bundle(
    place: Path, today: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "tools.yaml", "--with", str(today), "--way", "light", "--tolerance", "100", "--run"]
    assert command([*arguments, "runs/whole"]) == 0

    def stops(said: str) -> None:
        if "epoch 2" in said:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(train_command, "note", stops)
        assert command([*arguments, "runs/stopped"]) == 130
    assert Path("runs/stopped/light/tools/checkpoints/last").is_dir()
    assert not Path("runs/stopped/bundle").exists()
    assert command(["train", "--resume", "runs/stopped", "--set", "loop.seed=3"]) == 2
    write_tools("tools.jsonl", seed=2)
    capsys.readouterr()
    assert command(["train", "--resume", "runs/stopped"]) == 2
    assert "BX405" in (said := capsys.readouterr().err)
    assert "the data changed" in said
    write_tools("tools.jsonl", seed=1)
    assert command(["train", "--resume", "runs/stopped"]) == 0
    whole, again = (Path(f"runs/{name}/bundle/graph.onnx").read_bytes() for name in ("whole", "stopped"))
    assert whole == again


def test_a_second_head_is_tuned_onto_a_bundle_that_was_tuned(place: Path, today: Path) -> None:
    """It has a name that torch's modules have too."""
    choice = Choice("light", 1.0)
    add(recipe(), str(today), place / "one", choice=choice)
    raw = yaml.safe_load(Path("tools.yaml").read_text())
    raw["tasks"] = {"buffers": {**raw["tasks"]["tools"], "rename": {"tool": "thing"}}}
    Path("tools.yaml").write_text(yaml.safe_dump(raw))
    add(recipe(), str(place / "one"), place / "two", choice=choice)
    assert {"tools", "buffers"} < set(biomux.load(place / "two").heads)


def test_a_folder_that_cannot_be_used_is_told_before_anything_is_learned(
    place: Path, today: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "tools.yaml", "--with", str(today), "--run"]
    assert command([*arguments, "done"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(frozen_head, "train", None)
    Path("pretrained").mkdir()
    Path("pretrained/pretraining.yaml").touch()
    for folder, said in (
        ("done", "BX004: done/bundle: already exists; name another folder with --run"),
        ("tools.yaml", "BX405: tools.yaml: cannot create the folder: "),
        ("tools.yaml/below", "BX405: tools.yaml/below: cannot create the folder: "),
        ("pretrained", "BX405: pretrained: the folder already contains a run of `biomux pretrain`"),
    ):
        assert command([*arguments, folder]) == 2
        assert said in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setattr("os.access", lambda *_: False)
        assert command([*arguments, "closed"]) == 2
    assert "BX405: closed: cannot create the folder: no permission to write to" in capsys.readouterr().err
    assert command(["train", "tools.yaml", "--run", "done"]) == 2
    assert "BX405: done: the folder already contains a run of `biomux train --with`" in capsys.readouterr().err
    assert command(["train", "--resume", "done"]) == 0
    assert "nothing to resume" in (told := capsys.readouterr()).err
    assert told.out == "done/bundle\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--way", "best"], "name a bundle with --with"),
        (["--with", "default", "--tolerance", "2"], "cannot use --tolerance without --way light or best"),
        (
            ["--with", "default", "--way", "frozen", "--tolerance", "2"],
            "cannot use --tolerance without --way light or best",
        ),
        (["--with", "default", "--dry-run"], "cannot use --resume, --dry-run"),
        (["--with", "default", "--way", "lite"], "--way must be 'frozen', 'light' or 'best', got 'lite'"),
        (["--with", "nowhere", "--way", "best"], "nowhere"),
    ],
)
def test_options_that_do_not_fit_are_told(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert command(["train", "tools.yaml", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not Path("runs").exists()
