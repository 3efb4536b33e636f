"""A run of a word-level encoder as a bundle: what torch says, onnxruntime says, for words known and unknown; broken tables are refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from training import invented
from training.words_of_ours import SENTENCES, laid_out, vectors

import biomux
from biomux.engine import questions
from biomux.engine.bundle import checksums, onnx_check, reader, word_tables
from biomux.engine.graph_session import Place
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.packing import Specials, pack
from biomux.engine.word_vectors import memory_of
from biomux.errors import BundleError, RecipeError
from biomux.evaluation.evaluate import token_ranges
from biomux.recipes import schema
from biomux.serve.served_model import ServedModel
from biomux.tasks.examples import ModelInput
from biomux.tasks.question_answering import QUESTION
from biomux.text.word_splitter import WordSplitter
from biomux.training import add_head, graph, run
from biomux.training.encoders import ENCODERS
from biomux.training.encoders.lexical import words_with_vectors
from biomux.training.export import export
from biomux.training.graph.head_parts import taken_apart
from biomux.training.heads import HEADS
from biomux.training.heads.features import Features

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.training.graph.builder import Precision

SMALL = {"width": 16, "word_rows": 64, "gram_rows": 128}
TEXTS = [*SENTENCES, "ZOLMIDES of Quatrine2-alpha bind THE velarin, β-aspirin and Aspirin.", "x" * 120 + " is long."]


def answers(folder: Path, precision: Precision, **chosen: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What torch says of the words of all texts, and what the bundle's graphs say."""
    torch.manual_seed(1)
    described = {"kind": "lexical", "layers": 2, "lexical": {**SMALL, "vectors": vectors(folder), **chosen}}
    made = ENCODERS["lexical"].make(schema.EncoderSettings.model_validate(described), SENTENCES)
    encoder: Any = made.encoder.eval()
    head = HEADS["linear"](16, 5).eval()
    ids, mask, places = laid_out(made, TEXTS)
    with torch.no_grad():
        expected = head(Features(encoder(ids, mask), mask, places), places).numpy()
    state = {name: value.numpy() for name, value in encoder.state_dict().items()}
    written = graph.write(state, encoder.describe(), [taken_apart("x", head, "word")], precision=precision)
    assert written.words is not None
    onnx_check.check(written.graph)
    session = OnnxSession(written.graph, {"x": Place("logits", 0, 5)}, threads=1)
    session.memory = memory_of(word_tables.of_graph(written.words, words_with_vectors(state)[0]))
    tokens = WordSplitter(session.memory.numbers).split_all([(text, [(0, len(text))]) for text in TEXTS])
    found: list[Any] = [None] * len(TEXTS)
    for batch in pack([ModelInput(one) for one in tokens], specials=Specials(0, 1, 2), budget=60):
        ends = np.cumsum(batch.words)
        rows = session.run(batch)["x"]
        for member, end, size in zip(batch.windows, ends, batch.words, strict=True):
            found[member] = rows[end - size : end]
    return expected, np.concatenate(found)


@pytest.mark.parametrize("chosen", [{}, {"recurrent": False}, {"vectors": None}, {"window": 2, "frozen": False}])
def test_torch_and_onnxruntime_agree(tmp_path: Path, chosen: dict[str, Any]) -> None:
    expected, found = answers(tmp_path, "fp32", **chosen)
    assert np.abs(expected - found).max() < 1e-5
    assert np.ptp(found) > 0.1


@pytest.mark.parametrize("recurrent", [True, False])
def test_int8_is_near(tmp_path: Path, recurrent: bool) -> None:
    expected, found = answers(tmp_path, "int8", recurrent=recurrent)
    assert 0 < np.abs(expected - found).max() < 0.1
    assert np.corrcoef(expected.ravel(), found.ravel())[0, 1] > 0.99


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_vector_of_a_word_does_not_depend_on_the_words_beside_it(tmp_path: Path, precision: Precision) -> None:
    described = {"kind": "lexical", "layers": 2, "lexical": {**SMALL, "width": 96, "vectors": vectors(tmp_path)}}
    torch.manual_seed(1)
    encoder: Any = ENCODERS["lexical"].make(schema.EncoderSettings.model_validate(described), SENTENCES).encoder.eval()
    state = {name: value.numpy() for name, value in encoder.state_dict().items()}
    head = taken_apart("x", HEADS["linear"](96, 5).eval(), "word")
    written = graph.write(state, encoder.describe(), [head], precision=precision)
    assert written.words is not None
    tables = word_tables.of_graph(written.words, words_with_vectors(state)[0])
    words = [*"ab", *{word for text in TEXTS for word in text.split()}, *("lorem" * size for size in range(1, 60))]
    together = memory_of(tables)
    wanted = together.take(np.array(together.numbers(words)))
    for size in (1, 2, 3, 7):
        memory = memory_of(tables)
        parts = [memory.numbers(words[begin : begin + size]) for begin in range(0, len(words), size)]
        assert np.array_equal(memory.take(np.concatenate(parts)), wanted)


