"""The graph of a bundle, written node by node: the encoder once, then all heads.

The graph is written here and not traced by torch, so that it has only a few kinds of nodes, whatever the versions of torch and its exporter. Each encoder family is one file
and one line in the table below. After the attention of the last layer, only the rows that a head reads are computed.

| input | shape | |
|---|---|---|
| ids, mask | windows × length | |
| vectors | windows × length × width | instead of ids, for encoders that read words' own vectors, which have a separate graph (`words`) |
| segments | windows × length | if a head reads pairs of texts and the encoder distinguishes them |
| first | words | places of words' first tokens in the flattened rows |
| starts | windows, or none | places of windows' first tokens, if a head reads [CLS] |
| tokens | windows · length, or none | places of all tokens, if a head reads them all |

| output | shape | heads |
|---|---|---|
| logits | words × labels | of words |
| answers | (words + starts) × 2 per head | where an answer begins and ends; [CLS] means no answer |
| windows, pooled | windows × labels | of windows, by [CLS] or by all their tokens |
| tokens.logits | tokens × labels | of tokens |
| states | words × width | what heads of pairs of spans read |

Heads of pairs are a separate graph (`pairs`): the pairs are known only when words have been decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.errors import BundleError
from biomux.training.graph import bert, bilstm, convolution, distilbert, heads, lexical, mobilebert, mpnet, pairs
from biomux.training.graph.activations import ACTIVATIONS
from biomux.training.graph.builder import Graph

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from biomux.training.graph.builder import Precision
    from biomux.training.graph.encoded import Config, Family, State
    from biomux.training.graph.head_parts import HeadParts

FAMILIES: dict[str, Family] = {
    "bert": bert.FAMILY,
    "distilbert": distilbert.FAMILY,
    "mpnet": mpnet.FAMILY,
    "mobilebert": mobilebert.FAMILY,
    "bilstm": bilstm.FAMILY,
    "convolution": convolution.FAMILY,
    "lexical": lexical.FAMILY,
}
"""Kind of encoder, or model type of a transformer → how it becomes a graph."""

ACTIVATION_KEYS = ("hidden_act", "activation")


@dataclass(frozen=True)
class Written:
    """Graphs as bytes: the encoder's, that of pairs of spans and that of words' own vectors if there are any; `heads.columns` says where each head's logits are."""

    graph: bytes
    pairs: bytes | None
    words: bytes | None = None


def family_of(config: Config) -> Family:
    """How an encoder becomes a graph; BX505 if it cannot."""
    kind = str(config.get("kind") or config.get("model_type"))
    family = FAMILIES.get(kind)
    if family is None:
        raise BundleError(
            "BX505",
            f"cannot export an encoder of kind {kind!r}: only {', '.join(FAMILIES)} are supported",
            hint="annotate with the run itself: biomux.load(RUN); it needs biomux[train]",
        )
    activation = next((config[key] for key in ACTIVATION_KEYS if key in config), None)
    if activation is not None and activation not in {*ACTIVATIONS, "maxout"}:
        raise BundleError(
            "BX505",
            f"cannot export an encoder with the activation {activation!r}: only {', '.join(ACTIVATIONS)} are supported",
            hint="annotate with the run itself: biomux.load(RUN); it needs biomux[train]",
        )
    return family


def write(
    state: State,
    config: Config,
    parts: Sequence[HeadParts],
    *,
    segments: bool = False,
    precision: Precision = "fp32",
    keep: Collection[str] = (),
) -> Written:
    """An encoder with heads. `segments` says whether some head reads pairs of texts; `keep` names matrices that stay fp32."""
    family, graph = family_of(config), Graph(precision=precision, keep=keep)
    segments = segments and family.segments(config)
    by_output: dict[str, list[HeadParts]] = {}
    for head in parts:
        by_output.setdefault(head.output, []).append(head)
    kinds = [kind for kind, outputs in _READ_BY.items() if by_output.keys() & outputs]
    rows = graph.concat(kinds, axis=0) if len(kinds) > 1 else kinds[0]

    def pick(values: str, width: int) -> str:
        out: str = graph.add("Gather", graph.reshape(values, -1, width), rows, axis=0)
        return out

    encoded = family.write(graph, state, config, pick, segments=segments)
    states = heads.States(graph, encoded, pick, kinds)
    outputs: dict[str, list[Any]] = {}
    for output, output_heads in by_output.items():
        if output != "pairs":
            heads.write(graph, states, output_heads, output)
            outputs[output] = [f"{output} rows", sum(head.labels for head in output_heads)]
    second = None
    if "pairs" in by_output:
        mixes = list(dict.fromkeys(head.mix for head in by_output["pairs"]))
        mixed_states = [states.of("first", mix) for mix in mixes]
        # A copy if there is only one: heads of words read the same states under another name.
        joined_states = (
            graph.concat(mixed_states, axis=-1)
            if len(mixed_states) > 1
            else graph.add("Mul", mixed_states[0], graph.number(1))
        )
        graph.named(joined_states, "states")
        outputs["states"] = ["states rows", len(mixes) * encoded.width]
        second = pairs.write(by_output["pairs"], mixes, encoded.width)
    token_input: dict[str, list[Any]] = {"ids": ["windows", "length"]}
    if family.words is not None:
        token_input = {"vectors": ["windows", "length", encoded.width]}
    inputs = {**token_input, "mask": ["windows", "length"], "first": ["words"]}
    inputs |= {kind: [f"{kind} rows"] for kind in kinds if kind != "first"}
    if segments:
        inputs["segments"] = ["windows", "length"]
    third = None if family.words is None else family.words(state, config, precision=precision)
    return Written(graph.model(inputs, outputs).SerializeToString(), second, third)


_READ_BY: dict[str, frozenset[str]] = {
    "first": frozenset({"logits", "answers", "pairs"}),
    "starts": frozenset({"windows", "answers"}),
    "tokens": frozenset({"pooled", "tokens.logits"}),
}
"""Kind of row → the outputs that read it."""
