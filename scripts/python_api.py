"""The page of the Python API, made from signatures and docstrings: a part of scripts/docs.py."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from typing import Any

import biomux
from biomux import document, errors, formats
from biomux.engine.annotator import Annotator
from biomux.scoring import labels, numbers, relations, significance, spans
from biomux.training.trained_run import TrainedRun

INTERNAL = {"Annotator.annotate_query", "Annotator.tag"}
"""Members without an underscore that other packages of Biomux use, and nobody else should."""

SCORING = (
    spans.score,
    spans.score_each,
    relations.score,
    labels.score_labels,
    labels.score_sets,
    numbers.score_numbers,
    significance.compare_documents,
)


def page(head: str) -> str:
    """What programs import, by subject, below a page's first line."""
    intro = "Import what is listed here; other modules may change between releases. All of it is typed.\n"
    parts = [f"{head}\n# Python API\n\n{intro}", "## Annotate\n", *_function("biomux.load", biomux.load)]
    parts += _class("biomux.engine.annotator.Annotator", Annotator)
    parts += ["## Documents\n", _docstring(document.__doc__)]
    for name in ("Document", "Span", "Relation", "Argument", "Passage", "Label", "Question", "Answer"):
        parts += _class(f"biomux.{name}", getattr(biomux, name))
    parts += ["## Formats\n", _docstring(formats.__doc__)]
    for name in ("read", "write", "names", "get"):
        parts += _function(f"biomux.formats.{name}", getattr(formats, name))
    for name in ("Format", "Loss", "LossWarning"):
        parts += _class(f"biomux.formats.{name}", getattr(formats, name))
    parts += ["## Train\n", *_function("biomux.train", biomux.train)]
    parts += _class("biomux.training.trained_run.TrainedRun", TrainedRun)
    parts.append("## Scores\n\n[Scores](scores.md) explains the definitions.\n")
    for function in SCORING:
        parts += _function(f"{function.__module__}.{function.__name__}", function)
    parts += ["## Errors\n", *_class("biomux.BiomuxError", biomux.BiomuxError)]
    parts.append(f"```text\n{_tree_of(errors.__doc__)}\n```\n\n[Errors](errors.md) lists the codes.\n")
    return "\n".join(parts)


def _function(name: str, function: Any) -> list[str]:
    return [f"### `{name}`\n", f"```text\n{name}{_signature(function)}\n```\n", _docstring(function.__doc__)]


def _class(name: str, kind: type[Any]) -> list[str]:
    parts = [f"### `{name}`\n"]
    if is_dataclass(kind) and kind is not Annotator:  # one that users make themselves
        parts.append(f"```text\n{name}{_signature(kind)}\n```\n")
    parts.append(_docstring(kind.__doc__))
    for member, value in vars(kind).items():
        title = f"{kind.__name__}.{member}"
        if (member.startswith("_") and member != "__call__") or title in INTERNAL:
            continue
        if isinstance(value, property):
            parts += [f"#### `{title}`\n", _docstring(value.__doc__)]
        elif inspect.isfunction(value):
            called = kind.__name__.lower() + ("" if member == "__call__" else f".{member}")
            parts += [f"#### `{title}`\n", f"```text\n{called}{_signature(value)}\n```\n", _docstring(value.__doc__)]
    return parts


def _signature(function: Any) -> str:
    """Parameters and result; one a line where they are many."""
    signature = inspect.signature(function)
    parameters = [one for name, one in signature.parameters.items() if name != "self"]
    shown: list[str] = []
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        stars: dict[Any, str] = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}
        star = stars.get(one.kind, "")
        annotation = "" if one.annotation is one.empty else f": {_annotation(one.annotation)}"
        shown.append(
            f"{star}{one.name}{annotation}" + ("" if one.default is one.empty else f" = {_value_of(one.default)}")
        )
    result = signature.return_annotation
    arrow = "" if inspect.isclass(function) or result is signature.empty else f" -> {_annotation(result)}"
    line = f"({', '.join(shown)}){arrow}"
    return line if len(line) < 90 else "(\n" + "".join(f"    {one},\n" for one in shown) + f"){arrow}"


def _annotation(annotation: Any) -> str:
    return annotation.strip("'\"") if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _value_of(default: Any) -> str:
    """A default as one would write it; a dataclass's factory as what it makes."""
    return "{}" if "factory" in repr(default) else getattr(default, "__name__", repr(default))


def _docstring(text: str | None) -> str:
    """A docstring as Markdown: examples become blocks of code, and what only doctest needs is left out."""
    blocks = []
    for block in inspect.cleandoc(text or "").split("\n\n"):
        if block.startswith(">>> "):
            block = f"```pycon\n{re.sub(r' *# doctest: .*', '', block)}\n```"
        elif block.startswith("    "):
            block = f"```text\n{block}\n```"
        blocks.append(block)
    return "\n\n".join(blocks) + "\n"


def _tree_of(text: str | None) -> str:
    """The indented block of a docstring."""
    block = next(block for block in (text or "").split("\n\n") if block.startswith("    "))
    return inspect.cleandoc(block)