def test_words_are_those_of_the_file_without_what_no_token_has(tmp_path: Path) -> None:
    described = {"kind": "lexical", "lexical": {**SMALL, "vectors": vectors(tmp_path)}}
    made = ENCODERS["lexical"].make(schema.EncoderSettings.model_validate(described), SENTENCES)
    words, rows = words_with_vectors({name: value.numpy() for name, value in made.encoder.state_dict().items()})
    assert dict(zip(words, rows, strict=True)) == {"the": 1, "zolmide": 2, "aspirin": 3}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run, and the bundle that was made of it."""
    place = tmp_path_factory.mktemp("lexical")
    directory, folder = invented.corpora(place / "corpora"), place / "run"
    model = {"encoder": {"kind": "lexical", "layers": 2, "lexical": {**SMALL, "vectors": vectors(place)}}}
    chosen = invented.recipe(
        tasks={"drugs": {"corpus": "bc5cdr"}},
        regime={"kind": "single"},
        model=model,
        loop={"epochs": 5, "learning_rate": 3e-2, "batch_tokens": 64},
    )
    run.start(chosen, folder, directory=directory)
    export(folder, place / "bundle", directory=directory)
    return folder, place / "bundle"


def test_a_bundle_says_what_its_run_says(trained: tuple[Path, Path]) -> None:
    folder, bundle = trained
    files = checksums.read_manifest(bundle).files
    assert {"words.onnx", "words.txt"} <= set(files)
    assert "tokenizer.json" not in files
    text = "Mice given zolmide had a fever, and ZOLMIDE2 was high."
    wanted, found = (biomux.load(place)(text, heads=["drugs"], threshold=0) for place in (folder, bundle))
    assert found.spans
    assert [(span.start, span.end, span.type) for span in found.spans] == [
        (span.start, span.end, span.type) for span in wanted.spans
    ]


def test_its_tokens_are_words_wherever_tokens_are_counted(trained: tuple[Path, Path]) -> None:
    annotator = biomux.load(trained[1])
    ranges = token_ranges(annotator)
    assert ranges is not None
    assert ranges("IL-2 binds") == [(0, 2), (2, 3), (3, 4), (5, 10)]
    assert questions.unread(annotator, "word " * (QUESTION + 3)) == 3
    assert ServedModel(annotator, "", "0" * 64).tokens("IL-2 binds", most=100) == 4 + 2


def changed(bundle: Path, target: Path, name: str, content: bytes | None) -> Path:
    """A copy of a bundle with one file changed or gone, and a manifest that says so."""
    shutil.copytree(bundle, target)
    manifest = json.loads((target / "manifest.json").read_text())
    if content is None:
        (target / name).unlink()
        del manifest["files"][name]
    else:
        (target / name).write_bytes(content)
        manifest["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("words.txt", b"zolmide\n", "BX424"),
        ("words.txt", b"the\nthe\naspirin\n", "BX424"),
        ("words.txt", b"the\n\xff\naspirin\n", "BX424"),
        ("words.txt", None, "BX510"),
        ("words.onnx", b"", "BX524"),
        ("words.onnx", None, "BX510"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    trained: tuple[Path, Path], tmp_path: Path, name: str, content: bytes | None, code: str
) -> None:
    with pytest.raises(BundleError) as caught:
        reader.read(changed(trained[1], tmp_path / "other", name, content))
    assert caught.value.code == code


def test_no_head_is_added_to_a_bundle_of_words(trained: tuple[Path, Path], tmp_path: Path) -> None:
    chosen = invented.recipe(tasks={"more": {"corpus": "bc5cdr"}}, regime={"kind": "single"})
    with pytest.raises(RecipeError, match=r"BX308.*reads words"):
        add_head.add(chosen, str(trained[1]), tmp_path / "more")


def test_the_graph_of_the_encoder_is_no_graph_of_words(trained: tuple[Path, Path]) -> None:
    with pytest.raises(BundleError, match="BX528"):
        onnx_check.check_words((trained[1] / "graph.onnx").read_bytes())
    with pytest.raises(BundleError, match="BX528"):
        onnx_check.check((trained[1] / "words.onnx").read_bytes())
