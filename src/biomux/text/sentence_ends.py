"""Decide by the words around it whether a full stop, question mark or exclamation mark ends a sentence."""

from __future__ import annotations

import re

from biomux.text.line_breaks import PARAGRAPH


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


SIGHT = 40
"""Characters looked at on either side of a stop."""

NEVER = _words(
    """
    e.g eg i.e ie vs v.s cf c.f viz approx ca circa resp incl excl esp
    var subsp ssp cv bv pv serov sv aff nr str f.sp cat subgen sect ser
    """
)
"""Words whose stop is never the end: something always follows. Compared in lower case."""

TITLES = _words("Dr Drs Prof Mr Mrs Ms Messrs St Mt Ft Sgt Capt Gen Rev Hon")
"""As NEVER, but only in this spelling: "ms" is a millisecond."""

SHOUTED = _words("FIG FIGS NO NOS DR VS")
"""Abbreviations that also occur in capitals, in titles; other capitals (MS, ST, WT) are names."""

NUMBERED = _words(
    """
    no nos fig figs figure ref refs eq eqs eqn eqns tab vol vols p pp sec chap ch art par para suppl supp ver ed eds lot ext
    wt mol temp conc max jan feb mar apr jun jul aug sept sep oct nov dec dil exp expt expts ex app chr
    """
)
"""Words whose stop is not the end before a number, a panel letter or a bracket."""

WEAK = _words(
    """
    al sp spp inc ltd co corp jr sr univ dept assoc acad natl sci biol chem med clin proc biochem physiol pharmacol microbiol
    immunol genet res inst hosp lab ltda gmbh bros etc esq
    """
)
"""Words that may well end a sentence, but whose stop proves nothing: the next words must clearly open one."""

OPENERS = _words(
    """
    The This These Those That We Our In It Its However Moreover Furthermore Thus Therefore Here There They Their He She His Her When
    While Although Though Since Because If As At After Before By For From On To With Both All Each An A But Also Additionally Finally
    First Second Third Conversely Consequently Hence Interestingly Importantly Notably Overall Recently Similarly Such Then Two Three
    Four Five Six Seven Eight Nine Ten One Using Under Upon Despite During Among Between Patients Mice Rats Cells No None Neither Nor
    Nevertheless Nonetheless Some Several Subsequently Together Whereas Where What Which Whether Why How Many Most More Much Other
    Another Only Once Even Given Any Every Currently Previously Surprisingly Unfortunately Unlike Like Until Within Without Through
    Throughout Indeed Instead Further Later Next Not Now Of Otherwise Rather So Still Yet You Your Who Data Results Samples
    Controls Subjects Participants Treatment Expression Analysis Analyses
    """
)
"""Words that, capitalised, nearly always open a sentence."""

VERBS = _words(
    """
    we was were is are had has have did does do can could may might must should will would received showed remained became
    appears appear seems seem remains remain shows show requires require contains contain causes cause
    """
)
"""A capitalised word before one of these is a subject (or, before "we", an adverb), so it opens a sentence."""

BEFORE_A_NAME = _words(
    "a an and as against by for from genus in of on or per species than that the to via versus with bacterium pathogen fungus"
)
"""Lower-case words after which a single capital is an initial or a genus, rather than the last word of a sentence."""

LETTERED = (
    *(
        "in",
        "ase",
        "itis",
        "factor",
        "receptor",
        "type",
        "subtype",
        "group",
        "grade",
        "class",
        "stage",
        "arm",
        "phase",
        "panel",
        "box",
    ),
    *(
        "influenza",
        "haemophilia",
        "hemophilia",
        "region",
        "strain",
        "subunit",
        "chain",
        "domain",
        "site",
        "allele",
        "pool",
        "lane",
    ),
    *(
        "genotype",
        "haplotype",
        "antigen",
        "compound",
        "cohort",
        "exon",
        "form",
        "variant",
        "fraction",
        "buffer",
        "medium",
        "solution",
    ),
    *("case", "patient", "model", "called", "named", "designated", "labelled", "labeled", "part", "point", "category"),
)
"""Endings of words that are followed by a letter as a number: "hepatitis B", "protein kinase C", "group A"."""

