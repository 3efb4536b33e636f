"""Pairs of texts with what heads say about them, as a CSV table for other programs: the columns are those of [pairs-tsv](#pairs-tsv).

Cells are quoted as RFC 4180 says, and texts are as they were, line ends included.
"""

from __future__ import annotations

from biomux.formats._pair_table import pair_table, write_csv

FORMAT = pair_table("csv", write_csv)
