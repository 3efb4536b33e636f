"""The colour of an entity type, on a terminal and in HTML: the same in every document and every run."""

from __future__ import annotations

import zlib

COLOURS = {
    "gene": "#3b78d8",
    "protein": "#3b78d8",
    "dna": "#5f6fd0",
    "rna": "#7a66d6",
    "chemical": "#2c8a3d",
    "disease": "#d1453b",
    "cancer": "#c2416b",
    "species": "#b0660f",
    "strain": "#96720e",
    "cell line": "#148585",
    "cell type": "#1f7fa8",
    "tissue": "#a3539f",
    "anatomy": "#8f5fb0",
    "organ": "#b54f8a",
    "cellular component": "#5b8524",
}
"""Colours of common types, each readable on black and on white."""

OTHERS = ("#a3539f", "#148585", "#b0660f", "#3b78d8", "#c2416b", "#5b8524", "#7a66d6", "#96720e", "#1f7fa8", "#d1453b")


def colour(type_: str) -> str:
    """The colour of a type as `#rrggbb`; for an unknown type, chosen by a hash of its name."""
    name = type_.lower().replace("_", " ").replace("-", " ")
    return COLOURS.get(name) or OTHERS[zlib.crc32(name.encode("utf-8", "replace")) % len(OTHERS)]
