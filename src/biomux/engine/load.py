"""From a bundle to an annotator."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from biomux.engine import bundle, runtimes, tokenizer_check
from biomux.engine.annotator import Annotator
from biomux.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

    from biomux.engine.packing import Batch

SHIPPED = "first"
"""The bundle that is taken where none is named."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)


def load(
    path_or_name: str | Path | None = None,
    *,
    threads: int | None = None,
    runtime: str = "auto",
    listen: Callable[[str], None] = runtimes.silent,
) -> Annotator:
    """The annotator of a bundle: a folder, or the name of one that comes with Biomux; without either, of the usual one.

    `listen` hears what `runtimes.choose` has to say, if a runtime is not named but chosen.
    """
    runtimes.usable(runtime)
    return annotator(bundle.read(find(path_or_name)), threads=threads, runtime=runtime, listen=listen)


def annotator(
    found: bundle.Bundle,
    *,
    threads: int | None = None,
    runtime: str = "auto",
    listen: Callable[[str], None] = runtimes.silent,
) -> Annotator:
    """The annotator of a bundle that has been read."""
    tokenizer = _tokenizer(found)
    taken = _runtime(found, tokenizer, threads, runtime, listen)
    session = runtimes.open_session(found.graph, found.columns, threads=threads, runtime=taken)
    return Annotator(
        session,
        tokenizer,
        found.specials,
        found.tasks,
        limit=found.limit,
        temperatures=found.temperatures,
        merges=found.merges,
        curves=found.curves,
    )


def runtime_of(
    path_or_name: str | Path | None = None,
    *,
    threads: int | None = None,
    runtime: str = "auto",
    listen: Callable[[str], None] = runtimes.silent,
) -> runtimes.Name:
    """The runtime that a bundle would be loaded with, by name: for those who must tell it, or have others load with the same."""
    named = runtimes.usable(runtime)
    if named != "auto":
        return named
    if not runtimes.installed():
        return runtimes.REFERENCE
    found = bundle.read(find(path_or_name))
    return _runtime(found, _tokenizer(found), threads, runtime, listen)


def _runtime(
    found: bundle.Bundle,
    tokenizer: Tokenizer,
    threads: int | None,
    runtime: str,
    listen: Callable[[str], None],
) -> runtimes.Name:
    def batches() -> list[Batch]:
        from biomux.engine import race

        return race.batches(tokenizer, found.specials, limit=found.limit)

    return runtimes.choose(found.graph, found.columns, batches, threads=threads, runtime=runtime, listen=listen)


def _tokenizer(found: bundle.Bundle) -> Tokenizer:
    return tokenizer_check.build(found.tokenizer, where=str(found.folder / "tokenizer.json"))


def shipped() -> tuple[str, ...]:
    """The names of the bundles that come with Biomux."""
    root = Path(str(resources.files("biomux") / "bundles"))
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{bundle.MANIFEST}")))


def find(path_or_name: str | Path | None = None) -> Path:
    """The folder of a bundle. What names an existing folder is that folder; anything else is the name of a shipped bundle."""
    name = SHIPPED if path_or_name is None else str(path_or_name)
    if path_or_name is not None and Path(path_or_name).exists():
        return Path(path_or_name)
    if _NAME.fullmatch(name) and name in shipped():
        return Path(str(resources.files("biomux") / "bundles" / name))
    known = ", ".join(shipped())
    if path_or_name is None:
        raise BundleError(
            "BX501",
            "this Biomux came without a bundle",
            hint="name one: a folder that `biomux export` made",
        )
    raise BundleError(
        "BX501",
        f"there is no bundle {name!r}",
        hint="name a folder that `biomux export` made" + (f", or one of: {known}" if known else ""),
    )
