"""What one encoder with many heads saves, and how our engine stands against what users would take instead.

    python -m benchmarks.inference                              # all parts; from the root of the project
    python -m benchmarks.inference --parts table3 heads         # some of them
    python -m benchmarks.inference --parts spacy --corpus bc5cdr --bundle my-bundle
    python -m benchmarks.inference --quick                      # a tiny encoder: does it run?

| part | what |
|---|---|
| peak | the machine's matrix-multiply peak, by onnxruntime and by torch |
| table3 | three single-task models in sequence against one with three heads, one window at a time: Table 3 of paper A |
| heads | 1, 3 and 15 heads against 1, beside what counting operations predicts; full and narrow |
| sessions | tokens a second by precision, runtime and shape of batch |
| pipeline | transformers' token-classification pipeline, one per type, against our engine and the bundle with all its heads, from text to entities |
| bundle | the bundle: speed, time outside the session, share of the int8 peak, cold start, memory, size; operators inside the session |
| spacy | spaCy's NER trained on a corpus of BIOMUX_CORPORA: speed and strict F1 |

Weights are random: speed does not depend on them. Contestants take turns. Needs the `train` extra; what else is not installed is left out and said.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import invented, models, peak
from benchmarks.contest import Table, alternate, describe, report
from biomux.engine import machine, parallel
from biomux.engine.graph_session import Place
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.threads import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from biomux.annotate.bench import Times
    from biomux.engine.packing import Batch
    from biomux.engine.session import Session

PARTS = ("peak", "table3", "heads", "sessions", "pipeline", "bundle", "spacy")


@dataclass(frozen=True)
class Options:
    """What all parts must know."""

    seconds: float
    threads: int
    quick: bool
    tokenizer: Path | None
    corpus: str
    bundle: str | None
    minutes: float
    cpu: bool = False
    encoders: tuple[str, ...] = ("base", "small")
    lengths: tuple[int, ...] = (32, 64, 128)
    budgets: tuple[int, ...] = (256, 512, 1024, 2048, 4096)

    @property
    def clock(self) -> Callable[[], float]:
        """What times are taken with."""
        return time.process_time if self.cpu else time.perf_counter

    @property
    def sizes(self) -> tuple[models.Size, ...]:
        """The sizes of the papers' encoder and of ours, or those that are asked for."""
        known = {"base": models.BASE, "small": models.SMALL}
        return (models.TINY,) if self.quick else tuple(known[name] for name in self.encoders)


def session(content: bytes, threads: int, heads: int = 1) -> OnnxSession:
    """Our session over a graph."""
    places = {f"head{index}": Place("logits", 3 * index, 3 * index + 3) for index in range(heads)}
    return OnnxSession(content, places, threads=threads)


def inputs(batch: Batch) -> dict[str, Any]:
    """What a graph of taggers reads of a batch."""
    return {"ids": batch.ids, "mask": batch.mask, "first": batch.first}


def peaks(options: Options) -> list[Table]:
    """The machine's peak, in GOP/s."""
    import torch

    torch.set_num_threads(options.threads)
    rows: list[tuple[Any, ...]] = []
    for precision in peak.PRECISIONS:
        ours = peak.measure(precision, threads=options.threads, seconds=options.seconds / 10)
        theirs = max(_torch_peak(precision, shape, options) or 0.0 for shape in peak.SHAPES) or None
        rows.append((precision, ours.gops, theirs))
    return [Table("Matrix-multiply peak, GOP/s", ("precision", "onnxruntime", "torch"), tuple(rows), (
        f"Best of the shapes {', '.join('×'.join(map(str, shape)) for shape in peak.SHAPES)}; {options.threads} threads; empty: no such product.",
    ))]  # fmt: skip


