"""From a run to a bundle: parity, the gate of int8, calibration, the card."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
import tiny
from safetensors.numpy import load_file
from training import graphs

import biomux
from biomux.document import Document
from biomux.engine.bundle import reader, verify
from biomux.engine.load import load
from biomux.errors import BundleError, CorpusError, TrainingError, UsageError
from biomux.scoring.document_rows import DocumentRows
from biomux.tasks.crf_decoding import Chained
from biomux.training import calibrate, quantization_check
from biomux.training.export import export
from biomux.training.graph import bert

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from biomux.engine.annotator import Annotator


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.run(tmp_path_factory.mktemp("export") / "run")


@pytest.fixture(scope="module")
def corpora(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Development data that the fp32 model answers without a mistake: they are its own answers."""
    root = tmp_path_factory.mktemp("corpora")
    export(run, root / "fp32", precision="fp32", measure=False)
    annotator = load(root / "fp32", threads=1)
    for head, place in {"drugs": "ner/BC5CDR/devel.tsv", "genes": "ner/BC2GM/devel.tsv"}.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("".join(_conll(annotator, head, tiny.text(12, seed=seed)) for seed in range(60)))
    return root


def _conll(annotator: Annotator, head: str, text: str) -> str:
    """One sentence with a head's answers as tags."""
    words = text.replace(".", " .").split()
    sentence = " ".join(words)
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    found = annotator.annotate([Document("1", sentence, sentences=((0, len(sentence)),))], heads=[head])
    spans = next(iter(found)).spans
    lines = []
    for word, end in zip(words, ends.tolist(), strict=True):
        start = end - len(word)
        tag = next((span for span in spans if span.start <= start < span.end), None)
        lines.append(f"{word}\t" + ("O" if tag is None else f"{'B' if tag.start == start else 'I'}-{tag.type}"))
    return "\n".join(lines) + "\n\n"


SHORT = tuple(replace(task, longest=4) for task in tiny.TASKS)
LONG = tuple(replace(task, by="passage") for task in tiny.TASKS)


@pytest.mark.parametrize(
    "options",
    [{}, {"head": "linear"}, {"head": "crf"}, {"tasks": SHORT}, {"tasks": (SHORT[0], tiny.TASKS[1])}, {"tasks": LONG}],
    ids=["two-layer", "linear", "crf", "sentences split", "sentences split for one head", "whole passages"],
)
def test_torch_and_engine_agree(options: dict[str, Any], tmp_path: Path) -> None:
    run = tiny.run(tmp_path / "run", **options)
    export(run, tmp_path / "bundle", precision="fp32", measure=False)
    torch, engine = biomux.load(run), biomux.load(tmp_path / "bundle", threads=1)
    found = 0
    for seed in range(5):
        document = Document(str(seed), tiny.text(200, seed=seed))
        mine, other = (next(iter(one.annotate([document]))) for one in (torch, engine))
        assert _places(mine) == _places(other)
        assert mine.coverage == other.coverage
        for left, right in zip(mine.spans, other.spans, strict=True):
            assert left.score == pytest.approx(right.score, abs=1e-3)
        logits, same = (verify.first_logits(one, document) for one in (torch, engine))
        assert all(np.abs(logits[head] - same[head]).max() < 1e-4 for head in torch.heads)
        found += len(mine.spans)
    assert found > 20


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_all_heads_are_one_product_a_layer_however_many_there_are(precision: Any, tmp_path: Path) -> None:
    sizes = []
    for number in (1, 15):
        tasks = tuple(replace(tiny.TASKS[1], name=f"head{place}") for place in range(number))
        folder = tiny.bundle(tmp_path / f"bundle{number}", precision=precision, tasks=tasks)
        nodes = onnx.load(folder / "graph.onnx").graph.node
        sizes.append(Counter(node.op_type for node in nodes))
    assert sizes[0] == sizes[1]


