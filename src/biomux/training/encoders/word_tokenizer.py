"""Word tokens for encoders that read whole words.

A known word is one token. An unknown one is spelled: the longest known beginning, then its other characters one by one, as
WordPiece does by itself. So any word's characters can be put together again from its tokens, whether or not it was ever seen; and
the path from text to tokens is the one of all other encoders. Only a word with a character that was never seen, or one longer
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
"""Where these stand among `SPECIALS`, and so in every vocabulary made here."""
LONGEST = 200
"""Characters of a word."""
CONTINUES = "##"
"""How a token begins that is not the beginning of a word."""


def split(texts: Iterable[str], *, lower: bool = False) -> Counter[str]:
    """The words of texts as the tokenizer would split them, with how often each comes.

    >>> split(["IL-2 and il-2"])["-"]
    2
    """
    normalizer, splitter = normalizers.BertNormalizer(lowercase=lower), pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    return counts


def tokenizer(words: Iterable[str], *, lower: bool = False, alphabet: Iterable[str] = ()) -> Tokenizer:
    """A tokenizer that knows the words, and can spell all others of their characters, of ASCII's and of the `alphabet`.

    >>> made = tokenizer(["the", "kin", "kinase"])
    >>> made.encode("the kinases", add_special_tokens=False).tokens
    ['the', 'kinase', '##s']
    """
    known = dict.fromkeys(words)
    characters = {character for word in known for character in word} | set(alphabet)
    characters |= set(string.ascii_letters + string.digits + string.punctuation)
    if lower:
        characters -= set(string.ascii_uppercase)
    single = sorted(characters)
    tokens = dict.fromkeys((*SPECIALS, *single, *(f"{CONTINUES}{one}" for one in single), *known))
    model = models.WordPiece(
        {token: index for index, token in enumerate(tokens)},
        unk_token=SPECIALS[UNKNOWN],
        max_input_chars_per_word=LONGEST,
    )
    made = Tokenizer(model)
    made.normalizer = normalizers.BertNormalizer(lowercase=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", AFTER), ("[CLS]", BEFORE))
    made.add_special_tokens(list(SPECIALS))
    return made


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    """The tokens in the order of their indices."""
    return [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