def _torch_peak(precision: str, shape: tuple[int, int, int], options: Options) -> float | None:
    import torch

    rows, inputs, outputs = shape
    wanted = {"bf16": {"avx512_bf16", "amx_bf16", "bf16"}, "int8": {"avx_vnni", "avx512_vnni", "amx_int8", "i8mm"}}
    if precision in wanted and not wanted[precision] & set(machine.describe()["flags"]):
        return None  # torch emulates what the processor does not have, a hundred times slower than fp32
    with torch.inference_mode():
        if precision == "int8":
            left, right = (
                torch.randint(-63, 63, size, dtype=torch.int8) for size in ((rows, inputs), (inputs, outputs))
            )
            run: Callable[[], object] = lambda: torch._int_mm(left, right)  # noqa: E731
        else:
            kind = torch.float32 if precision == "fp32" else torch.bfloat16
            one, other = torch.randn(rows, inputs, dtype=kind), torch.randn(inputs, outputs, dtype=kind)
            run = lambda: one @ other  # noqa: E731
        try:
            return peak.best_rate(run, operations=2.0 * rows * inputs * outputs, seconds=options.seconds / 30) / 1e9
        except RuntimeError:
            return None


def table3(options: Options) -> list[Table]:
    """Three models in sequence against one with three heads, batch 1."""
    rows: list[tuple[Any, ...]] = []
    for size in options.sizes:
        made = [models.weights(size, seed=seed) for seed in range(3)]
        own = [models.heads(1, size, hidden=None, seed=seed) for seed in range(3)]
        together = models.heads(3, size, hidden=None)
        for runtime in ("onnxruntime fp32", "onnxruntime int8", "torch fp32"):
            one_by_one, at_once = _sequence(runtime, size, made, own, together, options)
            for length in (32, 128):
                found = _turns(
                    one_by_one, at_once, models.batch(1, length, size), seconds=options.seconds / 4, clock=options.clock
                )
                three, one = found["three"].median, found["one"].median
                encoder = size.operations(length)
                predicted = 3 * (encoder + models.head_operations(1, size, hidden=None))
                predicted /= encoder + models.head_operations(3, size, hidden=None)
                rows.append((size.name, runtime, length, three * 1e3, one * 1e3, three / one, predicted))
    return [Table(
        "Three single-task models in sequence against one multi-task model, batch 1 (paper A, Table 3)",
        ("encoder", "runtime", "tokens", "three models, ms", "one model, ms", "ratio", "by operations"), tuple(rows),
        ("Two-layer heads of full width (d → d → 3) that read every token; medians. Goal: a ratio of at least 2.8 at 12×768.",),
    )]  # fmt: skip


def _turns(
    one_by_one: list[Callable[[Batch], object]],
    at_once: Callable[[Batch], object],
    batch: Batch,
    *,
    seconds: float,
    clock: Callable[[], float],
) -> dict[str, Times]:
    return alternate(
        {"three": lambda: [run(batch) for run in one_by_one], "one": lambda: at_once(batch)},
        seconds=seconds,
        clock=clock,
    )


def _sequence(
    runtime: str, size: models.Size, made: list[Any], own: list[Any], together: Any, options: Options
) -> tuple[list[Callable[[Batch], object]], Callable[[Batch], object]]:
    """Three single-task models and the multi-task one, each with weights of its own in memory."""
    if runtime.startswith("onnxruntime"):
        precision: Any = runtime.split()[1]
        graphs = [models.graph_bytes(size, w, h, precision=precision) for w, h in zip(made, own, strict=True)]
        single = [session(graph, options.threads).run for graph in graphs]
        whole = models.graph_bytes(size, models.weights(size, seed=9), together, precision=precision)
        return list(single), session(whole, options.threads, 3).run
    import torch

    torch.set_num_threads(options.threads)
    pairs = [(models.torch_body(size, w), models.torch_heads(h)) for w, h in zip(made, own, strict=True)]
    multi = (models.torch_body(size, models.weights(size, seed=9)), models.torch_heads(together))
    return [_torch_run(*pair) for pair in pairs], _torch_run(*multi)


def _torch_run(body: Any, heads: Any) -> Callable[[Batch], object]:
    import torch

    def run(batch: Batch) -> object:
        with torch.inference_mode():
            hidden = body(torch.from_numpy(batch.ids), attention_mask=torch.from_numpy(batch.mask)).last_hidden_state
            rows = hidden.reshape(-1, hidden.shape[-1]).index_select(0, torch.from_numpy(batch.first))
            return [head(rows) for head in heads]

    return run