def test_sentences_are_split_for_a_bundle_as_they_were_for_the_run(tmp_path: Path) -> None:
    """A head of one type that is asked about "zolmide" fifty times in one sentence reads it in parts of four words."""
    folder = tiny.run(tmp_path / "run", tasks=SHORT)
    export(folder, tmp_path / "bundle", precision="fp32", measure=False)
    engine = load(tmp_path / "bundle", threads=1)
    assert [getattr(task, "longest", None) for task in engine.tasks] == [4, 4]
    document = Document("1", " ".join(["zolmide"] * 50))
    assert len(engine(document.text).coverage or ()) == 13


def test_passages_are_read_whole_by_a_bundle_as_they_were_by_the_run(tmp_path: Path) -> None:
    folder = tiny.run(tmp_path / "run", tasks=LONG)
    export(folder, tmp_path / "bundle", precision="fp32", measure=False)
    engine = load(tmp_path / "bundle", threads=1)
    assert [getattr(task, "by", None) for task in engine.tasks] == ["passage", "passage"]
    heads = tmp_path / "bundle" / "heads.json"
    assert '"by"' in heads.read_text()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_what_a_random_field_has_learned_travels_in_the_bundle(precision: Any, tmp_path: Path) -> None:
    folder = tiny.run(tmp_path / "run", head="crf")
    export(folder, tmp_path / "bundle", precision=precision, measure=False)
    weights = load_file(folder / "model.safetensors")
    for task in reader.read(tmp_path / "bundle").tasks:
        assert isinstance(task, Chained)
        assert task.learned is not None
        for part in ("between", "first", "last"):
            assert np.array_equal(getattr(task.learned, part), weights[f"heads.{task.name}.{part}"])
    assert not any(check.error for check in verify.verify(tmp_path / "bundle"))


def test_a_random_field_is_measured_and_keeps_its_temperature(corpora: Path, tmp_path: Path) -> None:
    folder = tiny.run(tmp_path / "run", head="crf")
    measured = export(folder, tmp_path / "bundle", precision="fp32", directory=corpora, limit=10, threads=1)
    assert set(measured.fp32) == {"drugs", "genes"}
    assert reader.read(tmp_path / "bundle").temperatures == {"drugs": 1.0, "genes": 1.0}


def _places(document: Document) -> list[tuple[Any, ...]]:
    return [(span.start, span.end, span.type, span.head) for span in document.spans]


@pytest.mark.parametrize("head", ["linear", "two-layer"])
def test_a_bundle_of_either_head_verifies(head: Any, tmp_path: Path) -> None:
    folder = tiny.bundle(tmp_path / "bundle", precision="int8", head=head, layers=1)
    assert not any(check.error for check in verify.verify(folder))


def test_nothing_is_measured_on_request_and_that_is_said(run: Path, tmp_path: Path) -> None:
    measured = export(run, tmp_path / "bundle", precision="int8", measure=False)
    assert measured.chosen == "int8"
    assert json.loads((tmp_path / "bundle" / "gate.json").read_text())["measured"] is False
    assert "Not measured at export" in (tmp_path / "bundle" / "card.md").read_text()


def test_auto_without_a_measurement_is_exact(run: Path, tmp_path: Path) -> None:
    assert export(run, tmp_path / "bundle", measure=False).chosen == "fp32"


def test_the_gate_and_calibration_travel_in_the_bundle(run: Path, corpora: Path, tmp_path: Path) -> None:
    types = {"drug": {"sources": [["drugs", "Chemical"]]}}
    measured = export(run, tmp_path / "bundle", tolerance=100, directory=corpora, types=types, threads=1)
    assert measured.chosen == "int8"
    assert measured.fp32 == {"drugs": 1.0, "genes": 1.0}
    assert measured.documents == {"drugs": 60, "genes": 60}
    told = json.loads((tmp_path / "bundle" / "gate.json").read_text())
    assert told["fp32"] == {"drugs": 100.0, "genes": 100.0}
    assert told["tried"][0]["mix"] == "int8"
    assert set(told["tried"][0]["heads"]["drugs"]) == {"value", "loss", "error", "low", "p"}
    assert (told["rule"], told["limit"]) == (quantization_check.RULE, None)
    found = reader.read(tmp_path / "bundle")
    assert found.curves["drugs", "Chemical"]
    assert found.merges["drug"].curve == found.curves["drugs", "Chemical"]
    threshold = found.thresholds["drugs", "Chemical"]
    assert threshold is not None
    assert 0 < threshold < 1
    assert found.merges["drug"].threshold == threshold
    assert all(temperature != 1.0 for temperature in found.temperatures.values())
    card = (tmp_path / "bundle" / "card.md").read_text()
    assert "Not for clinical" in card
    assert "| drugs | f1 | 60 | 100.00 |" in card
    assert "Li et al. 2016" in card


