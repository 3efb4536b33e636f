"""CoNLL columns: what the tags mean, how the text is rebuilt, what is refused, what is told when written."""

from __future__ import annotations

import gzip
import io
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biomux import formats
from biomux.document import Document, Span
from biomux.errors import FormatError, UsageError
from biomux.formats import Loss, LossTally, guess, of_bytes, of_path
from biomux.formats.conll import FORMAT, read


def documents(text: str, **options: Any) -> list[Document]:
    return list(read(of_bytes("dev.tsv", text.encode()), **options))


def mentions(rows: str, **options: Any) -> list[tuple[str, str]]:
    """Type and text of each mention; rows are "token/tag token/tag"."""
    lines = "".join(f"{row.replace('/', chr(9), 1)}\n" for row in rows.split())
    return [(span.type, document.mention(span)) for document in documents(lines, **options) for span in document.spans]


def written(*given: Document) -> tuple[str, list[Loss]]:
    stream, losses = io.BytesIO(), list[Loss]()
    assert FORMAT.write is not None
    FORMAT.write(given, stream, on_loss=losses.append)
    return stream.getvalue().decode(), losses


def failure(text: str | bytes, **options: Any) -> FormatError:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(FormatError) as caught:
        list(read(of_bytes("dev.tsv", data), **options))
    return caught.value


class TestTags:
    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            ("a/B-X b/I-X c/O", [("X", "a b")]),
            ("a/B-X b/B-X", [("X", "a"), ("X", "b")]),
            ("a/I-X b/I-X c/B-X", [("X", "a b"), ("X", "c")]),  # IOB1
            ("a/B-X b/I-Y", [("X", "a"), ("Y", "b")]),
            ("a/O b/I-X", [("X", "b")]),
            ("a/S-X b/B-Y c/I-Y d/E-Y e/S-Y", [("X", "a"), ("Y", "b c d"), ("Y", "e")]),  # IOBES
            ("a/U-X b/B-Y c/L-Y", [("X", "a"), ("Y", "b c")]),  # BILOU
            ("a/E-X b/E-X", [("X", "a"), ("X", "b")]),
            ("a/S-X b/I-X", [("X", "a"), ("X", "b")]),
        ],
    )
    def test_one_set_of_rules_fits_every_scheme(self, rows: str, expected: list[tuple[str, str]]) -> None:
        assert mentions(rows) == expected

    def test_a_tag_is_split_at_its_first_hyphen(self) -> None:
        assert mentions("lac/B-Regulon-operon") == [("Regulon-operon", "lac")]

    def test_tags_without_a_type_get_the_one_that_is_asked_for(self) -> None:
        assert mentions("mouse/B x/O") == [("entity", "mouse")]
        assert mentions("mouse/B x/I", type="species") == [("species", "mouse x")]

    def test_a_mention_ends_with_its_sentence(self) -> None:
        first, second = documents("a\tB-X\n\nb\tI-X\n")
        assert [first.mention(first.spans[0]), second.mention(second.spans[0])] == ["a", "b"]

    @pytest.mark.parametrize(
        ("rows", "scheme"),
        [("a/O b/I-X", "iob2"), ("a/S-X", "iob2"), ("a/B-X b/O", "iobes"), ("a/B-X", "iobes"), ("a/E-X", "iobes")],
    )
    def test_a_stated_scheme_is_held_to(self, rows: str, scheme: str) -> None:
        with pytest.raises(FormatError, match="BX113"):
            mentions(rows, scheme=scheme)

    def test_what_a_stated_scheme_allows_is_read(self) -> None:
        assert mentions("a/I-X b/B-X", scheme="iob1") == [("X", "a"), ("X", "b")]
        assert mentions("a/B-X b/E-X c/S-X", scheme="iobes") == [("X", "a b"), ("X", "c")]


class TestColumns:
    def test_tokens_are_never_comments_quotes_or_missing_values(self) -> None:
        long = "x" * 500
        (document,) = documents(f'"\tO\n#1\tO\nNA\tO\nnull\tO\n{long}\tO\n')
        assert document.tokens is not None
        assert [document.text[a:b] for a, b in document.tokens] == ['"', "#1", "NA", "null", long]

    def test_blanks_separate_where_there_is_no_tab(self) -> None:
        (document,) = documents("-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n")
        assert [(span.type, document.mention(span)) for span in document.spans] == [("ORG", "EU")]

    def test_a_token_may_have_a_blank_before_a_tab(self) -> None:
        (document,) = documents("New York\tB-City\n")
        assert document.mention(document.spans[0]) == "New York"

    def test_huners_third_column_says_whether_a_blank_follows(self) -> None:
        (document,) = documents("IL B-Gene -\n- I-Gene -\n2 I-Gene +\n( O +\nx O -\n")
        assert document.text == "IL-2 ( x"
        assert document.mention(document.spans[0]) == "IL-2"

    def test_line_ends_may_be_crlf_and_the_last_may_lack(self) -> None:
        assert [document.text for document in documents("a\tO\r\n\r\nb\tO")] == ["a", "b"]


