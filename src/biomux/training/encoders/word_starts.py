"""Which tokens begin a word, for encoders that join spelled words again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from biomux.training.encoders import word_tokenizer
from biomux.training.encoders.tokenizer import SPECIALS

if TYPE_CHECKING:
    from torch import Tensor


def word_starts(ids: Tensor, real: Tensor, continues: Tensor) -> Tensor:
    """True where a word begins; `real` is False at padding, and `continues` says for each token of the vocabulary whether it continues a word."""
    before = functional.pad(ids[:, :-1], (1, 0), value=word_tokenizer.BEFORE)
    # A window may begin within a word: what follows [CLS] or [SEP] begins one, whatever the token.
    return real & ~(continues[ids] & (before >= len(SPECIALS)))
