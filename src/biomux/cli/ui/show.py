"""Annotated documents on standard output: coloured, or in brackets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from biomux.cli.ui import render, render_answers
from biomux.cli.ui.display import sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from biomux.document import Document


def terminal(documents: Iterable[Document]) -> None:
    """Each document in colours, its id above it if there are several; a legend at the end."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    width = max(console.width, 10)
    counts: Counter[str] = Counter()
    for title, document in _titled(documents):
        if title:
            console.print(Text(title, style="bold"))
        console.print(render.coloured(document, width=width))
        if answers := render_answers.coloured(document, width=width):
            console.print(answers)
        counts.update(span.type for span in document.spans)
    if counts:
        console.print(render.legend(counts.most_common(), width=width))


def plain(documents: Iterable[Document]) -> None:
    """Each document with its mentions in brackets, its relations and classes below; a blank line after it."""
    for title, document in _titled(documents):
        shown = "\n".join([render.plain(document), *render_answers.plain(document)])
        print(f"# {title}\n{shown}\n" if title else shown)


def _titled(documents: Iterable[Document]) -> Iterator[tuple[str, Document]]:
    """Documents with a title each, unless there is only one."""
    first: Document | None = None
    alone = True
    for document in documents:
        if first is None:
            first = document
            continue
        if alone:
            yield sentence(first.id), first
            alone = False
        yield sentence(document.id), document
    if first is not None and alone:
        yield "", first
