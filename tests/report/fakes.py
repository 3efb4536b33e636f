"""A model whose answers are written down: what it finds are words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from biomux.document import Document, Span
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Words:
    """`says`: head → word → type."""

    says: Mapping[str, Mapping[str, str]]

    @property
    def tasks(self) -> Sequence[Tagging]:
        return [Tagging(head, tuple(sorted(set(words.values())))) for head, words in self.says.items()]

    @property
    def asking(self) -> Sequence[Any]:
        return ()

    def answer(self, documents: Iterable[Document], *, heads: Sequence[str] | None = None) -> Iterator[Document]:
        raise NotImplementedError

    def annotate(
        self,
        documents: Iterable[Document],
        *,
        types: Sequence[str] | None = None,
        heads: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
    ) -> Iterator[Document]:
        assert tasks is None or tuple(tasks) == ("entities",)
        for document in documents:
            assert not document.spans, "a model must not see gold"
            spans = [
                Span(match.start(), match.end(), type_, score=0.8, head=head if types is None else None)
                for head, words in self.says.items()
                if heads is None or head in heads
                for word, type_ in words.items()
                if types is None or type_ in types
                for match in re.finditer(rf"\b{word}\b", document.text)
            ]
            yield replace(document, spans=tuple(spans))