class TestDocuments:
    def test_a_sentence_is_a_document_where_none_are_marked(self) -> None:
        assert [document.id for document in documents("a\tO\n\n\n \nb\tO\n\n")] == ["dev:1", "dev:2"]

    def test_marks_begin_documents(self) -> None:
        first, second = documents("-DOCSTART-\tO\n\na\tO\n.\tO\n\nb\tB-X\n\n-DOCSTART-\tO\n\nc\tO\n\n")
        assert (first.id, first.text, first.sentences) == ("dev:1", "a. b", ((0, 2), (3, 4)))
        assert (first.spans[0].start, first.spans[0].end) == (3, 4)
        assert (second.id, second.text) == ("dev:2", "c")

    def test_by_overrules_the_marks(self) -> None:
        marked = "-DOCSTART-\tO\n\na\tO\n\nb\tO\n"
        assert [document.text for document in documents(marked, by="sentence")] == ["a", "b"]
        assert [document.text for document in documents("a\tO\n\nb\tO\n", by="document")] == ["a b"]

    def test_unknown_options_are_refused(self) -> None:
        for options in ({"by": "page"}, {"scheme": "iob9"}, {"spacing": "wide"}):
            with pytest.raises(UsageError, match="BX001"):
                documents("a\tO\n", **options)


class TestSpacing:
    @pytest.mark.parametrize(
        ("tokens", "text"),
        [
            ("Parkinson ' s disease", "Parkinson's disease"),
            ("patients ' data", "patients' data"),
            ("nitric oxide ( NO ) .", "nitric oxide (NO)."),
            ("Selegiline - induced", "Selegiline-induced"),
            ("alpha - and beta - globin", "alpha- and beta-globin"),
            ("0 . 5 mg / kg , 1 , 000 and 50 %", "0.5 mg/kg, 1,000 and 50%"),
            ("in 1 , 2 and 3", "in 1, 2 and 3"),
            ("1 , 25 - dihydroxyvitamin D", "1,25-dihydroxyvitamin D"),
            ("p < 0 . 05 , n = 3", "p < 0.05, n = 3"),
            ("a ratio of 1 : 2 : it", "a ratio of 1:2: it"),
            ('the " wild " type', 'the "wild" type'),
            ("the ' wild ' type", "the 'wild' type"),
            ("5 ' - end , 3 ' UTR", "5'-end, 3' UTR"),
            ("e . g . E . coli", "e.g. E. coli"),
            ("CD4 + T cells", "CD4+ T cells"),
            ("at < - 5", "at < -5"),
            ("[ 3H ] thymidine", "[3H] thymidine"),
            ("it 's", "it's"),
            ("-", "-"),
        ],
    )
    def test_signs_go_back_to_their_words(self, tokens: str, text: str) -> None:
        rows = "".join(f"{token}\tO\n" for token in tokens.split())
        assert documents(rows)[0].text == text
        assert documents(rows, spacing="blank")[0].text == tokens

    @given(st.lists(st.sampled_from(["a", "B2", "7", "-", ",", ".", "(", ")", '"', "'", "s", "/", "+", "%", "and"])))
    def test_tokens_stand_where_they_are_said_to_and_words_never_merge(self, tokens: list[str]) -> None:
        found = documents("".join(f"{token}\tO\n" for token in tokens))
        assert len(found) == bool(tokens)
        for document in found:
            assert document.tokens is not None
            assert [document.text[start:end] for start, end in document.tokens] == tokens
            assert document.text.replace(" ", "") == "".join(tokens)
            for (_, left), (right, _) in zip(document.tokens, document.tokens[1:], strict=False):
                words = document.text[left - 1].isalnum() and document.text[right].isalnum()
                assert right - left == 1 if words else right - left in (0, 1)


class TestMalformed:
    def test_each_is_told_in_one_sentence_with_its_line(self) -> None:
        assert str(failure("a\tO\nb\n")).startswith("BX116: dev.tsv:2: the token 'b' has no tag")
        assert str(failure("a\tO\nb\tX-Gene\n")).startswith("BX113: dev.tsv:2: the tag 'X-Gene' of token 'b'")
        assert failure("\tO\n").code == "BX113"
        assert failure("a b c d e O\n").code == "BX113"
        assert failure("a O +\nb O\n").code == "BX116"
        assert failure(b"a\tO\n\xe9\tO\n").where == "dev.tsv:2"
        assert failure(gzip.compress(b"a\tO\n" * 9999)[:-20]).code == "BX112"

    def test_the_next_sentence_is_read_when_the_error_is_passed_over(self) -> None:
        errors: list[FormatError] = []
        found = documents("a\tO\n\nb\n\nc\tO\n", on_error=errors.append)
        assert [document.id for document in found] == ["dev:1", "dev:3"]
        assert [error.where for error in errors] == ["dev.tsv:3"]


