"""What commands have in common: reading inputs, tables, progress, coloured text, and what was skipped or could not be written.

One file in `cli` is one command; whatever two commands share, or what only draws, lives here. Private to `biomux.cli`.
"""
