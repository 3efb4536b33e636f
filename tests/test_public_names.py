"""What is public: a name that is added or taken away here is a decision, not an accident."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import biomux

PUBLIC = {
    "AnnotateError",
    "Answer",
    "Argument",
    "BiomuxError",
    "BundleError",
    "CorpusError",
    "Document",
    "DocumentError",
    "Entity",
    "FormatError",
    "Label",
    "LossWarning",
    "Passage",
    "Question",
    "RecipeError",
    "Relation",
    "ScoreError",
    "SkipWarning",
    "Span",
    "Tagger",
    "TrainingError",
    "UnreadableError",
    "UsageError",
    "__version__",
    "annotate_frame",
    "corpora",
    "formats",
    "annotator",
    "load",
    "train",
    "read",
    "scoring",
    "to_dataframe",
    "write",
}

ROOT = Path(biomux.__file__).parent


def test_the_public_names_are_these() -> None:
    assert set(biomux.__all__) == PUBLIC
    assert all(hasattr(biomux, name) for name in PUBLIC)


SIGNATURES = {
    "load": "(path_or_name=None, *, threads=None, budget=None, runtime)",
    "train": "(recipe, *, run=None, settings, quick, corpora=None, listen)",
    "read": "(where, *, format=None, on_error, **options)",
    "write": "(documents, path, *, format=None, on_loss=None)",
    "to_dataframe": "(documents, *, library)",
    "annotate_frame": "(frame, *, text, id=None, into=None, tagger=None, on_error, **options)",
    "Tagger.__call__": "(text, **options)",
    "Tagger.pipe": "(texts, *, on_error, **options)",
    "Tagger.annotate": "(documents, *, types=None, heads=None, threshold=None, precision=None, resolve, abbreviations, consistent=None, tasks=None, keep_entities, on_error=None)",
    "Tagger.answer": "(documents, *, heads=None, on_error=None)",
    "Tagger.ask": "(question, documents, *, n, heads=None, threshold=None, on_error=None)",
    "Tagger.pairs": "(pairs, *, heads=None, threshold=None, on_error=None)",
    "Tagger.imprecise": "(precision, *, heads=None, tasks=None)",
    "Tagger.one_layer": "(document, *, heads=None)",
    "Document": "(id, text, passages, sentences=None, tokens=None, spans, relations, labels, pair=None, questions, coverage=None, metadata)",
    "Document.mention": "(span)",
    "Document.to_dict": "()",
    "Document.from_dict": "(fields)",
    "Document.to_html": "(*, title=None)",
    "Document.to_spacy": "(nlp, *, key, align)",
    "Document.to_hf": "()",
    "Entity": "(text, type, start, end, score=None, head=None, identifiers, fragments)",
    "Span": "(start, end, type, score=None, head=None, identifiers, fragments, id=None, extra)",
}
"""Names of parameters, in order; `=None` where a parameter may be left out and is None then."""


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_a_public_call_takes_these_arguments(name: str) -> None:
    found: Any = biomux
    for part in name.split("."):
        found = getattr(found, part)
    shown: list[str] = []
    for one in inspect.signature(found).parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(
            ("**" if one.kind is one.VAR_KEYWORD else "") + one.name + ("=None" if one.default is None else "")
        )
    assert f"({', '.join(shown)})" == SIGNATURES[name]


def test_rooms_that_programs_use_are_there_without_an_import_of_their_own() -> None:
    code = (
        "import biomux\n"
        "before = set(dir(biomux))\n"
        "print(biomux.formats.names()[0], biomux.corpora.__name__, biomux.scoring.__name__, biomux.read is biomux.formats.read)\n"
        "print(set(biomux.__all__) <= before, hasattr(biomux, 'nothing'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["jsonl biomux.corpora biomux.scoring True", "True False"]


def test_importing_biomux_takes_no_time_and_prints_nothing() -> None:
    code = "import sys, time; begun = time.process_time(); import biomux; sys.exit(time.process_time() - begun > 0.2)"
    tries = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=False) for _ in range(3)]
    assert min(done.returncode for done in tries) == 0
    assert {done.stdout + done.stderr for done in tries} == {b""}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("__init__.py")), ids=lambda path: str(path.relative_to(ROOT).parent))
def test_every_room_says_what_it_is_for(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert len(said.split()) >= 9
