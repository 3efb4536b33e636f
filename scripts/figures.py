"""Draws docs/figures/annotate.svg: what `biomux annotate examples/abstract.txt` shows on a dark terminal of 100 columns."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

from rich.console import Console

import biomux
from biomux.cli.ui import render

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100


def main() -> None:
    """Annotate the example with the bundle that comes with Biomux, and write the picture."""
    document = biomux.load()((ROOT / "examples" / "abstract.txt").read_text(encoding="utf-8"))
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print(render.coloured(document, width=WIDTH))
    console.print(render.legend(Counter(span.type for span in document.spans).most_common(), width=WIDTH))
    target = ROOT / "docs" / "figures" / "annotate.svg"
    console.save_svg(str(target), title="biomux annotate examples/abstract.txt", unique_id="annotate")
    # The picture must not fetch fonts from elsewhere: any monospaced one of the reader's will do.
    text = target.read_text(encoding="utf-8")
    while "@font-face" in text:
        start = text.index("@font-face")
        text = text[:start] + text[text.index("}", start) + 1 :]
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