class TestWriting:
    def test_tokens_tags_and_marks(self) -> None:
        one = Document("1", "IL-2 works.", spans=(Span(0, 4, "gene"),))
        two = Document("2", "It is. So.", sentences=((0, 6), (7, 10)))
        text, losses = written(one, two, one)
        assert text == (
            "IL\tB-gene\n-\tI-gene\n2\tI-gene\nworks\tO\n.\tO\n\n"
            "-DOCSTART-\tO\n\nIt\tO\nis\tO\n.\tO\n\nSo\tO\n.\tO\n\n"
            "-DOCSTART-\tO\n\nIL\tB-gene\n-\tI-gene\n2\tI-gene\nworks\tO\n.\tO\n\n"
        )
        assert {loss.feature for loss in losses} == {"id"}
        assert [document.text for document in documents(text)] == [one.text, two.text, one.text]

    def test_the_longest_of_overlapping_spans_stays_and_the_others_are_named(self) -> None:
        spans = (Span(0, 3, "gene"), Span(0, 11, "complex"), Span(4, 7, "gene"), Span(12, 17, "gene"))
        text, losses = written(Document("1", "TNF and IL6 gene1", spans=spans))
        assert [span.type for span in documents(text)[0].spans] == ["complex", "gene"]
        told = [loss.detail for loss in losses if loss.feature == "overlaps"]
        assert told == [
            "gene 0..3 'TNF' overlaps complex 0..11 'TNF and IL6'",
            "gene 4..7 'and' overlaps complex 0..11 'TNF and IL6'",
        ]

    def test_a_token_is_cut_where_a_span_begins_inside_it(self) -> None:
        document = Document("1", "anti-p53 x", tokens=((0, 8), (9, 10)), spans=(Span(5, 8, "gene"),))
        text, losses = written(document)
        assert text == "anti-\tO\np53\tB-gene\nx\tO\n\n"
        assert "tokens" in {loss.feature for loss in losses}

    def test_changed_blanks_are_told(self) -> None:
        _, losses = written(Document("1", "two  blanks", spans=(Span(5, 11, "x"),)))
        assert {"text spacing", "spans moved"} <= {loss.feature for loss in losses}

    @pytest.mark.parametrize("kind", ["cell line", "cell\nline", "cell\u00a0line"])
    def test_blanks_in_a_type_become_underlines_and_are_told(self, kind: str) -> None:
        text, losses = written(Document("1", "HeLa cells", spans=(Span(0, 10, kind),)))
        assert text == "HeLa\tB-cell_line\ncells\tI-cell_line\n\n"
        assert [loss.detail for loss in losses if loss.feature == "span types"] == [f"{kind!r} becomes 'cell_line'"]
        assert documents(text)[0].spans == (Span(0, 10, "cell_line"),)

    def test_a_text_without_sentences_is_split_into_them(self) -> None:
        spans = (Span(0, 4, "gene"), Span(23, 27, "gene"))
        text, losses = written(Document("1", "TP53 is mutated. Often MDM2 binds it.", spans=spans))
        assert text == (
            "-DOCSTART-\tO\n\nTP53\tB-gene\nis\tO\nmutated\tO\n.\tO\n\n"
            "Often\tO\nMDM2\tB-gene\nbinds\tO\nit\tO\n.\tO\n\n"
        )
        assert {loss.feature for loss in losses} == {"id"}
        (document,) = documents(text)
        assert document.spans == spans
        assert document.sentences == ((0, 16), (17, 37))

    def test_no_span_is_cut_by_sentences_that_were_not_given(self) -> None:
        document = Document("1", "It grew. Then it died.", spans=(Span(3, 13, "odd"),))
        text, losses = written(document)
        assert documents(text)[0].spans == document.spans
        assert {loss.feature for loss in losses} == {"id"}

    def test_spans_are_lost_only_if_they_are_not_written(self) -> None:
        spans = (
            Span(3, 13, "cut"),
            Span(0, 2, "whole"),
            Span(18, 22, "long"),
            Span(18, 20, "short"),
            Span(2, 3, "none"),
        )
        tally = LossTally()
        assert FORMAT.write is not None
        document = Document("1", "It grew. Then it died.", sentences=((0, 8), (9, 22)), spans=spans)
        FORMAT.write([document], io.BytesIO(), on_loss=tally)
        assert (tally.counts["spans cut"], tally.counts["overlaps"], tally.counts["spans"]) == (1, 1, 1)
        assert tally.spans == 2

    rows = st.lists(
        st.tuples(st.text("abZ9-,.()\"'é𝛼#", min_size=1, max_size=4), st.sampled_from(["O", "B-X", "I-X", "B-Y-z"])),
        min_size=1,
        max_size=12,
    )

    @settings(deadline=None)
    @given(st.lists(rows, min_size=1, max_size=3))
    def test_what_was_read_is_written_and_read_again_as_it_was(self, sentences: list[list[tuple[str, str]]]) -> None:
        blocks = ["".join(f"{token}\t{tag}\n" for token, tag in rows) for rows in sentences]
        for marked in ("", "-DOCSTART-\tO\n\n"):
            before = documents(marked + "\n".join(blocks) + "\n")
            text, losses = written(*before)
            assert documents(text) == before
            assert {loss.feature for loss in losses} == {"id"}


