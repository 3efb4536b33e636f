"""Spans as ranges of words."""

from __future__ import annotations

from biomux.scoring.word_alignment import to_tokens, touched

STARTS, ENDS = [0, 4, 8, 12], [3, 7, 11, 15]


def test_fragments_of_neighbouring_words_are_one_run() -> None:
    assert touched([(0, 3), (4, 7)], STARTS, ENDS) == [(0, 2)]


def test_fragments_with_a_word_between_them_are_two_runs() -> None:
    assert touched([(0, 3), (8, 15)], STARTS, ENDS) == [(0, 1), (2, 4)]


def test_a_part_of_a_word_is_the_word_and_white_space_is_nothing() -> None:
    assert touched([(1, 2), (7, 8), (9, 13)], STARTS, ENDS) == [(0, 1), (2, 4)]


def test_the_tokens_of_a_span_in_pieces_begin_with_its_first() -> None:
    words = [(0, 3), (4, 7), (8, 11)]
    assert to_tokens({(0, 11, "gene", ((0, 3), (8, 11)))}, words, words) == {(0, 3, "gene", ((0, 1), (2, 3)))}
