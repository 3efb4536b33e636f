"""What a format must remember of a whole file, in bounded memory: the first in memory, the rest in a temporary file that goes with the process.

Once     a value a key, kept when the key comes first: ids that have been written, digests of texts
Shelf    many values a key, fetched when the key's turn comes: tables in no order that belong to a file that streams
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

IN_MEMORY = 50_000
"""Keys that `Once` holds in memory."""
BYTES_IN_MEMORY = 16 * 1024 * 1024
"""What `Shelf` holds in memory, about; with more, all of it goes to the file."""
OVERHEAD = 200
"""What a value takes beside its characters, about."""
AT_ONCE = 100
"""Values that wait until they are written to the file together."""
CACHE_KB = 32 * 1024
"""What of a temporary file is held in memory."""

_INDEX = "CREATE INDEX by_key ON kept (key)"
_INSERT = "INSERT INTO kept (key, value) VALUES (?, ?)"


class Once:
    """The first value of each key.

    >>> seen = Once()
    >>> seen.put("a", b"1"), seen.put("a", b"2")
    (None, b'1')
    """

    def __init__(self, *, in_memory: int = IN_MEMORY) -> None:
        self._first: dict[str, bytes] = {}
        self._in_memory = in_memory
        self._rest: _File | None = None

    def put(self, key: str, value: bytes = b"") -> bytes | None:
        """Keeps the value if the key is new; else gives the one that it has."""
        if key in self._first:
            return self._first[key]
        if len(self._first) < self._in_memory:
            self._first[key] = value
            return None
        if self._rest is None:
            self._rest = _File("CREATE TABLE kept (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        if self._rest.put("INSERT OR IGNORE INTO kept VALUES (?, ?)", [(_key(key), value)]):
            return None
        return self._in_rest(key)

    def __contains__(self, key: str) -> bool:
        return key in self._first or self._in_rest(key) is not None

    def _in_rest(self, key: str) -> bytes | None:
        if self._rest is None:
            return None
        return next((value for (value,) in self._rest.rows("SELECT value FROM kept WHERE key = ?", _key(key))), None)


class Shelf:
    """Values by key, in the order in which they were added. All are added before the first is asked for.

    >>> shelf = Shelf()
    >>> shelf.add("a", "1"), shelf.add("b", "2"), shelf.add("a", "3")
    (None, None, None)
    >>> shelf.get("a"), shelf.get("c"), list(shelf), "b" in shelf
    (['1', '3'], [], ['a', 'b'], True)
    """

    def __init__(self, *, in_memory: int = BYTES_IN_MEMORY) -> None:
        self._first: dict[str, list[str]] = {}
        self._free = in_memory
        self._file: _File | None = None
        self._waiting: list[tuple[bytes, bytes]] = []

    def add(self, key: str, value: str) -> None:
        """One more value of a key."""
        if self._file is not None:
            self._waiting.append((_key(key), _key(value)))
            if len(self._waiting) == AT_ONCE:
                self._filled(self._file)
            return
        self._first.setdefault(key, []).append(value)
        self._free -= len(key) + len(value) + OVERHEAD
        if self._free < 0:
            self._file = _File("CREATE TABLE kept (number INTEGER PRIMARY KEY, key BLOB, value BLOB)")
            rows = ((_key(key), _key(value)) for key, values in self._first.items() for value in values)
            self._file.put(_INSERT, rows)
            self._first = {}

    def get(self, key: str) -> list[str]:
        """The values of a key."""
        if self._file is None:
            return self._first.get(key, [])
        self._filled(self._file).once(_INDEX)
        found = self._file.rows("SELECT value FROM kept WHERE key = ? ORDER BY number", _key(key))
        return [_text(value) for (value,) in found]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(self.get(key))

    def keys(self) -> Iterator[str]:
        """All keys, sorted."""
        if self._file is None:
            yield from sorted(self._first)
            return
        self._filled(self._file).once(_INDEX)
        for (key,) in self._file.rows("SELECT DISTINCT key FROM kept ORDER BY key"):
            yield _text(key)

    def __iter__(self) -> Iterator[str]:
        """All keys, in the order in which they first came."""
        if self._file is None:
            yield from self._first
            return
        for (key,) in self._filled(self._file).rows("SELECT key FROM kept GROUP BY key ORDER BY min(number)"):
            yield _text(key)

    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """Every key with its values, sorted by key."""
        if self._file is None:
            yield from ((key, self._first[key]) for key in sorted(self._first))
            return
        rows = self._filled(self._file).rows("SELECT key, value FROM kept ORDER BY key, number")
        for key, values in groupby(rows, key=lambda row: row[0]):
            yield _text(key), [_text(value) for _, value in values]

    def _filled(self, file: _File) -> _File:
        """The file, with all that has been added."""
        if self._waiting:
            file.put(_INSERT, self._waiting)
            self._waiting = []
        return file


class _File:
    """A database without a name: its pages go to a temporary file when they are more than the cache holds."""

    def __init__(self, table: str) -> None:
        import sqlite3

        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._error = sqlite3.Error
        self._done: set[str] = set()
        settings = (f"cache_size = -{CACHE_KB}", "journal_mode = OFF", "synchronous = OFF", "temp_store = FILE")
        for statement in (*(f"PRAGMA {setting}" for setting in settings), table):
            self.once(statement)
        self.once("BEGIN")  # never committed: a commit after each statement would write its pages out

    def once(self, statement: str) -> None:
        if statement not in self._done:
            with self._telling():
                self._database.execute(statement)
            self._done.add(statement)

    def put(self, statement: str, rows: Iterable[tuple[bytes, bytes]]) -> int:
        with self._telling():
            return self._database.executemany(statement, rows).rowcount

    def rows(self, statement: str, *values: bytes) -> Iterator[tuple[Any, ...]]:
        with self._telling():
            yield from self._database.execute(statement, values)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise no_room(str(error)) from error


def no_room(reason: str) -> UsageError:
    """What is told when a temporary file cannot be written."""
    hint = "make room where temporary files are written, or set TMPDIR to a folder that has more"
    return UsageError("BX002", f"a temporary file cannot be written: {reason}", hint=hint)


def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
