"""Where a job writes: a folder of this machine or one that several share, or a URL of any kind that fsspec knows (s3://, gs://, …).

A URL is a `universal_pathlib.UPath`, which is used like a Path; here is what the two do differently. What is written appears under its name when it is whole, on
both. Object stores have no locks: two runs on one target at once do the same work twice, and write the same bytes.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

from biomux import files, formats
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FLAT = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory")
"""Kinds of URLs without folders: those need not be made."""
PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
}


def is_url(where: str | Path) -> bool:
    """Whether it is a URL and not a path.

    >>> is_url("s3://bucket/out/"), is_url("out/")
    (True, False)
    """
    return "://" in str(where)


def place(where: str) -> Path:
    """A path, or what is used like one for a URL. `file://` is a path."""
    if not is_url(where):
        return Path(where)
    if where.startswith("file://"):
        return Path(unquote(urlsplit(where).path))
    return _url(where)


@lru_cache(maxsize=8)
def _url(where: str) -> Path:
    """A URL that answers."""
    kind = where.partition("://")[0]
    try:
        from upath import UPath

        place = UPath(where, use_listings_cache=False)
        place.fs.exists(place.path)
    except ImportError as error:
        missing = "universal-pathlib" if error.name == "upath" else PACKAGES.get(kind, error.name or str(error))
        hint = "pip install 'biomux[ray]'" if error.name == "upath" else f"pip install {missing}"
        raise UsageError(
            "BX003", f"writing to {kind}:// needs {missing}, which is not installed", where=where, hint=hint
        ) from None
    except Exception as error:
        raise _refused(where, error) from error
    return cast("Path", place)


@contextmanager
def target(path: Path) -> Iterator[BinaryIO]:
    """A file to write, gzipped if its name ends in `.gz`; it appears under its name only when whole: what goes to a URL is written here first."""
    if not is_url(path):
        with formats.target(path) as stream:
            yield stream
        return
    with TemporaryDirectory(prefix="biomux-") as folder:
        whole = Path(folder) / path.name
        with formats.target(whole) as stream:
            yield stream
        try:
            _fs(path).put_file(str(whole), _inner(path))
        except Exception as error:
            raise _refused(str(path), error) from error


def move(path: Path, place: Path) -> None:
    """Give a whole file its place."""
    if not is_url(path):
        path.replace(place)
        return
    try:
        _fs(path).mv(_inner(path), _inner(place))
    except Exception as error:
        raise _refused(str(place), error) from error


def make_folder(path: Path, *, parents: bool) -> None:
    """Make a folder, unless it is there or there are none."""
    if not is_url(path):
        path.mkdir(parents=parents, exist_ok=True)
    elif _fs(path).protocol[0] not in FLAT and str(path).partition("://")[0] not in FLAT:
        _fs(path).makedirs(_inner(path), exist_ok=True)


def remove(paths: Iterable[Path]) -> None:
    """Remove files and folders, those that are there."""
    urls: list[Path] = []
    for path in paths:
        if is_url(path):
            urls.append(path)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    if urls:
        _fs(urls[0]).rm([_inner(path) for path in urls if path.exists()] or [], recursive=True)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, or raise InUseError at once. A URL has none."""
    if is_url(folder):
        yield
        return
    with files.locked(folder):
        yield


def _fs(path: Path) -> Any:
    return cast("Any", path).fs


def _inner(path: Path) -> str:
    return str(cast("Any", path).path)


def _refused(where: str, error: Exception) -> UsageError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UsageError(
        "BX622",
        f"cannot write to the URL: {reason}",
        where=where,
        hint="check the address, that the bucket exists, and the credentials",
    )
