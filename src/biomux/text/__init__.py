"""Sentences, words, offsets and abbreviations of a text."""
