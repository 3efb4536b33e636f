"""Views drop what they must, and nothing else."""

from __future__ import annotations

from biomux.corpora import view
from biomux.document import Argument, Document, Relation, Span

TEXT = "Aspirin causes ulcers."
SPANS = (Span(0, 7, "Chemical", id="T1"), Span(15, 21, "Disease", id="T2"))


def link(name: str, *targets: tuple[str, str]) -> Relation:
    return Relation(
        "CID",
        tuple(Argument(f"arg{n}", target, kind) for n, (target, kind) in enumerate(targets, 1)),  # type: ignore[arg-type]
        id=name,
    )


def test_relations_that_lost_a_span_go_with_it() -> None:
    relations = (
        link("R1", ("T1", "span"), ("T2", "span")),
        link("R2", ("R1", "relation"), ("T1", "span")),
        link("R3", ("T1", "span"), ("T1", "span")),
        link("R4", ("D001241", "concept"), ("D014456", "concept")),
    )
    kept = view.keep(Document("1", TEXT, spans=SPANS, relations=relations), {"Chemical": "Chemical"})
    assert [span.id for span in kept.spans] == ["T1"]
    assert [relation.id for relation in kept.relations] == ["R3", "R4"]


def test_renaming_touches_the_type_alone() -> None:
    document = Document("1", TEXT, spans=SPANS)
    renamed = view.keep(document, {"Chemical": "drug", "Disease": "Disease"})
    assert [span.type for span in renamed.spans] == ["drug", "Disease"]
    assert view.keep(renamed, {"drug": "Chemical", "Disease": "Disease"}) == document


def test_a_view_is_written_in_brackets() -> None:
    assert view.parse("bc5cdr") == ("bc5cdr", None)
    assert view.parse(" bionlp13cg[ Cell , Multi-tissue_structure = tissue ] ") == (
        "bionlp13cg",
        {"Cell": "Cell", "Multi-tissue_structure": "tissue"},
    )
