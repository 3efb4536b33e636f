"""Scores: of spans, labels, numbers and answers, how sure they are, and whether a difference is real."""
