"""Pairs of texts with the answers of heads, as a TSV table for other programs: the output of `biomux pairs -o FILE.tsv`.

| column | holds |
|---|---|
| `id` | the document's id |
| `text`, `pair` | the two texts |
| other columns of the input | unchanged |
| a head's name | its class, several separated by `; `; for a similarity head its number, with four digits |
| a head's name with `_score` | its confidence, from 0 to 1, with four digits |
| `label`, or the name of a number | the label or number of the input |

Tabs, line breaks and other characters that are not printable are escaped (`\\t`), so a row is always one line. Since the file has a `text` and a `pair` column, it can be read again as [pairs](#pairs).
"""

from __future__ import annotations

from biomux.formats._pair_table import pair_table, write_tsv

FORMAT = pair_table("tsv", write_tsv)
