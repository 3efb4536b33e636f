"""Whatever is sent, the answer is a status and a code; never a traceback, a hang or an internal."""

from __future__ import annotations

import contextlib
import io
import json
import re
import select
import socket
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import Client, Reply, serving, shipped

from biomux.engine.annotator import Annotator
from biomux.errors import CODES
from biomux.serve.edge import SAFE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROUTES = (
    *("/", "/page/main.js", "/annotate", "/info", "/health", "/ready", "/metrics", "/docs", "/openapi.json"),
    *("/pairs", "/ask", "/setup", "/predict", "/webhook", "/nowhere", "/annotate/"),
)
VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(max_body=200_000, max_documents=50, queue_tokens=5_000, body_timeout=1.0) as (client, _):
        yield client


HOSTILE: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 400, "BX801"),
    "not JSON": (b"{", 400, "BX801"),
    "invalid UTF-8": (b'{"text": "\xff\xfe"}', 400, "BX801"),
    "a lone surrogate": (b'{"text": "\\ud800"}', 400, "BX801"),
    "deep": (b'{"documents": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400, "BX801"),
    "deep objects": (b'{"documents": [' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"]}", 422, "BX802"),
    "NaN": (b'{"text": "x", "threshold": NaN}', 400, "BX801"),
    "infinity": (b'{"text": "x", "threshold": 1e999}', 400, "BX801"),
    "a threshold beyond one": (b'{"text": "x", "threshold": 7}', 422, "BX001"),
    "a threshold of words": (b'{"text": "x", "threshold": "high"}', 422, "BX802"),
    "a list": (b"[1]", 422, "BX802"),
    "null": (b"null", 422, "BX802"),
    "no text": (b"{}", 422, "BX802"),
    "two texts": (b'{"text": "x", "texts": ["y"]}', 422, "BX802"),
    "no texts": (b'{"texts": []}', 422, "BX802"),
    "a number as text": (b'{"text": 7}', 422, "BX802"),
    "an unknown field": (b'{"text": "x", "treshold": 0.5}', 422, "BX802"),
    "an unknown type": (b'{"text": "x", "types": ["gen"]}', 422, "BX001"),
    "an unknown head": (b'{"text": "x", "heads": ["bc5"]}', 422, "BX001"),
    "an unknown task": (b'{"text": "x", "tasks": ["chemprot"]}', 422, "BX001"),
    "no types": (b'{"text": "x", "types": []}', 422, "BX802"),
    "threshold and precision": (b'{"text": "x", "threshold": 0.1, "precision": 0.9}', 422, "BX001"),
    "an unknown format": (b'{"text": "x", "format": "pickle"}', 406, "BX806"),
    "a document without text": (b'{"documents": [{"id": "1"}]}', 422, "BX116"),
    "a span outside": (
        b'{"documents": [{"id": "1", "text": "x", "spans": [{"start": 0, "end": 9, "type": "t"}]}]}',
        422,
        "BX114",
    ),
    "too many documents": (json.dumps({"texts": ["x"] * 51}).encode(), 413, "BX803"),
    "too many lines": (json.dumps({"content": "x\n" * 51, "from": "lines"}).encode(), 413, "BX803"),
    "too many tokens": (json.dumps({"text": "aspirin " * 6_000}).encode(), 413, "BX803"),
    "too many blanks": (json.dumps({"text": " " * 150_000}).encode(), 413, "BX803"),
    "a body too large": (b" " * 200_001, 413, "BX803"),
    "content of an unknown format": (b'{"content": "\\u0000"}', 422, "BX110"),
    "a format that is no text": (b'{"content": "PAR1", "from": "parquet"}', 422, "BX110"),
    "an entity bomb": (
        b'{"content": "<!DOCTYPE x [<!ENTITY a \\"aaaa\\"><!ENTITY b \\"&a;&a;\\">]><PubmedArticleSet>&b;</PubmedArticleSet>", "from": "medline"}',
        422,
        "BX118",
    ),
    "from without content": (b'{"text": "x", "from": "text"}', 422, "BX802"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_each_hostile_body_has_its_status_and_code(client: Client, name: str) -> None:
    body, status, code = HOSTILE[name]
    reply = client.post("/annotate", body)
    assert (reply.status, reply.code) == (status, code), reply.content
    assert set(reply.json) == {"error", "code", "type", "where", "hint"}


def test_errors_are_those_of_the_command(client: Client) -> None:
    reply = client.annotate(text="x", types=["gen"])
    assert reply.json["error"] == "unknown type 'gen'"
    assert reply.json["type"] == "UsageError"
    assert reply.json["hint"].startswith("did you mean 'gene'?")


def test_a_wrong_method_is_told_with_the_right_one(client: Client) -> None:
    reply = client.get("/annotate")
    assert (reply.status, reply.code) == (405, "BX808")
    assert reply.json["error"] == "this address accepts POST, not GET"
    assert client.get("/nowhere").json["error"] == "there is no such address"


@pytest.mark.parametrize("media", ["", "text/plain", "multipart/form-data; boundary=x", "application/x-python-pickle"])
def test_only_json_is_read(client: Client, media: str) -> None:
    reply = client.ask("POST", "/annotate", b'{"text": "x"}', {"Content-Type": media} if media else {})
    assert (reply.status, reply.code) == (415, "BX805")


def test_a_compressed_body_is_refused(client: Client) -> None:
    reply = client.post("/annotate", b"x", {"Content-Encoding": "gzip"})
    assert (reply.status, reply.code) == (415, "BX805")


def test_nothing_acceptable_is_told(client: Client) -> None:
    reply = client.annotate({"Accept": "image/png, application/json;q=0"}, text="x")
    assert (reply.status, reply.code) == (406, "BX806")


def test_a_body_is_refused_by_its_announced_length_before_it_is_sent(client: Client) -> None:
    head = b"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_chunked_bodies_count(client: Client) -> None:
    chunk = b"4e20\r\n" + b" " * 20_000 + b"\r\n"
    head = b"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    # The answer comes at once; the connection, whose body never ends, is closed by the service half a minute later.
    assert client.raw(head + chunk * 11, timeout=120).startswith(b"HTTP/1.1 413 ")


MILLION: dict[str, bytes] = {
    "texts": b'{"texts": ["x"' + b',"x"' * 999_999 + b"]}",
    "lines": b'{"from": "lines", "content": "' + b"x\\n" * 1_000_000 + b'"}',
    "documents": b'{"documents": [{}' + b",{}" * 999_999 + b"]}",
    "pairs": b'{"pairs": [["a","b"]' + b',["a","b"]' * 999_999 + b"]}",
}


@pytest.mark.parametrize("name", MILLION)
def test_a_million_documents_are_refused_at_once_and_others_do_not_wait(name: str) -> None:
    with serving(max_body=20_000_000) as (client, _):
        slowest = 0.0
        replies: list[Reply] = []
        path = "/pairs" if name == "pairs" else "/annotate"
        asking = threading.Thread(target=lambda: replies.append(client.post(path, MILLION[name])))
        asking.start()
        while asking.is_alive():
            begun = time.monotonic()
            assert client.get("/health").status == 200
            slowest = max(slowest, time.monotonic() - begun)
        assert (replies[0].status, replies[0].code) == (413, "BX803"), replies[0].content[:500]
        assert slowest < 5


def test_a_hundred_megabytes_are_refused_however_they_come() -> None:
    chunk = b"f4240\r\n" + b" " * 1_000_000 + b"\r\n"
    head = b"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    announced = [head, b"Content-Length: 100000000\r\n\r\n", *[b" " * 1_000_000] * 100]
    chunked = [head, b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 100, b"0\r\n\r\n"]
    with serving() as (client, service):
        for parts in (announced, chunked):
            answer = b""
            with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
                for part in parts:
                    with contextlib.suppress(ConnectionError):  # the service need not read on after its refusal
                        connection.sendall(part)
                    if select.select([connection], [], [], 0)[0]:
                        break
                answer = connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert service.bodies.held == 0
        assert client.annotate(text="Aspirin").status == 200


def test_a_body_that_comes_a_byte_at_a_time_is_given_up(client: Client) -> None:
    head = b"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    begun = time.monotonic()
    reply = client.raw(head)
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b'"BX804"' in reply
    assert time.monotonic() - begun < 10


def test_headers_that_do_not_end_are_given_up() -> None:
    with serving(header_timeout=0.5) as (client, _):
        assert client.raw(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ") == b""
        assert client.raw(b"") == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / FTP/1.0\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /annotate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n",
    ],
    ids=["TLS", "version", "long header", "many headers", "negative length", "bad chunk"],
)
def test_what_is_no_http_gets_a_400_with_a_code(client: Client, sent: bytes) -> None:
    reply = client.raw(sent)
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b'"BX801"' in reply


def test_every_answer_has_the_safe_headers(client: Client) -> None:
    for reply in (client.get("/health"), client.get("/nowhere"), client.post("/annotate", b"{")):
        assert all(reply.headers[name] == value for name, value in SAFE.items())
        assert "server" not in reply.headers
        assert "access-control-allow-origin" not in reply.headers


def test_other_origins_are_allowed_only_if_asked_for() -> None:
    with serving(cors_origins=("https://example.org",)) as (client, _):
        asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
        assert (
            client.ask("OPTIONS", "/annotate", headers=asked).headers["access-control-allow-origin"] == asked["Origin"]
        )
        other = client.get("/health", Origin="https://example.com")
        assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_and_verb_without_a_key_is_401_where_keys_are_on(locked: Client, route: str, verb: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic !!!"}, {"Authorization": ""}):
        reply = locked.ask(verb, route, b"{}", headers)
        assert reply.status == 401
        assert verb == "HEAD" or reply.code == "BX807"


KEY = "0123456789abcdef-one"


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    file = tmp_path_factory.mktemp("keys") / "keys.txt"
    file.write_text(f"# ours\n{KEY}\n\n0123456789abcdef-two\n")
    with serving(api_key_file=str(file)) as (client, _):
        yield client


def test_a_key_opens_every_route(locked: Client) -> None:
    assert locked.get("/health", Authorization=f"Bearer {KEY}").status == 200
    basic = "Basic YW55OjAxMjM0NTY3ODlhYmNkZWYtdHdv"  # any:0123456789abcdef-two
    assert locked.annotate({"Authorization": basic}, text="Aspirin").status == 200


@settings(max_examples=60)
@given(
    verb=st.sampled_from(VERBS),
    route=st.sampled_from(ROUTES),
    tail=st.text("abc/%?=&.\\0", max_size=20),
    body=st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["text", "texts", "documents", "types", "threshold", "format", "from"]), inner
            )
        ),
    ).map(lambda value: json.dumps(value).encode()),
    media=st.sampled_from(
        ["application/json", "text/plain", "application/json; charset=latin-1", "multipart/form-data"]
    ),
)
def test_no_request_is_answered_with_a_500(
    client: Client, verb: str, route: str, tail: str, body: bytes, media: str
) -> None:
    reply = client.ask(verb, (route + tail).replace("\\0", "%00"), body, {"Content-Type": media})
    assert reply.status < 500
    if reply.status >= 400 and verb != "HEAD":
        assert reply.code in CODES
        assert b"Traceback" not in reply.content


