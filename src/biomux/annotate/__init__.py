"""Annotates many documents: reads files, folders, globs and archives, and writes one file or a folder of parts.

`run` does a whole job. It cuts the input into parts (`parts`, `cutting`), has workers on this computer or on a Ray cluster annotate them in any order (`part_work`, `workers`, `on_ray`), and puts
the results together. A job that was stopped can be resumed and ends with the same bytes (`resume`). If there are many files, the workers read them themselves (`input_stretches`). Output goes
to folders and URLs (`store`). `inputs` finds what is to be read, `settings` holds what a job asks of the annotator, `suggest` finds the documents most worth annotating by hand, and `bench` measures a bundle.

To annotate texts from Python, use `biomux.load`; to annotate whole files with resume, call `annotate.run`. Nothing here needs torch.
"""
