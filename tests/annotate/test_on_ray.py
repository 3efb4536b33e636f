"""The same job on Ray: the same bytes, whatever is lost on the way, and resumed by either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
import tiny
from jobs import Stopped, contents, stop_after
from stub import DyingSettings, OnceDyingSettings, RuleSettings

from biomux import __version__, formats
from biomux.annotate import inputs as reading
from biomux.annotate import on_ray
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.on_ray import OnRay
from biomux.annotate.part_work import PartWork
from biomux.annotate.run import PartReady, run
from biomux.annotate.settings import AnnotateSettings
from biomux.document import Document
from biomux.errors import AnnotateError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

ray = pytest.importorskip("ray", reason="ray is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

TESTS = Path(__file__).parent.parent
RULES = RuleSettings()
STORE = 100 * 2**20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """Two nodes of one CPU each. The folder, whose path must be short for Ray's sockets, has their temporary files."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory() as short:
        place = Path(short)
        patched.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
        patched.setenv("TMPDIR", str(place))
        patched.setenv("BIOMUX_TEST_DIED", str(place / "died"))
        options = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
        nodes = Cluster(initialize_head=True, head_node_args=options)
        nodes.add_node(num_cpus=1, object_store_memory=STORE)
        ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
        yield place
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reading, "STRETCH", 3000)
    place = tmp_path / "in"
    place.mkdir()
    for file in range(5):
        found = [Document(f"{file}-{index}", tiny.text(4 + index % 20, seed=index + 60 * file)) for index in range(40)]
        formats.write(found, place / f"{file}.jsonl")
    with (place / "3.jsonl").open("a") as stream:
        stream.write("nonsense\n")
    return place


def annotate(source: Path, target: str, settings: AnnotateSettings = RULES, **options: Any) -> Any:
    return run(Inputs([str(source)]), goal(target, None), settings, part_size=500, **options)


@pytest.mark.usefixtures("cluster")
def test_two_nodes_make_the_bytes_of_plain_workers_and_one_resumes_the_other(folder: Path, tmp_path: Path) -> None:
    settings = AnnotateSettings(bundle=str(tiny.bundle(tmp_path / "bundle")))
    usual = annotate(folder, f"{tmp_path}/usual/", settings)
    assert usual.failed == 1
    steps: list[PartReady] = []
    assert annotate(folder, f"{tmp_path}/ray/", settings, cluster=OnRay(), listen=steps.append) == usual
    assert all(step.fresh for step in steps)
    assert steps[-1].reached == sum(path.stat().st_size for path in folder.iterdir())
    for name, first, second in (("there", OnRay(), None), ("back", None, OnRay())):
        with pytest.raises(Stopped):
            annotate(folder, f"{tmp_path}/{name}/", settings, cluster=first, listen=stop_after(9))
        steps.clear()
        assert annotate(folder, f"{tmp_path}/{name}/", settings, cluster=second, listen=steps.append) == usual
        assert [step.fresh for step in steps].count(False) >= 9
    one = folder / "0.jsonl"  # one file, which the driver cuts
    annotate(one, f"{tmp_path}/usual.jsonl", settings)
    annotate(one, f"{tmp_path}/ray.jsonl", settings, cluster=OnRay(in_flight=3))
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "usual.jsonl").read_bytes()
    for name in ("ray", "there", "back"):
        assert contents(tmp_path / name) == contents(tmp_path / "usual")
    assert (tmp_path / "ray.errors.jsonl").read_bytes() == (tmp_path / "usual.errors.jsonl").read_bytes()


def test_a_worker_that_is_killed_costs_nothing_and_one_that_always_dies_is_told(
    folder: Path, tmp_path: Path, cluster: Path
) -> None:
    usual = annotate(folder, f"{tmp_path}/usual/")
    assert annotate(folder, f"{tmp_path}/out/", OnceDyingSettings(), cluster=OnRay()) == usual
    assert (cluster / "died").exists()
    assert contents(tmp_path / "out") == contents(tmp_path / "usual")
    with pytest.raises(AnnotateError, match=r"BX620: .*was lost 2 times on the cluster"):
        annotate(folder, f"{tmp_path}/lost/", DyingSettings(), cluster=OnRay(retries=1))
    with pytest.raises(AnnotateError, match="BX626: no node of the cluster has 64 CPUs"):
        annotate(folder, f"{tmp_path}/large/", cluster=OnRay(cpus_per_task=64))
    assert (cluster / f"biomux-{os.getuid()}" / "rules" / "manifest.json").is_file(), "the bundle travelled"


