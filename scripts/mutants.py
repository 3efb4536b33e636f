"""Measure whether the tests notice small faults: change one operator or constant of the source, and see whether a test fails.

    python scripts/mutants.py --sample 120                       # over the rooms that decide answers; about 25 minutes
    python scripts/mutants.py --rooms text tasks --minutes 10    # stops in time; the same command resumes
    python scripts/mutants.py --sample 120 --retry               # after writing tests: run the survivors again
    python scripts/mutants.py --sample 120 --report              # only print what is known

Mutants are drawn by a seed from all places where a comparison, a boolean or arithmetic operator, a number, True or False, a bound of a
slice or a `not` can be changed. Each is applied in a copy of the tree and meets only its own room's tests (tests/ROOM), and the
examples in docstrings, first those that execute its line. Annotations, decorators, `__all__`, `if TYPE_CHECKING` and `strict=` of zip are left alone. Survivors that no test could
notice are listed in scripts/equivalent_mutants.yaml with the reason, and are counted apart.

Needs a system that can fork (Linux, macOS) and pytest-cov. Results are JSON lines, one mutant a line.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("annotate", "corpora", "engine", "formats", "scoring", "tasks", "text", "training")
DECIDING = ("engine", "scoring", "tasks", "text")
"""The rooms that decide answers; drawn from unless others are named."""

TESTS = {"engine": ("tests/engine", "tests/attacks")}
"""The tests of a room, where they are not only tests/ROOM: attacks are made on the reader of bundles."""

DOCTESTS = "tests/test_doctests.py"
"""Runs the examples in all docstrings; those of a room are among its tests."""

EQUIVALENT = ROOT / "scripts" / "equivalent_mutants.yaml"
OUTPUT = "output.txt"
PRELOADED = ("numpy", "onnxruntime", "tokenizers", "torch", "transformers", "hypothesis", "scipy.stats", "pyarrow")
"""Imported once, before the fork, so that a mutant takes a second and not twenty. Nothing of Biomux may be among them."""

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
COMPARISONS |= {"is": "is not", "is not": "is"}
ARITHMETIC = {"+": "-", "-": "+", "*": "//", "/": "*", "//": "*", "%": "*", "**": "*", "|": "&", "&": "|"}


@dataclass(frozen=True)
class Mutant:
    """One change of one place. `begin` and `end` are characters of the file; `first` and `last` the lines of its statement."""

    path: str
    line: int
    begin: int
    end: int
    new: str
    first: int
    last: int
    at_import: bool
    digest: str

    @property
    def room(self) -> str:
        return Path(self.path).parts[2]

    @property
    def key(self) -> str:
        return f"{self.path}:{self.begin}-{self.end}:{self.new}:{self.digest}"

    def apply(self, source: str) -> str:
        return source[: self.begin] + self.new + source[self.end :]


class _Finder(ast.NodeVisitor):
    """Collects the places of one file."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        self.digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        self.starts = [0]
        self.lines = source.splitlines(keepends=True)
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.mutants: list[Mutant] = []
        self.statement: ast.stmt | None = None
        self.depth = 0

    def place(self, line: int, column: int) -> int:
        """Where a node begins, in characters; `ast` counts columns in bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def begin(self, node: ast.expr) -> int:
        return self.place(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        return self.place(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def add(self, begin: int, end: int, new: str) -> None:
        assert self.statement
        body = getattr(self.statement, "body", None)
        first, last = self.statement.lineno, self.statement.end_lineno or self.statement.lineno
        if isinstance(body, list) and body:
            last = max(first, body[0].lineno - 1)
        line = self.source.count("\n", 0, begin) + 1
        self.mutants.append(
            Mutant(self.path, line, begin, end, new, first, last, not self.depth, self.digest),
        )

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Change the operator that stands between two operands."""
        gap = self.source[self.end(left) : self.begin(right)]
        pattern = rf"\b{old.replace(' ', chr(92) + 's+')}\b" if old[0].isalpha() else re.escape(old)
        if place := re.search(pattern, re.sub(r"#.*", lambda comment: " " * len(comment[0]), gap)):
            self.add(self.end(left) + place.start(), self.end(left) + place.end(), new)

    def visit(self, node: ast.AST) -> None:
        outer = self.statement
        if isinstance(node, ast.stmt):
            self.statement = node
        super().visit(node)
        self.statement = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default:
                self.visit(default)
        self.depth += 1
        for part in node.body:
            self.visit(part)
        self.depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  the visitor's name for it

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.body:
            self.visit(part)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave f-strings alone: Python 3.11 does not know the places inside them."""

    def visit_Compare(self, node: ast.Compare) -> None:
        names = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
        names |= {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            old = names[type(operator)]
            self.between(left, right, old, COMPARISONS[old])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, old, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if old := _arithmetic(node.op):
            self.between(node.left, node.right, old, ARITHMETIC[old])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if old := _arithmetic(node.op):
            self.between(node.target, node.value, f"{old}=", f"{ARITHMETIC[old]}=")
        self.visit(node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            begin = self.begin(node)
            space = re.match(r"not\s*", self.source[begin:])
            assert space
            self.add(begin, begin + space.end(), "")
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound:
                self.add(self.begin(bound), self.end(bound), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(self.begin(node), self.end(node), str(not node.value))
        elif isinstance(node.value, int | float):
            for change in (1, -1):
                self.add(self.begin(node), self.end(node), f"({node.value} {'+' if change > 0 else '-'} 1)")


def _arithmetic(operator: ast.operator) -> str | None:
    names = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}
    return (names | {ast.BitOr: "|", ast.BitAnd: "&"}).get(type(operator))


def draw(rooms: list[str], *, size: int, seed: int) -> list[Mutant]:
    """A sample over the rooms, every mutant as likely as any other; a larger sample begins with the smaller one."""
    every: list[Mutant] = []
    for room in sorted(rooms):
        for path in sorted((ROOT / "src" / "biomux" / room).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            finder = _Finder(str(path.relative_to(ROOT)), source)
            finder.visit(ast.parse(source))
            every += finder.mutants
    random.Random(seed).shuffle(every)
    return list(islice(filter(_is_code, every), size))


def _is_code(mutant: Mutant) -> bool:
    """Whether the changed file can be compiled and says something else than before."""
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    try:
        return ast.dump(ast.parse(mutant.apply(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


@dataclass(frozen=True)
class Coverage:
    """Which tests of a room execute which lines of it."""

    lines: dict[str, dict[int, list[str]]]
    tests: list[str]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests that execute a mutant; those of its file where it is executed at import."""
        lines = self.lines.get(mutant.path, {})
        if mutant.at_import:
            return list(dict.fromkeys(test for tests in lines.values() for test in tests))
        here = (test for line in range(mutant.first, mutant.last + 1) for test in lines.get(line, ()))
        return list(dict.fromkeys(here))


