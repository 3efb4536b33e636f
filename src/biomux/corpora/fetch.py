"""Get the files of a corpus from its public home: with progress, resumed where it stopped, checked before it is used.

A file is written beside its place as `.NAME.part`; it takes its name only when its checksum is right. What has no direct address
is listed with where to find it and where to put it.
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
"""More than any corpus of the catalogue: a download that goes on longer is stopped."""
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Item:
    """A file of a corpus: where it goes, where it comes from (None: by hand), whether it is there and right."""

    file: File
    place: Path
    url: str | None
    where: str
    present: bool


def plan(card: Card, root: Path) -> list[Item]:
    """What there is to fetch, and what is there already."""
    items = []
    for file in card.files:
        here = locate(root, file.path)
        home = file.home or card.home
        present = here is not None and damage(file, here) is None
        items.append(Item(file, root / file.path, address(file, home), describe(file, home), present))
    return items


def address(file: File, home: Home) -> str | None:
    """The direct address of a file: its own, or the raw file at the home's commit."""
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
    """Fetch one file to its place. An interrupted download goes on where it stopped, now or at the next call."""
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
    """What to download and where to put it, for someone with a browser."""
    return "get by hand: " + "; ".join(f"{item.url or item.where} → {item.place}" for item in items)


def _receive_all(item: Item, url: str, part: Path, on_bytes: Callable[[int], None]) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise CorpusError(
            "BX208", "cannot download: the address must be http or https", where=url, hint=by_hand([item])
        )
    begun = part.stat().st_size if part.exists() else 0
    if begun:
        on_bytes(begun)
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
            again = "call again to go on where it stopped, or " if part.exists() else ""
            raise CorpusError(
                "BX208", f"the download failed: {reason}", where=url, hint=f"{again}{by_hand([item])}"
            ) from None


def _receive(url: str, part: Path, on_bytes: Callable[[int], None]) -> bool:
    """Receive what is left of a file; whether all of it came."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": "biomux"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:
            raise
        error.close()
        if error.headers.get("Content-Range", "") == f"bytes */{have}":
            return True
        part.unlink()  # longer than the file is now: not its beginning
        on_bytes(-have)
        return False
    with answer:
        goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if have and not goes_on:
            on_bytes(-have)
            have = 0
        length = answer.headers.get("Content-Length")
        wanted = have + int(length) if length else None
        with part.open("ab" if goes_on else "wb") as stream:
            while block := answer.read(_BLOCK):
                have += len(block)
                if have > MAX_BYTES:
                    raise CorpusError(
                        "BX208", f"the download exceeds {MAX_BYTES:,} bytes", where=url, hint="check the card"
                    )
                stream.write(block)
                on_bytes(len(block))
    return wanted is None or have >= wanted
