"""Pairs of texts with the answers of heads, as a CSV table for other programs: the columns are those of [pairs-tsv](#pairs-tsv).

Cells are quoted as in RFC 4180, and texts are unchanged, including line breaks.
"""

from __future__ import annotations

from biomux.formats._pair_table import pair_table, write_csv

FORMAT = pair_table("csv", write_csv)