def tests_of(room: str) -> list[str]:
    """The files and folders of a room's tests."""
    return [*TESTS.get(room, (f"tests/{room}",)), DOCTESTS]


def cover(copy: Path, room: str, folder: Path, *, seconds: int) -> Coverage:
    """Run a room's tests once, unchanged; they must pass. What they cover is kept in a folder for as long as nothing changes."""
    from coverage import CoverageData

    tests = tests_of(room)
    data = folder / f"{room}-{_digest(copy, tests)}.coverage"
    if not data.is_file():
        partial = copy / ".coverage.partial"
        os.environ["COVERAGE_FILE"] = str(partial)
        covering = ["--cov", f"src/biomux/{room}", "--cov-context", "test", "--cov-report", ""]
        if _pytest(copy, [*tests, *covering], seconds=5 * seconds) != 0:
            sys.exit(f"the tests of {room} fail without any mutant:\n{(copy / OUTPUT).read_text()[-2000:]}")
        shutil.copy(partial, data)
    measured = CoverageData(str(data))
    measured.read()
    contexts = sorted(context for context in measured.measured_contexts() if context)
    in_file: dict[str, dict[str, None]] = {}
    for context in contexts:
        in_file.setdefault(context.partition("::")[0], {})[context.rpartition("|")[0]] = None
    lines: dict[str, dict[int, list[str]]] = {}
    for file in measured.measured_files():
        by_line = lines.setdefault(file[file.index("src/biomux/") :], {})
        for line, found in measured.contexts_by_lineno(file).items():
            by_line[line] = tests_here = []
            for context in sorted(found):
                test, _, phase = context.rpartition("|")
                if phase == "setup":  # a fixture may serve all tests of its file, but runs for the first only
                    tests_here += [other for other in in_file[test.partition("::")[0]] if other not in tests_here]
                elif test and test not in tests_here:
                    tests_here.append(test)
    return Coverage(lines, sorted({context.rpartition("|")[0] for context in contexts}))