def many_heads(options: Options) -> list[Table]:
    """The cost of 1, 3 and 15 heads."""
    rows: list[tuple[Any, ...]] = []
    for size in options.sizes:
        made = models.weights(size)
        for precision in ("fp32", "int8"):
            for hidden in (None, 64):
                runs = {}
                for number in (1, 3, 15):
                    own = models.heads(number, size, hidden=hidden)
                    content = models.graph_bytes(size, made, own, precision=precision)
                    runs[number] = session(content, options.threads, number)
                for windows, length, every in ((1, 64, 1), (16, 64, 1), (16, 64, 2)):
                    batch = models.batch(windows, length, size, every=every)
                    found = alternate(
                        {str(number): partial(run.run, batch) for number, run in runs.items()},
                        seconds=options.seconds / 4,
                        clock=options.clock,
                    )
                    base = found["1"].best
                    encoder = size.operations(length, every=every)
                    predicted = [
                        (encoder + models.head_operations(number, size, hidden=hidden) / every)
                        / (encoder + models.head_operations(1, size, hidden=hidden) / every)
                        for number in (3, 15)
                    ]
                    wide = "d → d → 3" if hidden is None else f"d → {hidden} → 3"
                    rows.append((
                        size.name, precision, wide, f"{windows}×{length}", f"1 in {every}", base * 1e3,
                        found["3"].best / base, predicted[0], found["15"].best / base, predicted[1],
                    ))  # fmt: skip
    return [Table(
        "The cost of heads, relative to one head (onnxruntime)",
        ("encoder", "computed in", "head", "batch", "tokens read", "1 head, ms", "3 heads", "by operations", "15 heads", "by operations "),
        tuple(rows),
        ("Best of the turns. Heads read words' first tokens: one token in two with a general vocabulary, four in five with a biomedical one. Their last layer is fp32 always; "
         "the predictions count all operations alike. Goal: fifteen narrow heads at most 1.05.",),
    )]  # fmt: skip


def sessions(options: Options) -> list[Table]:
    """Tokens a second by runtime and shape."""
    size = options.sizes[-1]
    made, own = models.weights(size), models.heads(3, size, hidden=64)
    exact = models.graph_bytes(size, made, own)
    rounded = models.graph_bytes(size, made, own, precision="int8")
    ours = session(rounded, options.threads, 3)
    runs: dict[str, Callable[[Sequence[Batch]], object]] = {
        "onnxruntime fp32": each(session(exact, options.threads, 3)),
        "onnxruntime int8, row-wise (ours)": each(ours),
        "ours, a batch on all threads": shared(rounded, options.threads),
        "onnxruntime int8, dynamic (its own)": each(session(_dynamic(exact), options.threads, 3)),
    }
    notes = [
        "Tokens a second, median of the turns, each of four batches; every second token begins a word. The budget is tokens of a batch. "
        "onnxruntime: each batch on one thread, several at once, unless it says otherwise; OpenVINO: each batch on all threads."
    ]
    for name, content in (("OpenVINO fp32", exact), ("OpenVINO, our int8 graph", rounded)):
        try:
            runs[name] = openvino(content, options.threads)
        except ImportError:
            notes.append("OpenVINO is not installed: left out.")
            break
        except RuntimeError as error:
            notes.append(f"{name} does not open: {str(error).splitlines()[0][:160]}")
    rows: list[tuple[Any, ...]] = []
    for length in options.lengths:
        for budget in options.budgets[:2] if options.quick else options.budgets:
            batches = [models.batch(budget // length, length, size, every=2)] * 4
            tokens = sum(batch.ids.size for batch in batches)
            found = alternate(
                {name: partial(run, batches) for name, run in runs.items()},
                seconds=options.seconds / 6,
                clock=options.clock,
            )
            rows.append((length, budget, *(float(tokens / found[name].median) for name in runs)))
    return [Table(f"Sessions, {size.name}", ("length", "budget", *runs), tuple(rows), tuple(notes))]


def _dynamic(content: bytes) -> bytes:
    """onnxruntime's own dynamic int8: one scale for all of a batch's activations."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "dynamic.onnx"
        quantize_dynamic(
            onnx.load_model_from_string(content), target, per_channel=True, reduce_range=False, weight_type=QuantType.QInt8
        )  # fmt: skip
        return target.read_bytes()


def each(taken: Session) -> Callable[[Sequence[Batch]], object]:
    """Batches as the engine runs them: as many at once as the session allows."""
    return lambda batches: list(parallel.run(taken, batches))


def shared(content: bytes, threads: int) -> Callable[[Sequence[Batch]], object]:
    """Batches one after another, each on all threads."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
    opened = onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])
    return lambda batches: [opened.run(["logits"], inputs(batch)) for batch in batches]


