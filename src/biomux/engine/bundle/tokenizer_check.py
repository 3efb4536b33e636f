"""Is this tokenizer.json one that may be run? Looked at as JSON, before the library sees it.

Allowed are the parts that BERT's tokenizers are made of. Others can hold patterns that take forever, or tables that crash; and one
that cuts texts short would lose them silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.engine.bundle.strict_json import HINT, parse
from biomux.errors import BundleError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LARGEST_TOKENIZER = 16 * 1024 * 1024
MOST_ADDED = 1024
LONGEST_PIECE = 256
LONGEST_WORD = 1000
"""The most characters of a word that may be cut into tokens: the work grows with its square."""

PARTS: dict[str, frozenset[str | None]] = {
    "model": frozenset({"WordPiece"}),
    "normalizer": frozenset({None, "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}),
    "pre_tokenizer": frozenset({None, "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation"}),
    "post_processor": frozenset({None, "BertProcessing", "TemplateProcessing"}),
    "decoder": frozenset({None, "WordPiece"}),
}
"""Part → the types of it that may be there; of normalizers and pre-tokenizers also a sequence of these."""

_SEQUENCES = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}


def check(content: bytes, *, vocabulary: int, where: str = "tokenizer.json") -> None:
    """Refuse a tokenizer that is not of the allowed parts, that cuts or pads, or whose tokens the encoder does not have."""
    whole = parse(content, where)
    if not isinstance(whole, dict):
        _refuse("BX516", "not a tokenizer", where)
    for part, allowed in PARTS.items():
        for type_ in _types(whole.get(part), _SEQUENCES.get(part), where):
            if type_ not in allowed:
                _refuse("BX516", f"a {part} of type {str(type_)[:80]!r} is not allowed", where)
    if whole.get("truncation") is not None or whole.get("padding") is not None:
        _refuse("BX517", "the tokenizer truncates or pads texts", where)
    model = whole["model"]
    tokens, added = model.get("vocab"), whole.get("added_tokens", [])
    if not isinstance(tokens, dict) or not isinstance(added, list) or len(added) > MOST_ADDED:
        _refuse("BX516", "the vocabulary is missing, or too many tokens were added to it", where)
    if type(longest := model.get("max_input_chars_per_word", 100)) is not int or not 1 <= longest <= LONGEST_WORD:
        _refuse("BX516", f"the tokenizer would split words of more than {LONGEST_WORD} characters", where)
    indices = list(tokens.values()) + [entry.get("id") if isinstance(entry, dict) else None for entry in added]
    if any(type(index) is not int for index in indices) or any(len(token) > LONGEST_PIECE for token in tokens):
        _refuse("BX516", "a token has no index, or is too long", where)
    if not tokens or min(indices) < 0 or max(indices) >= vocabulary:
        _refuse("BX518", f"a token lies outside the encoder's vocabulary of {vocabulary}", where)


def build(content: bytes, *, where: str = "tokenizer.json") -> Tokenizer:
    """The tokenizer of checked content."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(content.decode("utf-8"))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library raises bare Exception, and its panics are no Exception
        reason = " ".join(str(error).split())[:200]
        raise BundleError("BX516", f"cannot build the tokenizer: {reason}", where=where, hint=HINT) from None


def _types(part: Any, sequence: str | None, where: str) -> list[str | None]:
    """The type of a part, or those of the parts in its sequence, which stand under the key `sequence`."""
    if part is None:
        return [None]
    if not isinstance(part, dict):
        _refuse("BX516", "a part of the tokenizer is not an object", where)
    inner = part.get(sequence) if sequence is not None and part.get("type") == "Sequence" else None
    if isinstance(inner, list):
        return [step.get("type") if isinstance(step, dict) else "?" for step in inner]
    kind = part.get("type")
    return [kind if isinstance(kind, str) else "?"]


def _refuse(code: str, message: str, where: str) -> Any:
    raise BundleError(code, message, where=where, hint=HINT)
