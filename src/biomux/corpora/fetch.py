"""Download the files of a corpus from its public home: with progress, resumable, and checked before use.

A file is first written as `.NAME.part` and renamed only when its checksum is right. Files without a direct address
are listed with where to find them and where to put them.
"""

from __future__ import annotations

import http.client
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from biomux.corpora.check import damage
from biomux.corpora.directory import locate
from biomux.errors import CorpusError
from biomux.formats import of_path, target

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from biomux.corpora.card import Card, File, Home

RAW = "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 30.0
ATTEMPTS = 3
MAX_BYTES = 2 << 30
"""More than any corpus of the catalogue has: a longer download is stopped."""
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Item:
    """A file of a corpus: where it goes, where it comes from (`url` None: by hand), and whether it is present and intact."""

    file: File
    place: Path
    url: str | None
    where: str
    present: bool


def plan(card: Card, root: Path) -> list[Item]:
    """The files to fetch, and those that are present already."""
    items = []
    for file in card.files:
        path = locate(root, file.path)
        home = file.home or card.home
        present = path is not None and damage(file, path) is None
        items.append(Item(file, root / file.path, address(file, home), describe(file, home), present))
    return items


def address(file: File, home: Home) -> str | None:
    """The direct address of a file: its `url`, or the raw file at the home's commit."""
    if file.url:
        return file.url
    if file.source and home.repository and home.commit:
        return f"{RAW}/{home.repository}/{home.commit}/{quote(file.source)}"
    return None


def describe(file: File, home: Home) -> str:
    """Where a file comes from, in words."""
    if file.url:
        return file.url
    place = home.site or f"github.com/{home.repository}, {file.source or home.path or 'the whole repository'}"
    commit = f", commit {home.commit}" if home.commit else ""
    return place + commit + (f" ({file.made})" if file.made else "")


def download(item: Item, *, on_bytes: Callable[[int], None] = lambda _: None) -> None:
    """Fetch one file to its place. An interrupted download is resumed, now or at the next call."""
    if item.url is None:
        raise CorpusError(
            "BX208", f"cannot download {item.file.path!r}: it has no direct address", hint=by_hand([item])
        )
    item.place.parent.mkdir(parents=True, exist_ok=True)
    part = item.place.with_name(f".{item.place.name}.part")
    _receive_all(item, item.url, part, on_bytes)
    if message := damage(item.file, part):
        part.unlink()
        raise CorpusError(
            "BX204",
            f"the downloaded file differs from its card: {message}",
            where=item.url,
            hint="try again later; if it happens again, the public copy has changed",
        )
    with target(item.place) as stream, of_path(part).open() as whole:
        shutil.copyfileobj(whole, stream, _BLOCK)
    part.unlink()


def by_hand(items: list[Item]) -> str:
    """What to download with a browser, and where to put it."""
    return "get by hand: " + "; ".join(f"{item.url or item.where} → {item.place}" for item in items)


def _receive_all(item: Item, url: str, part: Path, on_bytes: Callable[[int], None]) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise CorpusError(
            "BX208", "cannot download: the address must be http or https", where=url, hint=by_hand([item])
        )
    received = part.stat().st_size if part.exists() else 0
    if received:
        on_bytes(received)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            if _receive(url, part, on_bytes):
                return
            reason = "the connection ended early"
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500:
                raise CorpusError(
                    "BX208", f"the server answered {error.code} {error.reason}", where=url, hint=by_hand([item])
                ) from None
            reason = f"the server answered {error.code} {error.reason}"
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        if attempt == ATTEMPTS:
            resume_hint = "run it again to resume, or " if part.exists() else ""
            raise CorpusError(
                "BX208", f"the download failed: {reason}", where=url, hint=f"{resume_hint}{by_hand([item])}"
            ) from None


def _receive(url: str, part: Path, on_bytes: Callable[[int], None]) -> bool:
    """Receive the rest of a file; whether it is complete."""
    received = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": "biomux"}
    if received:
        headers["Range"] = f"bytes={received}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code != 416 or not received:
            raise
        error.close()
        if error.headers.get("Content-Range", "") == f"bytes */{received}":
            return True
        part.unlink()  # longer than the file on the server, so not its beginning
        on_bytes(-received)
        return False
    with answer:
        resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {received}-")
        if received and not resumed:
            on_bytes(-received)
            received = 0
        length = answer.headers.get("Content-Length")
        expected = received + int(length) if length else None
        with part.open("ab" if resumed else "wb") as stream:
            while block := answer.read(_BLOCK):
                received += len(block)
                if received > MAX_BYTES:
                    raise CorpusError(
                        "BX208", f"the download exceeds {MAX_BYTES:,} bytes", where=url, hint="check the card"
                    )
                stream.write(block)
                on_bytes(len(block))
    return expected is None or received >= expected