def test_a_head_that_loses_too_much_is_not_exported_in_int8(run: Path, corpora: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="points") as caught:
        export(run, tmp_path / "bundle", precision="int8", tolerance=-200, directory=corpora, limit=10, threads=1)
    assert caught.value.code == "BX542"
    assert not (tmp_path / "bundle").exists()
    measured = export(run, tmp_path / "bundle", tolerance=-200, directory=corpora, limit=10, threads=1)
    assert measured.chosen == "fp32"
    assert [name for name, _ in measured.tried][-1] == "fp32"
    assert {head: (loss.points, loss.error) for head, loss in measured.losses.items()} == {
        "drugs": (0, 0),
        "genes": (0, 0),
    }


MATRICES = bert.matrices({"num_hidden_layers": 4})
HIDDEN = ("heads.logits.0.0",)


def of_counts(counts: Any) -> DocumentRows:
    return DocumentRows("f1", tuple(map(str, range(len(counts)))), np.asarray(counts, dtype=np.float64))


def rows(right: int, *, wrong: int, of: int = 2000) -> DocumentRows:
    """Documents of one mention each: so many found, so many found in another place."""
    assert right + wrong == of
    return of_counts([[1, 0, 0]] * right + [[0, 1, 1]] * wrong)


def test_the_first_mix_that_passes_is_taken() -> None:
    mixes = quantization_check.ladder(MATRICES, HIDDEN)
    lost = dict(zip((mix.name for mix in mixes), (60, 40, 3, 0), strict=True))
    reference = {"a": rows(1600, wrong=400), "b": rows(1800, wrong=200)}

    def measure(mix: quantization_check.PrecisionMix) -> Mapping[str, DocumentRows]:
        return {"a": rows(1600 - lost[mix.name], wrong=400 + lost[mix.name]), "b": reference["b"]}

    taken, tried = quantization_check.choose(mixes, reference, measure, tolerance=0.3)
    assert taken == mixes[2]
    assert [round(found["a"].points, 2) for _, found in tried] == [3.0, 2.0, 0.15]
    assert quantization_check.choose(mixes, {**reference, "b": rows(2000, wrong=0)}, measure, tolerance=0.3)[0] is None


def test_noise_refuses_nothing_and_a_real_loss_does() -> None:
    """Both lose as much: one by a few documents more that changed for the worse than for the better, the other by all that changed."""
    chance = np.random.default_rng(3)
    exact = (chance.random(1000) < 0.8).astype(int)
    noisy, worse = exact.copy(), exact.copy()
    noisy[np.flatnonzero(exact)[:40]] = 0
    noisy[np.flatnonzero(exact == 0)[:28]] = 1
    worse[np.flatnonzero(exact)[:12]] = 0
    reference, *found = (of_counts(np.stack([one, 1 - one, 1 - one], axis=1)) for one in (exact, noisy, worse))
    noise, real = (quantization_check.loss(reference, one) for one in found)
    assert noise.points == pytest.approx(real.points) == pytest.approx(1.2)
    assert noise.error > 2 * real.error
    assert noise.low < 0 < real.low
    others = {str(number): quantization_check.HeadLoss(0.8) for number in range(17)}
    assert quantization_check.beyond({"noise": noise, "real": real, **others}, 0.3) == ["real"]
    assert quantization_check.QuantizationCheck("int8", tried=(("int8", {"noise": noise}),)).doubtful == ("noise",)