class Broken(Annotator):
    """Fails at a certain text, with a secret in the error."""

    def _annotate(self, chosen: Any, documents: Any) -> Any:
        if any("break" in document.text for document in documents):
            raise ValueError("secret-of-the-inside")
        return super()._annotate(chosen, documents)

    def annotate_query(self, documents: Any, query: Any, *, on_error: Any = None) -> Any:
        for document in super().annotate_query(documents, query, on_error=on_error):
            if "burst" in document.text:
                raise ZeroDivisionError("secret-of-the-inside")
            yield document


def test_a_bug_fails_its_own_request_alone_and_shows_nothing_of_the_inside() -> None:
    inner = shipped().annotator
    broken = Broken(**{name: getattr(inner, name) for name in inner.__dataclass_fields__})
    log = io.StringIO()
    with serving(model=replace(shipped(), annotator=broken), log=log) as (client, service):
        failed = client.annotate(texts=["fine", "this will break it"])
        assert (failed.status, failed.code, failed.json["where"]) == (422, "BX603", "document 'text-2'")
        burst = client.annotate(text="burst")
        assert (burst.status, burst.code) == (500, "BX811")
        assert client.annotate(text="Aspirin").status == 200
        assert service.ready
    assert b"secret" not in failed.content + burst.content
    assert "secret" not in log.getvalue()
    bug = next(json.loads(line) for line in log.getvalue().splitlines() if '"bug"' in line)
    assert bug["kind"] == "ZeroDivisionError"


