"""The labelling interface of a Label Studio project: where its text and labels are, and which of our types a label means.

<View><Labels name="label" toName="text"><Label value="Gene"/></Labels><Text name="text" value="$text"/></View>
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from biomux.errors import ServeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST = 1_000_000
"""Maximum length of an interface in characters."""

ALIKE = 0.85
"""How alike two names must be (0 to 1) for one to mean the other."""

SYNONYMS = {
    "protein": "gene",
    "ggp": "gene",
    "drug": "chemical",
    "compound": "chemical",
    "organism": "species",
    "taxon": "species",
}
"""Names that curators use for types with other names here."""

HINT = "use an interface with <Text> and <Labels>"


@dataclass(frozen=True, slots=True)
class Interface:
    """The text's name and the key of `data` that holds it; the labels' name, each label with the type that it means.

    `unknown` are labels that match no type. `relations` are the names of the interface's relation types, if any.
    """

    text: str
    key: str
    labels: str
    types: Mapping[str, str]
    unknown: tuple[str, ...]
    relations: tuple[str, ...]

    def label(self, type_: str) -> str:
        """The label under which entities of a type are shown: the most similar one, if several mean it."""
        labels = [label for label, mapped_type in self.types.items() if mapped_type == type_]
        return max(labels, key=lambda label: _likeness(label, type_))

    def told(self) -> dict[str, Any]:
        """How the labels were mapped, for the log and the answer."""
        return {"labels": dict(self.types), "labels_without_type": list(self.unknown)}


def read(config: str, known: Iterable[str]) -> Interface:
    """The interface of a project, its labels mapped to the known types."""
    root = _parsed(config)
    text = next((tag for tag in root.iter("Text") if _key(tag)), None)
    if text is None:
        raise ServeError("BX814", "the labelling interface has no <Text> with a value such as $text", hint=HINT)
    name = text.get("name", "")
    labels = next((tag for tag in root.iter("Labels") if name in tag.get("toName", "").split(",")), None)
    if labels is None:
        raise ServeError("BX814", f"the labelling interface has no <Labels> for the text {name!r}", hint=HINT)
    values = [value for tag in labels.iter("Label") if (value := tag.get("alias") or tag.get("value"))]
    known = list(known)
    types = {value: mapped_type for value in values if (mapped_type := nearest_type(value, known))}
    if not types:
        hint = f"name them after types of the model: {', '.join(known)}"
        raise ServeError(
            "BX814", "no label matches a type of the model", where=f"<Labels> {labels.get('name')!r}", hint=hint
        )
    relations = tuple(value for tag in root.iter("Relation") if (value := tag.get("value")))
    unknown = tuple(value for value in values if value not in types)
    return Interface(name, _key(text), labels.get("name", ""), types, unknown, relations)


def nearest_type(label: str, known: Iterable[str]) -> str | None:
    """The known name that a label means: the same but for case and punctuation, a synonym, or the most similar one if it is similar enough.

    >>> nearest_type("Gene_or_protein", ["gene", "cell type"]), nearest_type("CellType", ["gene", "cell type"]), nearest_type("Person", ["gene"])
    ('gene', 'cell type', None)
    """
    known = list(known)
    plain = _plain(label)
    for name in known:
        if _plain(name) in (plain, plain.removesuffix("s")):
            return name
    if SYNONYMS.get(plain) in known:
        return SYNONYMS[plain]
    best = max(known, key=lambda name: _likeness(label, name), default=None)
    return best if best is not None and _likeness(label, best) >= ALIKE else None


def _likeness(label: str, name: str) -> float:
    """How similar two names are; a name that is a word of the label is similar enough."""
    part = ALIKE if name.lower() in re.findall(r"[^\W_]+", label.lower()) else 0.0
    return max(part, SequenceMatcher(None, _plain(label), _plain(name)).ratio())


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _key(tag: Any) -> str:
    value: str = tag.get("value", "")
    return value[1:] if value.startswith("$") else ""


def _parsed(config: str) -> Any:
    from lxml import etree

    if len(config) > LONGEST or "<!" in config.replace("<!--", ""):
        raise ServeError("BX814", "the labelling interface is too long, or has a DOCTYPE", hint=HINT)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    try:
        return etree.fromstring(config.encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ServeError("BX814", f"the labelling interface is not XML: {error}", hint=HINT) from None
