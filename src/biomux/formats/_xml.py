"""Safe streaming XML for the formats that are XML.

Nothing is fetched, no DTD is loaded, no entity is expanded. A DOCTYPE alone is accepted (MEDLINE and JATS files have one); one
that declares entities is refused, and so is a reference to an entity that only a DTD could declare. XML 1.0 cannot hold most control
characters: `escape` refuses them, and writes a carriage return as `&#13;`, since parsers would turn a bare one into a line feed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from biomux.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import XMLSyntaxError, _ListErrorLog
    from lxml.etree import _Element as Element

    from biomux.formats._source import Source

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even as a character reference."""
MAX_TEXT = 10_000_000
"""Maximum bytes of a text between tags: libxml2 refuses longer ones, so they must not be written."""

_NEEDS_ESCAPE = re.compile('[&<>\r"\t\n]')
_TEXT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;"}
)


def elements(source: Source, *tags: str, roots: tuple[str, ...] = ()) -> Iterator[Element]:
    """Each complete element with one of the tags, in the order of their ends; its memory is freed when the next is requested.

    Take what you need before continuing. Elements must not be nested in one another: the inner would be empty when the outer ends. With
    namespaces, write `{*}tag`. XML that is not well-formed raises FormatError: nothing after it can be trusted. So does a file without
    such elements, unless the name of its root begins with one of `roots`, as in an empty set: otherwise it is XML of another format.
    """
    from lxml import etree

    events: Any = None
    checked = False
    with source.open() as stream:
        try:
            events = etree.iterparse(
                stream,
                events=("end",),
                tag=tags,
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                dtd_validation=False,
                attribute_defaults=False,
                huge_tree=False,
                remove_comments=True,
                remove_pis=True,
            )
            for _, element in events:
                if not checked:
                    _refuse_declarations(source, element)
                    checked = True
                _refuse_references(source, element)
                yield element
                _free(element)
        except etree.XMLSyntaxError as error:
            raise _not_well_formed(source, error, None if events is None else events.error_log) from None
        if not checked:
            _refuse_declarations(source, events.root)
            _refuse_root(source, events.root, tags, roots)


def attribute(value: str, *, where: str) -> str:
    """Escape a value to be written between double quotes."""
    _refuse_forbidden(value, where)
    return value.translate(_ATTRIBUTE_ESCAPES) if _NEEDS_ESCAPE.search(value) else value


def escape(text: str, *, where: str) -> str:
    """Escape text to be written between tags. `where` names the document in the error if XML cannot hold the text (BX120)."""
    _refuse_forbidden(text, where)
    return text.translate(_TEXT_ESCAPES) if _NEEDS_ESCAPE.search(text) else text


def characters(element: Element) -> str:
    """All text within an element, without its tags."""
    return "".join(element.itertext())  # type: ignore[arg-type]


def line_of(source: Source, element: Element) -> str:
    """The place of an element, for messages."""
    return f"{source.name}:{element.sourceline}"


def _refuse_forbidden(text: str, where: str) -> None:
    if len(text) > MAX_TEXT // 4 and len(text.encode("utf-8", "replace")) > MAX_TEXT:
        raise FormatError(
            "BX120",
            f"a text is longer than {MAX_TEXT:,} bytes, the limit of XML parsers",
            where=where,
            hint="split the document, or write to a format that is not XML",
        )
    if match := FORBIDDEN.search(text):
        raise FormatError(
            "BX120",
            f"character U+{ord(match[0]):04X} at {match.start()} is not allowed in XML",
            where=where,
            hint="remove it, or write to a format that is not XML, such as Biomux's JSON lines",
        )


def _refuse_declarations(source: Source, root: Element) -> None:
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and subset.entities():  # type: ignore[attr-defined]
        raise FormatError(
            "BX118",
            "the DOCTYPE declares entities, which Biomux never expands",
            where=f"{source.name}:{root.sourceline}",
            hint="if you trust the file, expand them first, for instance with xmllint --noent",
        )


def _refuse_root(source: Source, root: Element, tags: tuple[str, ...], roots: tuple[str, ...]) -> None:
    name = str(root.tag).rpartition("}")[2]
    if roots and not name.startswith(roots):
        raise FormatError(
            "BX113",
            f"there is no <{tags[0].rpartition('}')[2]}> in the file; its root is <{name}>",
            where=f"{source.name}:{root.sourceline}",
            hint="check the file's format",
        )


def _refuse_references(source: Source, element: Element) -> None:
    from lxml import etree

    for reference in element.iter(etree.Entity):
        raise FormatError(
            "BX118",
            f"the text uses the entity {reference.text}, but Biomux does not read the DTD that may declare it",
            where=f"{source.name}:{element.sourceline}",
            hint="write the character itself",
        )


def _not_well_formed(source: Source, error: XMLSyntaxError, log: _ListErrorLog | None) -> FormatError:
    # The exception may say only that no element was found; the first fatal entry of the parser's log says why.
    logged = next((entry for entry in log or () if entry.level_name == "FATAL"), None)
    message = logged.message if logged is not None else (error.msg or "not well-formed")
    where = f"{source.name}:{(logged.line if logged is not None else error.lineno) or 1}"
    if "encoding" in message.lower() or "not proper utf-8" in message.lower():
        return FormatError(
            "BX111",
            f"the file is not in the encoding that it declares: {message}",
            where=where,
            hint="convert it to UTF-8",
        )
    if "entity" in message.lower() and any(word in message.lower() for word in ("loop", "amplification", "nesting")):
        description = f"the DOCTYPE declares entities that expand without end: {message}"
        return FormatError("BX118", description, where=where, hint="do not trust this file")
    return FormatError(
        "BX117",
        f"the XML is not well-formed: {message}",
        where=where,
        hint="the file may be truncated: download it again",
    )


def _free(element: Element) -> None:
    element.clear(keep_tail=False)  # type: ignore[call-arg]
    node: Element | None = element
    while node is not None:
        parent = node.getparent()
        if parent is not None:
            while node.getprevious() is not None:
                del parent[0]
        node = parent