def test_the_log_has_no_text_and_no_address_that_a_client_made_up() -> None:
    log = io.StringIO()
    with serving(log=log) as (client, _):
        client.annotate({"X-Request-ID": "mine"}, text="zolmide in the liver")
        client.get("/zolmide?zolmide")
        client.post("/annotate", b'{"zolmide": 1}')
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert "zolmide" not in log.getvalue()
    first = next(line for line in lines if line["event"] == "request")
    assert (first["id"], first["route"], first["status"], first["documents"]) == ("mine", "/annotate", 200, 1)
    assert first["tokens"] > 4
    assert [line["event"] for line in lines if line["event"] != "request"] == ["listening", "stopping", "stopped"]
    assert all(re.fullmatch(r"[\d.]+", line["client"]) for line in lines if line["event"] == "request")


def test_a_full_queue_is_429_and_says_when_to_come_back() -> None:
    with serving(queue_tokens=2_000) as (client, service):
        service.queue.tokens += 1_999  # as if that much waited
        reply = client.annotate(text="Aspirin inhibits COX-2.")
        service.queue.tokens -= 1_999
    assert (reply.status, reply.code) == (429, "BX809")
    assert int(reply.headers["retry-after"]) >= 1


def test_a_request_waits_only_so_long() -> None:
    with serving(timeout=0.05) as (client, service):
        reply = client.annotate(text="aspirin and ulcers " * 2_000)
        assert (reply.status, reply.code) == (503, "BX810")
        assert "retry-after" in reply.headers
        assert len(service.queue) == 0


