"""Scores in the card of a bundle."""

from __future__ import annotations

from biomux.evaluation.card_scores import section


def test_heads_that_do_not_tag_have_their_main_figure_and_signature() -> None:
    column = {
        "corpus": "biosses",
        "split": "test",
        "heads": ["similarity"],
        "kind": "similarity",
        "documents": 20,
        "main": {"metric": "pearson", "value": 0.81},
        "numbers": {"similarity": {"pearson": 0.81, "pearson_error": 0.05}},
        "signature": "biomux|corpus:biosses",
    }
    text = section({"columns": [column]})
    assert "| biosses | test | similarity | similarity | 20 | Pearson | 0.8100 ±0.0500 |" in text
    assert "- `biomux|corpus:biosses`" in text