SEROVARS = _words(
    "Typhimurium Typhi Paratyphi Enteritidis Dublin Newport Choleraesuis Heidelberg Gallinarum Infantis Agona Montevideo"
)

OPENING = "([{\"'\u201c\u2018\u00ab\u201e<"
CONTINUES = frozenset(",;:)]}%/=+*&|\u2019\u201d\u00bb")
"""A sentence does not begin with one of these."""

DOTTED = re.compile(r"(?:[A-Za-z]{1,2}\.)+[A-Za-z]{1,2}")
WORD = re.compile(r"([^\W\d_]+)(?=[\s,:;)]|$)(?:\s+([^\W\d_]+))?")
SYMBOL = re.compile(
    r"[a-z]{1,5}[A-Z]|[a-z]{1,4}\d|[a-z]-\w|[a-z]{2,5}-\d|[a-z]\.[A-Z]?\d"
    r"|(?:alpha|beta|gamma|delta|epsilon|kappa|lambda|omega|sigma|tau|theta|zeta|cis|trans|tert)-\w"
)
"""A lower-case beginning that is a gene, protein or chemical rather than an ordinary word."""
ITEM = re.compile(r"\((?:\d{1,2}|[a-z]|[ivx]{1,4})\)\s")
NUMBER_OR_PANEL = re.compile(r"[(\[]?\d|[A-Z]{1,2}\d|[A-Z](?:[^\w.]|$)|[IVX]+\b|[\[(#\u2116]")
LABEL = re.compile(r"\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[IVXivx]{1,4}")
CAPTION = re.compile(
    r"(?:suppl\w*\.?\s|additional\s|extended data\s|online\s)?"
    r"(?:fig(?:ure|\.)?|table|box|scheme|movie|video|file|chart|appendix|example|step)\s?[a-z]?\d{1,3}[a-z]?",
    re.IGNORECASE,
)
VISIBLE = re.compile(r"\S")
FOOTNOTE = re.compile(r"(?:\d{1,3}(?:[,\u2013-]\d{1,3}){0,9}|\[\d{1,3}(?:[,\u2013-]\s?\d{1,3}){0,9}\])(?=\s+[A-Z\"(])")
TRUNCATED = "(ABSTRACT TRUNCATED"


def ends_sentence(text: str, start: int, stop: int, after: int, high: int) -> int | None:
    """The end of the sentence with a stop at `stop` (closing brackets and quotes reach to `after`); None if the sentence does not end there."""
    if after >= high:
        return high
    if not text[after].isspace():
        return _end_without_space(text, start, stop, after, high)
    following = text[after : min(after + SIGHT, high)].lstrip()
    if not following:
        visible = VISIBLE.search(text, after, high)
        if visible is None:
            return high
        following = text[visible.start() : min(visible.start() + SIGHT, high)]
    if not following.isprintable():  # it may hold line breaks; text after an empty line must not influence the decision
        following = PARAGRAPH.split(following, maxsplit=1)[0]
    return after if _ends(text, start, stop, after, following) else None


def _end_without_space(text: str, start: int, stop: int, after: int, high: int) -> int | None:
    """After "known.1,2 The" or "known.[3] The" the reference belongs to the sentence before it."""
    if text[stop] != "." or after != stop + 1:
        return None
    if text[after] in "0123456789[":
        before = text[max(start, stop - 4) : stop]
        footnote = (
            FOOTNOTE.match(text, after, high) if len(before) == 4 and before.isalpha() and before.islower() else None
        )
        return footnote.end() if footnote else None
    return after if text.startswith(TRUNCATED, after, high) else None


