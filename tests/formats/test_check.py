"""The conformance check finds what it promises to find."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest

from biomux.document import Document, Span
from biomux.errors import FormatError
from biomux.formats import Format, Loss, jsonl
from biomux.formats._conformance import check_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.formats import Source

DOCUMENTS = [Document("1", "TP53", spans=(Span(0, 4, "gene", score=0.5),)), Document("2", "")]


def writing(change: Callable[[Document], Document], loss: str | None = None) -> Format:
    def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
        for document in documents:
            if loss is not None:
                on_loss(Loss(document.id, loss))
            stream.write(jsonl.line(change(document)))

    return replace(jsonl.FORMAT, write=write)


def without_scores(document: Document) -> Document:
    return replace(document, spans=tuple(replace(span, score=None) for span in document.spans))


def test_a_sound_format_passes() -> None:
    check_format(jsonl.FORMAT, DOCUMENTS)


def test_a_loss_must_be_told() -> None:
    with pytest.raises(AssertionError, match="spans: wrote"):
        check_format(writing(without_scores), DOCUMENTS)
    check_format(writing(without_scores, "scores"), DOCUMENTS)


@pytest.mark.parametrize("told", ["identifiers", "relations", "metadata"])
def test_a_loss_of_something_else_excuses_nothing(told: str) -> None:
    with pytest.raises(AssertionError, match="no loss was reported"):
        check_format(writing(without_scores, told), DOCUMENTS)


def test_moved_text_and_lost_documents_are_found() -> None:
    with pytest.raises(AssertionError, match="text: wrote"):
        check_format(writing(lambda document: replace(document, text=document.text + " ")), DOCUMENTS)
    lossy = replace(jsonl.FORMAT, read=lambda source, **options: itertools.islice(jsonl.read(source, **options), 1))
    with pytest.raises(AssertionError, match="wrote 2 documents and read 1"):
        check_format(lossy, DOCUMENTS)


def test_bytes_that_change_from_time_to_time_are_found() -> None:
    numbers = itertools.count()
    with pytest.raises(AssertionError, match="differently the second time"):
        check_format(writing(lambda document: replace(document, metadata={"n": next(numbers)})), DOCUMENTS)


def test_a_traceback_on_harmed_input_is_found() -> None:
    def read(source: Source, *, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
        with source.open() as stream:
            for line in stream:
                fields: dict[str, Any] = json.loads(line)
                yield Document(fields["id"], fields["text"])

    with pytest.raises(AssertionError, match="crashes on harmed input"):
        check_format(replace(jsonl.FORMAT, read=read), [Document("1", "TP53")])


def test_refusing_is_allowed_with_its_code_only() -> None:
    def refusing(code: str) -> Format:
        def refuse(document: Document) -> Document:
            raise FormatError(code, "no", where=document.id)

        return writing(refuse)

    check_format(refusing("BX120"), DOCUMENTS)
    with pytest.raises(AssertionError, match="BX113 instead of BX120"):
        check_format(refusing("BX113"), DOCUMENTS)


def test_a_format_must_read_what_it_writes() -> None:
    def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
        stream.writelines(jsonl.line(document)[:-3] for document in documents)

    with pytest.raises(AssertionError, match="cannot read what it has written"):
        check_format(replace(jsonl.FORMAT, write=write), DOCUMENTS)


def test_a_format_must_recognise_what_it_writes() -> None:
    with pytest.raises(AssertionError, match="does not recognise"):
        check_format(replace(jsonl.FORMAT, sniff=lambda name, head: False), DOCUMENTS)
