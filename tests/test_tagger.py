"""What `biomux.load` gives: calls, streams, pickles, threads, forks, asyncio."""

from __future__ import annotations

import asyncio
import json
import pickle
import shutil
import subprocess
import sys
import threading
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import pytest
import stub
from hypothesis import given, settings
from hypothesis import strategies as st

import biomux
from biomux.document import Document
from biomux.engine.load import DEFAULT, find
from biomux.engine.query import Query
from biomux.tagger import QueryOptions, SkipWarning, Tagger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "Metformin lowered blood glucose in Sirt3 knockout mice."
BROKEN = "aspirin \ud800"
"""A text that cannot be annotated."""


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return biomux.load(threads=1)


@pytest.fixture
def rules() -> Tagger:
    """Answers by rule, so that what it must find is known."""
    return Tagger.of(stub.annotator(), None)


def test_a_tagger_is_called_so(tagger: Tagger) -> None:
    heads, types = len(tagger.heads), len(tagger.types)
    assert repr(tagger) == f"<Tagger '{DEFAULT}': {heads} heads, {types} entity types, onnxruntime, 1 thread>"


def test_one_text_gives_one_document_and_a_list_a_list(rules: Tagger) -> None:
    assert [entity.text for entity in rules("aspirin").entities] == ["aspirin"]
    assert [document.id for document in rules(["aspirin", "fever", ""])] == ["0", "1", "2"]
    assert rules([]) == []
    assert rules(("aspirin",))[0].text == "aspirin"
    assert rules(text for text in ["aspirin"])[0].spans


def test_documents_keep_what_they_have(rules: Tagger) -> None:
    document = Document("pmid:1", "aspirin", metadata={"year": 1999})
    assert rules(document) == next(rules.annotate([document]))
    assert [found.id for found in rules([document, "fever"])] == ["pmid:1", "1"]


@pytest.mark.parametrize("wrong", [None, 3, b"aspirin", {"text": "aspirin"}])
def test_what_is_no_text_is_refused(rules: Tagger, wrong: Any) -> None:
    with pytest.raises(biomux.UsageError, match="BX001: text must be a str or a list of them, got"):
        rules(wrong)


@pytest.mark.parametrize("wrong", ["aspirin", Document("1", "aspirin"), b"aspirin", 3])
def test_a_stream_must_be_several(rules: Tagger, wrong: Any) -> None:
    with pytest.raises(biomux.UsageError, match="BX001: pipe\\(\\) takes a stream of texts"):
        rules.pipe(wrong)


def test_a_stream_is_lazy_and_in_order(rules: Tagger) -> None:
    read: list[int] = []

    def texts() -> Iterator[str]:
        for number in count():
            read.append(number)
            yield f"aspirin {number}"

    some = replace(rules, chunk=100)
    assert [document.text for document in islice(some.pipe(texts()), 30)] == [f"aspirin {n}" for n in range(30)]
    assert len(read) < 60


def test_a_pair_comes_back_with_what_it_came_with(rules: Tagger) -> None:
    thing = object()
    given: list[Any] = [("aspirin", thing), "fever", (Document("a", "bexol"), None), Document("b", "ulcer")]
    found: list[Any] = list(rules.pipe(given))
    assert found[0][1] is thing
    assert [item[0].id if isinstance(item, tuple) else item.id for item in found] == ["0", "1", "a", "b"]
    assert found[2][1] is None


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["aspirin", "fever of mice", "", BROKEN, None, 3.5]), max_size=12), st.integers(1, 40))
def test_skipping_leaves_out_what_fails_and_nothing_else(texts: list[Any], chunk: int) -> None:
    rules = Tagger.of(replace(stub.annotator(), chunk=chunk), None)
    good = [(place, text) for place, text in enumerate(texts) if isinstance(text, str) and text != BROKEN]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = list(rules.pipe(((text, place) for place, text in enumerate(texts)), on_error="skip"))
    assert [(place, document.text) for document, place in found] == good
    assert [int(document.id) for document, _ in found] == [place for place, _ in good]
    skipped = len(texts) - len(good)
    assert [str(warning.message).split(",")[0] for warning in told] == (
        [f"skipped {skipped} text{'s' if skipped > 1 else ''}"] if skipped else []
    )


def test_a_function_is_told_of_each_failure_with_the_text_as_given(rules: Tagger) -> None:
    told: list[tuple[Any, str]] = []
    given: list[Any] = ["aspirin", (BROKEN, "a"), None, "fever"]
    found = list(rules.pipe(given, on_error=lambda item, error: told.append((item, error.code))))
    assert [document.id for document in found] == ["0", "3"]
    assert told == [((BROKEN, "a"), "BX601"), (None, "BX001")] or told == [(None, "BX001"), ((BROKEN, "a"), "BX601")]