def _ends(text: str, start: int, stop: int, after: int, following: str) -> bool:
    """Whether a stop before white space ends the sentence; `following` is the text after it."""
    # Cheap and certain rules first; a later one is reached only if the earlier ones prove nothing.
    opening = following[0]
    if opening in CONTINUES:
        return False
    mark = text[stop]
    run = text[stop : min(after, stop + 4)]
    chunk = text[max(start, stop - SIGHT) : stop]
    if "?" in run or "!" in run:
        return not (chunk.endswith("(") or _goes_on(following))
    if mark == "\u2026" or run.startswith(".."):
        return (
            not _goes_on(following)
            and (opening.isupper() or opening in OPENING)
            and chunk[-1:].strip() not in {"", ","}
        )
    if _goes_on(following):
        return False
    if not chunk or chunk[-1].isspace():
        # A stop between spaces ends the sentence, except in a number without its zero: "p < .05".
        return not (opening.isdigit() and chunk.rstrip()[-1:] in {"<", ">", "=", "~", "\u2264", "\u2265"})
    words = chunk.rsplit(None, 2)
    word = words[-1].lstrip(OPENING)
    # "1. Introduction", "A. Methods", "Fig. 2. Growth": a stop after a label at the very beginning belongs to the label.
    begins = stop - start <= SIGHT
    if begins and (LABEL.fullmatch(chunk) or (chunk[-1].isalnum() and CAPTION.fullmatch(chunk))):
        return False
    # In "(see Fig.)" the bracket closes over the abbreviation, so its stop proves nothing about the sentence.
    closed = after > stop + 1
    lower = word.lower()
    # An ordinary word or an acronym with a stop: the usual end. The rules below are for short words and abbreviations.
    if len(word) > 2 and word.isalpha() and lower not in ABBREVIATIONS and word not in TITLES:
        return True
    if len(word) > 1 and word.isalpha() and word.isupper() and word not in SHOUTED:
        return True
    if len(word) == 1 and word.isalpha():
        return not closed and _letter_ends(word, words[-2] if len(words) > 1 else "", following)
    if lower in NEVER or word in TITLES or word == "DR":
        return False
    if lower in NUMBERED:
        return not (closed or NUMBER_OR_PANEL.match(following)) and (word.islower() or opens(following))
    if lower in WEAK:
        return not closed and (opens(following) or (lower in {"etc", "spp"} and _capitalised(following)))
    if DOTTED.fullmatch(word):
        return not closed and (opens(following) or (word[0].islower() and _capitalised(following)))
    return True


def opens(following: str) -> bool:
    """Whether the text clearly opens a sentence: with a typical first word, or with a subject and its verb.

    >>> opens("The yield"), opens("Isolates were typed"), opens("Food and Drug")
    (True, True, False)
    """
    match = WORD.match(following)
    if match is None:
        return following.startswith("(") and bool(ITEM.match(following))
    if not match[1][0].isupper():
        return False
    return match[1] in OPENERS or match[2] in VERBS or following.startswith(": ", match.end(1))


def _goes_on(following: str) -> bool:
    """Whether the text cannot begin a sentence: an ordinary lower-case word."""
    first = following[0]
    if first.isupper() or first.isdigit():
        return False
    bare = following.lstrip(OPENING)
    if not bare:
        return False
    first = bare[0]
    # Greek letters begin names ("α-Synuclein"), and names begin sentences.
    if not first.islower() or "\u0370" <= first <= "\u03ff":
        return False
    return not (SYMBOL.match(bare) or (following[0] == "(" and ITEM.match(following)))


def _letter_ends(letter: str, before: str, following: str) -> bool:
    """Whether "C." is the end of "vitamin C." rather than an initial, a genus or half of "e. g."."""
    if before.lstrip(OPENING).lower() + letter in {"e.g", "i.e"}:
        return False
    if letter.islower():
        # "p. 12" is a page; "allele a." is an end.
        return not following[0].isdigit()
    match = WORD.match(following)
    if match and (match[1] in OPENERS or following.startswith(": ", match.end(1))):
        return True
    # Serovars are capitalised but follow their genus: "S. Typhimurium".
    if match and match[1] in SEROVARS:
        return False
    if not (before.isalpha() and before.islower()) or before in BEFORE_A_NAME:
        return False
    return before.endswith(LETTERED) or (match is not None and match[2] in VERBS)


def _capitalised(following: str) -> bool:
    """Whether an ordinary capitalised word follows, not an acronym or a symbol."""
    match = WORD.match(following)
    return match is not None and len(match[1]) > 1 and match[1][0].isupper() and match[1][1:].islower()


ABBREVIATIONS = NEVER | NUMBERED | WEAK
