"""Model files are hostile until checked: every attack is refused with its own code, and nothing but a BiomuxError ever comes out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import onnx
import pytest
import tiny
from attacks.hostile import ALLOWED, ATTACKS, ATTACKS_ON_EVERY_HEAD, VERIFIED, seal, transitions
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from training import graphs

import biomux
from biomux.engine.bundle import onnx_check
from biomux.engine.bundle.verify import verify
from biomux.engine.packing import pack
from biomux.errors import BiomuxError, BundleError
from biomux.tasks.examples import ModelInput
from biomux.text import tokens
from biomux.training.export import export


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny.bundle(tmp_path_factory.mktemp("good") / "bundle")
    (folder / "types.json").write_text(json.dumps({"gene": {"sources": [["genes", "Gene"]]}}))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["types.json"] = {}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    seal(folder)
    return folder


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "bundle"))


def test_the_good_bundle_is_good(folder: Path) -> None:
    assert not any(check.error for check in verify(folder))
    assert biomux.load(folder, threads=1).types == ("gene",)


def test_good_transitions_are_taken(folder: Path) -> None:
    transitions("genes")(folder)
    assert [type(task).__name__ for task in biomux.load(folder, threads=1).tasks] == ["Tagging", "Chained"]


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_just_within_the_limits_is_taken(name: str, folder: Path) -> None:
    ALLOWED[name](folder)
    assert biomux.load(folder, threads=1)("Aspirin given after fever.")


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_bundle_is_refused(name: str, folder: Path) -> None:
    code, attack = ATTACKS[name]
    attack(folder)
    with pytest.raises(BundleError) as caught:
        biomux.load(folder, threads=1)
    assert caught.value.code == code
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", [*ATTACKS, *VERIFIED])
def test_verify_tells_what_is_wrong(name: str, folder: Path) -> None:
    code, attack = {**ATTACKS, **VERIFIED}[name]
    attack(folder)
    last = list(verify(folder))[-1]
    assert last.error is not None
    assert last.error.code in (code, "BX503")


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with a head of every kind."""
    place = tmp_path_factory.mktemp("every")
    export(graphs.run(place / "run"), place / "bundle", precision="fp32", measure=False)
    return place / "bundle"


@pytest.mark.parametrize("name", ATTACKS_ON_EVERY_HEAD)
def test_a_hostile_bundle_of_every_head_is_refused(name: str, every: Path, tmp_path: Path) -> None:
    code, attack = ATTACKS_ON_EVERY_HEAD[name]
    folder = Path(shutil.copytree(every, tmp_path / "bundle"))
    attack(folder)
    with pytest.raises(BundleError) as caught:
        biomux.load(folder, threads=1)
    assert caught.value.code == code
    assert str(caught.value).isprintable()


def test_a_head_of_pairs_says_nothing_about_a_batch_without_pairs(every: Path) -> None:
    annotator = biomux.load(every, threads=1)
    text = "Aspirin given after fever."
    read = ModelInput(tokens.split(annotator.tokenizer, text, [(0, len(text))])[0])
    batch = next(pack([read], specials=annotator.specials, budget=annotator.budget))
    answers = annotator.session.run(batch)
    of_pairs = [task for task in annotator.asking if task.unit == "pair"]
    assert of_pairs
    assert all(answers[task.name].shape == (0, len(task.labels)) for task in of_pairs)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(["graph.onnx", "pairs.onnx", "heads.json", "calibration.json"]),
    place=st.floats(0, 1, exclude_max=True),
    value=st.integers(1, 255),
)
def test_a_changed_byte_of_every_head_never_ends_in_anything_but_a_biomux_error(
    name: str, place: float, value: int, every: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = Path(shutil.copytree(every, tmp_path_factory.mktemp("flip") / "bundle"))
    content = bytearray((folder / name).read_bytes())
    content[int(place * len(content))] ^= value
    (folder / name).write_bytes(content)
    seal(folder)
    try:
        annotator = biomux.load(folder, threads=1)
        list(annotator.answer(annotator.annotate(graphs.documents(1))))
    except BiomuxError:
        pass
    shutil.rmtree(folder)


def test_every_way_to_be_refused_is_attacked() -> None:
    from biomux.errors import CODES

    attacked = {code for code, _ in [*ATTACKS.values(), *ATTACKS_ON_EVERY_HEAD.values(), *VERIFIED.values()]}
    of_bundles = {code for code in CODES if "BX501" <= code <= "BX545"} - {"BX505", "BX542", "BX544"}
    assert of_bundles - attacked == set()


def test_the_allowed_operators_are_those_that_graphs_have() -> None:
    written: dict[str, set[str]] = {"Round": set()}  # written once, and still in bundles
    for encoder in graphs.ENCODERS:
        made, _ = graphs.written(graphs.model(encoder), precision="int8")
        for content in (made.graph, made.pairs):
            for node in onnx.load_from_string(content).graph.node:
                written.setdefault(node.op_type, set()).update(attribute.name for attribute in node.attribute)
    assert written == {operator: set(names) for operator, names in onnx_check.OPERATORS.items()}


def annotate_or_refuse(folder: Path) -> None:
    """Whatever the bundle is: it is refused with a BiomuxError, or it annotates."""
    try:
        annotator = biomux.load(folder, threads=1)
        document = annotator("Aspirin was given to mice with a severe ulcer.")
    except BiomuxError:
        return
    assert all(0 <= span.start < span.end <= len(document.text) for span in document.spans)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(["graph.onnx", "tokenizer.json", "heads.json", "types.json", "calibration.json"]),
    place=st.floats(0, 1, exclude_max=True),
    value=st.integers(1, 255),
)
@example(name="graph.onnx", place=0.0, value=255)
def test_a_changed_byte_never_ends_in_anything_but_a_biomux_error(
    name: str, place: float, value: int, good: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = Path(shutil.copytree(good, tmp_path_factory.mktemp("flip") / "bundle"))
    content = bytearray((folder / name).read_bytes())
    content[int(place * len(content))] ^= value
    (folder / name).write_bytes(content)
    seal(folder)
    annotate_or_refuse(folder)
    shutil.rmtree(folder)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_for_a_graph_are_refused(content: bytes) -> None:
    with pytest.raises(BundleError):
        onnx_check.check(content)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    begin=st.floats(0, 1, exclude_max=True), size=st.integers(1, 40), fresh=st.binary(max_size=40), head=st.booleans()
)
def test_a_spliced_graph_is_refused_or_still_has_its_shape(
    begin: float, size: int, fresh: bytes, head: bool, good: Path
) -> None:
    """Splices in the first kilobytes hit nodes; elsewhere mostly data."""
    content = (good / "graph.onnx").read_bytes()
    at = int(begin * (4000 if head else len(content)))
    try:
        facts = onnx_check.check(content[:at] + fresh + content[at + size :])
    except BundleError:
        return
    assert facts.nodes > 0
