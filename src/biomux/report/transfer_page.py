"""A transfer study's report as sections: advice first, then graph, heat map, all edges, and the map of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.report import transfer_pictures as pictures
from biomux.report.blocks import Grid, Page, PageSection, Picture, Prose
from biomux.report.study_page import foot, last_sections, said, tested

if TYPE_CHECKING:
    from collections.abc import Mapping

    from biomux.report.blocks import Block


def page(found: Mapping[str, Any]) -> Page:
    """The page of a report.json of kind "transfer"."""
    tasks, edges = found["tasks"], found["edges"]
    blocks: list[Block] = [Prose(sentence) for sentence in found["advice"]]
    sections = [
        PageSection("What to train together", "advice", tuple(blocks)),
        PageSection(
            "Who helps whom",
            "graph",
            (
                Picture(
                    "transfer-graph",
                    pictures.graph(tasks, edges, title="What a task does to another"),
                    "Directed graph of tasks",
                ),
            ),
        ),
        PageSection(
            "Gains",
            "gains",
            (
                Picture(
                    "transfer-heat-map", pictures.heat_map(tasks, edges, title="Points gained"), "Heat map of gains"
                ),
                _edges(found),
            ),
        ),
        PageSection("Tasks alone", "singles", (_singles(found),)),
    ]
    if found.get("map"):
        sections.append(map_section(found["map"]))
    return Page(found["name"], found["about"], (*sections, *last_sections(found)), foot(found))


def map_section(found: Mapping[str, Any]) -> PageSection:
    """The map of tasks, its method, and the similarities that it is drawn from."""
    names = list(found["points"])
    points = {name: (float(x), float(y)) for name, (x, y) in found["points"].items()}
    drawing = pictures.task_map(points, kinds=found["kinds"], shares=found["shares"], title="Map of tasks")
    rows = tuple((name, *(f"{found['similarity'][name][partner]:.3f}" for partner in names)) for name in names)
    return PageSection(
        "Map of tasks",
        "map",
        (
            Picture("task-map", drawing, "Tasks in two dimensions"),
            Prose(found["method"], note=True),
            Grid("cosine of the tasks' vectors", ("", *names), rows),
        ),
    )


def _edges(report: Mapping[str, Any]) -> Grid:
    rows = []
    for edge in report["edges"]:
        seeds = said_gains(edge)
        figures = tested({**edge, "difference": edge["gain"]}, report["alpha"])[1:5] if "p_holm" in edge else ("",) * 4
        rows.append((f"{edge['source']} → {edge['target']}", seeds, *figures, edge["verdict"]))
    return Grid(
        "every edge, over documents",
        ("edge", "gain", "interval", "p bootstrap", "p randomisation", "p Holm", ""),
        tuple(rows),
    )


def said_gains(edge: Mapping[str, Any]) -> str:
    """The mean gain in points, and that of each seed where there are several."""
    gains = list(edge["seeds"].values())
    mean = f"{100 * edge['gain']:+.2f}"
    return mean if len(gains) < 2 else f"{mean} ({', '.join(f'{100 * gain:+.2f}' for gain in gains)})"


def _singles(report: Mapping[str, Any]) -> Grid:
    rows = tuple(
        (
            task["name"],
            task["kind"],
            task["corpus"],
            f"{task['documents']:,}",
            task["main"],
            said(list(task["seeds"].values())),
        )
        for task in report["tasks"]
    )
    return Grid("", ("task", "kind", "corpus", f"documents of {report['split']}", "figure", "alone"), rows)
