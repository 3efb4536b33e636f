"""Scoring: counts, scores and statistics of spans, labels, numbers, relations and answers. Documents in, numbers out; no model, no file.

`spans`, `labels`, `numbers`, `relations` and `answers` score, `score_sheet` scores everything at once while documents go by, `calibration` and `temperature` deal
with confidence, `significance` and `ranks` say whether a difference is real.
"""
