"""POST /pairs and POST /ask answer what the engine answers, whatever else is being computed."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
from engine.test_pairs_and_questions import annotator
from serving import Client, serving, shipped

from biomux.engine.text_pairs import UNREAD
from biomux.serve.served_model import ServedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = [["Aspirin given", "aspirin given"], ["fever", "mice"]]
TEXTS = ["the dose was high in mice.", "the dose was low after fever and high in cells.", "no dose."]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(model=ServedModel(annotator(), "", "0" * 64), max_documents=10) as (client, _):
        yield client


def test_pairs_are_documents_with_labels(client: Client) -> None:
    found = client.post("/pairs", {"pairs": PAIRS}).json["documents"]
    expected = list(annotator().pairs([(first, second) for first, second in PAIRS]))
    assert [one["id"] for one in found] == ["pair-1", "pair-2"]
    assert [[(label["head"], label["name"]) for label in one["labels"]] for one in found] == [
        [(label.head, label.name) for label in one.labels] for one in expected
    ]
    some = client.post("/pairs", {"pairs": PAIRS, "heads": "same", "threshold": 0.5}).json["documents"]
    assert [len(one["labels"]) for one in some] == [1, 1]


def test_what_was_not_read_of_a_long_pair_is_told(client: Client) -> None:
    (found,) = client.post("/pairs", {"pairs": [["fever " * 40, "mice"]]}).json["documents"]
    assert found["metadata"][UNREAD] > 0


def test_answers_are_the_best_of_all_texts(client: Client) -> None:
    found = client.post("/ask", {"question": "Which dose?", "texts": TEXTS, "n": 3})
    assert found.status == 200
    answers = found.json["answers"]
    assert [one["score"] for one in answers] == sorted((one["score"] for one in answers), reverse=True)
    for one in answers:
        place = 0 if one["document"] == "text" else int(one["document"].removeprefix("text-")) - 1
        assert TEXTS[place][one["start"] : one["end"]] == one["text"]
    alone = annotator().ask("Which dose?", TEXTS[0], n=1)[0]
    best = client.post("/ask", {"question": "Which dose?", "text": TEXTS[0], "n": 1}).json["answers"][0]
    assert {**best, "document": alone.document} == asdict(alone)


def test_answers_are_the_same_bytes_whatever_else_is_asked(client: Client) -> None:
    asked = {"question": "Which dose?", "texts": TEXTS}
    before = client.post("/ask", asked).content
    found: list[bytes] = []

    def ask() -> None:
        found.append(client.post("/ask", asked).content)
        client.post("/pairs", {"pairs": PAIRS})

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {before}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/pairs", {"pairs": []}, 422, "BX802"),
        ("/pairs", {"pairs": [["one"]]}, 422, "BX802"),
        ("/pairs", {"pairs": [["a", "b"]] * 11}, 413, "BX803"),
        ("/pairs", {"pairs": PAIRS, "heads": "nothing"}, 422, "BX001"),
        ("/pairs", {"pairs": PAIRS, "threshold": 2}, 422, "BX001"),
        ("/ask", {"question": " ", "text": "x"}, 422, "BX001"),
        ("/ask", {"question": "why?"}, 422, "BX802"),
        ("/ask", {"question": "why?", "text": "x", "n": 0}, 422, "BX802"),
        ("/ask", {"text": "x"}, 422, "BX802"),
    ],
)
def test_what_cannot_be_asked_says_why(client: Client, path: str, body: object, status: int, code: str) -> None:
    reply = client.post(path, body)
    assert (reply.status, reply.code) == (status, code), reply.content


def test_a_model_without_such_heads_says_what_it_has() -> None:
    with serving(model=shipped()) as (client, _):
        for path, body in (("/pairs", {"pairs": PAIRS}), ("/ask", {"question": "why?", "text": "x"})):
            reply = client.post(path, body)
            assert (reply.status, reply.code) == (422, "BX610")
