"""Tokens of much text at once: a string between two blanks is split once, however often it comes.

In BERT's tokenizers no token crosses a blank, and how a word is split does not depend on its neighbours. So tokens put together from
remembered strings are the tokenizer's own, several times quicker where text repeats itself as a corpus does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from biomux.text.tokens import SPACES, Splitter, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

    from biomux.document import Range

Entry = tuple[list[int], list[int], list[int], list[int]]
"""Of a string: ids, which of them begin a word, where these words start, where they end."""

MOST = 500_000
"""Strings that are remembered; when there are more, all are forgotten."""


class Remembering:
    """A tokenizer with a memory: `biomux.text.tokens.split` uses it. For all else it is the tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._known: dict[str, Entry] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def split(self, text: str, ranges: Sequence[Range]) -> list[Tokens]:
        """The tokens of each range of a text; offsets are of the text."""
        return [self._tokens(text[start:end], start) for start, end in ranges]

    def _tokens(self, text: str, at: int) -> Tokens:
        known = self._known
        ids: list[int] = []
        first: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for string in text.split(" "):
            if string:
                entry = known.get(string) or self._learn(string)
                here = len(ids)
                ids += entry[0]
                if len(entry[1]) == 1:
                    first.append(here + entry[1][0])
                    starts.append(at + entry[2][0])
                    ends.append(at + entry[3][0])
                else:
                    first += [here + one for one in entry[1]]
                    starts += [at + one for one in entry[2]]
                    ends += [at + one for one in entry[3]]
            at += len(string) + 1
        return Tokens(*(np.array(column, dtype=np.int32) for column in (ids, first, starts, ends)))

    def _learn(self, string: str) -> Entry:
        encoding = self.tokenizer.encode(SPACES.sub(" ", string), add_special_tokens=False)
        words, offsets = encoding.word_ids, encoding.offsets
        first = [index for index, word in enumerate(words) if index == 0 or word != words[index - 1]]
        last = [*(index - 1 for index in first[1:]), len(words) - 1] if first else []
        entry = (encoding.ids, first, [offsets[index][0] for index in first], [offsets[index][1] for index in last])
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[string] = entry
        return entry


def remembering(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, with a memory where that gives the same tokens."""
    own: object = tokenizer
    if isinstance(own, Splitter) or not may_remember(tokenizer):
        return tokenizer
    return cast("Tokenizer", Remembering(tokenizer))


def may_remember(tokenizer: Tokenizer) -> bool:
    """Whether it is one of BERT's, without added tokens that reach beyond their own characters."""
    told = json.loads(tokenizer.to_str())
    parts = [(told.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model")]
    added = told.get("added_tokens") or []
    plain = not any(one["lstrip"] or one["rstrip"] or one["single_word"] or " " in one["content"] for one in added)
    return parts == ["BertNormalizer", "BertPreTokenizer", "WordPiece"] and plain
