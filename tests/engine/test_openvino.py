"""OpenVINO runs the same graphs with the same answers. Needs the extra `openvino`."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
import tiny

import biomux
from biomux.document import Document
from biomux.engine import runtimes
from biomux.engine.bundle import reader
from biomux.engine.packing import Batch, Specials, pack
from biomux.errors import BundleError
from biomux.tasks.examples import ModelInput
from biomux.text import tokens

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.engine.session import Session

pytest.importorskip("openvino", reason="the extra `openvino` is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bundle(tmp_path_factory.mktemp("openvino") / "bundle")


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """One sentence, a batch of sentences, a batch of windows of the greatest length."""
    text = tiny.text(400)
    whole = tokens.split(tiny.tokenizer(), text, [(0, len(text))])[0]
    made: list[Batch] = []
    for rows, size in ((1, 20), (16, 20), (8, tiny.LIMIT)):
        windows = [ModelInput(whole.window(7 * row, 7 * row + size)) for row in range(rows)]
        made += pack(windows, specials=Specials(0, 2, 3), budget=rows * (size + 2))
    return made


def session(folder: Path, runtime: runtimes.Name = "openvino") -> Session:
    found = reader.read(folder)
    return runtimes.open_session(found.graph, found.places, threads=1, runtime=runtime)


def test_it_says_what_onnxruntime_says(folder: Path, batches: list[Batch]) -> None:
    for batch in batches:
        expected, found = session(folder, "onnxruntime").run(batch), session(folder).run(batch)
        assert list(expected) == list(found)
        for head, rows in expected.items():
            np.testing.assert_allclose(found[head], rows, atol=0.05)
            assert (found[head].argmax(axis=1) == rows.argmax(axis=1)).mean() > 0.99


def test_an_annotator_finds_the_same(folder: Path) -> None:
    documents = [Document(str(seed), tiny.text(40, seed=seed)) for seed in range(5)]
    ours, other = (biomux.load(folder, threads=1, runtime=runtime) for runtime in ("onnxruntime", "openvino"))
    for expected, found in zip(ours.annotate(documents), other.annotate(documents), strict=True):
        assert [(s.start, s.end, s.type) for s in found.spans] == [(s.start, s.end, s.type) for s in expected.spans]


def test_an_answer_does_not_depend_on_the_rows_beside_it(folder: Path, batches: list[Batch]) -> None:
    batch, opened = batches[1], session(folder)
    words = int(batch.words[0])
    alone = Batch(batch.ids[:1], batch.mask[:1], batch.first[:words], batch.words[:1], batch.windows[:1])
    whole, one = opened.run(batch), opened.run(alone)
    for head, rows in one.items():
        np.testing.assert_array_equal(rows, whole[head][:words])


def test_answers_stay_when_others_are_asked_for(folder: Path, batches: list[Batch]) -> None:
    opened = session(folder)
    first = opened.run(batches[0])
    kept = {head: rows.copy() for head, rows in first.items()}
    opened.run(batches[1])
    opened.run(batches[0])
    for head, rows in first.items():
        np.testing.assert_array_equal(rows, kept[head])


def test_threads_may_share_it(folder: Path, batches: list[Batch]) -> None:
    opened = session(folder)
    expected = [opened.run(batch) for batch in batches]
    wrong: list[str] = []

    def work(shift: int) -> None:
        for turn in range(9):
            which = (turn + shift) % len(batches)
            for head, rows in opened.run(batches[which]).items():
                if not np.array_equal(rows, expected[which][head]):
                    wrong.append(head)

    crew = [threading.Thread(target=work, args=(shift,)) for shift in range(4)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    assert not wrong


def test_a_batch_without_words_has_no_rows(folder: Path, batches: list[Batch]) -> None:
    none = np.zeros(0, dtype=np.int64)
    batch = Batch(batches[0].ids, batches[0].mask, none, np.zeros(1, dtype=np.int64), batches[0].windows)
    assert [len(rows) for rows in session(folder).run(batch).values()] == [0, 0]


def changed(folder: Path, name: str, value: float) -> bytes:
    model = onnx.load_from_string(reader.read(folder).graph)
    tensor = next(one for one in model.graph.initializer if one.name == name)
    tensor.raw_data = np.full(len(tensor.raw_data) // 4, value, np.float32).tobytes()
    content: bytes = model.SerializeToString()
    return content


@pytest.mark.parametrize("value", [float("nan"), 1e30])
def test_numbers_that_are_none_are_refused(folder: Path, batches: list[Batch], value: float) -> None:
    places = reader.read(folder).places
    opened = runtimes.open_session(
        changed(folder, "heads.logits.0.1.bias", value), places, threads=1, runtime="openvino"
    )
    with pytest.raises(BundleError, match=r"BX540.*not finite numbers"):
        opened.run(batches[0])


def test_a_graph_that_does_not_open_is_an_error_of_ours(folder: Path, batches: list[Batch]) -> None:
    places = reader.read(folder).places
    with pytest.raises(BundleError, match="BX540: the runtime cannot open the graph"):
        runtimes.open_session(b"\x08\x0a", places, runtime="openvino")
    beyond = replace(batches[0], ids=np.array(["a"]))
    with pytest.raises(BundleError, match="BX540: the runtime cannot run the graph"):
        session(folder).run(beyond)
