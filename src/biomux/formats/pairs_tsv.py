"""Pairs of texts with what heads say about them, as a TSV table for other programs: what `biomux pairs -o FILE.tsv` writes.

| column | holds |
|---|---|
| `id` | the document's id |
| `text`, `pair` | the two texts |
| other columns of the input | as they were |
| a head's name | its class; several with `; ` between them; of a similarity head its number, with four digits |
| a head's name with `_score` | how sure it is, from 0 to 1, with four digits |
| `label`, or the name of a number | what the input itself said |

Tabs, line ends and other signs that do not print are written as escapes (`\\t`), so a row is always one line. As the file has a `text` and a `pair` column, it is read again as [pairs](#pairs).
"""

from __future__ import annotations

from biomux.formats import pairs
from biomux.formats._format import Format
from biomux.formats._pair_table import HOLDS, write_tsv

FORMAT = Format(
    name="pairs-tsv",
    title="pairs of texts with the heads' answers, a TSV table",
    suffixes=(".answered-pairs.tsv",),
    holds=HOLDS,
    sniff=lambda name, head: False,  # noqa: ARG005  # it is read as `pairs`
    read=pairs.read,
    write=write_tsv,
    one_way=True,
)
