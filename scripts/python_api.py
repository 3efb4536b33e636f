"""The page of the Python API, made from signatures and docstrings: a part of scripts/docs.py."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from typing import Any, ForwardRef

import biomux
from biomux import document, errors, formats
from biomux.scoring import labels, numbers, relations, significance, spans
from biomux.tagger import QueryOptions
from biomux.training.trained_run import TrainedRun

INTERNAL = {"Tagger.annotate_query", "Tagger.tag", "Tagger.of", "Tagger.of_tasks"}
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


STABILITY = """## Stability

What this page lists is public, and so are the [commands](commands.md), the [error codes](errors.md), [Biomux JSON lines](jsonl.md) and [bundles](bundles.md). Tests hold
the names in `biomux.__all__` and their parameters.

Before a public name goes or changes its meaning, it works for at least one minor release with a `DeprecationWarning` that names what to use instead, and the changelog lists
it under *Changed*. Until 1.0 a minor release (0.2, 0.3) may then break it; from 1.0 on only a major one. Parameters after the first are keyword-only, so new ones may appear among
them at any time. Answers are not a part of this promise: they change with the model and the engine, and the changelog lists that as *Changed answers*.
"""


def page(head: str) -> str:
    """What programs import, by subject, below a page's first line."""
    intro = (
        "Import what is listed here; other modules may change between releases. All of it is typed. `import biomux` is enough: `biomux.formats`, "
        "`biomux.corpora` and `biomux.scoring` are loaded when they are first used. [From Python](../how-to/python.md) shows how it is used.\n"
    )
    parts = [f"{head}\n# Python API\n\n{intro}", "## Annotate\n", *_function("biomux.load", biomux.load)]
    parts += _class("biomux.Tagger", biomux.Tagger)
    parts += ["#### Options\n", _docstring(QueryOptions.__doc__), _options()]
    parts += _class("biomux.SkipWarning", biomux.SkipWarning)
    parts += _function("biomux.annotator", biomux.annotator)
    parts += ["## Documents\n", _docstring(document.__doc__)]
    for name in ("Document", "Entity", "Span", "Relation", "Argument", "Passage", "Label", "Question", "Answer"):
        parts += _class(f"biomux.{name}", getattr(biomux, name))
    parts.append("## Data frames\n")
    for name in ("to_dataframe", "annotate_frame"):
        parts += _function(f"biomux.{name}", getattr(biomux, name))
    parts += ["## Formats\n", "### `biomux.formats`\n", _docstring(formats.__doc__)]
    for name in ("read", "write"):
        parts += _function(f"biomux.{name}", getattr(biomux, name))
    for name in ("names", "get"):
        parts += _function(f"biomux.formats.{name}", getattr(formats, name))
    for name in ("Format", "Loss"):
        parts += _class(f"biomux.formats.{name}", getattr(formats, name))
    parts += _class("biomux.LossWarning", biomux.LossWarning)
    parts += ["## Train\n", *_function("biomux.train", biomux.train)]
    parts += _class("biomux.training.trained_run.TrainedRun", TrainedRun)
    parts += ["## Corpora\n", "### `biomux.corpora`\n", _docstring(biomux.corpora.__doc__)]
    parts += ["## Scores\n", "[Scores](scores.md) explains the definitions.\n"]
    parts += ["### `biomux.scoring`\n", _docstring(biomux.scoring.__doc__)]
    for function in SCORING:
        parts += _function(f"{function.__module__}.{function.__name__}", function)
    parts += ["## Errors\n", *_class("biomux.BiomuxError", biomux.BiomuxError)]
    parts.append(f"```text\n{_tree_of(errors.__doc__)}\n```\n\n[Errors](errors.md) lists the codes.\n")
    for name in biomux.__all__:
        if name.endswith("Error") and name != "BiomuxError":
            parts += _class(f"biomux.{name}", getattr(biomux, name))
    parts.append(STABILITY)
    return "\n".join(parts)


def _options() -> str:
    """The keywords that a call may have, with their types."""
    rows = "".join(
        f"| `{name}` | `{_annotation(kind).replace('|', chr(92) + '|')}` |\n"
        for name, kind in QueryOptions.__annotations__.items()
    )
    return f"| option | type |\n|---|---|\n{rows}"


def _function(name: str, function: Any) -> list[str]:
    return [f"### `{name}`\n", f"```text\n{name}{_signature(function)}\n```\n", _docstring(function.__doc__)]


def _class(name: str, kind: type[Any]) -> list[str]:
    parts = [f"### `{name}`\n"]
    if is_dataclass(kind) and kind is not biomux.Tagger:  # one that users make themselves
        parts.append(f"```text\n{name}{_signature(kind)}\n```\n")
    parts.append(_docstring(kind.__doc__))
    for member, value in _members(kind).items():
        title = f"{kind.__name__}.{member}"
        if (member.startswith("_") and member != "__call__") or title in INTERNAL:
            continue
        called = kind.__name__.lower() + ("" if member == "__call__" else f".{member}")
        if isinstance(value, property):
            parts += [f"#### `{title}`\n", _docstring(value.__doc__)]
        elif isinstance(value, classmethod):
            made = getattr(kind, member)
            parts += [f"#### `{title}`\n", f"```text\n{title}{_signature(made)}\n```\n", _docstring(made.__doc__)]
        elif inspect.isfunction(value):
            parts += [f"#### `{title}`\n", f"```text\n{called}{_signature(value)}\n```\n", _docstring(value.__doc__)]
    return parts


def _members(kind: type[Any]) -> dict[str, Any]:
    """What a class and those of Biomux that it is made from define, its own first."""
    members: dict[str, Any] = {}
    for one in kind.__mro__:
        if one.__module__.startswith("biomux."):
            members = {**members, **{name: value for name, value in vars(one).items() if name not in members}}
    return members


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
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
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
