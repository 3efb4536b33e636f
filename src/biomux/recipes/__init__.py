"""Recipes: YAML files that say what to train. `schema` defines them, `read` reads and checks them, `quick` makes a small one to try.

The recipes that come with Biomux are in folders named by paper (a, b, d, e) and in `default`; recipes over recipes are in `studies` and `transfers`.
"""
