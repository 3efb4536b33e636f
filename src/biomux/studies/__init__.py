"""Studies: train several variants of a recipe and compare them, for learning curves, ablations, or to find which task helps which.

`schema` defines what a study may contain and `members` makes the recipes that it trains. `run` trains and scores them, and `estimate` says how long that takes; both need torch.
`findings` and `transfer` compute what a study has found, and `task_map` places similar tasks near each other on a map.
"""
