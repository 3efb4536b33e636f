"""Scoring: counts, scores and statistics of spans, labels, numbers, relations and answers. It takes documents and returns numbers; it needs no model and reads no files.

`spans`, `labels`, `numbers`, `relations` and `answers` each score one kind of annotation, and `score_sheet` scores all of them in one pass over the documents. `calibration` and `temperature` are about
confidence; `significance` and `ranks` test whether a difference is real.
"""
