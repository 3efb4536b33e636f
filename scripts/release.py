"""Check that a release is ready, build it into dist/, and print what to do next. Nothing is uploaded, tagged or pushed.

python scripts/release.py            # needs `pip install '.[release]'`
python scripts/release.py --check    # only the checks
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NEXT = """
Next, for {version}:
  1. Try the wheel in a fresh environment, in a folder outside this one:
       python3 -m venv /tmp/try && /tmp/try/bin/pip install {wheel} && /tmp/try/bin/biomux annotate --as-text "Aspirin relieved her fever."
  2. git tag -a v{version} -m "Biomux {version}" && git push origin v{version}
  3. Upload dist/ to the package index, and attach both files to a release page with the changelog's section as its text.
  4. Start the next cycle: an empty "## Unreleased" at the top of CHANGELOG.md.
"""


def git(*arguments: str, root: Path = ROOT) -> str:
    """What git prints."""
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)  # noqa: S603, S607
    return done.stdout.strip()


def version(root: Path = ROOT) -> str:
    """The version that the package states."""
    stated = re.search(
        r'^__version__ = "(.+)"$', (root / "src/biomux/__init__.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    return stated[1] if stated else ""


def section(changelog: str, title: str) -> str | None:
    """The text below a heading of the changelog; none if there is no such heading."""
    found = re.search(rf"^## {re.escape(title)}\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else None


def problems(root: Path = ROOT) -> list[str]:
    """All that stands in the way of a release, one sentence each."""
    number, found = version(root), []
    if not re.fullmatch(r"\d+\.\d+\.\d+", number):
        found.append(f"the version must be three numbers, such as 1.2.0, got {number!r} (src/biomux/__init__.py)")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not section(changelog, number):
        found.append(f"CHANGELOG.md has no entries under '## {number}'")
    if section(changelog, "Unreleased"):
        found.append(f"CHANGELOG.md still has entries under '## Unreleased': move them to '## {number}'")
    if f"\nversion: {number}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff must state 'version: {number}'")
    if changes := git("status", "--porcelain", root=root):
        found.append(f"the tree must be clean, but {len(changes.splitlines())} files differ from the last commit")
    if git("tag", "--list", f"v{number}", root=root):
        found.append(f"the tag v{number} already exists: choose another version")
    return found


def build() -> tuple[Path, Path]:
    """The source archive and the wheel, in dist/."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", "dist"], cwd=ROOT, check=True)
    (archive,), (wheel,) = (ROOT / "dist").glob("*.tar.gz"), (ROOT / "dist").glob("*.whl")
    return archive, wheel


def main() -> int:
    """Check, build, advise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="do not build")
    given = parser.parse_args()
    if found := problems():
        print("Not ready:", *(f"  - {problem}" for problem in found), sep="\n", file=sys.stderr)
        return 1
    if given.check:
        print(f"{version()} is ready to be built")
        return 0
    for path in build():
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")
    print(NEXT.format(version=version(), wheel=path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
