"""Annotating many documents: files, folders, globs and archives in, one output or one part per batch of documents out.

A job is cut into parts (`parts`), which workers annotate in any order (`work`, `workers`) and `run` joins; a job that was stopped resumes (`job`) and ends with
the same bytes. `inputs` finds what is to be read, `settings` is what a job asks of the annotator, `bench` measures a bundle.

To annotate from Python use `biomux.load`; call `annotate.run` for whole files with resume. Nothing here needs torch.
"""