def test_many_small_losses_that_no_head_can_prove_are_refused_by_their_mean() -> None:
    mix = quantization_check.ladder(MATRICES, HIDDEN)[0]
    reference = {str(number): rows(80, wrong=20, of=100) for number in range(18)}
    found = {head: rows(79, wrong=21, of=100) for head in reference}
    taken, tried = quantization_check.choose([mix], reference, lambda _: found)
    assert taken is None
    assert quantization_check.beyond(tried[0][1], 0.3) == []
    assert "on average" in quantization_check.refused(tried, 0.3).message
    one = {head: quantization_check.HeadLoss(0.8) for head in reference} | {
        "0": quantization_check.HeadLoss(0.6, points=9.0, error=11.0)
    }
    assert quantization_check.mean_of(one) > 0.3
    assert not quantization_check.too_much_on_average(one, 0.3)


def test_the_error_of_a_loss_is_that_of_drawing_documents_again() -> None:
    """Against the spread of the loss over many sets of documents from the same source."""
    chance = np.random.default_rng(5)

    def drawn(size: int) -> tuple[DocumentRows, DocumentRows]:
        exact = chance.random(size) < 0.8
        mixed = np.where(chance.random(size) < 0.03, ~exact, exact)
        left, right = (of_counts(np.stack([one, ~one, ~one], axis=1)) for one in (exact, mixed))
        return left, right

    points = [quantization_check.loss(*drawn(400)) for _ in range(60)]
    spread = float(np.std([one.points for one in points], ddof=1))
    assert float(np.mean([one.error for one in points])) == pytest.approx(spread, rel=0.3)


def test_every_step_of_the_ladder_keeps_more() -> None:
    kept = [mix.keep for mix in quantization_check.ladder(MATRICES, HIDDEN)]
    assert all(left < right for left, right in pairwise(kept))


def test_mixed_precision_is_nearer_to_fp32(run: Path) -> None:
    from biomux.training.exportable import read

    trained = read(run)
    document = Document("1", tiny.text(14, seed=5))
    exact = verify.first_logits(trained.annotator(trained.graphs(quantization_check.FP32), threads=1), document)
    distances = [
        np.abs(
            verify.first_logits(trained.annotator(trained.graphs(mix), threads=1), document)["drugs"] - exact["drugs"]
        )
        for mix in (trained.mixes[0], trained.mixes[-1])
    ]
    assert distances[0].mean() > distances[1].mean()


def test_a_curve_has_the_lowest_score_that_keeps_each_precision() -> None:
    scores = [0.9] * 30 + [0.5] * 30
    right = [True] * 30 + [True] * 15 + [False] * 15
    assert calibrate.curve(calibrate.TypeAnswers(tuple(scores), tuple(right))) == ((0.5, 0.75), (0.9, 1.0))
    assert calibrate.curve(calibrate.TypeAnswers()) == ()
    assert calibrate.curve(calibrate.TypeAnswers((0.9,) * 5, (True,) * 5)) == ()


def test_a_missing_corpus_is_told(run: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(CorpusError):
        export(run, tmp_path / "bundle", directory=tmp_path / "none")


def test_a_target_that_exists_is_left_alone(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="BX004"):
        export(run, tmp_path, measure=False)


def test_a_bundle_is_replaced_if_that_is_asked_for_and_nothing_else_is(run: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    export(run, bundle, measure=False)
    export(run, bundle, measure=False, overwrite=True)
    (bundle / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"BX004: .*contains other files: thesis\.txt"):
        export(run, bundle, measure=False, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda it: it["encoder"].update(model_type="roberta"), "BX505"),
        (lambda it: it["encoder"].update(hidden_act="mish"), "BX505"),
        (lambda it: it.update(encoder={"kind": "strange"}), "BX505"),
        (lambda it: it.update(encoder={"kind": "convolution", "width": 8}), "BX406"),
        (lambda it: it["tasks"][0].update(kind="labels"), "BX406"),
        (lambda it: it["tasks"][0].update(types=["Chemical"]), "BX406"),
        (lambda it: it.pop("specials"), "BX406"),
        (lambda it: it.update(limit=511), "BX514"),
    ],
)
def test_a_run_without_a_graph_is_refused(change: Any, code: str, tmp_path: Path) -> None:
    folder = tiny.run(tmp_path / "run")
    described = json.loads((folder / "model.json").read_text())
    change(described)
    (folder / "model.json").write_text(json.dumps(described))
    with pytest.raises((BundleError, TrainingError)) as caught:
        export(folder, tmp_path / "bundle", measure=False)
    assert caught.value.code == code
    assert caught.value.hint
    assert not (tmp_path / "bundle").exists()