def test_it_is_recognised_by_its_tags() -> None:
    for data in (b"a\tO\n", b"-DOCSTART-\tO\n\n", b"a NN I-NP B-X\n", b"a B-X +\n"):
        assert guess(of_bytes("x.txt", data)) is FORMAT
    for data in (b"id\ttext\n1\ta\n", b"plain text\n", b""):
        assert not FORMAT.sniff("x.tsv", data)


corpora = Path(os.environ.get("BIOMUX_CORPORA", ""))


@pytest.mark.skipif(not os.environ.get("BIOMUX_CORPORA"), reason="BIOMUX_CORPORA does not name the corpora's folder")
@pytest.mark.parametrize(
    ("file", "options", "sentences", "tokens", "types"),
    [
        ("S800/test", {"type": "species"}, 1630, 42298, {"species": 767}),
        ("BioNLP11ID/devel", {}, 721, 22917, {"Protein": 1055, "Organism": 385, "Chemical": 131, "Regulon-operon": 27}),
        (
            "JNLPBA/devel",
            {},
            1739,
            47461,
            {"protein": 2466, "DNA": 1052, "cell_type": 526, "cell_line": 400, "RNA": 107},
        ),
    ],
)
def test_counts_of_corpora(
    file: str, options: dict[str, Any], sentences: int, tokens: int, types: dict[str, int]
) -> None:
    found = list(read(of_path(corpora / "ner" / f"{file}.tsv.gz"), **options))
    assert sum(len(document.sentences or ()) for document in found) == sentences
    assert sum(len(document.tokens or ()) for document in found) == tokens
    assert Counter(span.type for document in found for span in document.spans) == types
    assert len(found) == (200 if file == "JNLPBA/devel" else sentences)


@pytest.mark.parametrize(
    "data",
    [
        "# sent_id = 7\n# text = vitamin B\nTP53\tB-gene\nbinds\tO\n\n# more\nx\tO\n",
        "# sent_id = 7\n# text = what is here\nTP53 B-gene\nbinds O\n\n# more\nx O\n",
    ],
)
def test_comments_before_a_sentence_are_kept_beside_it(data: str) -> None:
    source = formats.of_bytes("a.tsv", data.encode())
    assert formats.guess(source).name == "conll"
    first, second = formats.read_source(source)
    assert first.text == "TP53 binds"
    assert first.metadata["comments"] == data.split("\n")[:2]
    assert (second.text, second.metadata) == ("x", {"comments": ["# more"]})


@pytest.mark.parametrize("data", ["#\tO\n#1\tB-x\n", "# O\n#1 B-x\n", "# NN O\n#1 NN B-x\n"])
def test_a_token_may_begin_with_a_hash(data: str) -> None:
    (document,) = formats.read_source(formats.of_bytes("a.tsv", data.encode()), format="conll")
    assert [document.text[start:end] for start, end in document.tokens or ()] == ["#", "#1"]
    assert not document.metadata


def test_comments_can_be_asked_for_and_forbidden() -> None:
    source = formats.of_bytes("a.conll", b"# type B\nTP53 B-gene\n# in between I\nx O\n")
    (document,) = formats.read_source(source, comments=True)
    assert (document.text, document.metadata) == ("TP53 x", {"comments": ["# type B", "# in between I"]})
    (document,) = formats.read_source(source, comments=False)
    assert len(document.tokens or ()) == 4
    with pytest.raises(FormatError, match="has 5 columns"):
        list(
            formats.read_source(
                formats.of_bytes("a.conll", b"# a comment here, longer\nx O\n"), comments=False, format="conll"
            )
        )
