"""Annotating many documents: files, folders, globs and archives in, one output or one part per batch of documents out.

A job is cut into parts (`parts`, `cutting`), which workers of this machine or of a Ray cluster annotate in any order (`work`, `workers`, `on_ray`) and `run` joins; a job that
was stopped resumes (`job`) and ends with the same bytes. Many files are read where they are annotated (`stretches`); output goes to folders and URLs (`store`). `inputs` finds what is to be read, `settings` is what a job asks of the annotator, `bench` measures a bundle.

To annotate from Python use `biomux.load`; call `annotate.run` for whole files with resume. Nothing here needs torch.
"""
