"""Downloads resume, and nothing unchecked takes its place."""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from corpora.samples import CONLL, card, sha256

from biomux.corpora import fetch
from biomux.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from biomux.corpora.fetch import Item

DATA = (CONLL * 5000).encode()
PLACE = "ner/Toy/train.tsv.gz"


class Server:
    """What the server does: how much it sends before it hangs up, whether it knows ranges, and what it was asked."""

    def __init__(self) -> None:
        self.data = DATA
        self.stop_after: list[int] = []
        self.ranges = True
        self.status: int | None = None
        self.asked: list[str | None] = []
        self.url = ""


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


@contextmanager
def serving() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append(wanted)
            if state.status:
                self.send_error(state.status)
                return
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and state.ranges else 0
            if start >= len(state.data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(state.data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = state.data[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(state.data) - 1}/{len(state.data)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: state.stop_after.pop(0)] if state.stop_after else body)

        def log_message(self, format: str, *args: Any) -> None:
            """Be quiet."""

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{running.server_address[1]}/train.tsv"
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def item(root: Path, url: str, **changes: Any) -> Item:
    file = {"path": PLACE, "sha256": sha256(DATA), "bytes": len(DATA), "url": url, **changes}
    (found,) = fetch.plan(card(files=[file]), root)
    return found


def part(root: Path) -> Path:
    return root / "ner/Toy/.train.tsv.gz.part"


def test_a_file_comes_checked_and_gzipped_to_its_place(server: Server, tmp_path: Path) -> None:
    seen: list[int] = []
    fetch.download(item(tmp_path, server.url), on_bytes=seen.append)
    assert gzip.decompress((tmp_path / PLACE).read_bytes()) == DATA
    assert sum(seen) == len(DATA)
    assert not part(tmp_path).exists()
    assert item(tmp_path, server.url).present


def test_an_interrupted_download_goes_on_by_itself(server: Server, tmp_path: Path) -> None:
    server.stop_after = [100_000, 50_000]
    seen: list[int] = []
    fetch.download(item(tmp_path, server.url), on_bytes=seen.append)
    assert server.asked == [None, "bytes=100000-", "bytes=150000-"]
    assert gzip.decompress((tmp_path / PLACE).read_bytes()) == DATA
    assert sum(seen) == len(DATA)


def test_a_download_that_failed_goes_on_at_the_next_call(server: Server, tmp_path: Path) -> None:
    server.stop_after = [1000] * fetch.ATTEMPTS
    with pytest.raises(CorpusError, match=r"BX208.*ended early.*run it again to resume"):
        fetch.download(item(tmp_path, server.url))
    assert not (tmp_path / PLACE).exists()
    assert part(tmp_path).read_bytes() == DATA[:3000]
    fetch.download(item(tmp_path, server.url))
    assert server.asked[-1] == "bytes=3000-"
    assert gzip.decompress((tmp_path / PLACE).read_bytes()) == DATA


def test_a_server_without_ranges_begins_anew(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.stop_after = [5000]
    fetch.download(item(tmp_path, server.url))
    assert gzip.decompress((tmp_path / PLACE).read_bytes()) == DATA


@pytest.mark.parametrize("left", [DATA, DATA + b"more than there is"])
def test_a_part_that_is_whole_or_too_long(server: Server, tmp_path: Path, left: bytes) -> None:
    part(tmp_path).parent.mkdir(parents=True)
    part(tmp_path).write_bytes(left)
    fetch.download(item(tmp_path, server.url))
    assert gzip.decompress((tmp_path / PLACE).read_bytes()) == DATA


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.data = DATA[:-1] + b"!"
    with pytest.raises(CorpusError, match=r"BX204.*sha256"):
        fetch.download(item(tmp_path, server.url))
    assert list((tmp_path / "ner/Toy").iterdir()) == []


def test_what_the_server_packs_is_not_packed_twice(server: Server, tmp_path: Path) -> None:
    server.data = gzip.compress(DATA)
    fetch.download(item(tmp_path, server.url))
    assert gzip.decompress((tmp_path / PLACE).read_bytes()) == DATA


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (403, 1), (503, fetch.ATTEMPTS)])
def test_a_refusal_is_told_and_tried_again_only_if_it_may_pass(
    server: Server, tmp_path: Path, status: int, asked: int
) -> None:
    server.status = status
    with pytest.raises(CorpusError, match=rf"BX208.*{status}.*get by hand"):
        fetch.download(item(tmp_path, server.url))
    assert len(server.asked) == asked


def test_without_network_it_says_what_to_get_and_where_to_put_it(tmp_path: Path) -> None:
    with serving() as gone:
        url = gone.url
    with pytest.raises(CorpusError) as caught:
        fetch.download(item(tmp_path, url))
    assert caught.value.code == "BX208"
    assert f"get by hand: {url} → {tmp_path / PLACE}" in str(caught.value)


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x", "data:text/plain,x"])
def test_only_web_addresses_are_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(CorpusError, match=r"BX208.*must be http or https"):
        fetch.download(item(tmp_path, url))


def test_more_than_the_limit_is_refused(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 70_000)
    with pytest.raises(CorpusError, match=r"BX208.*exceeds 70,000 bytes"):
        fetch.download(item(tmp_path, server.url))


def test_the_address_is_the_raw_file_at_the_commit(tmp_path: Path) -> None:
    (found,) = fetch.plan(card(files=[{"path": PLACE, "source": "RE data/a b.tsv"}]), tmp_path)
    assert found.url == f"https://raw.githubusercontent.com/someone/toy/{'0' * 40}/RE%20data/a%20b.tsv"


def test_a_file_without_address_is_described(tmp_path: Path) -> None:
    (found,) = fetch.plan(card(files=[{"path": PLACE, "made": "unpacked from data.zip"}]), tmp_path)
    assert found.url is None
    assert "github.com/someone/toy, data, commit 000" in found.where
    assert "unpacked from data.zip" in found.where
    with pytest.raises(CorpusError, match="no direct address"):
        fetch.download(found)
