"""The annotator: offsets, windows, batches, coverage; with a session that answers by rule, so that every expectation is exact."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import stub
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from biomux.document import Document, Passage
from biomux.engine.coverage import gaps, unread
from biomux.engine.load import load
from biomux.engine.session import failed
from biomux.engine.type_merging import Merge
from biomux.errors import AnnotateError, BiomuxError, BundleError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from biomux.engine.annotator import Annotator

FILL = ("the", "of", "mice", "(", ",", "-", "level", "qqq", "mycin", "growth")
word = st.sampled_from([*FILL, *stub.DRUGS, *stub.ILLS, *stub.INSIDE])
sentence = st.lists(word, min_size=1, max_size=80).map(" ".join)
text = st.lists(sentence, max_size=4).map(lambda sentences: "\n\n".join(sentences))
texts = st.lists(text, min_size=1, max_size=6)


def found(annotator: Annotator, *texts_: str, **options: Any) -> list[list[tuple[int, int, str]]]:
    documents = [Document(str(index), text_) for index, text_ in enumerate(texts_)]
    return [
        [(span.start, span.end, span.type) for span in document.spans]
        for document in annotator.annotate(documents, **options)
    ]


def expected(text_: str) -> list[tuple[int, int, str]]:
    """What the rules say, found by reading the words one by one."""
    spans: list[tuple[int, int, str]] = []
    for paragraph_start, paragraph in _paragraphs(text_):
        at = 0
        open_ = False
        for word_ in paragraph.split(" "):
            start, end = paragraph_start + at, paragraph_start + at + len(word_)
            at += len(word_) + 1
            if word_ in stub.DRUGS or word_ in stub.ILLS:
                spans.append((start, end, "Chemical" if word_ in stub.DRUGS else "Disease"))
                open_ = word_ in stub.ILLS
            elif word_ in stub.INSIDE and open_:
                spans[-1] = (spans[-1][0], end, "Disease")
            else:
                open_ = False
    return spans


def _paragraphs(text_: str) -> list[tuple[int, str]]:
    at, made = 0, []
    for paragraph in text_.split("\n\n"):
        made.append((at, paragraph))
        at += len(paragraph) + 2
    return made


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Annotator:
    return load(tiny.bundle(tmp_path_factory.mktemp("tiny") / "bundle"), threads=1)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([*FILL, *stub.DRUGS, *stub.ILLS]), min_size=1, max_size=200),
    st.integers(8, 40),
    st.integers(1, 400),
)
def test_entities_of_a_sentence_of_any_length_are_found_where_they_are(
    words: list[str], limit: int, budget: int
) -> None:
    whole = " ".join(words)
    assert found(stub.annotator(limit=limit, budget=budget), whole) == [expected(whole)]


@pytest.mark.parametrize("length", [1, 5, 29, 30, 31, 32, 59, 60, 61, 90, 200])
def test_an_entity_at_any_place_is_found_as_at_the_first(length: int) -> None:
    annotator = stub.annotator(limit=30)
    entity = "ulcer acute chronic acute"
    for place in range(length):
        words = ["the"] * length
        words[place] = entity
        whole = " ".join(words)
        start = 4 * place
        assert found(annotator, whole) == [[(start, start + len(entity), "Disease")]]


@pytest.mark.parametrize("shift", [0, 1, 7, 995, 19_990])
def test_a_sentence_of_any_length_is_read_whole(shift: int) -> None:
    whole = "x " * (shift // 2) + "fever acute the aspirin mice " * 2500
    document = stub.annotator(limit=60, budget=4096)(whole)
    assert [(span.start, span.end, span.type) for span in document.spans] == expected(whole.rstrip())
    assert gaps(document) == []


@settings(max_examples=40, deadline=None)
@given(texts, st.integers(1, 600), st.integers(1, 300))
def test_answers_do_not_depend_on_batches_or_neighbours(texts_: list[str], budget: int, chunk: int) -> None:
    alone = [found(stub.annotator(), text_)[0] for text_ in texts_]
    assert found(replace(stub.annotator(budget=budget), chunk=chunk), *texts_) == alone
    assert found(stub.annotator(), *reversed(texts_)) == alone[::-1]


@pytest.mark.parametrize(("budget", "chunk"), [(1, 400_000), (64, 50), (1024, 1), (5000, 400_000)])
def test_a_real_session_says_the_same_in_any_batch(real: Annotator, budget: int, chunk: int) -> None:
    documents = [Document(str(number), tiny.text(5 + 7 * number, seed=number)) for number in range(12)]
    usual = list(real.annotate(documents))
    other = replace(real, budget=budget, chunk=chunk)
    assert list(other.annotate(documents)) == usual
    assert list(other.annotate(reversed(documents))) == usual[::-1]


@pytest.mark.parametrize(("chunk", "taken"), [(1, 1), (11, 1), (12, 2), (22, 2), (23, 3), (10_000, 5)])
def test_no_more_documents_are_taken_than_a_chunk_holds(chunk: int, taken: int) -> None:
    drawn: list[str] = []

    def documents() -> Iterator[Document]:
        for number in range(5):
            drawn.append(str(number))
            yield Document(str(number), "aspirin ab")  # ten characters, and one between documents

    answered = replace(stub.annotator(), chunk=chunk).annotate(documents())
    assert next(answered).spans
    assert len(drawn) == taken
    assert len(list(answered)) == 4


@settings(max_examples=40, deadline=None)
@given(text)
def test_every_visible_character_is_read(text_: str) -> None:
    document = next(stub.annotator().annotate([Document("1", text_)]))
    assert gaps(document) == []
    assert unread(document) == 0


HARD = {
    "empty": "",
    "blank": " \n\t ",
    "emoji": "\U0001f9ec\U0001f468\u200d\U0001f469\u200d\U0001f467 aspirin \U0001f9ec",
    "right to left": "\u05d0\u05e1\u05e4\u05d9\u05e8\u05d9\u05df aspirin \u0627\u0644\u0623\u0633\u0628\u0631\u064a\u0646",
    "NUL": "\x00aspirin\x00 aspirin \x00",
    "only control": "\x00\x01\u200b",
    "combining": "a\u0301spirin aspirin",
    "accents": "\xc9\xe9\xfc aspirin",
    "wide": "\u30a2\u30b9\u30d4\u30ea\u30f3 aspirin\u3002aspirin",
    "long word": "x" * 5000 + " aspirin",
    "no blank": "aspirin," * 3000,
    "lines": "aspirin\r\naspirin\x0baspirin\x85aspirin\u2028aspirin",
    "soft hyphen": "asp\xadirin aspirin",
    "bytes mark": "\ufeffaspirin",
    "ligature": "\ufb01ve aspirin",
}


@pytest.mark.parametrize("name", HARD)
def test_offsets_are_right_in_strange_text(name: str) -> None:
    whole = HARD[name]
    document = stub.annotator()(whole)
    assert document.text == whole
    assert gaps(document) == []
    mentions = [document.mention(span) for span in document.spans]
    clean = [mention.replace("\xad", "").strip("\x00\ufeff\u200b") for mention in mentions]
    assert set(clean) <= {"aspirin", "a\u0301spirin"}
    assert len(mentions) >= whole.count(" aspirin")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gets_an_answer_or_a_sentence(real: Annotator, text_: str) -> None:
    failed: list[str] = []
    for document in real.annotate([Document("1", text_)], on_error=lambda _, error: failed.append(error.code)):
        assert document.text == text_
        assert gaps(document) == []
    assert failed in ([], ["BX601"])


def test_half_a_surrogate_pair_is_refused_and_the_rest_goes_on() -> None:
    annotator = stub.annotator()
    with pytest.raises(AnnotateError, match="BX601: document 'text': character 8"):
        annotator("aspirin \ud800")
    failed: list[tuple[str, str]] = []

    def on_error(document: Document, error: BiomuxError) -> None:
        failed.append((document.id, error.code))

    documents = [Document("1", "aspirin"), Document("2", "\ud800"), Document("3", "fever")]
    done = list(annotator.annotate(documents, on_error=on_error))
    assert [document.id for document in done] == ["1", "3"]
    assert failed == [("2", "BX601")]


def test_what_a_session_raises_is_told_of_its_document() -> None:
    class Choosy(stub.RuleSession):
        def run(self, batch: Any) -> Any:
            if (batch.ids == tiny.PIECES.index("velarin")).any():
                raise RuntimeError("no velarin")
            return super().run(batch)

    annotator = replace(stub.annotator(), session=Choosy())
    documents = [Document("1", "aspirin"), Document("2", "velarin"), Document("3", "fever")]
    failed: list[str] = []
    done = list(annotator.annotate(documents, on_error=lambda _, error: failed.append(str(error))))
    assert [document.id for document in done] == ["1", "3"]
    assert failed[0].startswith("BX603: document '2': cannot be annotated: RuntimeError: no velarin")
    with pytest.raises(AnnotateError, match="BX603"):
        list(annotator.annotate(documents))


def test_a_runtime_that_fails_is_told_of_the_document() -> None:
    class Choosy(stub.RuleSession):
        def run(self, batch: Any) -> Any:
            if (batch.ids == tiny.PIECES.index("velarin")).any():
                raise failed("run", ValueError("no velarin"))
            return super().run(batch)

    annotator = replace(stub.annotator(), session=Choosy())
    documents = [Document("1", "aspirin"), Document("2", "velarin"), Document("3", "fever")]
    told: list[BiomuxError] = []
    done = list(annotator.annotate(documents, on_error=lambda _, error: told.append(error)))
    assert [document.id for document in done] == ["1", "3"]
    assert [(error.code, error.where) for error in told] == [("BX540", "document '2'")]
    with pytest.raises(BundleError, match="BX540: document '2': the runtime cannot run the graph: no velarin"):
        list(annotator.annotate(documents))


def test_an_answer_that_cannot_be_decoded_leaves_no_threads_behind() -> None:
    class Blank(stub.RuleSession):
        at_once = 2

        def run(self, batch: Any) -> Any:
            super().run(batch)
            return {}

    annotator = replace(stub.annotator(), session=Blank(), budget=1)
    told: list[BiomuxError] = []  # errors that are kept, and with them the frames that they went through
    before = threading.active_count()
    assert not list(
        annotator.annotate([Document("1", "Aspirin. Fever. Aspirin.")], on_error=lambda _, error: told.append(error))
    )
    assert told[0].code == "BX603"
    assert threading.active_count() == before


def test_strict_refuses_what_was_not_wholly_read() -> None:
    document = Document("7", "Aspirin. Unread, fever.", sentences=((0, 8), (17, 23)))
    read = next(stub.annotator().annotate([document]))
    assert read.coverage == ((0, 8), (17, 23))
    assert (gaps(read), unread(read)) == ([(9, 16)], 7)
    with pytest.raises(AnnotateError, match=r"BX602: document '7': 7 characters were not read, the first at 9\.\.16"):
        list(replace(stub.annotator(), strict=True).annotate([document]))
    two = replace(document, sentences=((0, 8), (17, 22)))
    with pytest.raises(AnnotateError, match=r"8 characters were not read, the first at 9\.\.16"):
        list(replace(stub.annotator(), strict=True).annotate([two]))


def test_everything_else_of_a_document_stays() -> None:
    document = Document("9", "aspirin\nfever", passages=(Passage(0, 7, "title"),), metadata={"year": 2003})
    done = next(stub.annotator().annotate([document]))
    assert (done.id, done.passages, done.metadata) == ("9", document.passages, {"year": 2003})


def test_types_heads_and_thresholds_of_a_call() -> None:
    annotator = replace(
        stub.annotator(),
        merges={
            "drug": Merge("drug", (("rule", "Chemical"),), threshold=0.999),
            "illness": Merge("illness", (("rule", "Disease"),), curve=((0.2, 0.5), (0.9999, 0.9))),
        },
    )
    whole = "aspirin fever"
    assert annotator.types == ("drug", "illness")
    assert found(annotator, whole) == [[(8, 13, "illness")]]  # the rules' score is 0.9903
    assert found(annotator, whole, types=["drug"], threshold=0.5) == [[(0, 7, "drug")]]
    assert found(annotator, whole, threshold={"drug": 0.5, "illness": 1}) == [[(0, 7, "drug")]]
    assert found(annotator, whole, threshold={"*": 0.5}) == [[(0, 7, "drug"), (8, 13, "illness")]]
    assert found(annotator, whole, heads=["rule"]) == [[(0, 7, "Chemical"), (8, 13, "Disease")]]
    assert found(annotator, whole, heads=["rule"], types=["Disease"]) == [[(8, 13, "Disease")]]
    assert found(annotator, whole, types=["illness"], precision=0.4) == [[(8, 13, "illness")]]
    assert found(annotator, whole, types=["illness"], precision=0.9) == [[]]


def test_a_type_that_was_never_right_is_given_out_only_if_asked_for() -> None:
    annotator = replace(
        stub.annotator(),
        merges={
            "drug": Merge("drug", (("rule", "Chemical"),)),
            "illness": Merge("illness", (("rule", "Disease"),), threshold=None),
        },
    )
    both = [(0, 7, "drug"), (8, 13, "illness")]
    assert annotator.types == ("drug", "illness")
    cases: list[tuple[dict[str, Any], list[tuple[int, int, str]]]] = [
        ({}, both[:1]),
        ({"threshold": 0.5}, both[:1]),
        ({"threshold": 0}, both),
        ({"threshold": {"*": 0}}, both),
        ({"threshold": {"illness": 0.5}}, both),
        ({"threshold": {"drug": 0.5}}, both[:1]),
        ({"types": ["illness"]}, both[1:]),
    ]
    for options, expected in cases:
        assert found(annotator, "aspirin fever", **options) == [expected], options


def test_heads_own_types_have_default_thresholds_too() -> None:
    annotator = replace(stub.annotator(), thresholds={("rule", "Chemical"): 0.999, ("rule", "Disease"): None})
    both = [(0, 7, "Chemical"), (8, 13, "Disease")]
    cases: list[tuple[dict[str, Any], list[tuple[int, int, str]]]] = [
        ({}, []),
        ({"heads": ["rule"]}, []),
        ({"threshold": 0}, both),
        ({"heads": ["rule"], "threshold": 0}, both),
        ({"threshold": 0.5}, both[:1]),
        ({"threshold": {"Chemical": 0.5}}, both[:1]),
        ({"threshold": {"Disease": 0.5}}, both[1:]),
        ({"threshold": {"*": 0}}, both),
        ({"types": ["Disease"]}, both[1:]),
    ]
    for options, expected in cases:
        assert found(annotator, "aspirin fever", **options) == [expected], options


def test_one_layer_prefers_by_level_and_probability_of_heads_types_too() -> None:
    curves = {("rule", "Chemical"): ((0.5, 0.6),), ("rule", "Disease"): ((0.5, 0.9),)}
    plain = replace(
        stub.annotator(),
        merges={
            "general": Merge("general", (("rule", "Disease"),), curve=((0.5, 0.99),), level=1),
            "specific": Merge("specific", (("rule", "Disease"),), curve=((0.5, 0.7),)),
        },
    )
    assert found(plain, "fever", resolve=True) == [[(0, 5, "specific")]]
    assert found(replace(stub.annotator(), curves=curves), "aspirin fever", resolve=True) == [
        [(0, 7, "Chemical"), (8, 13, "Disease")]
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"types": ["Gene"]}, "unknown type 'Gene'; choose from: Chemical, Disease"),
        ({"heads": ["rules"]}, "unknown head 'rules'; did you mean 'rule'\\? choose from: rule"),
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1, got 1.5"),
        ({"threshold": {"Gene": 0.5}}, "unknown type 'Gene'"),
        ({"precision": 0.9}, "cannot choose a threshold by precision for 'Chemical'"),
        ({"precision": 0.9, "threshold": 0.5}, "cannot use both a threshold and a precision"),
        ({"threshold": "0.5"}, "threshold must be a number from 0 to 1, got '0.5'"),
        ({"threshold": {"Disease": None}}, "threshold must be a number from 0 to 1, got None"),
        ({"precision": "high"}, "precision must be a number from 0 to 1, got 'high'"),
        ({"types": []}, "types must name at least one"),
        ({"heads": ()}, "heads must name at least one"),
    ],
)
def test_what_cannot_be_asked_for_is_told(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        stub.annotator().annotate([], **options)  # at once, not with the first document


def test_a_lone_name_is_a_name_and_not_its_letters() -> None:
    assert found(stub.annotator(), "aspirin fever", types="Disease") == [[(8, 13, "Disease")]]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda tagger: tagger(None), "text must be a str, got NoneType"),
        (lambda tagger: tagger(b"aspirin"), "text must be a str, got bytes"),
        (lambda tagger: tagger(Document("1", "aspirin")), "text must be a str, got Document"),
        (lambda tagger: tagger.annotate("aspirin"), "got a single text"),
        (lambda tagger: tagger.annotate(Document("1", "aspirin")), "got a single document"),
        (lambda tagger: list(tagger.annotate(["aspirin"])), "documents must be Document objects, got str"),
    ],
)
def test_what_is_no_text_and_no_document_is_told(call: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        call(stub.annotator())


def test_of_all_types_those_that_are_never_so_precise_are_left_out_and_told() -> None:
    annotator = replace(stub.annotator(), curves={("rule", "Chemical"): ((0.5, 0.8), (0.99, 0.95))})
    assert found(annotator, "aspirin fever", precision=0.95) == [[(0, 7, "Chemical")]]
    assert annotator.imprecise(0.95) == ("Disease",)
    with pytest.raises(UsageError, match="by precision for 'Disease'"):
        found(annotator, "aspirin fever", types=["Chemical", "Disease"], precision=0.95)
    with pytest.raises(UsageError, match=r"'Chemical' cannot reach a precision of .*: its best is 0\.950"):
        found(annotator, "aspirin fever", precision=0.99)  # none is left
    merged = replace(
        annotator,
        merges={
            "drug": Merge("drug", (("rule", "Chemical"),), curve=((0.2, 0.99),)),
            "illness": Merge("illness", (("rule", "Disease"),)),
        },
    )
    assert found(merged, "aspirin fever", precision=0.95) == [[(0, 7, "drug")]]
    assert merged.imprecise(0.95) == ("illness",)


def test_threads_share_an_annotator(real: Annotator) -> None:
    texts_ = [tiny.text(3 + index, seed=index) for index in range(40)]
    one_by_one = [real(text_) for text_ in texts_]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(real, texts_)) == one_by_one


def test_more_threads_than_cores_are_not_begun(tmp_path: Path) -> None:
    assert load(tiny.bundle(tmp_path / "bundle"), threads=100_000)("The aspirin.").coverage == ((0, 12),)
    with pytest.raises(UsageError, match="threads must be at least 1, got 0"):
        load(tmp_path / "bundle", threads=0)


def test_a_head_s_calibration_serves_its_own_types() -> None:
    annotator = replace(stub.annotator(), curves={("rule", "Chemical"): ((0.5, 0.8),)})
    assert found(annotator, "aspirin", types=["Chemical"], precision=0.8) == [[(0, 7, "Chemical")]]


def test_a_plain_type_that_was_not_measured_takes_its_heads_calibration() -> None:
    merges = {"any": Merge("any", (("rule", "Chemical"), ("rule", "Disease")))}
    annotator = replace(
        stub.annotator(),
        merges=merges,
        curves={("rule", "Chemical"): ((0.5, 0.8), (0.999, 0.95)), ("rule", "Disease"): ((0.5, 0.7),)},
    )
    assert found(annotator, "aspirin fever", precision=0.7) == [[(0, 7, "any"), (8, 13, "any")]]
    assert found(annotator, "aspirin fever", precision=0.8) == [[(0, 7, "any")]]
    assert found(annotator, "aspirin fever", precision=0.95) == [[]]
    with pytest.raises(UsageError, match=r"'any' cannot reach a precision of .*: its best is 0\.950"):
        found(annotator, "aspirin fever", precision=0.99)


def test_abbreviations_carry_and_resolving_flattens() -> None:
    whole = "A fever acute chronic (FAC) was high. FAC was low."
    plain = found(stub.annotator(), whole)[0]
    carried = found(stub.annotator(), whole, abbreviations=True)[0]
    assert [whole[start:end] for start, end, _ in plain] == ["fever acute chronic"]
    assert [whole[start:end] for start, end, _ in carried] == ["fever acute chronic", "FAC", "FAC"]
    both = replace(
        stub.annotator(),
        merges={"b": Merge("b", (("rule", "Disease"),)), "a": Merge("a", (("rule", "Disease"),))},
    )
    assert [type_ for _, _, type_ in found(both, "fever")[0]] == ["a", "b"]
    assert [type_ for _, _, type_ in found(both, "fever", resolve=True)[0]] == ["b"]  # the first in the table


def test_a_bundle_on_disk_is_the_annotator_that_was_exported(tmp_path: Path) -> None:
    loaded = load(tiny.bundle(tmp_path / "bundle"), threads=1)
    assert loaded.heads == ("drugs", "genes")
    assert loaded("The aspirin.").coverage == ((0, 12),)
