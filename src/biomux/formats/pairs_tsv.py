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

from biomux.formats._pair_table import pair_table, write_tsv

FORMAT = pair_table("tsv", write_tsv)
