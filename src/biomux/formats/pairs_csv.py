"""Pairs of texts with what heads say about them, as a CSV table for other programs: the columns are those of [pairs-tsv](#pairs-tsv).

Cells are quoted as RFC 4180 says, and texts are as they were, line ends included.
"""

from __future__ import annotations

from biomux.formats import pairs
from biomux.formats._format import Format
from biomux.formats._pair_table import HOLDS, write_csv

FORMAT = Format(
    name="pairs-csv",
    title="pairs of texts with the heads' answers, a CSV table",
    suffixes=(".answered-pairs.csv",),
    holds=HOLDS,
    sniff=lambda name, head: False,  # noqa: ARG005  # it is read as `pairs`
    read=pairs.read,
    write=write_csv,
    one_way=True,
)
