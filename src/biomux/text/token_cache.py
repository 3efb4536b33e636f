"""Cache of tokens for large texts: each distinct string between two spaces is tokenized once.

In BERT's tokenizers no token crosses a space, and how a word is split does not depend on its neighbours. So tokens assembled from
cached strings equal the tokenizer's, and are several times faster on repetitive text such as a corpus.
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
"""For a string: its ids, which of them begin a word, and where these words start and end."""

MOST = 500_000
"""How many strings are cached; when full, the cache is cleared."""


class Remembering:
    """A tokenizer with a cache that `biomux.text.tokens.split` uses; everything else is passed on to the tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._cache: dict[str, Entry] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def split(self, text: str, ranges: Sequence[Range]) -> list[Tokens]:
        """The tokens of each range of a text, with offsets into that text."""
        return [self._tokens(text[start:end], start) for start, end in ranges]

    def _tokens(self, text: str, at: int) -> Tokens:
        cache = self._cache
        ids: list[int] = []
        first: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for string in text.split(" "):
            if string:
                entry = cache.get(string) or self._learn(string)
                token_count = len(ids)
                ids += entry[0]
                if len(entry[1]) == 1:
                    first.append(token_count + entry[1][0])
                    starts.append(at + entry[2][0])
                    ends.append(at + entry[3][0])
                else:
                    first += [token_count + index for index in entry[1]]
                    starts += [at + index for index in entry[2]]
                    ends += [at + index for index in entry[3]]
            at += len(string) + 1
        return Tokens(*(np.array(column, dtype=np.int32) for column in (ids, first, starts, ends)))

    def _learn(self, string: str) -> Entry:
        encoding = self.tokenizer.encode(SPACES.sub(" ", string), add_special_tokens=False)
        words, offsets = encoding.word_ids, encoding.offsets
        first = [index for index, word in enumerate(words) if index == 0 or word != words[index - 1]]
        last = [*(index - 1 for index in first[1:]), len(words) - 1] if first else []
        entry = (encoding.ids, first, [offsets[index][0] for index in first], [offsets[index][1] for index in last])
        if len(self._cache) >= MOST:
            self._cache.clear()
        self._cache[string] = entry
        return entry


def remembering(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, with a cache if that gives the same tokens."""
    candidate: object = tokenizer
    if isinstance(candidate, Splitter) or not may_remember(tokenizer):
        return tokenizer
    return cast("Tokenizer", Remembering(tokenizer))


def may_remember(tokenizer: Tokenizer) -> bool:
    """Whether it is a BERT tokenizer without added tokens that reach beyond their own characters."""
    settings = json.loads(tokenizer.to_str())
    parts = [(settings.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model")]
    added = settings.get("added_tokens") or []
    self_contained = not any(
        token["lstrip"] or token["rstrip"] or token["single_word"] or " " in token["content"] for token in added
    )
    return parts == ["BertNormalizer", "BertPreTokenizer", "WordPiece"] and self_contained
