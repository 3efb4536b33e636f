"""Output to URLs: memory, files and a real S3 API, with the same promises as a folder."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest
import tiny
from jobs import Stopped, contents, stop_after
from stub import RuleSettings

from biomux import formats
from biomux.annotate import store
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.run import PartReady, run
from biomux.document import Document
from biomux.errors import AnnotateError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("upath", reason="universal-pathlib is not installed")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    formats.write([Document(f"d{index}", tiny.text(4 + index % 20, seed=index)) for index in range(60)], path)
    return path


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an S3 API that is served on loopback."""
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = pytest.importorskip("moto.server", reason="moto is not installed")
    import boto3

    with pytest.MonkeyPatch.context() as patched:
        served = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        served.start()
        host, port = served.get_host_and_port()
        patched.setenv("AWS_ACCESS_KEY_ID", "test")
        patched.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patched.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patched.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        boto3.client("s3").create_bucket(Bucket="texts")
        yield "s3://texts"
        served.stop()


def url_of(kind: str, request: pytest.FixtureRequest) -> str:
    folder = f"out-{uuid.uuid4().hex}"
    if kind == "file":
        return f"file://{request.getfixturevalue('tmp_path')}/{folder}/"
    return f"{request.getfixturevalue('bucket') if kind == 's3' else 'memory:/'}/{folder}/"


def annotate(source: Path, target: str, *, format: str | None = None, gzip: bool = False, **options: Any) -> Any:
    return run(Inputs([str(source)]), goal(target, format, gzip=gzip), RuleSettings(), part_size=900, **options)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("kind", ["memory", "file", "s3"])
def test_a_url_gets_the_bytes_of_a_folder_also_when_stopped_and_resumed(
    source: Path, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    url = url_of(kind, request)
    usual = annotate(source, f"{tmp_path}/usual/", gzip=True)
    for parts in (3, 2):
        with pytest.raises(Stopped):
            annotate(source, url, gzip=True, listen=stop_after(parts))
    steps: list[PartReady] = []
    assert annotate(source, url, gzip=True, listen=steps.append) == usual
    assert [step.fresh for step in steps].count(False) == 5
    assert contents(store.place(url)) == contents(tmp_path / "usual")
    assert annotate(source, url, gzip=True, listen=steps.append) == usual
    with pytest.raises(UsageError, match=r"BX004: .*different settings: --gzip"):
        annotate(source, url)
    annotate(source, url, overwrite=True)
    assert not any(name.endswith(".gz") for name in contents(store.place(url)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize(("kind", "name"), [("memory", "out.jsonl"), ("memory", "out.tsv"), ("s3", "out.parquet")])
def test_one_file_at_a_url(source: Path, tmp_path: Path, kind: str, name: str, request: pytest.FixtureRequest) -> None:
    if name == "out.parquet":
        pytest.importorskip("pyarrow")
    url = url_of(kind, request) + name
    annotate(source, f"{tmp_path}/{name}")
    annotate(source, url)
    assert store.place(url).read_bytes() == (tmp_path / name).read_bytes()
    with pytest.raises(UsageError, match="BX004"):
        annotate(source, url, restart=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_failures_are_listed_beside_a_url(source: Path, bucket: str) -> None:
    with source.open("a") as stream:
        stream.write("nonsense\n")
    annotate(source, f"{bucket}/failing/")
    told = store.place(f"{bucket}/failing.errors.jsonl").read_bytes()
    assert json.loads(told)["code"] == "BX117"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_what_is_not_whole_does_not_appear(bucket: str) -> None:
    path = store.place(f"{bucket}/half/part.jsonl")

    def write() -> None:
        with store.target(path) as stream:
            stream.write(b"half")
            raise Stopped

    with pytest.raises(Stopped):
        write()
    assert not path.exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_bucket_that_is_not_there_is_told(source: Path, bucket: str) -> None:
    with pytest.raises(UsageError, match=r"BX622: .*nowhere.*cannot write to the URL.*check the address"):
        annotate(source, "s3://nowhere/out/")


def test_a_kind_of_url_that_nobody_knows_is_told() -> None:
    with pytest.raises(UsageError, match=r"BX622: nonsense://a/b/: cannot write to the URL"):
        goal("nonsense://a/b/", None)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    store._url.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "upath", None)
    with pytest.raises(UsageError, match=r"BX003: .*pip install 'biomux\[ray\]'"):
        goal("s3://a/b/", None)


def test_formats_of_several_files_have_no_url() -> None:
    with pytest.raises(UsageError, match=r"BX120: .*'brat' to a URL"):
        goal("memory://a/b/", "brat")


def test_memory_is_no_place_for_several_processes(source: Path) -> None:
    with pytest.raises(UsageError, match="BX001: cannot write to memory:// from several processes"):
        annotate(source, "memory://a/several/", workers=2)


def test_a_folder_with_other_things_is_refused(source: Path) -> None:
    url = f"memory://{uuid.uuid4().hex}/"
    store.place(f"{url}thesis.txt").write_bytes(b"mine")
    with pytest.raises(AnnotateError, match=r"BX605: .*contains files that biomux annotate did not write"):
        annotate(source, url)