def test_without_a_wish_the_first_failure_is_raised_with_its_place(rules: Tagger) -> None:
    with pytest.raises(biomux.UsageError, match="BX001: text 1: a text must be a str"):
        list(rules.pipe(["aspirin", None]))  # type: ignore[list-item]
    with pytest.raises(biomux.AnnotateError, match="BX601: document '1'"):
        list(rules.pipe(["aspirin", BROKEN]))


def test_a_skip_is_told_once_at_the_end(rules: Tagger) -> None:
    stream = rules.pipe(["aspirin", BROKEN, BROKEN], on_error="skip")
    next(stream)
    with pytest.warns(SkipWarning, match="skipped 2 texts, the first: BX601"):
        assert list(stream) == []


def test_what_cannot_be_asked_for_is_told_before_the_first_text(tagger: Tagger) -> None:
    with pytest.raises(biomux.UsageError, match="unknown type 'gen'"):
        tagger.pipe(iter(()), types=["gen"])
    with pytest.raises(biomux.UsageError, match="on_error must be 'raise', 'skip' or a function"):
        tagger.pipe([], on_error="ignore")  # type: ignore[call-overload]


def test_a_keyword_that_no_call_has_is_told_with_the_nearest(tagger: Tagger) -> None:
    with pytest.raises(biomux.UsageError, match=r"BX001: unknown option 'type'; did you mean 'types'\?"):
        tagger("Aspirin.", type=["gene"])  # type: ignore[call-overload]
    with pytest.raises(biomux.UsageError, match=r"unknown option 'model'; load it first: biomux.load\('mine'\)"):
        tagger.pipe([], model="mine")  # type: ignore[call-overload]


def test_options_are_those_of_a_query() -> None:
    assert set(QueryOptions.__annotations__) == {field.name for field in fields(Query)}


def test_memory_stays_flat_over_a_long_stream(rules: Tagger) -> None:
    some = replace(rules, chunk=2_000)
    stream = some.pipe("aspirin after fever of mice" for _ in range(4_000))
    for _ in islice(stream, 500):
        pass
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in stream:
        pass
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000


def test_one_layer_is_what_resolve_leaves(tagger: Tagger) -> None:
    document = tagger(TEXT)
    assert len(document.spans) > len(tagger.one_layer(document))
    assert tagger.one_layer(document) == list(tagger(TEXT, resolve=True).spans)


def test_a_tagger_pickles_as_its_place(tagger: Tagger) -> None:
    other = replace(tagger, budget=512, strict=True)
    data = pickle.dumps(other)
    assert len(data) < 1_000
    back = pickle.loads(data)
    assert (back.budget, back.strict, back.origin) == (512, True, other.origin)
    assert back(TEXT) == tagger(TEXT)
    assert pickle.loads(data) is back


def test_a_pickle_of_another_bundle_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(find(), folder)
    data = pickle.dumps(biomux.load(folder, threads=1))
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=7), encoding="utf-8")
    with pytest.raises(biomux.BundleError, match="BX640"):
        pickle.loads(data)


def test_taggers_can_be_kept_in_sets(tagger: Tagger) -> None:
    assert {tagger: 1}[tagger] == 1
    assert tagger != replace(tagger, budget=512)


def test_many_threads_share_one_tagger() -> None:
    tagger = biomux.load(threads=2)
    texts = [f"{TEXT} {number} patients had type {number} diabetes." for number in range(40)]
    expected = tagger(texts)
    start = threading.Barrier(8)

    def work(number: int) -> list[Document]:
        start.wait()
        return tagger(texts[number::8])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    for number, documents in enumerate(found):
        assert [document.spans for document in documents] == [document.spans for document in expected[number::8]]


FORK = f"""
import os, pickle, sys
import biomux
tagger = biomux.load(threads=2)
texts = [{TEXT!r} * (1 + n) for n in range(40)]
before = [document.spans for document in tagger(texts)]
read, write = os.pipe()
if os.fork() == 0:
    same = [document.spans for document in tagger(texts)] == before
    os.write(write, b"same" if same else b"other")
    os._exit(0)
os.wait()
print(os.read(read, 10).decode(), [document.spans for document in tagger(texts)] == before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_fork_annotates_as_its_parent_does() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "same True\n"
    assert "fork" not in done.stderr


def test_asyncio_goes_on_while_a_text_is_read(tagger: Tagger) -> None:
    async def main() -> tuple[list[Document], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        found = await asyncio.gather(*(asyncio.to_thread(tagger, TEXT * 20) for _ in range(3)))
        ticking.cancel()
        return found, ticks

    found, ticks = asyncio.run(main())
    assert all(document.spans == tagger(TEXT * 20).spans for document in found)
    assert ticks > 3
