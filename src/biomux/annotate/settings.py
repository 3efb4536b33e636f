"""What a run asks of the annotator: values that travel between processes and are compared when a run goes on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from biomux.engine.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.errors import BiomuxError


@dataclass(frozen=True)
class AnnotateSettings:
    """A bundle, or a run, and what it is asked for; plain values only. `runtime` is one of `biomux.engine.runtimes`."""

    bundle: str | None = None
    query: Query = field(default_factory=Query)
    strict: bool = False
    runtime: str = "auto"

    def settled(self) -> AnnotateSettings:
        """The same with a runtime by name, which all who work on one output must share: the last digits of scores are each runtime's own."""
        from biomux.engine import runtimes

        if self.run is not None:
            return self  # torch computes it
        return replace(self, runtime=runtimes.named(self.runtime))

    @property
    def run(self) -> Path | None:
        """The folder of the run that is named in place of a bundle; None if it is a bundle."""
        from biomux.engine import load
        from biomux.engine.bundle import checksums

        folder = load.find(self.bundle)
        return folder if (folder / "model.json").exists() and not (folder / checksums.MANIFEST).exists() else None

    def annotator(self, *, threads: int | None = None, chunk: int | None = None) -> Annotator:
        """Load the annotator."""
        from biomux import load

        made = load(self.bundle, threads=threads, runtime=self.runtime)
        return replace(made, strict=self.strict, chunk=chunk or made.chunk)

    def annotate(
        self,
        annotator: Annotator,
        documents: Iterable[Document],
        *,
        on_error: Callable[[Document, BiomuxError], None],
    ) -> Iterator[Document]:
        """The documents, annotated as these settings say."""
        return annotator.annotate_query(documents, self.query, on_error=on_error)

    def left_out(self) -> tuple[str, ...]:
        """The types that are not given out since they were never as precise as is asked for."""
        query = self.query
        if query.precision is None or query.types is not None:
            return ()
        return self.annotator().imprecise(query.precision, heads=query.heads, tasks=query.tasks)

    def fingerprint(self) -> str:
        """The checksum of the bundle: of its manifest, which has those of all its files. Of a run: of its description and weights."""
        import hashlib

        if (run := self.run) is not None:
            digest = hashlib.sha256()
            for name in ("model.json", "tokenizer.json", "model.safetensors"):
                if (run / name).is_file():
                    with (run / name).open("rb") as stream:
                        digest.update(hashlib.file_digest(stream, "sha256").digest())
            return digest.hexdigest()
        from biomux.engine import load
        from biomux.engine.bundle import checksums

        folder = load.find(self.bundle)
        checksums.read_manifest(folder)
        return hashlib.sha256((folder / checksums.MANIFEST).read_bytes()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """What decides the output, as JSON values: the same settings give the same value."""
        return {**self.query.to_json(), "strict": self.strict, "runtime": self.runtime}