@pytest.fixture
def order(tmp_path: Path) -> Any:
    (tmp_path / "job.json").write_bytes(b"{}")
    work = PartWork(str(tmp_path), str(tmp_path), RULES)
    return on_ray._Order(work, str(tmp_path), b"{}", __version__, "rules")


def test_a_node_of_another_version_or_without_the_folder_refuses(order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())
    assert on_ray._here(order) == order.work
    with pytest.raises(AnnotateError, match=r"BX623: node .* has Biomux .*, and the job was started by 0\.0\.0"):
        on_ray._here(replace(order, version="0.0.0"))
    with pytest.raises(AnnotateError, match=r"BX624: .*does not see the folder"):
        on_ray._here(replace(order, job=b'{"another": 1}'))
    with pytest.raises(AnnotateError, match=r"BX624: .*does not see the folder"):
        on_ray._here(replace(order, work=replace(order.work, notes="/nowhere/at/all")))


def test_a_bundle_that_was_changed_on_a_node_is_refused(
    order: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    settings = AnnotateSettings(bundle=str(tiny.bundle(tmp_path / "bundle")))
    there = on_ray._shelf() / ("f" * 32)
    (tmp_path / "bundle").rename(there)
    with pytest.raises(AnnotateError, match=r"BX625: .*has been changed"):
        on_ray._unpacked(replace(order, fingerprint="f" * 64, bundle=(None,)), settings)


def test_without_ray_it_is_said_what_to_install(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"BX003: --on ray needs Ray.*pip install 'biomux\[ray\]'"):
        annotate(folder, f"{tmp_path}/out/", cluster=OnRay())


@pytest.mark.parametrize(
    ("address", "message"),
    [("ray://nowhere:1", r"BX621: ray://nowhere:1: cannot reach the Ray cluster: gone"), (None, "BX621: cannot start")],
)
def test_a_cluster_that_does_not_answer_is_told(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str | None, message: str
) -> None:
    def refuse(**options: Any) -> None:
        assert options["address"] == (address or "local")
        raise ConnectionError("gone\nand a long story")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(AnnotateError, match=message):
        annotate(folder, f"{tmp_path}/out/", cluster=OnRay(address))


def biomux(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "biomux", "annotate", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_starts_a_cluster_of_its_own_and_leaves_none(folder: Path, tmp_path: Path) -> None:
    bundle = str(tiny.bundle(tmp_path / "bundle"))
    common = (str(folder), "--model", bundle, "--part-size", "500", "--threads", "1")
    local = biomux(*common, "-o", f"{tmp_path}/usual.jsonl")
    done = biomux(*common, "-o", f"{tmp_path}/out.jsonl", "--on", "ray", "--cpus-per-task", "1", RAY_ADDRESS="")
    assert (local.returncode, done.returncode) == (3, 3), done.stderr
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "usual.jsonl").read_bytes()
    assert "200 documents" in done.stderr
    assert "Ray" not in done.stderr
    assert not any(str(tmp_path) in command for command in processes())


def processes() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--on", "spark", "-o", "out/"], "BX001: --on must be local, ray or ray://HOST:PORT, got 'spark'"),
        (["--on", "ray"], "BX001: --on needs an output file or folder"),
        (["--on", "ray", "--workers", "2", "-o", "out/"], "BX001: cannot use --workers with --on ray"),
        (
            ["--retries", "1", "-o", "out/"],
            "BX001: cannot use --cpus-per-task, --in-flight or --retries without --on ray",
        ),
    ],
)
def test_a_wrong_command_is_told(tmp_path: Path, options: list[str], message: str) -> None:
    options = [f"{tmp_path}/out/" if option == "out/" else option for option in options]
    done = biomux("Aspirin causes ulcers.", *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_ctrl_c_stops_at_once_leaves_no_cluster_and_plain_workers_resume(tmp_path: Path) -> None:
    formats.write([Document(f"{n}", tiny.text(4 + n % 20, seed=n)) for n in range(1200)], tmp_path / "in.jsonl")
    out = tmp_path / "out"
    common = (str(tmp_path / "in.jsonl"), "--model", str(tiny.bundle(tmp_path / "bundle")), "--part-size", "1500")
    command = [sys.executable, "-m", "biomux", "annotate", *common, "-o", f"{out}/", "--on", "ray"]
    environment = os.environ | {"RAY_ADDRESS": ""}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while len(list(out.glob("part-*"))) < 3 and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the processes of the cluster too
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 130, said
    assert said.strip().endswith("stopped")
    assert not any(str(out) in command for command in processes())
    resumed = biomux(*common, "-o", f"{out}/")
    assert "resumed a stopped run" in resumed.stderr
    biomux(*common, "-o", f"{tmp_path}/usual/")
    assert contents(out) == contents(tmp_path / "usual")
