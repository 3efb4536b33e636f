"""Evaluation: scores models on corpora, scores predictions against gold, and compares systems.

`evaluate` scores a bundle or a run and `prediction_files` scores files; both write a `score_folder`, which `compare` reads. `published` holds the figures of the
five papers, and `negative_transfer` warns of tasks that suffer from shared training. Counting and statistics are in `biomux.scoring`, pages and pictures in `biomux.report`.
"""
