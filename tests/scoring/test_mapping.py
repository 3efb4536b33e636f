"""Type maps."""

from __future__ import annotations

import pytest

from biomux.document import Document, Span
from biomux.errors import UsageError
from biomux.scoring.mapping import of_pairs, parse, same

TEXT = "TP53 and BRCA1 in mice"
SAID = Document(
    "1",
    TEXT,
    spans=(
        Span(0, 4, "GENE", head="bc2gm"),
        Span(9, 14, "protein", head="jnlpba"),
        Span(18, 22, "Species", head="s800"),
    ),
)


def test_only_mapped_types_are_scored_under_the_gold_name() -> None:
    types = parse("Gene=bc2gm/GENE, Gene=protein")
    assert [(span.start, span.type) for span in types.of_predicted(SAID).spans] == [(0, "Gene"), (9, "Gene")]
    gold = Document("1", TEXT, spans=(Span(0, 4, "Gene"), Span(18, 22, "Species")))
    assert [span.type for span in types.of_gold(gold).spans] == ["Gene"]
    assert [span.type for span in types.only(SAID).spans] == ["GENE", "protein"]


def test_a_head_is_told_from_others_with_the_same_type() -> None:
    assert same(["GENE"], head="bc2gm").of_predicted(SAID).spans == SAID.spans[:1]
    assert same(["GENE"], head="other").of_predicted(SAID).spans == ()


def test_gold_types_that_one_model_type_answers_become_one() -> None:
    types = of_pairs([("SNP", "variant"), ("DNA", "variant"), ("DNA", "mutation"), ("Gene", "gene")])
    assert types.types == ("SNP+DNA", "Gene")
    assert types.said == {"variant": "SNP+DNA", "mutation": "SNP+DNA", "gene": "Gene"}


def test_a_map_can_be_written_again() -> None:
    for text in ("Gene=bc2gm/GENE,Gene=protein", "SNP=variant,DNA=variant"):
        assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize("text", ["", "Gene", "Gene=", "=gene", "Gene=gene,x"])
def test_what_is_no_map_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.code == "BX001"
