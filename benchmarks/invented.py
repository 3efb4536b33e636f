"""Invented abstracts: text to measure speed on, made here, so that a benchmark needs no corpus and is the same everywhere.

Sentences are about as long as those of real abstracts (a mean of some thirty tokens, few beyond a hundred), and hold names of genes, chemicals and
diseases. What they say is made up.

    >>> abstract(7) == abstract(7), abstract(7) == abstract(8)
    (True, False)
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from biomux.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTS = {
    "gene": "TP53|BRCA1|Sirt3|IL-6|TNF-α|p38|EGFR|STAT3|Nrf2|VEGF-A|KRAS|caspase-3|cyclin D1|PPARγ|HIF-1α|CXCR4|NF-κB",
    "drug": "metformin|aspirin|cisplatin|dexamethasone|zolmidrine|lithium chloride|doxorubicin|bexolamide|rapamycin|heparin",
    "disease": (
        "type 2 diabetes mellitus|acute kidney injury|hepatocellular carcinoma|rheumatoid arthritis|cystic fibrosis|asthma|"
        "septic shock|Parkinson's disease|atrial fibrillation|non-small cell lung cancer|obesity|chronic hepatitis B"
    ),
    "species": "mice|Wistar rats|patients|zebrafish larvae|Escherichia coli|healthy volunteers|C57BL/6J mice|Holstein cows",
    "tissue": "liver|renal cortex|hippocampal neurons|HeLa cells|peripheral blood|bone marrow|skeletal muscle|HepG2 cells",
    "change": "reduced|increased|did not change|almost abolished|doubled|delayed|partly restored|attenuated",
    "measure": (
        "expression of the receptor|serum concentrations of creatinine|phosphorylation at Ser473|the rate of apoptosis|tumour volume|"
        "overall survival|the release of interleukins|body weight|mitochondrial respiration"
    ),
}  # fmt: skip
_SLOTS = {slot: listed.split("|") for slot, listed in _LISTS.items()}

_SENTENCES = (
    "The role of {gene} in {disease} is not well understood.",
    "{drug} is widely used against {disease}, but how it acts on {tissue} is unclear.",
    "We treated {n} {species} with {drug} ({n} mg/kg per day) for {n} weeks and compared {measure} with that of untreated controls.",
    "In {tissue}, {drug} {change} {measure} (p = 0.0{n}), whereas {gene} and {gene} {change} it only after {n} h.",
    "Loss of {gene} {change} {measure} in {species} with {disease}.",
    "By immunoblotting, quantitative PCR and flow cytometry of {tissue} from {n} {species}, we found that {gene} binds {gene} directly, that this "
    "interaction needs the kinase domain (residues {n}–{n}), and that {drug} {change} {measure} in a dose-dependent manner.",
    "Multivariate analysis, adjusted for age, sex, smoking and the use of {drug}, showed that {measure} was associated with {disease} "
    "(hazard ratio 1.{n}, 95% confidence interval 1.0{n}–2.{n}).",
    "No serious adverse events were seen.",
    "Knock-down of {gene} by siRNA {change} {measure}, and overexpression had the opposite effect.",
    "Of {n} patients with {disease}, {n} (4{n}.{n}%) received {drug} as first-line treatment, {n} received {drug} with {drug}, and the others were "
    "followed without treatment until progression, withdrawal or death from any cause.",
    "{species} that lacked {gene} developed {disease} at the age of {n} months.",
    "These data suggest that {gene} is a target for the treatment of {disease}.",
    "{measure} was measured at baseline, after {n} days and after {n} days by two observers who did not know the groups.",
    "Together, {gene}, {gene} and {gene} explain why {drug} {change} {measure} in {tissue} but not in {tissue}.",
    "Methods: a randomised, double-blind, placebo-controlled trial in {n} centres.",
)

_CLOSING = "{drug} {change} {measure} in {disease}, and {gene} may mediate this effect."


def abstract(seed: int, *, sentences: int = 8) -> str:
    """An abstract of a title and so many sentences, about 160 words; the same for the same seed."""
    chance = random.Random(seed)
    title = f"{_fill('{gene} and {drug} in {disease}', chance)}\n\n"
    chosen = chance.sample(_SENTENCES, min(sentences - 1, len(_SENTENCES)))
    return title + " ".join(_fill(sentence, chance) for sentence in (*chosen, _CLOSING))


def documents(number: int, *, first: int = 0) -> Iterator[Document]:
    """So many invented abstracts as documents."""
    for seed in range(first, first + number):
        yield Document(f"invented-{seed}", abstract(seed))


def _fill(sentence: str, chance: random.Random) -> str:
    parts = sentence.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        slot, _, rest = part.partition("}")
        filled += [str(chance.randint(2, 96)) if slot == "n" else chance.choice(_SLOTS[slot]), rest]
    text = "".join(filled)
    return text[0].upper() + text[1:]
