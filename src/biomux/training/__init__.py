"""Training: the only package that contains torch code.

`run` trains a recipe: `build` makes documents, examples, model and plan, `loop` trains, and `checkpoint` saves the state. `export` turns a run into a bundle. `encoders`, `heads`,
`objectives` and `regimes` hold one part per file, and other packages can add theirs by entry points. No other package imports this one, except `studies.run` and `studies.estimate`,
commands when they are called, `biomux.train`, and `biomux.load` when it is given a run.
"""
