"""API keys: one per line in a file, compared in constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from pathlib import Path

from biomux.errors import ServeError

SHORTEST = 16
"""Minimum length of a key in characters: shorter ones can be guessed."""


class Keys:
    """The keys that are valid now; only their checksums are kept. Without a file, no key is needed."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._digests: tuple[bytes, ...] = ()
        self.reload()

    def reload(self) -> None:
        """Read the file again; if it cannot be used, the keys stay as they are."""
        if self._file is not None:
            self._digests = tuple(_digest(key) for key in _read(Path(self._file)))

    def allow(self, authorization: str | None) -> bool:
        """Whether a header `Authorization` has a valid key: after `Bearer`, or as the password of `Basic`.

        Every key is compared, even after a match, so that the time reveals nothing.
        """
        if self._file is None:
            return True
        digest = _digest(_key(authorization or ""))
        fits = False
        for valid_digest in self._digests:
            fits |= hmac.compare_digest(digest, valid_digest)
        return fits


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _key(authorization: str) -> str:
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _read(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ServeError("BX813", f"cannot read the keys: {reason}", where=str(path), hint="check the path") from None
    keys = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for number, key in enumerate(keys, 1):
        if len(key) < SHORTEST or any(character.isspace() for character in key):
            raise ServeError(
                "BX813",
                f"key {number} must have at least {SHORTEST} characters and no spaces",
                where=str(path),
                hint="make one with: openssl rand -hex 32",
            )
    if not keys:
        raise ServeError("BX813", "there is no key in the file", where=str(path), hint="write one key per line")
    return keys
