"""The house as drawn: who may import whom."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import biomux

ROOT = Path(biomux.__file__).parent
PAGE = Path(__file__).parent.parent / "CONTRIBUTING.md"

MAY_IMPORT: dict[str, set[str]] = {
    "error_codes": set(),
    "errors": {"error_codes"},
    "plugins": {"errors"},
    "early_interrupt": set(),
    "privacy": set(),
    "files": set(),
    "values": {"errors"},
    "validation": {"errors"},
    "document": {"errors", "values"},
    "text": {"errors", "document"},
    "formats": {"errors", "files", "document", "text"},
    "corpora": {"errors", "validation", "document", "text", "formats"},
    "scoring": {"errors", "document", "text"},
    "tasks": {"errors", "plugins", "document", "text", "scoring"},
    "engine": {"errors", "plugins", "document", "text", "tasks", "scoring"},
    "tagger": {"errors", "document", "engine"},
    "frames": {"errors", "document", "tagger"},
    "spacy_component": {"errors", "document", "engine", "tagger"},
    "annotate": {"errors", "files", "document", "text", "formats", "tasks", "engine", "scoring", "tagger"},
    "recipes": {"errors", "plugins", "validation", "document", "tasks", "corpora", "formats"},
    "training": {
        "errors",
        "files",
        "plugins",
        "document",
        "text",
        "formats",
        "tasks",
        "scoring",
        "corpora",
        "engine",
        "recipes",
        "tagger",
    },
    "evaluation": {"errors", "document", "text", "formats", "tasks", "scoring", "corpora", "engine", "recipes"},
    "serve": {"errors", "validation", "document", "text", "formats", "tasks", "engine", "annotate", "scoring"},
    "studies": {
        *("errors", "document", "formats", "tasks", "scoring", "corpora"),
        *("engine", "recipes", "training", "evaluation"),
    },
    "report": {
        *("errors", "document", "text", "formats", "tasks", "scoring", "corpora"),
        *("engine", "annotate", "recipes", "evaluation", "studies"),
    },
}
"""Room → rooms that it may import. `cli` and the package itself may import all (the package: `training` only lazily)."""


TRAINS = {ROOT / "studies" / "run.py", ROOT / "studies" / "estimate.py"}
"""Modules outside `training` that train, and so load torch."""


BY_SPACY = ROOT / "spacy_component.py"
"""Imported by spaCy alone, which may load torch if that is there."""


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Rooms of Biomux that a module names in an import, at its top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    rooms = {path.stem if path.is_file() else path.name for path in ROOT.iterdir() if not path.name.startswith("_")}
    return {name.split(".")[1] for name in names if name.startswith("biomux.") and name.split(".")[1] in rooms}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_rooms_below_it(path: Path) -> None:
    own = room(path)
    if own in {"__init__", "__main__", "cli"}:
        return
    assert imported(path) - {own} <= MAY_IMPORT[own]


def test_rooms_have_no_cycle() -> None:
    order: list[str] = []
    waiting = dict(MAY_IMPORT)
    while waiting:
        free = [name for name, below in waiting.items() if below <= set(order)]
        assert free, f"a cycle among {sorted(waiting)}"
        order += free
        for name in free:
            del waiting[name]


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the source tree, not the installed package")
def test_arrows_point_upwards_in_the_tree_of_the_contributors_page() -> None:
    drawn = re.findall(r"^[├└]── (\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders <= set(drawn)
    for place, name in enumerate(drawn):
        below = set(drawn[place:]) & MAY_IMPORT.get(name, set())
        assert not below, f"{name} may import {below}, which stand below it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_torch_lives_in_training_only(path: Path) -> None:
    if room(path) == "training":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.split(".")[0] for name in names} & {"torch", "transformers", "accelerate"}


def test_the_running_half_loads_without_torch() -> None:
    names = [
        ".".join(("biomux", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for path in modules()
        if room(path) not in {"training", "__main__"} and path not in {*TRAINS, BY_SPACY}
    ]
    code = (
        "import sys, importlib\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
        "print('torch' in sys.modules or 'transformers' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_importing_biomux_is_light() -> None:
    code = "import sys, biomux; print(sorted({'numpy', 'onnxruntime', 'lxml', 'pydantic', 'rich', 'typer'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert not {name: found for name, found in places.items() if len(found) > 1}
