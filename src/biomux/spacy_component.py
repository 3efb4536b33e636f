"""Biomux as a part of a spaCy pipeline: `nlp.add_pipe("biomux")`.

Needs spaCy (`pip install 'biomux[spacy]'`), which finds this module by the entry point `spacy_factories`.
"""
# No `from __future__ import annotations` here: spaCy checks settings against the annotations themselves.

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from spacy.language import Language
from spacy.tokens import Doc

from biomux import load
from biomux.document.spacy_doc import fill
from biomux.engine.load import find
from biomux.errors import BiomuxError, BundleError
from biomux.tagger import QueryOptions, Tagger

DEFAULTS: dict[str, Any] = {
    "bundle": None,
    "types": None,
    "heads": None,
    "threshold": None,
    "precision": None,
    "abbreviations": False,
    "consistent": None,
    "tasks": None,
    "threads": None,
    "runtime": "auto",
    "spans_key": "biomux",
    "set_ents": True,
    "align": "split",
}


@Language.factory("biomux", default_config=DEFAULTS, assigns=["doc.spans", "doc.ents"], retokenizes=True)  # type: ignore[untyped-decorator]  # spaCy need not be there
def make_component(
    nlp: Language,
    name: str,
    bundle: str | None,
    types: list[str] | None,
    heads: list[str] | None,
    threshold: float | dict[str, float] | None,
    precision: float | None,
    abbreviations: bool,
    consistent: bool | None,
    tasks: list[str] | None,
    threads: int | None,
    runtime: str,
    spans_key: str,
    set_ents: bool,
    align: Literal["split", "expand"],
) -> "BiomuxComponent":
    """The component, from the settings of a pipeline."""
    del nlp
    options = QueryOptions(
        types=types,
        heads=heads,
        threshold=threshold,
        precision=precision,
        abbreviations=abbreviations,
        consistent=consistent,
        tasks=tasks,
    )
    return BiomuxComponent(
        name,
        bundle=bundle,
        options=options,
        threads=threads,
        runtime=runtime,
        spans_key=spans_key,
        set_ents=set_ents,
        align=align,
    )


class BiomuxComponent:
    """Finds entities: all of them in `doc.spans["biomux"]`, one layer of them in `doc.ents`.

    The layer is that of `biomux annotate --resolve`. Where an entity begins or ends within a token, the token is split (`align="split"`), so that
    `span.start_char` and `span.end_char` are Biomux's own; with `"expand"` tokens stay and entities grow to whole ones.
    """

    def __init__(
        self,
        name: str = "biomux",
        *,
        bundle: str | None = None,
        options: QueryOptions | None = None,
        threads: int | None = None,
        runtime: str = "auto",
        spans_key: str = "biomux",
        set_ents: bool = True,
        align: Literal["split", "expand"] = "split",
    ) -> None:
        self.name = name
        self.bundle = bundle
        self.options = options or QueryOptions()
        self.threads = threads
        self.runtime = runtime
        self.spans_key = spans_key
        self.set_ents = set_ents
        self.align: Literal["split", "expand"] = align
        self._tagger: Tagger | None = None
        self._on_error: Callable[[str, Any, list[Doc], Exception], None] = _raise
        try:
            find(bundle)
        except BundleError:
            return  # a saved pipeline brings its bundle, which `from_disk` finds; without it the first text says so
        self.tagger.pipe([], **self.options)  # what cannot be asked for is told now

    @property
    def tagger(self) -> Tagger:
        """The tagger, loaded when it is first needed."""
        if self._tagger is None:
            self._tagger = load(self.bundle, threads=self.threads, runtime=self.runtime)
        return self._tagger

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one `Doc`."""
        return next(iter(self.pipe([doc])), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Annotate a stream, in order. How many are read together is the tagger's own choice, so `batch_size` changes nothing."""
        del batch_size
        tagger = self.tagger

        def failed(item: tuple[str, Doc], error: BiomuxError) -> None:
            self._on_error(self.name, self, [item[1]], error)

        for document, doc in tagger.pipe(((doc.text, doc) for doc in stream), on_error=failed, **self.options):
            layer = tagger.one_layer(document, heads=self.options.get("heads")) if self.set_ents else None
            fill(doc, document, one_layer=layer, key=self.spans_key, align=self.align)
            yield doc

    def set_error_handler(self, on_error: Callable[[str, Any, list[Doc], Exception], None]) -> None:
        """What spaCy calls when `nlp.set_error_handler` is used."""
        self._on_error = on_error

    def get_error_handler(self) -> Callable[[str, Any, list[Doc], Exception], None]:
        """The function that is told of a `Doc` that failed."""
        return self._on_error

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save with the pipeline: a bundle of one's own is copied, one that comes with Biomux is noted by its name."""
        del exclude
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        origin = self.tagger.origin
        if origin is None:
            raise TypeError("a tagger that was not loaded from a folder cannot be saved")
        own = Path(origin.path_or_name)
        if own.is_absolute():
            shutil.copytree(own, folder / "bundle", dirs_exist_ok=True)
        note = {"bundle": None if own.is_absolute() else origin.path_or_name, "checksum": origin.checksum}
        (folder / "biomux.json").write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "BiomuxComponent":
        """Load what `to_disk` saved. Another bundle under the same name is an error: its answers would differ."""
        del exclude
        folder = Path(path)
        note = json.loads((folder / "biomux.json").read_text(encoding="utf-8"))
        bundle = note["bundle"] or str(folder / "bundle")
        tagger = load(bundle, threads=self.threads, runtime=self.runtime)
        if tagger.origin is None or tagger.origin.checksum != note["checksum"]:
            raise BundleError(
                "BX640",
                "the bundle is not the one that the pipeline was saved with",
                where=bundle,
                hint="install the version of Biomux that it was saved with, or make the pipeline again",
            )
        self.bundle, self._tagger = bundle, tagger
        return self


def _raise(name: str, component: Any, docs: list[Doc], error: Exception) -> None:
    del name, component, docs
    raise error