def test_a_head_without_a_graph_is_named_with_a_way_out(tmp_path: Path) -> None:
    folder = graphs.run(tmp_path / "run")
    with pytest.raises(BundleError, match=r"BX544.*'words'") as caught:
        export(folder, tmp_path / "bundle", measure=False, heads=["words"])
    assert "--heads" in (caught.value.hint or "")
    said: list[str] = []
    export(folder, tmp_path / "bundle", measure=False, listen=said.append)
    assert any("words" in line for line in said)
    engine = load(tmp_path / "bundle", threads=1)
    assert engine.heads == ("drugs",)
    assert "words" not in {task.name for task in engine.asking}
    assert "not part of the bundle: words" in (tmp_path / "bundle" / "card.md").read_text()


def test_heads_can_be_named_and_their_answers_stay_the_same(run: Path, corpora: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "all", precision="fp32", measure=False)
    said: list[str] = []
    shutil.copytree(corpora / "ner/BC2GM", tmp_path / "corpora/ner/BC2GM")  # and no corpus of the other head
    options: dict[str, Any] = {"precision": "fp32", "directory": tmp_path / "corpora", "limit": 5, "threads": 1}
    export(run, tmp_path / "some", heads=["genes"], listen=said.append, **options)
    assert any("as asked: drugs" in line for line in said)
    both, some = (load(tmp_path / name, threads=1) for name in ("all", "some"))
    assert some.heads == ("genes",)
    text = tiny.text(100, seed=4)
    assert _places(some(text)) == _places(both(text, heads=["genes"]))


@pytest.mark.parametrize("heads", [["nobody"], []])
def test_heads_that_cannot_be_had_are_told(heads: list[str], run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="BX001") as caught:
        export(run, tmp_path / "bundle", measure=False, heads=heads)
    assert caught.value.hint


def test_damaged_runs_are_refused(tmp_path: Path) -> None:
    folder = tiny.run(tmp_path / "run")
    (folder / "model.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(TrainingError, match="BX406"):
        biomux.load(folder)
    with pytest.raises(TrainingError, match="BX406"):
        export(folder, tmp_path / "bundle", measure=False)


def test_a_last_fit_ships_its_weights_with_the_choices_of_the_run_before(
    run: Path, corpora: Path, tmp_path: Path
) -> None:
    """Temperatures and gate are those of the weights that have not seen the development data; the graph is the last fit's."""
    last = tiny.run(tmp_path / "last", seed=5)
    described = json.loads((last / "model.json").read_text())
    described["encoder"]["_name_or_path"] = "where another run lay"
    (last / "model.json").write_text(json.dumps(described))
    options: dict[str, Any] = {"tolerance": 100, "directory": corpora, "limit": 10, "threads": 1}
    chosen = export(run, tmp_path / "chosen", **options)
    assert export(last, tmp_path / "bundle", chosen_on=run, **options) == chosen
    before, after = reader.read(tmp_path / "chosen"), reader.read(tmp_path / "bundle")
    assert after.temperatures == before.temperatures
    assert (tmp_path / "bundle" / "calibration.json").read_bytes() == (
        tmp_path / "chosen/calibration.json"
    ).read_bytes()
    export(last, tmp_path / "alone", precision="int8", measure=False)
    assert (tmp_path / "bundle/graph.onnx").read_bytes() == (tmp_path / "alone/graph.onnx").read_bytes()
    assert "have learned the development data too" in (tmp_path / "bundle" / "card.md").read_text()
    assert all(check.error is None for check in verify.verify(tmp_path / "bundle"))


def test_choices_come_from_a_run_with_the_same_heads(run: Path, corpora: Path, tmp_path: Path) -> None:
    other = tiny.run(tmp_path / "other", tasks=tiny.TASKS[:1])
    with pytest.raises(BundleError, match="has other heads or another encoder than the run to export"):
        export(run, tmp_path / "bundle", chosen_on=other, directory=corpora, threads=1)
