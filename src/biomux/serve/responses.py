"""Answers in the format that a client asks for, by the writers of the command line."""

from __future__ import annotations

import dataclasses
import io
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from biomux import formats
from biomux.errors import FormatError, ServeError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from biomux.document import Document
    from biomux.engine.questions import FoundAnswer
    from biomux.formats import LossTally

    Write = Callable[[Sequence[Document], LossTally, bool], bytes]


@dataclass(frozen=True, slots=True)
class FormattedAnswer:
    """Bytes of a media type, and what the format could not hold: feature → how many."""

    content: bytes
    media: str
    not_held: dict[str, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """A format of answers: its media type, the `profile` that distinguishes it from others of that type, and how it is written."""

    media: str
    write: Write
    profile: str | None = None


def _json(documents: Sequence[Document], tally: LossTally, single: bool) -> bytes:
    lines = _stream("jsonl")(documents, tally, single).splitlines()
    return b'{"documents":[' + b",".join(lines) + b"]}\n"


def _hf(documents: Sequence[Document], tally: LossTally, single: bool) -> bytes:
    """A list of entities for one text, a list of such lists for several: as Hugging Face's pipeline answers."""
    import orjson

    entities = [document.to_hf() for document in documents]
    for document in documents:
        formats.report_losses(document, frozenset({"spans", "overlaps", "scores"}), tally)
    try:
        return orjson.dumps(entities[0] if single else entities, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise FormatError("BX120", f"cannot write as JSON: {error}", hint="repair the text") from None


def _stream(name: str) -> Write:
    def write(documents: Sequence[Document], tally: LossTally, single: bool) -> bytes:
        del single
        chosen, stream = formats.get(name), io.BytesIO()
        assert chosen.write is not None
        chosen.write(documents, stream, on_loss=tally)
        return stream.getvalue()

    return write


def _brat(documents: Sequence[Document], tally: LossTally, single: bool) -> bytes:
    """A brat folder, zipped. Only names and contents decide the bytes, not the time."""
    del single
    chosen, packed = formats.get("brat"), io.BytesIO()
    assert chosen.write_folder is not None
    with tempfile.TemporaryDirectory(prefix="biomux-serve-") as place:
        folder = Path(place)
        chosen.write_folder(documents, folder, on_loss=tally)
        with zipfile.ZipFile(packed, "w") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    member = zipfile.ZipInfo(str(path.relative_to(folder)), (1980, 1, 1, 0, 0, 0))
                    archive.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


SHAPES: dict[str, Shape] = {
    "json": Shape("application/json", _json),
    "hf": Shape("application/json", _hf, "hf"),
    "bioc-json": Shape("application/json", _stream("bioc-json"), "bioc"),
    "labelstudio": Shape("application/json", _stream("labelstudio"), "labelstudio"),
    "jsonl": Shape("application/x-ndjson", _stream("jsonl")),
    "tsv": Shape("text/tab-separated-values", _stream("tsv")),
    "pubtator": Shape("text/plain", _stream("pubtator")),
    "bioc-xml": Shape("application/xml", _stream("bioc-xml")),
    "brat": Shape("application/zip", _brat),
}
"""Name → format. If `Accept` allows several, the first is used."""


def chosen(format: str | None, accept: str | None) -> str:
    """The name of the format that a client asks for: by field, else by header, else JSON.

    >>> chosen(None, "text/tab-separated-values, */*;q=0.1"), chosen(None, 'application/json; profile="hf"')
    ('tsv', 'hf')
    """
    if format is not None:
        if format in SHAPES:
            return format
        raise ServeError("BX806", f"unknown format {format!r}", hint=did_you_mean(format, SHAPES))
    ranges = sorted(filter(None, map(_range, (accept or "*/*").split(","))), key=lambda media_range: -media_range[2])
    for media, profile, quality in ranges:
        if quality <= 0:
            continue
        for name, shape in SHAPES.items():
            if _matches(media, shape.media) and shape.profile == profile:
                return name
    raise ServeError(
        "BX806",
        "the Accept header allows no known format",
        hint=f"name one in the field format: {', '.join(SHAPES)}",
    )


def written(documents: Sequence[Document], format: str, *, one: bool) -> FormattedAnswer:
    """Documents as a client gets them. `one`: the request has a single text."""
    shape, tally = SHAPES[format], formats.LossTally()
    content = shape.write(documents, tally, one)
    charset = "; charset=utf-8" if shape.media.startswith("text/") else ""
    return FormattedAnswer(content, shape.media + charset, dict(tally.counts))


def best(found: Sequence[Sequence[FoundAnswer]], n: int) -> FormattedAnswer:
    """The `n` best of the answers that each document gave; of two with the same score, the earlier comes first."""
    ranked = sorted((answer for answers in found for answer in answers), key=lambda answer: -answer.score)
    return of_json({"answers": [dataclasses.asdict(answer) for answer in ranked[:n]]})


def of_json(value: object) -> FormattedAnswer:
    """A value as JSON."""
    import orjson

    return FormattedAnswer(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE), "application/json", {})


def _range(part: str) -> tuple[str, str | None, float] | None:
    """A media range of `Accept`: its type, its profile and its quality."""
    media, *parameters = [piece.strip() for piece in part.split(";")]
    pairs = dict(piece.partition("=")[::2] for piece in parameters)
    try:
        quality = float(pairs.get("q", "1"))
    except ValueError:
        return None
    return (media.lower(), pairs["profile"].strip('"') if "profile" in pairs else None, quality) if media else None


def _matches(pattern: str, media: str) -> bool:
    kind, _, rest = pattern.partition("/")
    return pattern in ("*/*", media) or (rest == "*" and media.startswith(f"{kind}/"))
