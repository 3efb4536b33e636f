"""Are the best-known names found? A hundred of each of five types, each in three short frames, by each of several models.

    python -m benchmarks.known_names                       # the bundle that comes with Biomux; from the root of the project
    python -m benchmarks.known_names default runs/student  # beside others
    python -m benchmarks.known_names --missed 20           # and names that were not found

A name is found if an entity of its type has exactly its characters; "other types" are names that are an entity of one of the four other types instead.
The names stand in `known_names.yaml`; they were written from general knowledge, so some of them are also in the corpora.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

import biomux
from benchmarks.contest import Table, describe, report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAMES = Path(__file__).with_name("known_names.yaml")


@dataclass(frozen=True, slots=True)
class Case:
    """A name in a frame."""

    type: str
    name: str
    text: str
    start: int


def cases(content: Mapping[str, Sequence[str]]) -> list[Case]:
    """Every name in every frame."""
    return [
        Case(type_, str(name), frame.format(name=name), frame.index("{name}"))
        for type_, names in content.items()
        if type_ != "frames"
        for name in names
        for frame in content["frames"]
    ]


def count(tagger: biomux.Tagger, asked: Sequence[Case]) -> dict[str, tuple[int, int, int, list[str]]]:
    """By type: how many cases there are, how many are found, how many are of another type instead; and the texts that are not found."""
    types = tuple(dict.fromkeys(case.type for case in asked))
    counted: dict[str, tuple[int, int, int, list[str]]] = dict.fromkeys(types, (0, 0, 0, []))
    documents = tagger.pipe([case.text for case in asked], types=types)
    for case, document in zip(asked, documents, strict=True):
        found = {
            span.type for span in document.spans if (span.start, span.end) == (case.start, case.start + len(case.name))
        }
        number, right, wrong, missed = counted[case.type]
        if case.type not in found:
            missed = [*missed, case.text]
        counted[case.type] = (
            number + 1,
            right + (case.type in found),
            wrong + bool(found and case.type not in found),
            missed,
        )
    return counted


def main() -> None:
    """Ask each model, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["default"], help="bundles or runs; default: the bundle of Biomux")
    parser.add_argument("--missed", type=int, default=0, help="list so many texts of each type whose name is not found")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there as well")
    given = parser.parse_args()
    described = describe()
    asked = cases(yaml.safe_load(NAMES.read_text(encoding="utf-8")))
    rows: list[tuple[Any, ...]] = []
    for model in given.models:
        for type_, (number, right, wrong, missed) in count(biomux.load(model), asked).items():
            rows.append((Path(model).name, type_, number, right, f"{100 * right / number:.1f}", wrong))
            for text in missed[: given.missed]:
                print(f"{Path(model).name}: {type_} missed: {text}")
    columns = ("model", "type", "cases", "found", "% found", "other type instead")
    report([Table("Well-known names", columns, tuple(rows))], json_file=given.json, described=described)


if __name__ == "__main__":
    main()