def _digest(copy: Path, tests: list[str]) -> str:
    """A name for the source and a room's tests as they are now."""
    digest = hashlib.sha256()
    for place in ("src/biomux", *tests):
        for path in sorted((copy / place).rglob("*.py")) or [copy / place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _environment(copy: Path) -> dict[str, str]:
    hushed = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **hushed, "TOKENIZERS_PARALLELISM": "false"}


def run(copy: Path, mutant: Mutant, tests: list[str], *, seconds: int) -> tuple[str, str]:
    """Put a mutant to tests. Gives killed, survived or slow, and which test failed."""
    target = copy / mutant.path
    source = target.read_text(encoding="utf-8")
    target.write_text(mutant.apply(source), encoding="utf-8")
    try:
        code = _pytest(copy, ["-x", *tests], seconds=seconds)
    finally:
        target.write_text(source, encoding="utf-8")
    written = (copy / OUTPUT).read_text(encoding="utf-8", errors="replace").splitlines()
    reason = next((line for line in reversed(written) if line.startswith(("FAILED", "ERROR"))), "")
    if code is None:
        return "slow", ""
    return ("killed" if code else "survived"), reason[:300]


def _pytest(copy: Path, arguments: list[str], *, seconds: int) -> int | None:
    """Run pytest in a forked process; gives its exit code, or none if it had to be ended."""
    child = os.fork()
    if not child:
        _in_child(copy, arguments, seconds=seconds)
    status = _wait(child, seconds=10 * seconds)
    return None if status is None or os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _in_child(copy: Path, arguments: list[str], *, seconds: int) -> None:
    """The forked process; never returns. Its time is counted in CPU seconds, since the machine may be busy with other things."""
    code = 99
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        with (copy / OUTPUT).open("wb") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        os.chdir(copy)
        os.environ.update(_environment(copy))
        sys.dont_write_bytecode = True
        sys.path[:] = [str(copy / "src"), *(path for path in sys.path if path != str(ROOT / "src"))]
        import pytest

        hushed = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "--hypothesis-profile", "mutants", "--tb", "line"]
        code = int(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *hushed, *arguments]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _wait(child: int, *, seconds: int) -> int | None:
    """A child's status, or none if it had to be ended. What it started ends with it."""
    end = time.monotonic() + seconds
    status = None
    while time.monotonic() < end and status is None:
        done, code = os.waitpid(child, os.WNOHANG)
        status = code if done else None
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status


def preload() -> None:
    """Import what tests import, and make hypothesis give the same examples each time without shrinking them."""
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)


def known(results: Path) -> dict[str, dict[str, str]]:
    """What earlier runs found, by mutant; the last word counts."""
    found = {}
    if results.is_file():
        for line in results.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            found[entry["key"]] = entry
    return found


def difference(mutant: Mutant) -> tuple[str, str]:
    """The line before and after, without what is the same around it."""
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    before, after = source.splitlines(), mutant.apply(source).splitlines()
    changed = [
        line for line in unified_diff(before, after, lineterm="", n=0) if not line.startswith(("---", "+++", "@"))
    ]
    old = next((line[1:].strip() for line in changed if line.startswith("-")), "")
    return old, next((line[1:].strip() for line in changed if line.startswith("+")), "")


