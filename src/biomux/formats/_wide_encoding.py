"""Recognise UTF-16 and UTF-32 by their byte-order mark or, without one, by the places of their NULs. All our formats are UTF-8, so these are refused.

>>> wide_encoding("TP53".encode("utf-16-le"))
'UTF-16'
>>> wide_encoding(b"TP53")
"""

from __future__ import annotations

from biomux.errors import FormatError

UTF8_MARK = b"\xef\xbb\xbf"
HEAD = 4096
"""How many bytes are examined."""
_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32 if the first bytes of a text are in that encoding, else None; a UTF-8 mark rules both out.

    Without a mark, most characters of the text must be below U+0100, as in English and in the syntax of formats: then every second byte
    (in UTF-32, three of four) is NUL, and the others are not.
    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    sample = head[:HEAD]
    if b"\0" not in sample or head.startswith(UTF8_MARK) or len(sample) < 4:
        return None
    nul = [sample[place::4].count(0) / max(1, len(sample[place::4])) for place in range(4)]
    if (nul[2] > 0.9 and nul[3] > 0.9 and nul[0] < 0.1) or (nul[0] > 0.9 and nul[1] > 0.9 and nul[3] < 0.1):
        return "UTF-32"
    even, odd = nul[0] + nul[2], nul[1] + nul[3]
    return "UTF-16" if (odd > 1 and even < 0.2) or (even > 1 and odd < 0.2) else None


def refuse_wide(head: bytes, where: str) -> None:
    """Raise FormatError if the first bytes of a text are UTF-16 or UTF-32."""
    name = wide_encoding(head)
    if name is not None:
        raise FormatError(
            "BX111",
            f"the text is {name}, not UTF-8",
            where=where,
            hint=f"convert it first: iconv -f {name} -t UTF-8 (if it has no byte-order mark, {name}LE as Windows writes it, or {name}BE)",
        )