def openvino(content: bytes, threads: int) -> Callable[[Sequence[Batch]], object]:
    """An OpenVINO request over the same graph."""
    from openvino import Core

    core = Core()
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(content), "CPU", settings).create_infer_request()
    return lambda batches: [request.infer(inputs(batch))[0] for batch in batches]


def pipeline(options: Options) -> list[Table]:
    """transformers' pipeline, one model per type, against one engine with a head per type."""
    from benchmarks.pipelines import contestants

    texts = [invented.abstract(seed) for seed in range(4 if options.quick else 20)]
    size = options.sizes[-1]
    runs = contestants(size, texts, threads=options.threads, tokenizer=options.tokenizer, bundle=options.bundle)
    found = alternate(runs, seconds=options.seconds, clock=options.clock)
    words = sum(len(text.split()) for text in texts)
    slowest = max(one.median for one in found.values())
    rows = [
        (name, words / one.median, one.median * 1e3 / len(texts), slowest / one.median) for name, one in found.items()
    ]
    return [Table(
        f"Three types in {len(texts)} invented abstracts ({words:,} words), {size.name}, from text to entities",
        ("", "words per second", "ms an abstract", "times the slowest"), tuple(rows),
        ("Linear heads everywhere, the pipelines and Biomux fp32 and int8 with the same random weights; the pipelines run one after another, one model per type; medians. "
         "The bundle answers with all its heads. Goal: at least 8 times the pipelines.",),
    )]  # fmt: skip


def bundle(options: Options) -> list[Table]:
    """The bundle, from text to written documents."""
    from benchmarks.bundle import tables

    with tempfile.TemporaryDirectory() as place:
        return tables(
            options.bundle,
            seconds=1.0 if options.quick else 2 * options.seconds,
            threads=options.threads,
            place=Path(place),
        )


def spacy(options: Options) -> list[Table]:
    """spaCy's NER, trained here."""
    try:
        from benchmarks.spacy_ner import compare
    except ImportError as error:
        return [Table("spaCy", ("",), (), (f"Left out: {error.name} is not installed.",))]
    if not os.environ.get("BIOMUX_CORPORA"):
        return [Table("spaCy", ("",), (), ("Left out: BIOMUX_CORPORA does not name the corpora.",))]
    return [
        compare(
            options.corpus,
            minutes=options.minutes,
            seconds=options.seconds,
            bundle=options.bundle,
            threads=options.threads,
            most=40 if options.quick else None,
        )
    ]


RUN: dict[str, Callable[[Options], list[Table]]] = {
    "peak": peaks,
    "table3": table3,
    "heads": many_heads,
    "sessions": sessions,
    "pipeline": pipeline,
    "bundle": bundle,
    "spacy": spacy,
}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=20.0, help="about how long a comparison takes")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--quick", action="store_true", help="a tiny encoder, to see that all runs")
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json for the pipelines; else the bundle's")
    parser.add_argument("--corpus", default="bc5cdr", help="what spaCy is trained on")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long spaCy is trained")
    parser.add_argument("--bundle", help="the bundle; else the one included")
    parser.add_argument("--encoders", nargs="+", choices=("base", "small"), default=["base", "small"])
    parser.add_argument("--lengths", nargs="+", type=int, default=[32, 64, 128], help="of the sessions' windows")
    parser.add_argument("--budgets", nargs="+", type=int, default=[256, 512, 1024, 2048, 4096], help="of their batches")
    parser.add_argument("--cpu", action="store_true", help="take processor time: for a busy machine, with --threads 1")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all tables there as well")
    given = parser.parse_args()
    described = describe()
    options = Options(
        given.seconds,
        given.threads,
        given.quick,
        given.tokenizer,
        given.corpus,
        given.bundle,
        given.minutes,
        given.cpu,
        tuple(given.encoders),
        tuple(given.lengths),
        tuple(given.budgets),
    )
    report([table for part in given.parts for table in RUN[part](options)], json_file=given.json, described=described)


if __name__ == "__main__":
    main()