def test_nothing_is_computed_for_a_client_that_has_left() -> None:
    log = io.StringIO()
    with serving(log=log) as (client, service):
        body = json.dumps({"texts": ["aspirin and ulcers " * 300] * 60}).encode()
        head = f"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            connection.sendall(head.encode() + body)
            while not len(service.queue):
                time.sleep(0.01)
        end = time.monotonic() + 10
        while len(service.queue) and time.monotonic() < end:
            time.sleep(0.01)
        assert (len(service.queue), service.queue.tokens) == (0, 0)
        assert client.annotate(text="Aspirin").status == 200
    assert service.bodies.held == 0
    assert '"status": 499' in log.getvalue()


def test_bodies_that_are_held_at_once_are_bounded() -> None:
    with serving(max_bodies=1_000) as (client, service):
        service.bodies.held += 990
        reply = client.annotate(text="Aspirin inhibits COX-2.")
        service.bodies.held -= 990
        assert (reply.status, reply.code) == (429, "BX809")
        assert service.bodies.held == 0


def test_keys_are_checked_when_the_service_starts(tmp_path: Path) -> None:
    from biomux.errors import ServeError
    from biomux.serve.keys import Keys

    for content in ("", "# nothing\n", "short\n", "0123456789 abcdef-one\n"):
        file = tmp_path / "keys.txt"
        file.write_text(content)
        with pytest.raises(ServeError) as refused:
            Keys(str(file))
        assert refused.value.code == "BX813"
    with pytest.raises(ServeError):
        Keys(str(tmp_path / "missing"))
