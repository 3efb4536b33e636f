"""Text from tokens: punctuation that tokenization split off a word is put back without a space.

Many corpora split at every hyphen, bracket and apostrophe and do not record the spaces. The rules here join two tokens only if one of them is
punctuation, so two words never become one.

>>> join(["Parkinson", "'", "s", "disease", "(", "PD", ")", ",", "p", "<", "0", ".", "05"])[0]
"Parkinson's disease (PD), p < 0.05"
>>> join(["IL", "-", "2"])
('IL-2', [(0, 2), (2, 3), (3, 4)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from biomux.document import Range

_CLOSING = frozenset([",", ".", ";", ":", ")", "]", "}", "%", "?", "!", "''", "”", "…"])
_OPENING = frozenset(["(", "[", "{", "``", "“"])
_HYPHENS = frozenset(["-", "–", "‐", "‑"])
_APOSTROPHES = frozenset(["'", "’"])
_ENDINGS = frozenset(["s", "S", "t", "re", "ve", "ll", "d", "m"])
_SUFFIXES = frozenset(mark + ending for mark in _APOSTROPHES for ending in _ENDINGS)
_SIGNS = _CLOSING | _OPENING | _HYPHENS | _APOSTROPHES | _SUFFIXES | {"/", "+", '"'}
_NOT_BEFORE_HYPHEN = frozenset([",", ";", ":", "=", "<", ">", "±", "~", "<=", ">=", "≤", "≥", "×"])


def join(tokens: Sequence[str]) -> tuple[str, list[Range]]:
    """The text and each token's place in it.

    Closing punctuation is joined to the word before it, opening punctuation to the word after; hyphens and slashes join both sides;
    quotation marks open and close in turn; "and" and "or" keep their space after a hanging hyphen; decimals, thousands and ratios are
    joined; operators such as "<" and "=" keep a space on both sides.
    """
    return lay_out(tokens, _joins(tokens))


def lay_out(tokens: Iterable[str], joined: Iterable[bool]) -> tuple[str, list[Range]]:
    """The text and each token's place; `joined` says for each token whether it follows the previous one without a space."""
    pieces: list[str] = []
    places: list[Range] = []
    position = 0
    for token, close in zip(tokens, joined, strict=True):
        if pieces and not close:
            pieces.append(" ")
            position += 1
        end = position + len(token)
        pieces.append(token)
        places.append((position, end))
        position = end
    return "".join(pieces), places


def _joins(tokens: Sequence[str]) -> list[bool]:
    """For each token, whether it follows the previous one without a space."""
    joined = [False] * len(tokens)
    last = len(tokens) - 1
    quoted = single = False
    for index, sign in enumerate(tokens):
        if sign not in _SIGNS:
            continue
        before = tokens[index - 1] if index else ""
        after = tokens[index + 1] if index < last else ""
        join_left, join_right = True, False
        if sign in _CLOSING:
            join_right = after[:1].isdigit() and before[-1:].isdigit() and _numeric(tokens, index)
            join_right |= sign == "." and _letter(before) and _letter(after) and before.isupper() == after.isupper()
        elif sign in _OPENING:
            join_left, join_right = False, True
        elif sign in _HYPHENS:
            join_left = before not in _NOT_BEFORE_HYPHEN
            hanging = after in ("and", "or") and (index + 2 > last or tokens[index + 2] not in _HYPHENS)
            join_right = not hanging and after not in _NOT_BEFORE_HYPHEN
        elif sign == "/":
            join_right = True
        elif sign == "+":
            join_left = before not in _NOT_BEFORE_HYPHEN
            join_right = after in _HYPHENS
        elif sign == '"':
            quoted = not quoted
            join_left, join_right = not quoted, quoted
        elif sign in _APOSTROPHES:
            if before[-1:].isalpha() and after in _ENDINGS:
                join_right = True
            elif single:
                single = False
            elif not before[-1:].isdigit() and not (before[-1:].isalnum() and sign not in tokens[index + 1 :]):
                single = True
                join_left, join_right = False, True
        joined[index] |= join_left
        if join_right and index < last:
            joined[index + 1] = True
    if joined:
        joined[0] = False
    return joined


def _numeric(tokens: Sequence[str], index: int) -> bool:
    """Whether the mark between two digits is part of a number (0.5, 1,000), a ratio (1:2) or a chemical's name (1,25-…)."""
    sign, after = tokens[index], tokens[index + 1]
    if sign == ",":
        thousands = len(after) == 3 and after.isdigit()
        return thousands or (index + 2 < len(tokens) and tokens[index + 2] in _HYPHENS)
    return sign in ".:"


def _letter(token: str) -> bool:
    return len(token) == 1 and token.isalpha()
