"""The graph says what torch says: every encoder family, every kind of head, whatever else is asked at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from training import graphs

from biomux.engine.bundle import onnx_check
from biomux.engine.graph_session import NEVER
from biomux.engine.onnx_session import OnnxSession
from biomux.errors import BundleError
from biomux.training import quantization_check
from biomux.training.graph import FAMILIES, family_of
from biomux.training.graph.head_parts import taken_apart
from biomux.training.graph.heads import hidden_matrices
from biomux.training.heads import HEADS, answer
from biomux.training.model import TorchSession

WITHIN = 1e-4


def test_every_family_is_tested() -> None:
    tested = {config.get("kind") or config["model_type"] for config in graphs.ENCODERS.values()}
    assert tested == set(FAMILIES) - {"lexical"}  # reads words instead of tokens: see test_lexical_export


def test_every_head_is_tested() -> None:
    assert {kind for _, kind, _, _ in graphs.HEADS.values()} == set(HEADS) - {"masked-words"}


@pytest.mark.parametrize("encoder", graphs.ENCODERS)
def test_torch_and_onnxruntime_agree(encoder: str) -> None:
    model = graphs.model(encoder)
    session = graphs.session(model)
    for batch in (graphs.batch(), graphs.batch(prefixes=False, padding=0, seed=50)):
        expected, found = TorchSession(model).run(batch), session.run(batch)
        assert set(found) == set(graphs.HEADS)
        for head in graphs.HEADS:
            assert found[head].shape == expected[head].shape, head
            assert np.abs(found[head] - expected[head]).max() < WITHIN, head
            assert np.ptp(found[head][found[head] > NEVER]) > 0.01, head
        places = np.array([[1, 2, 4, 4], [len(batch.first) - 3, len(batch.first) - 1, 0, 0]])
        for head in ("relation", "narrow relation", "mix of relations"):
            found_pairs, wanted = found.pair_logits(head, places), expected.pair_logits(head, places)
            assert np.abs(found_pairs - wanted).max() < WITHIN


@pytest.mark.parametrize("encoder", ["bert", "mpnet", "mobilebert", "distilbert", "convolution", "bilstm"])
def test_int8_is_near(encoder: str) -> None:
    """Random weights magnify what rounding does; a trained head's loss is what the check at export measures."""
    model, batch = graphs.model(encoder), graphs.batch()
    expected, found = TorchSession(model).run(batch), graphs.session(model, precision="int8").run(batch)
    for head in graphs.HEADS:
        wanted, said = (rows[rows > NEVER].ravel() for rows in (expected[head], found[head]))
        assert np.corrcoef(wanted, said)[0, 1] > 0.95 if len(wanted) > 8 else np.abs(wanted - said).max() < 1.0, head


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("encoder", ["bert", "convolution of hashes", "bilstm"])
def test_what_is_asked_beside_a_head_does_not_change_its_answer(encoder: str, precision: Any) -> None:
    session = graphs.session(graphs.model(encoder), precision=precision)
    batch = graphs.batch()
    every = session.run(batch)
    for head in graphs.HEADS:
        alone = session.run(replace(batch, heads=frozenset({head})))
        assert list(alone) == [head]
        assert np.allclose(alone[head], every[head], atol=1e-5), head


def test_a_head_that_was_not_asked_has_no_answer() -> None:
    session = graphs.session(graphs.model("bert"))
    answers = session.run(replace(graphs.batch(), heads=frozenset({"linear"})))
    with pytest.raises(KeyError):
        answers["cls"]
    with pytest.raises(KeyError):
        answers.pair_logits("relation", np.zeros((1, 4), dtype=np.int64))
    assert len(session.run(replace(graphs.batch(), heads=frozenset()))) == 0


def test_no_pairs_and_no_words_are_no_rows() -> None:
    session = graphs.session(graphs.model("bert"), precision="int8")
    batch = replace(graphs.batch(), pairs=None)
    answers = session.run(batch)
    assert answers["relation"].shape == (0, 4)
    assert answers.pair_logits("relation", np.zeros((0, 4), dtype=np.int64)).shape == (0, 4)
    nothing = session.run(replace(batch, first=np.zeros(0, dtype=np.int64), words=np.zeros(4, dtype=np.int64)))
    assert nothing["two-layer"].shape == (0, 5)
    assert (nothing["answer"][:, 1:] == NEVER).all()
    assert np.allclose(nothing["cls"], answers["cls"], atol=1e-5)


def test_answers_cannot_begin_or_end_within_a_word_or_the_question() -> None:
    assert NEVER == answer.NEVER
    batch = graphs.batch()
    said = graphs.session(graphs.model("bert")).run(batch)["answer"]
    allowed = np.zeros(batch.ids.shape, dtype=bool)
    allowed.reshape(-1)[batch.first] = True
    allowed[:, 0] = True
    assert ((said == NEVER) == ~allowed[..., None]).all()


