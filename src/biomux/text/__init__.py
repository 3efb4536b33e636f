"""Text: sentences, words, tokens with their offsets, windows over long texts, offset conversion, abbreviations and brackets.

Everything works on plain strings and character offsets, and nothing changes a character.
"""
