"""Evaluation: a model scored on corpora, predictions scored against gold, and systems compared.

`evaluate` scores a bundle or a run, `prediction_files` scores files, `score_folder` is what both write and `compare` reads; `published` holds the figures of the
five papers, `negative_transfer` warns of tasks that suffer from sharing. Counting and statistics are in `biomux.scoring`, pages and pictures in `biomux.report`.
"""
