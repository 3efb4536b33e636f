"""The best weights of a run and what they are, ready to be written as a graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.engine.annotator import Annotator
from biomux.engine.bundle import word_tables
from biomux.engine.graph_session import Place
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.packing import Specials, padded
from biomux.engine.word_vectors import memory_of
from biomux.errors import BundleError, UsageError, did_you_mean
from biomux.recipes.run_folder import RunFolder
from biomux.tasks.relation import Relations
from biomux.tasks.text_inputs import TextPair
from biomux.text.word_splitter import as_tokenizer
from biomux.training import graph, quantization_check
from biomux.training.encoders import lexical
from biomux.training.graph.head_parts import taken_apart
from biomux.training.graph.heads import columns, hidden_matrices
from biomux.training.heads.crf import chained
from biomux.training.load_run import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

    from biomux.tasks.task import Task
    from biomux.training.graph.encoded import State
    from biomux.training.graph.head_parts import HeadParts
    from biomux.training.model import Model


@dataclass(frozen=True)
class Graphs:
    """A bundle's graphs as bytes."""

    encoder: bytes
    pairs: bytes | None = None
    words: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes of all."""
        return len(self.encoder) + len(self.pairs or b"") + len(self.words or b"")


@dataclass(frozen=True)
class Trained:
    """A run's best weights and what they are. Tasks are as they are decoded: with transitions, if a head has learned any."""

    encoder: State
    config: dict[str, Any]
    parts: tuple[HeadParts, ...]
    tasks: tuple[Task, ...]
    tokenizer: Tokenizer
    specials: Specials
    limit: int
    left_out: dict[str, str] = field(default_factory=dict)
    """Heads that are not exported → why."""

    @property
    def places(self) -> dict[str, Place]:
        """Where each head's logits are."""
        head_columns = columns(self.parts)
        return {task.name: Place(*head_columns[task.name]) for task in self.tasks}

    @property
    def mixes(self) -> tuple[quantization_check.PrecisionMix, ...]:
        """Mixes of precisions with int8, the fastest first."""
        return quantization_check.ladder(
            graph.family_of(self.config).matrices(self.config), hidden_matrices(self.parts)
        )

    @property
    def segments(self) -> bool:
        """Whether some head reads pairs of texts."""
        return any(_reads_pairs(task) for task in self.tasks)

    def graphs(self, mix: quantization_check.PrecisionMix) -> Graphs:
        """The graphs in a mix of precisions."""
        try:
            written = graph.write(
                self.encoder,
                self.config,
                self.parts,
                segments=self.segments,
                precision=mix.precision,
                keep=mix.keep,
            )
        except KeyError as error:
            raise cannot(f"the weights or the setting {error} are missing") from None
        return Graphs(written.graph, written.pairs, written.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a word-level encoder that have their own vector."""
        return lexical.words_with_vectors(self.encoder)[0] if self.config.get("kind") == "lexical" else ()

    def annotator(self, graphs: Graphs, *, threads: int | None = None) -> Annotator:
        """The annotator that a bundle with these graphs gives, before calibration."""
        session = OnnxSession(graphs.encoder, self.places, pairs=graphs.pairs, threads=threads)
        tokenizer = self.tokenizer
        if graphs.words is not None:
            session.memory = memory_of(word_tables.of_graph(graphs.words, self.words))
            tokenizer = as_tokenizer(session.memory.numbers)
        return Annotator.of_tasks(session, tokenizer, self.specials, self.tasks, limit=self.limit)


def read(run: Path, *, heads: Sequence[str] | None = None) -> Trained:
    """The weights of a run, or of some of its heads. An encoder or a named head that cannot become a graph is refused (BX505, BX544); by default, heads that cannot are left out."""
    described = RunFolder(run).description
    family = graph.family_of(described.get("encoder", {}))
    model, tasks, tokenizer = read_run(run)
    parts, left_out = _parts(model, tasks, heads)
    kept_tasks = tuple(chained(task, model.heads[task.name]) for task in tasks if task.name in parts)
    if not kept_tasks:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise cannot(
            f"no head of the run has a graph ({reasons})", hint="annotate with the run itself: biomux.load(RUN)"
        )
    limit = int(described["limit"])
    encoder = state_of(model)
    if family.positions is not None:
        # No window is longer than the padded limit and two special tokens: positions beyond that are never read.
        name, before = family.positions
        encoder[name] = encoder[name][: before + padded(limit + 2)]
    return Trained(
        encoder,
        model.encoder.describe(),
        tuple(parts[task.name] for task in kept_tasks),
        kept_tasks,
        tokenizer,
        Specials(0, 1, 2) if family.words is not None else Specials(**described["specials"]),
        limit,
        left_out,
    )


def _parts(
    model: Model, tasks: Sequence[Task], heads: Sequence[str] | None
) -> tuple[dict[str, HeadParts], dict[str, str]]:
    """The heads that become part of the graph, and why the others do not."""
    names = [task.name for task in tasks]
    for name in heads or ():
        if name not in names:
            raise UsageError("BX001", f"the run has no head {name!r}", hint=did_you_mean(name, names))
    if heads is not None and not heads:
        raise UsageError("BX001", "--heads must name at least one head", hint=f"choose from: {', '.join(names)}")
    head_parts: dict[str, HeadParts] = {}
    left_out: dict[str, str] = {}
    for task in tasks:
        if heads is not None and task.name not in heads:
            left_out[task.name] = "as asked"
            continue
        try:
            if getattr(task, "for_training", False):
                raise BundleError(
                    "BX544", f"head {task.name!r} ({task.kind}) is for training only", hint="leave it out of --heads"
                )
            head_parts[task.name] = taken_apart(task.name, model.heads[task.name], task.unit)
        except BundleError as error:
            if heads is not None:
                raise
            left_out[task.name] = error.message
    return head_parts, left_out


def _reads_pairs(task: Task) -> bool:
    """Whether a task's inputs may have two parts; assumed for tasks of other packages that label windows."""
    if task.unit in ("word", "token", "pair") or isinstance(task, Relations):
        return False
    reads = getattr(task, "reads", None)
    return reads is None or isinstance(reads, TextPair)


def state_of(model: Model) -> dict[str, Any]:
    """The encoder's weights and tables, without the prefix of the library's model."""
    state = {name.removeprefix("body."): value.detach().cpu() for name, value in model.encoder.state_dict().items()}
    return {name: (value.float() if value.is_floating_point() else value).numpy() for name, value in state.items()}


def cannot(message: str, *, hint: str = "see `biomux export --help`") -> BundleError:
    """The error for a run that cannot become a bundle."""
    return BundleError("BX505", message, hint=hint)
