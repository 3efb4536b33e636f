"""Which task helps which: for tasks s and t, does t get better when it is trained with s? (Paper B's Figure 2, paper D's Figure 5.)

The edge s → t is the figure of t trained with s minus that of t alone, on the same documents, with the same seeds. It "helps" or "hurts" where
paired bootstrap and approximate randomisation over documents both find that the difference is not chance, corrected by Holm over all edges; else it
has "no effect" that these documents can show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.errors import ScoreError
from biomux.scoring.significance import Comparison, holm
from biomux.studies.findings import both, head, test, tested

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.studies.findings import Found, ScoredMember

HELPS, HURTS, NOTHING = "helps", "hurts", "no effect"


def report(found: Found, *, map: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Singles, edges and advice; plain JSON. `map` is what `biomux.studies.task_map` makes of the tasks' vectors."""
    members = found.manifest["members"]
    tasks = [next(iter(member["tasks"])) for member in members if len(member["tasks"]) == 1]
    tasks = [name for name in dict.fromkeys(tasks) if name in found.tasks()]
    if not tasks:
        raise ScoreError(
            "BX704", "no task of the study has been trained alone yet", where=str(found.folder), hint="resume the study"
        )
    systems = {frozenset(member["tasks"]): member["system"] for member in members}
    kinds = {name: kind for member in members for name, kind in member["kinds"].items()}
    singles = {name: found.of(name, systems[frozenset({name})]) for name in tasks}
    pairs: list[tuple[dict[str, Any], Comparison | None]] = []
    remarks: list[str] = []
    for source in tasks:
        for target in tasks:
            pair = frozenset({source, target})
            if source == target or pair not in systems:
                continue
            together = found.of(target, systems[pair])
            seeds = [seed for seed in singles[target] if seed in together]
            if not seeds:
                remarks.append(f"{source} → {target} is not known: a run is missing")
                continue
            result = test(singles[target], together, found.manifest)
            if result is None:
                remarks.append(f"{source} → {target} is not tested: its figure is not computed from documents")
            elif result[1]:
                remarks.append(f"{source} → {target}: {result[1]}")
            gains = {str(seed): together[seed].value - singles[target][seed].value for seed in seeds}
            labels = {"source": source, "target": target, "gain": _mean(gains.values()), "seeds": gains}
            pairs.append((labels, result[0] if result else None))
    corrected = iter(holm([both(comparison) for _, comparison in pairs if comparison is not None]))
    edges = []
    for labels, comparison in pairs:
        edge = dict(labels) if comparison is None else {**labels, **tested(comparison), "p_holm": next(corrected)}
        edge["verdict"] = _verdict(edge, found.manifest["alpha"])
        edges.append(edge)
    heading = head(found)
    return {
        **heading,
        "tasks": [_single(name, kinds[name], singles[name]) for name in tasks],
        "edges": edges,
        "advice": advice(tasks, edges, seeds=len(found.manifest["study"].get("seeds", ())) or 1),
        "map": dict(map) if map else None,
        "remarks": remarks,
    }


def advice(tasks: Sequence[str], edges: Sequence[Mapping[str, Any]], *, seeds: int) -> list[str]:
    """What to train together, in plain sentences."""
    sentences = []
    verdicts = {(edge["source"], edge["target"]): edge for edge in edges}
    for target in tasks:
        incoming = [edge for edge in edges if edge["target"] == target]
        helps = sorted((edge for edge in incoming if edge["verdict"] == HELPS), key=lambda edge: -edge["gain"])
        hurts = sorted((edge for edge in incoming if edge["verdict"] == HURTS), key=lambda edge: edge["gain"])
        parts = []
        if helps:
            parts.append(f"gets better with {_listed(helps)}")
        if hurts:
            parts.append(f"gets worse with {_listed(hurts)}")
        none = (
            "is best trained alone"
            if hurts and not helps
            else "shows no difference with any other task"
            if not hurts
            else ""
        )
        sentences.append(f"{target} {' and '.join(parts) or none}.")
    groups = together(tasks, verdicts)
    several = [group for group in groups if len(group) > 1]
    sentences += [f"Train together: {', '.join(group)}." for group in several]
    alone = [group[0] for group in groups if len(group) == 1]
    if alone and several:
        sentences.append(f"There is no evidence for adding {', '.join(alone)} to them.")
    if not several:
        sentences.append(
            "No two tasks were shown to help each other: one model for all saves time, but no gain in accuracy was shown."
        )
    sentences.append(
        "Only pairs were trained: what three tasks do together may differ."
        + (" Only one seed was used: small gains may differ with another." if seeds < 2 else "")
    )
    return sentences


def together(tasks: Sequence[str], edges: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[list[str]]:
    """Groups of tasks: joined where one helps another, never where one hurts another; the strongest pairs first.

    >>> edges = {("a", "b"): {"verdict": "helps", "gain": 0.02}, ("b", "a"): {"verdict": "no effect", "gain": 0.0}}
    >>> together(["a", "b", "c"], edges)
    [['a', 'b'], ['c']]
    """
    groups = [[name] for name in tasks]

    def ways(left: str, right: str) -> list[Mapping[str, Any]]:
        return [edges[pair] for pair in ((left, right), (right, left)) if pair in edges]

    helpful = {
        (left, right): sum(edge["gain"] for edge in ways(left, right))
        for place, left in enumerate(tasks)
        for right in tasks[place + 1 :]
        if any(edge["verdict"] == HELPS for edge in ways(left, right))
    }
    for left, right in sorted(helpful, key=lambda pair: -helpful[pair]):
        first = next(group for group in groups if left in group)
        second = next(group for group in groups if right in group)
        fits = all(edge["verdict"] != HURTS for task in first for partner in second for edge in ways(task, partner))
        if first is not second and fits:
            groups.remove(second)
            first.extend(second)
    return [sorted(group, key=list(tasks).index) for group in groups]


def _verdict(edge: Mapping[str, Any], alpha: float) -> str:
    if "p_holm" not in edge or edge["p_holm"] >= alpha or edge["gain"] == 0:
        return NOTHING
    return HELPS if edge["gain"] > 0 else HURTS


def _single(name: str, kind: str, seeds: Mapping[int, ScoredMember]) -> dict[str, Any]:
    first = next(iter(seeds.values()))
    return {
        "name": name,
        "kind": kind,
        "corpus": first.corpus,
        "main": first.main,
        "value": _mean(member.value for member in seeds.values()),
        "seeds": {str(seed): member.value for seed, member in seeds.items()},
        "documents": first.documents,
    }


def _listed(edges: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{edge['source']} ({100 * edge['gain']:+.2f})" for edge in edges)


def _mean(values: Any) -> float:
    numbers = list(values)
    return float(sum(numbers) / len(numbers))
