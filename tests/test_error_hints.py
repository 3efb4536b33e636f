"""Every code is explained, and a misspelled name is answered with the one that was probably meant."""

from __future__ import annotations

import pytest

from biomux.errors import CODES, did_you_mean, nearest


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_meaning_a_cause_and_a_fix(code: str) -> None:
    meaning, cause, fix = CODES[code]
    assert meaning
    assert not meaning.endswith(".")
    assert cause.endswith(".")
    assert fix.endswith(".")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("gen", ["disease", "gene"], "gene"),
        ("NCBI_Disease", ["bc5cdr", "ncbi-disease"], "ncbi-disease"),
        ("gene", ["Gene", "Disease"], "Gene"),
        ("gen", ["gene", "GENE"], "gene"),
        ("xyz", ["gene", "disease"], None),
        ("gene", [], None),
    ],
)
def test_the_nearest_name_is_found_whatever_its_case(name: str, known: list[str], meant: str | None) -> None:
    assert nearest(name, known) == meant


def test_a_hint_names_the_nearest_and_the_others() -> None:
    assert did_you_mean("gen", ["gene", "disease"]) == "did you mean 'gene'? choose from: gene, disease"
    assert did_you_mean("xyz", ["gene"]) == "choose from: gene"
    assert did_you_mean("xyz", []) == "there are none"
    assert did_you_mean("x", [f"t{n}" for n in range(50)]).endswith(", t38, t39 and 10 more")
    assert did_you_mean("gen", ["gene"], otherwise="see the list") == "did you mean 'gene'? see the list"
