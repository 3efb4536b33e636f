"""The files of the page in `page/`: read once, and only these are served."""

from __future__ import annotations

from functools import cache
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.responses import Response

MEDIA = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


@cache
def files() -> dict[str, bytes]:
    """Name → content."""
    folder = resources.files("biomux.serve") / "page"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in MEDIA}


def reply(name: str) -> Response:
    """A file of the page, if there is one of that name."""
    content = files().get(name)
    if content is None:
        raise HTTPException(404)
    return Response(content, media_type=MEDIA[name.rpartition(".")[2]], headers={"cache-control": "no-cache"})
