"""A document as a minimal JATS article, if its passages have the shape that `biomux.formats.jats` reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from biomux.formats._xml import attribute, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document, Passage

_PLAIN = re.compile(r"[^ \t\r\n]+(?: [^ \t\r\n]+)*")
IDS = ("pmc", "pmid", "doi", "publisher-id")


def article(document: Document, passages: Sequence[Passage]) -> str:
    """The XML. Passages of kinds that the reader does not make are written as sections: the caller compares."""
    where = f"document {document.id!r}"
    texts = [(document.text[passage.start : passage.end], passage) for passage in passages]
    title = "".join(escape(text, where=where) for text, passage in texts if passage.kind == "title")
    abstracts = [_abstract(text, passage, where) for text, passage in texts if passage.kind == "abstract"]
    body = _body([(text, passage) for text, passage in texts if passage.kind not in ("title", "abstract")], where)
    return (
        f'<article article-type="research-article"><front>{_journal(document, where)}<article-meta>{_ids(document, where)}'
        f"<title-group><article-title>{title}</article-title></title-group>{''.join(abstracts)}"
        f"</article-meta></front><body>{body}</body></article>\n"
    )


def _journal(document: Document, where: str) -> str:
    journal = document.metadata.get("journal")
    if not isinstance(journal, str):
        return ""
    title = f"<journal-title>{escape(journal, where=where)}</journal-title>"
    return f"<journal-meta><journal-title-group>{title}</journal-title-group></journal-meta>"


def _ids(document: Document, where: str) -> str:
    """The ids in the metadata; if the document's id is not the first of them, it is added with the type `biomux`."""
    stated = {key: document.metadata[key] for key in IDS if isinstance(document.metadata.get(key), str)}
    first = next(iter(stated.values()), None)
    ids = stated if first == document.id else {"biomux": document.id, **stated}
    return "".join(
        f'<article-id pub-id-type="{key}">{escape(value, where=where)}</article-id>' for key, value in ids.items()
    )


def _abstract(text: str, passage: Passage, where: str) -> str:
    return f"<abstract>{_title(passage.extra, where)}{_paragraphs(text, where)}</abstract>"


def _body(texts: list[tuple[str, Passage]], where: str) -> str:
    """Sections nested by the levels of their headings; a caption belongs to the section before it."""
    out: list[str] = []
    level = 0
    for number, (text, passage) in enumerate(texts):
        extra = passage.extra
        following = texts[number + 1][1] if number + 1 < len(texts) else None
        if passage.kind == "heading":
            heading_level = extra.get("level")
            heading_level = (
                heading_level if isinstance(heading_level, int) and 1 <= heading_level <= level + 1 else level + 1
            )
            out.append("</sec>" * (level - heading_level + 1))
            out.append(f"<sec{_type(following, where)}><title>{escape(text, where=where)}</title>")
            level = heading_level
        elif passage.kind == "caption":
            tag = "table-wrap" if extra.get("of") == "table" else "fig"
            label = extra.get("label")
            named = f"<label>{escape(label, where=where)}</label>" if isinstance(label, str) else ""
            out.append(f"<{tag}>{named}<caption>{_paragraphs(text, where)}</caption></{tag}>")
        else:
            out.append(_paragraphs(text, where))
    return "".join(out) + "</sec>" * level


def _type(following: Passage | None, where: str) -> str:
    """The type of a heading's section, which is stored with the section that follows the heading."""
    section_type = following.extra.get("type") if following is not None and following.kind == "section" else None
    return f' sec-type="{attribute(section_type, where=where)}"' if isinstance(section_type, str) else ""


def _title(extra: Any, where: str) -> str:
    title = extra.get("title")
    return f"<title>{escape(title, where=where)}</title>" if isinstance(title, str) else ""


def _paragraphs(text: str, where: str) -> str:
    """One paragraph per line; text whose white space would not survive as paragraphs is preformatted."""
    lines = text.split("\n")
    if all(_PLAIN.fullmatch(line) for line in lines):
        return "".join(f"<p>{escape(line, where=where)}</p>" for line in lines)
    return f"<preformat>{escape(text, where=where)}</preformat>" if text else ""
