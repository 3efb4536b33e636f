"""Studies: recipes over recipes, such as learning curves, ablations, and which task helps which.

`schema` is what a study may say, `members` the recipes that it trains, `run` trains and scores them (this needs torch), `estimate` says how long that takes,
`findings` and `transfer` say what was found, `task_map` draws tasks near each other.
"""
