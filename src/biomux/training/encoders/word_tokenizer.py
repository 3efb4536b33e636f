"""Word tokens for encoders that read whole words.

A known word is one token. An unknown one is spelled: the longest known beginning, then its other characters one by one, as
WordPiece does by itself. So any word's characters can be recovered from its tokens, seen before or not; and
the path from text to tokens is the same as for all other encoders. Only a word with an unseen character, or one longer
than `LONGEST`, becomes [UNK].
"""

from __future__ import annotations

import string
from collections import Counter
from typing import TYPE_CHECKING

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from biomux.training.encoders.tokenizer import SPECIALS

if TYPE_CHECKING:
    from collections.abc import Iterable

PAD, UNKNOWN, BEFORE, AFTER = range(4)
"""Their places in `SPECIALS`, and so in every vocabulary made here."""
LONGEST = 200
"""Maximum length of a word in characters."""
CONTINUES = "##"
"""The prefix of a token that continues a word."""


def split(texts: Iterable[str], *, lower: bool = False) -> Counter[str]:
    """The words of texts as the tokenizer would split them, with the count of each.

    >>> split(["IL-2 and il-2"])["-"]
    2
    """
    normalizer, splitter = normalizers.BertNormalizer(lowercase=lower), pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    return counts


def tokenizer(words: Iterable[str], *, lower: bool = False, alphabet: Iterable[str] = ()) -> Tokenizer:
    """A tokenizer that knows the words, and can spell others with their characters, those of ASCII and those of the `alphabet`.

    >>> words = tokenizer(["the", "kin", "kinase"])
    >>> words.encode("the kinases", add_special_tokens=False).tokens
    ['the', 'kinase', '##s']
    """
    known_words = dict.fromkeys(words)
    characters = {character for word in known_words for character in word} | set(alphabet)
    characters |= set(string.ascii_letters + string.digits + string.punctuation)
    if lower:
        characters -= set(string.ascii_uppercase)
    single = sorted(characters)
    tokens = dict.fromkeys((*SPECIALS, *single, *(f"{CONTINUES}{letter}" for letter in single), *known_words))
    model = models.WordPiece(
        {token: index for index, token in enumerate(tokens)},
        unk_token=SPECIALS[UNKNOWN],
        max_input_chars_per_word=LONGEST,
    )
    result = Tokenizer(model)
    result.normalizer = normalizers.BertNormalizer(lowercase=lower)
    result.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    result.post_processor = processors.BertProcessing(("[SEP]", AFTER), ("[CLS]", BEFORE))
    result.add_special_tokens(list(SPECIALS))
    return result


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    """The tokens in the order of their indices."""
    return [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