@pytest.mark.parametrize("encoder", graphs.ENCODERS)
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_graph_passes_the_check_of_bundles(encoder: str, precision: Any) -> None:
    model = graphs.model(encoder)
    made, places = graphs.written(model, precision=precision)
    facts = onnx_check.check(made.graph)
    assert facts.vocabulary == graphs.SIZE
    assert (facts.positions is None) == (family_of(model.encoder.describe()).positions is None)
    assert {place.needed for place in places.values()} == set(facts.outputs)
    assert made.pairs is not None
    of_pairs = onnx_check.check_pairs(made.pairs)
    assert of_pairs.outputs == {"pairs.0": 4, "pairs.1": 2, "pairs.2": 4}
    assert of_pairs.states == facts.outputs["states"] == 64


@pytest.mark.parametrize(("head", "inputs"), [
    ("linear", {"ids", "mask", "first"}),
    ("cls", {"ids", "mask", "first", "starts", "segments"}),
    ("mean", {"ids", "mask", "first", "tokens", "segments"}),
])  # fmt: skip
def test_a_graph_reads_only_what_some_head_needs(head: str, inputs: set[str]) -> None:
    model = graphs.model("bert", {head: graphs.HEADS[head]})
    session = graphs.session(model, segments=head != "linear")
    assert session._inputs == inputs
    batch = graphs.batch(prefixes=head != "linear")
    assert np.abs(session.run(batch)[head] - TorchSession(model).run(batch)[head]).max() < WITHIN


def test_after_the_last_attention_only_rows_that_are_read_are_computed() -> None:
    """A graph of [CLS] alone multiplies four rows by the last feed-forward matrix, not all tokens."""
    import onnx

    model = graphs.model("bert", {"cls": graphs.HEADS["cls"]})
    made, places = graphs.written(model)
    whole = onnx.load_from_string(made.graph)
    product = next(node for node in whole.graph.node if "encoder.layer.1.intermediate.dense.weight" in node.input)
    whole.graph.output.append(onnx.helper.make_tensor_value_info(product.output[0], onnx.TensorProto.FLOAT, None))
    session = OnnxSession(whole.SerializeToString(), places, threads=1)
    batch = graphs.batch()
    found = session.compute(session._feeds(batch, {"windows"}), [product.output[0]])
    assert found[product.output[0]].shape == (len(batch.ids), 64)


@pytest.mark.parametrize("encoder", ["bert", "mobilebert", "convolution", "bilstm"])
def test_every_step_of_the_ladder_names_matrices_of_the_graph(encoder: str) -> None:
    import onnx

    model = graphs.model(encoder)
    parts = [taken_apart(name, head, model.units[name]) for name, head in model.heads.items()]
    config = model.encoder.describe()
    mixes = quantization_check.ladder(family_of(config).matrices(config), hidden_matrices(parts))
    made = onnx.load_from_string(graphs.written(model, precision="int8")[0].graph)
    known = {one.name for one in made.graph.initializer}
    rounded = {name.removesuffix(".scale") for name in known if name.endswith(".scale")}
    kept = set().union(*(mix.keep for mix in mixes))
    assert kept - quantization_check.TABLES <= rounded
    if encoder != "bilstm":
        layers = {name for names in family_of(config).matrices(config) for name in names}
        assert layers <= rounded
        assert len(mixes) > 2
    exact = onnx.load_from_string(graphs.written(model, precision="int8", keep=mixes[-1].keep)[0].graph)
    still = {one.name for one in exact.graph.initializer if one.name.endswith(".scale")}
    assert len(still) < len(rounded) or encoder == "bilstm"


def test_what_has_no_graph_is_refused_by_name() -> None:
    with pytest.raises(BundleError, match=r"BX505.*'roberta'"):
        family_of({"model_type": "roberta"})
    with pytest.raises(BundleError, match=r"BX505.*'mish'"):
        family_of({"model_type": "bert", "hidden_act": "mish"})
    model = graphs.model("bert", {"linear": graphs.HEADS["linear"]})
    with pytest.raises(BundleError, match=r"BX544.*'linear'"):
        taken_apart("linear", model.heads["linear"], "answer")
    from torch import nn

    from biomux.training.heads.linear import AtPlaces

    with pytest.raises(BundleError, match=r"BX544.*Softplus"):
        taken_apart("odd", AtPlaces(nn.Linear(4, 4), nn.Softplus(), nn.Linear(4, 2)), "word")
    with pytest.raises(BundleError, match=r"BX544.*linear layer"):
        taken_apart("odd", AtPlaces(nn.Linear(4, 4), nn.ReLU()), "word")


def test_a_head_of_known_layers_has_a_graph_wherever_it_comes_from() -> None:
    from torch import nn

    from biomux.training.heads.linear import AtPlaces

    model = graphs.model("bert", {"linear": graphs.HEADS["linear"]})
    own = AtPlaces(nn.LayerNorm(32), nn.Linear(32, 8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 3, bias=False))
    model.heads["linear"] = own.eval()
    batch = graphs.batch(prefixes=False)
    found = graphs.session(model).run(batch)["linear"]
    assert np.abs(found - TorchSession(model).run(batch)["linear"]).max() < WITHIN
