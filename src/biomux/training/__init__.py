"""Training: the only room with torch in it.

`run` takes a recipe through `build` (documents, examples, model, plan), the one `loop`, and checkpoints; `export` turns a run into a bundle. `encoders`, `heads`,
`objectives` and `regimes` hold one part per file, and other packages can add theirs by entry points. Nothing outside this room imports it, except `studies.run`,
commands when they are called, and `biomux.load` when it is given a run.
"""
