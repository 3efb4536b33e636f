"""The parts of benchmarks/ that do not measure: turns, tables, counting."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def contest() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_contest", ROOT / "contest.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_contestants_take_turns(contest: ModuleType) -> None:
    seen: list[str] = []
    clock = iter(range(1000))
    found = contest.alternate(
        {name: lambda name=name: seen.append(name) for name in "ab"}, seconds=0, least=4, clock=lambda: next(clock)
    )
    assert "".join(seen) == "ab" + "abba" * 2
    assert {name: one.runs for name, one in found.items()} == {"a": 4, "b": 4}
    assert found["a"].median == 1


def test_a_table_is_markdown_and_json(contest: ModuleType) -> None:
    table = contest.Table(
        "Speed", ("who", "rate", "ratio"), (("a|b", 12345.6, 1.0), ("c", None, 0.12345)), ("A note.",)
    )
    assert table.markdown() == (
        "### Speed\n\n| who | rate | ratio |\n| --- | ---: | ---: |\n| a\\|b | 12,346 | 1 |\n| c |  | 0.123 |\n\nA note.\n"
    )
    assert json.loads(json.dumps(table.to_json()))["rows"][1] == {"who": "c", "rate": None, "ratio": 0.12345}


def test_a_report_has_command_and_machine(contest: ModuleType, tmp_path: Path, capsys: Any) -> None:
    table = contest.Table("Speed", ("who",), (("a",),))
    contest.report([table], json_file=tmp_path / "out.json", described=contest.describe())
    printed = capsys.readouterr().out
    assert "python -m benchmarks." in printed
    assert "cores" in printed
    assert set(json.loads((tmp_path / "out.json").read_text())) == {"command", "machine", "tables"}


def test_every_benchmark_is_in_the_readme() -> None:
    told = (ROOT / "README.md").read_text(encoding="utf-8")
    scripts = [path for path in ROOT.glob("*.py") if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")]
    assert scripts
    assert [path.name for path in scripts if path.stem not in told] == []
