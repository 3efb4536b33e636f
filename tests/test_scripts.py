"""The contributor's files: the workflow, the hooks, the release script and the script of mutants do what they state."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="needs the repository, not a package")


def script(name: str) -> ModuleType:
    described = importlib.util.spec_from_file_location(f"script_{name}", ROOT / "scripts" / f"{name}.py")
    assert described
    assert described.loader
    module = importlib.util.module_from_spec(described)
    sys.modules[described.name] = module
    described.loader.exec_module(module)
    return module


def test_the_workflow_runs_the_line_of_the_readme_on_three_pythons() -> None:
    job = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]["check"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"]
    assert re.search(
        r"^python3 -m venv \.venv-test .*scripts/check\.py$", (ROOT / "README.md").read_text(), re.MULTILINE
    )


def test_the_hooks_are_local_and_are_the_first_checks() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    entries = [hook["entry"].removeprefix("python -m ").removesuffix(" --fix") for hook in repository["hooks"]]
    assert entries == [" ".join(check[:2]) for check in script("check").CHECKS[:3]]


def release_tree(root: Path, *, version: str = "1.2.0", unreleased: str = "", released: str = "- New.\n") -> Path:
    (root / "src/biomux").mkdir(parents=True)
    (root / "src/biomux/__init__.py").write_text(f'__version__ = "{version}"\n')
    (root / "CHANGELOG.md").write_text(
        f"# Changelog\n\n## Unreleased\n\n{unreleased}\n## 1.2.0\n\n{released}\n## 1.1.0\n\n- Old.\n"
    )
    (root / "CITATION.cff").write_text("title: Biomux\nversion: 1.2.0\nlicense: MIT\n")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "one"],
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


def test_a_tree_that_is_ready_has_no_problems(tmp_path: Path) -> None:
    assert script("release").problems(release_tree(tmp_path)) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"version": "1.2.0.dev1"}, "must be three numbers"),
        ({"version": "1.3.0"}, "no entries under '## 1.3.0'"),
        ({"version": "1.1.0"}, "'version: 1.1.0'"),
        ({"released": ""}, "no entries under '## 1.2.0'"),
        ({"unreleased": "- More.\n"}, "still has entries under '## Unreleased'"),
    ],
)
def test_what_stands_in_the_way_of_a_release_is_listed(options: dict[str, str], problem: str, tmp_path: Path) -> None:
    assert problem in "\n".join(script("release").problems(release_tree(tmp_path, **options)))


def test_a_changed_tree_or_an_old_tag_stands_in_the_way(tmp_path: Path) -> None:
    release_tree(tmp_path)
    subprocess.run(["git", "tag", "v1.2.0"], cwd=tmp_path, check=True)
    (tmp_path / "new.txt").write_text("x")
    clean, tag = script("release").problems(tmp_path)
    assert "1 files differ" in clean
    assert "v1.2.0 already exists" in tag


SOURCE = '''"""A docstring with 1 < 2."""
from x import y

LIMIT: int = 3
__all__ = ["a" + "b"]


@decorated(slots=True)
def function(left: int | None, right: float = 0.5) -> bool:
    """1 + 1."""
    if not left and right <= 2:  # and so on
        return left[1:] == right or left is not None
    left += 1
    return all(a < b for a, b in zip(left, right, strict=True))
'''


def test_every_kind_of_mutant_is_found_and_nothing_else() -> None:
    mutants = script("mutants")
    finder = mutants._Finder("src/biomux/text/a.py", SOURCE)
    finder.visit(ast.parse(SOURCE))
    changes = [(mutant.line, SOURCE[mutant.begin : mutant.end], mutant.new) for mutant in finder.mutants]
    assert sorted(changes) == sorted(
        [
            *((4, "3", "(3 + 1)"), (4, "3", "(3 - 1)"), (9, "0.5", "(0.5 + 1)"), (9, "0.5", "(0.5 - 1)")),
            *((11, "not ", ""), (11, "and", "or"), (11, "<=", "<"), (11, "2", "(2 + 1)"), (11, "2", "(2 - 1)")),
            *((12, "1", ""), (12, "1", "(1 + 1)"), (12, "1", "(1 - 1)")),
            *((12, "==", "!="), (12, "or", "and"), (12, "is not", "is")),
            *((13, "+=", "-="), (13, "1", "(1 + 1)"), (13, "1", "(1 - 1)"), (14, "<", "<=")),
        ]
    )
    assert {mutant.line for mutant in finder.mutants if mutant.at_import} == {4, 9}
    for mutant in finder.mutants:
        ast.parse(mutant.apply(SOURCE))
        assert mutant.first <= mutant.line <= mutant.last


def test_a_sample_is_drawn_by_its_seed_and_grows_at_its_end() -> None:
    mutants = script("mutants")
    few, more = (mutants.draw(["text"], size=size, seed=3) for size in (3, 6))
    assert more[:3] == few
    assert mutants.draw(["text"], size=6, seed=4) != more
    assert {mutant.room for mutant in more} == {"text"}


def test_mutants_named_as_equivalent_give_a_reason() -> None:
    mutants = script("mutants")
    for (path, before, after), why in mutants.equivalents().items():
        assert (ROOT / path).is_file()
        assert before != after
        assert len(why) > 20


def test_the_workflow_runs_all_tutorials_in_a_fresh_environment() -> None:
    job = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]["tutorials"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["python scripts/tutorials.py"]
    tutorials = script("tutorials")
    for page in tutorials.PAGES.glob("*.md"):
        assert tutorials.blocks(page.read_text(encoding="utf-8")), page.name


def test_a_tutorial_is_run_from_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nsaid = 'Aspirin'\n```\n<!-- not run: takes minutes -->\n```sh\necho one > a.txt\necho two >> a.txt\n```\n"
        "```pycon\n>>> said\n'Aspirin'\n```\n```console\n$ cat a.txt\none\ntwo\n```\n<!-- not run: yours -->\n```sh\nfalse\n```\n"
    )
    monkeypatch.chdir(tmp_path)
    script("tutorials").run_page(page, tmp_path)


@pytest.mark.parametrize(
    "block",
    [
        "```python\nassert 1 == 2\n```\n",
        "```pycon\n>>> 1 + 1\n3\n```\n",
        "```sh\nfalse\ntrue\n```\n",
        "```console\n$ echo two\none\n```\n",
        "<!-- runs until the end of the page -->\n```sh\nbiomux serve --port no\n```\n",
    ],
)
def test_one_that_does_not_do_what_it_says_fails(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text(block)
    monkeypatch.chdir(tmp_path)
    with pytest.raises((AssertionError, RuntimeError, subprocess.CalledProcessError)):
        script("tutorials").run_page(tmp_path / "page.md", tmp_path)
