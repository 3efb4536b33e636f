"""The recipes of docs/how-to/scale-out.md work, each with its engine; and engines read the parts that a job writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from biomux import formats
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.run import run
from biomux.annotate.settings import AnnotateSettings
from biomux.document import Document

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "how-to" / "scale-out.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs the source tree, not the installed package")

TEXTS = ["Aspirin causes ulcers.", "Nothing to see here.", "TP53 is mutated in breast cancer.", "Mice got metformin."]
PARQUET = (
    "import pyarrow.parquet; found = [row['entities'] for row in pyarrow.parquet.read_table('annotated').to_pylist()]"
)
CHECKS = {
    "ray": PARQUET,
    "pyspark": PARQUET,
    "dask": "found = annotated['entities'].tolist()",
    "apache_beam": "import pathlib; found = [eval(line)['entities'] for path in pathlib.Path('annotated').iterdir() "
    "for line in path.read_text().splitlines()]",
    "joblib": "",
    "multiprocessing": "",
    "duckdb": "found = [[dict(type=row[1], text=row[2])] for row in found]",
    "polars": "found = [[row[-1]] for row in found]",
}
"""What makes a list `found` of the entities of each text of what a recipe leaves."""


def recipes() -> dict[str, str]:
    """Each block of the page by the engine that it imports first."""
    found = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return {
        next(engine for engine in CHECKS if re.search(rf"^(import|from) {engine}", block, re.MULTILINE)): block
        for block in found
    }


def test_every_recipe_has_a_check() -> None:
    assert set(recipes()) == set(CHECKS)
    assert all(len(block.splitlines()) <= 12 for block in recipes().values())


@pytest.mark.parametrize("engine", CHECKS)
def test_a_recipe_finds_the_entities(engine: str, tmp_path: Path) -> None:
    for needed in (engine, "pandas", "pyarrow"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    import pandas

    if engine in ("duckdb", "polars"):
        formats.write([Document(str(n), text) for n, text in enumerate(TEXTS)], tmp_path / "in.jsonl")
        run(
            Inputs([str(tmp_path / "in.jsonl")]),
            goal(f"{tmp_path}/annotated/", "parquet"),
            AnnotateSettings(),
            part_size=40,
        )
        assert len(list((tmp_path / "annotated").glob("part-*.parquet"))) > 1
    else:
        pandas.DataFrame({"id": ["a", "b", "c", "d"], "text": TEXTS}).to_parquet(tmp_path / "abstracts.parquet")
    check = CHECKS[engine]
    start = "import ray; ray.init(num_cpus=2, object_store_memory=10**8, include_dashboard=False)\n" * (engine == "ray")
    end = f"""
if __name__ == "__main__":
    {check or "pass"}
    types = sorted({{one["type"] for entities in found for one in entities or ()}})
    print("found:", *types)
"""
    script = tmp_path / "recipe.py"
    script.write_text(start + recipes()[engine] + end)
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": str(Path(formats.__file__).parent.parent.parent), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"chemical", "disease", "gene"} <= set(done.stdout.rpartition("found:")[2].split())


READERS = {
    "pandas": "import pandas; rows = pandas.read_parquet('annotated')[['id', 'spans']].to_dict('records')",
    "pyspark": "from pyspark.sql import SparkSession; spark = SparkSession.builder.master('local[1]').getOrCreate(); "
    "rows = [row.asDict(recursive=True) for row in spark.read.parquet('annotated').select('id', 'spans').collect()]",
}
"""How an engine reads the whole folder of parts, manifest and all."""


@pytest.mark.parametrize("engine", READERS)
def test_the_folder_of_parts_is_one_table(engine: str, tmp_path: Path) -> None:
    for needed in (engine, "pyarrow"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    formats.write([Document(str(n), text) for n, text in enumerate(TEXTS)], tmp_path / "in.jsonl")
    run(
        Inputs([str(tmp_path / "in.jsonl")]),
        goal(f"{tmp_path}/annotated/", "parquet"),
        AnnotateSettings(),
        part_size=40,
    )
    assert len(list((tmp_path / "annotated").glob("part-*.parquet"))) > 1
    script = (
        READERS[engine]
        + "; print('found:', sorted((r['id'], s['type']) for r in rows if r['spans'] is not None for s in r['spans']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    expected = sorted(
        (document.id, span.type) for document in formats.read(tmp_path / "annotated") for span in document.spans
    )
    assert expected
    assert done.stdout.rpartition("found: ")[2].strip() == str(expected)
