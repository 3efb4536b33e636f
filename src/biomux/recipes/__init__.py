"""Recipes: YAML files that say what to train. `schema` defines what a recipe may contain, `read` reads and checks recipes, `initial` writes one for a user's data, and `quick` makes a small one to try.

The recipes that come with Biomux are in folders named by paper (a to e) and in `default`; `encoders` has recipes for pre-training, and `studies` and `transfers` train several variants of a recipe.
"""