def equivalents() -> dict[tuple[str, str, str], str]:
    """Why a mutant cannot be noticed, by path, line before and line after."""
    if not EQUIVALENT.is_file():
        return {}
    listed = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or []
    return {(entry["path"], entry["before"], entry["after"]): entry["why"] for entry in listed}


def report(sample: list[Mutant], results: dict[str, dict[str, str]]) -> Iterator[str]:
    """The survivors with their lines, then a table by room."""
    named = equivalents()
    tally: Counter[tuple[str, str]] = Counter()
    for mutant in sample:
        old, new = difference(mutant)
        outcome = results.get(mutant.key, {}).get("outcome", "not run")
        outcome = "noticed" if outcome in {"killed", "slow"} else outcome
        if outcome not in {"noticed", "not run"} and (mutant.path, old, new) in named:
            outcome = "equivalent"
        tally[mutant.room, outcome] += 1
        if outcome in {"survived", "not executed"}:
            yield f"{mutant.path}:{mutant.line}: {outcome}\n  - {old}\n  + {new}"
    columns = ("noticed", "survived", "not executed", "equivalent", "not run")
    yield f"\n{'room':10}" + "".join(f"{column:>14}" for column in columns)
    rooms = sorted({room for room, _ in tally})
    for room in rooms:
        yield f"{room:10}" + "".join(f"{tally[room, column]:>14}" for column in columns)
    total = {column: sum(tally[room, column] for room in rooms) for column in columns}
    yield f"{'all':10}" + "".join(f"{total[column]:>14}" for column in columns)
    ran = total["noticed"] + total["survived"] + total["not executed"]
    if ran:
        yield f"noticed: {total['noticed']} of {ran} ({100 * total['noticed'] / ran:.0f} %), equivalent mutants left out"


def main() -> int:
    """Draw, run what is not known yet, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(DECIDING))
    parser.add_argument("--sample", type=int, default=120, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=25, help="start no further mutant after so long")
    parser.add_argument(
        "--cpu-seconds", type=int, default=120, help="end a mutant that computes longer; it counts as noticed"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants.jsonl")
    parser.add_argument("--retry", action="store_true", help="run survivors of earlier runs again")
    parser.add_argument("--report", action="store_true", help="run nothing")
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    sample, results = draw(given.rooms, size=given.sample, seed=given.seed), known(given.results)
    again = {"survived", "not executed"} if given.retry else set()
    named = equivalents()
    waiting = [
        mutant
        for mutant in sample
        if (mutant.key not in results or results[mutant.key]["outcome"] in again)
        and (mutant.path, *difference(mutant)) not in named
    ]
    if waiting and not given.report:
        given.results.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder, given.results.open("a", encoding="utf-8") as out:
            copy = Path(folder).resolve() / "tree"
            skipped = shutil.ignore_patterns(
                ".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "build", "dist"
            )
            shutil.copytree(ROOT, copy, ignore=skipped)
            covered: dict[str, Coverage] = {}
            preload()
            for room in sorted({mutant.room for mutant in waiting}):
                covered[room] = cover(copy, room, given.results.parent, seconds=given.cpu_seconds)
                print(f"{room}: {len(covered[room].tests)} tests pass", file=sys.stderr, flush=True)
            for number, mutant in enumerate(waiting, 1):
                if time.monotonic() > end:
                    print(
                        f"out of time with {len(waiting) - number + 1} to go; the same command resumes", file=sys.stderr
                    )
                    break
                tests, reason = covered[mutant.room].of(mutant), ""
                outcome = "not executed"
                if tests:
                    outcome, reason = run(copy, mutant, tests, seconds=given.cpu_seconds)
                if mutant.at_import and outcome in {"survived", "not executed"}:
                    outcome, reason = run(copy, mutant, tests_of(mutant.room), seconds=given.cpu_seconds)
                entry = {"key": mutant.key, "outcome": outcome, "reason": reason, **asdict(mutant)}
                results[mutant.key] = entry
                out.write(json.dumps(entry) + "\n")
                out.flush()
                print(f"{number}/{len(waiting)} {outcome:12} {mutant.path}:{mutant.line}", file=sys.stderr, flush=True)
    print("\n".join(report(sample, results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
