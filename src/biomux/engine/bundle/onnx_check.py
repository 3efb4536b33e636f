"""Is this ONNX file one of ours? Read as bytes, before any runtime sees it.

Allowed is what `biomux.training.graph` writes, and nothing else: one graph of a few kinds of nodes with plain attributes, constants
whose data stand in the file, inputs and outputs of known names and types. Refused are data in other files, in any
place where a tensor can stand; sparse tensors, subgraphs, functions; other operators, versions and domains; nodes that read what is not there, or
constants only (a runtime would compute those while it loads); and anything beyond the limits below.

A graph that passes computes numbers from numbers. It may still be slow, or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from biomux.engine.bundle.protobuf import Field, Fields, Message, Place, ProtobufReader

LARGEST_GRAPH = 512 * 1024 * 1024
MOST_NODES = 10_000
MOST_CONSTANTS = 10_000
MOST_NODE_INPUTS = 8
MOST_DIMENSIONS = 4
LARGEST_DIMENSION = 1 << 24
LONGEST_NAME = 256
MOST_METADATA = 16
LONGEST_METADATA = 4096

OPSET = 20
IR_VERSION = 10

OPERATORS: dict[str, frozenset[str]] = {
    "Abs": frozenset(),
    "Add": frozenset(),
    "Cast": frozenset({"to"}),
    "Concat": frozenset({"axis"}),
    "CumSum": frozenset(),
    "Div": frozenset(),
    "Equal": frozenset(),
    "Expand": frozenset(),
    "Gather": frozenset({"axis"}),
    "Gelu": frozenset(),
    "LSTM": frozenset({"hidden_size"}),
    "LayerNormalization": frozenset({"axis", "epsilon"}),
    "MatMul": frozenset(),
    "MatMulInteger": frozenset(),
    "Max": frozenset(),
    "Min": frozenset(),
    "Mul": frozenset(),
    "NonZero": frozenset(),
    "QuantizeLinear": frozenset({"axis"}),
    "ReduceMax": frozenset({"keepdims"}),
    "ReduceSum": frozenset({"keepdims"}),
    "Relu": frozenset(),
    "Reshape": frozenset(),
    "ReverseSequence": frozenset({"batch_axis", "time_axis"}),
    "Round": frozenset(),
    "ScatterND": frozenset(),
    "Shape": frozenset(),
    "Sigmoid": frozenset(),
    "Slice": frozenset(),
    "Softmax": frozenset({"axis"}),
    "Split": frozenset({"axis", "num_outputs"}),
    "Squeeze": frozenset(),
    "Sub": frozenset(),
    "Tanh": frozenset(),
    "Transpose": frozenset({"perm"}),
    "Unsqueeze": frozenset(),
}
"""Operator → the attributes that it may have: what `biomux.training.graph` writes, and `Round`, which it wrote once and bundles still have."""

FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7
WIDTHS = {FLOAT: 4, UINT8: 1, INT8: 1, INT64: 8}
"""Types of constants → bytes of an element."""

INPUTS = {"ids": (INT64, 2), "mask": (INT64, 2), "first": (INT64, 1)}
"""Input that every graph has → its type and number of dimensions."""

VECTORS = (FLOAT, 3)
"""What `vectors` are, which a word-level encoder reads in place of `ids`."""

MORE_INPUTS = {"segments": (INT64, 2), "starts": (INT64, 1), "tokens": (INT64, 1)}
"""Those that a graph has if some head needs them."""

OUTPUTS = ("logits", "answers", "windows", "pooled", "tokens.logits", "states")
"""What a graph may give, at least one of them; each has a fixed number of columns."""

MOST_PAIR_HEADS = 64
"""Heads of pairs of spans: each has an input `places.N` and an output `pairs.N` in their graph."""

WORD_INPUTS = {"rows": (INT64, [0, 3]), "grams": (INT64, [0, 0]), "sizes": (INT64, [0, 1])}
"""What the graph of words' own vectors reads: type and dimensions, 0 for any."""

WORDS_TABLE = "embeddings.words"
PLACES_TABLE = "embeddings.places"


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """What the rest of a bundle must fit: rows of the tokens' table and of the positions' table (None if there is none), columns of each output.

    `width` is that of the words' vectors, of a graph that reads these and has no table of tokens.
    """

    vocabulary: int
    positions: int | None
    outputs: dict[str, int]
    nodes: int
    constants: int
    width: int | None = None


@dataclass(frozen=True, slots=True)
class PairFacts:
    """Columns of the states that the graph of pairs reads, and of each of its outputs."""

    states: int
    outputs: dict[str, int]


@dataclass(frozen=True, slots=True)
class WordFacts:
    """How many words have a vector, the rows of the other tables, and the size of what the graph of words gives."""

    words: int
    hashed: int
    grams: int
    shapes: int
    width: int


def check(content: bytes, *, name: str = "graph.onnx") -> GraphFacts:
    """Refuse a graph that is not as ours are; gives what the rest of the bundle must fit."""
    reader, graph, shapes = _opened(content, name)
    inputs, outputs = _ends(reader, graph, shapes)
    stated = {name: (kind, len(shape)) for name, (kind, shape) in inputs.items()}
    reads_vectors = "ids" not in stated and stated.pop("vectors", None) == VECTORS
    if reads_vectors:
        stated["ids"] = INPUTS["ids"]
    if not stated.items() >= INPUTS.items() or not stated.items() <= {**INPUTS, **MORE_INPUTS}.items():
        known = ", ".join((*INPUTS, *MORE_INPUTS))
        reader.refuse("BX528", f"the inputs are not of our names and types: {known}, the last three if needed")
    if not outputs or not set(outputs) <= set(OUTPUTS):
        reader.refuse("BX528", f"the outputs are not some of {', '.join(OUTPUTS)}")
    nodes = _nodes(reader, graph, set(shapes), {*inputs}, {*outputs})
    if reads_vectors:
        return GraphFacts(0, None, outputs, nodes, len(shapes), inputs["vectors"][1][2])
    words, places = shapes.get(WORDS_TABLE), shapes.get(PLACES_TABLE)
    if not words or len(words) > 2 or (places is not None and len(places) != 2):
        reader.refuse("BX532", f"the graph lacks the table {WORDS_TABLE}, or {PLACES_TABLE} is no table")
    return GraphFacts(words[0], None if places is None else places[0], outputs, nodes, len(shapes))


def check_pairs(content: bytes, *, name: str = "pairs.onnx") -> PairFacts:
    """The same for the graph of pairs of spans: `states` and `places.0` … in, `pairs.0` … out."""
    reader, graph, shapes = _opened(content, name)
    inputs, outputs = _ends(reader, graph, shapes)
    number = len(outputs)
    kind, size = inputs.pop("states", (0, []))
    wanted = {f"places.{place}": (INT64, [0, 4]) for place in range(number)}
    if kind != FLOAT or len(size) != 2 or not 1 <= size[1] <= LARGEST_DIMENSION or inputs != wanted:
        reader.refuse("BX528", "the inputs are not states and a list of places for each head")
    if not 1 <= number <= MOST_PAIR_HEADS or set(outputs) != {f"pairs.{place}" for place in range(number)}:
        reader.refuse("BX528", f"the outputs are not pairs.0 and so on, for at most {MOST_PAIR_HEADS} heads")
    _nodes(reader, graph, set(shapes), {"states", *inputs}, {*outputs})
    return PairFacts(size[1], outputs)


def check_words(content: bytes, *, name: str = "words.onnx") -> WordFacts:
    """The same for the graph of words' own vectors: `rows`, `grams` and `sizes` in, `vectors` out."""
    reader, graph, shapes = _opened(content, name)
    inputs, outputs = _ends(reader, graph, shapes)
    if inputs != WORD_INPUTS or set(outputs) != {"vectors"}:
        reader.refuse("BX528", "the graph of words does not read rows, grams and sizes and give vectors")
    _nodes(reader, graph, set(shapes), {*inputs}, {*outputs})
    sizes = {table: shapes.get(f"{table}.words", (0, 0)) for table in ("hashed", "grams", "shapes")}
    vectors = shapes.get("known.words", (1, 0))
    if any(len(shape) != 2 or shape[0] < 2 for shape in sizes.values()) or len(vectors) != 2 or vectors[0] < 1:
        reader.refuse("BX532", "the graph of words lacks a table, or it has no rows")
    return WordFacts(vectors[0] - 1, sizes["hashed"][0], sizes["grams"][0] - 1, sizes["shapes"][0], outputs["vectors"])


def _opened(content: bytes, name: str) -> tuple[ProtobufReader, Message, dict[str, tuple[int, ...]]]:
    """The graph in the file, of our versions and within limits, and the shapes of its constants."""
    reader = ProtobufReader(content, name)
    if len(content) > LARGEST_GRAPH:
        reader.refuse("BX529", f"the graph has {len(content)} bytes; at most {LARGEST_GRAPH} are allowed")
    model = reader.message((0, len(content)), _MODEL, "the model")
    _versions(reader, model)
    _metadata(reader, model.places.get("metadata", []))
    place = model.place("graph")
    if place is None:
        reader.refuse("BX520", "there is no graph in the file")
    graph = reader.message(place, _GRAPH, "the graph")
    nodes, constants = graph.places.get("node", []), graph.places.get("constant", [])
    for number, most, noun in ((len(nodes), MOST_NODES, "nodes"), (len(constants), MOST_CONSTANTS, "constants")):
        if number > most:
            reader.refuse("BX529", f"the graph has {number} {noun}; at most {most} are allowed")
    _metadata(reader, graph.places.get("metadata", []))
    return reader, graph, _constants(reader, constants)


def _versions(reader: ProtobufReader, model: Message) -> None:
    opsets = [reader.message(place, _OPSET, "an operator set") for place in model.places.get("opset", [])]
    stated = [(reader.text(opset.place("domain"), longest=LONGEST_NAME), opset.number("version")) for opset in opsets]
    if model.number("ir_version") != IR_VERSION or stated != [("", OPSET)]:
        reader.refuse(
            "BX524",
            f"the graph is of IR version {model.number('ir_version')} with the operator sets {stated[:4]!r}, not {IR_VERSION} with {OPSET}",
        )


def _metadata(reader: ProtobufReader, places: list[Place]) -> None:
    if len(places) > MOST_METADATA or any(end - begin > LONGEST_METADATA for begin, end in places):
        reader.refuse(
            "BX530", f"the graph has metadata beyond {MOST_METADATA} entries of {LONGEST_METADATA} bytes each"
        )
    for place in places:
        reader.message(place, _ENTRY, "a metadata entry")


def _constants(reader: ProtobufReader, places: list[Place]) -> dict[str, tuple[int, ...]]:
    """The shapes of constants."""
    shapes: dict[str, tuple[int, ...]] = {}
    for place in places:
        tensor = reader.message(place, _TENSOR, "a constant")
        name = reader.text(tensor.place("name"), longest=LONGEST_NAME)
        kind, shape = tensor.number("type"), tuple(tensor.numbers.get("dimension", []))
        if kind not in WIDTHS:
            reader.refuse("BX531", f"the constant {name!r} has the type {kind}, which is not allowed")
        if len(shape) > MOST_DIMENSIONS or any(size > LARGEST_DIMENSION for size in shape):
            reader.refuse("BX529", f"the constant {name!r} has more or larger dimensions than allowed")
        begin, end = tensor.place("data") or (0, 0)
        if end - begin != prod(shape) * WIDTHS[kind]:
            reader.refuse("BX531", f"the constant {name!r} does not have as many data as its shape says")
        if not name or name in shapes:
            reader.refuse("BX532", f"the name {name!r} stands for more than one value, or for none")
        shapes[name] = shape
    return shapes


def _ends(
    reader: ProtobufReader, graph: Message, constants: dict[str, tuple[int, ...]]
) -> tuple[dict[str, tuple[int, list[int]]], dict[str, int]]:
    """Inputs by name with their types and dimensions, outputs by name with their columns; no name stands twice."""
    inputs = [_value(reader, place) for place in graph.places.get("input", [])]
    outputs = [_value(reader, place) for place in graph.places.get("output", [])]
    read = {name: (kind, shape) for name, kind, shape in inputs}
    if len(read) != len(inputs) or set(read) & set(constants):
        reader.refuse("BX528", "an input stands twice, or is a constant too")
    for name, kind, shape in outputs:
        if kind != FLOAT or len(shape) != 2 or not 1 <= shape[1] <= LARGEST_DIMENSION:
            reader.refuse("BX528", f"the output {name!r} does not have two dimensions, the second of a fixed size")
    columns = {name: shape[1] for name, _, shape in outputs}
    if len(columns) != len(outputs) or set(columns) & set(read):
        reader.refuse("BX528", "an output stands twice, or is an input too")
    return read, columns


def _value(reader: ProtobufReader, place: Place) -> tuple[str, int, list[int]]:
    """Name, type and dimensions of an input or output; a dimension with a name instead of a size is 0."""
    value = reader.message(place, _VALUE, "an input or output")
    name = reader.text(value.place("name"), longest=LONGEST_NAME)
    type_ = reader.message(value.place("type") or (0, 0), _TYPE, "a type")
    tensor = reader.message(type_.place("tensor") or (0, 0), _TENSOR_TYPE, "a tensor type")
    shape = reader.message(tensor.place("shape") or (0, 0), _SHAPE, "a shape").places.get("dimension", [])
    if len(shape) > MOST_DIMENSIONS:
        reader.refuse("BX529", f"{name!r} has {len(shape)} dimensions; at most {MOST_DIMENSIONS} are allowed")
    sizes = [reader.message(dimension, _DIMENSION, "a dimension").number("size") for dimension in shape]
    return name, tensor.number("type"), sizes


def _nodes(reader: ProtobufReader, graph: Message, constants: set[str], computed: set[str], outputs: set[str]) -> int:
    """Every node is of an allowed kind and reads what stands before it, of which not everything is constant; gives how many there are."""
    for place in graph.places.get("node", []):
        node = reader.message(place, _NODE, "a node")
        operator = reader.text(node.place("operator"), longest=LONGEST_NAME)
        if operator not in OPERATORS or reader.text(node.place("domain"), longest=LONGEST_NAME):
            reader.refuse("BX523", f"the operator {operator!r} is not among those that a bundle may have")
        listed = node.places.get("attribute", [])
        if len({_attribute(reader, place, operator) for place in listed}) != len(listed):
            reader.refuse("BX533", f"a node of kind {operator} has an attribute more than once")
        read = [reader.text(name, longest=LONGEST_NAME) for name in node.places.get("input", [])]
        made = [reader.text(name, longest=LONGEST_NAME) for name in node.places.get("output", [])]
        if len(read) > MOST_NODE_INPUTS or len(made) > MOST_NODE_INPUTS:
            reader.refuse("BX529", f"a node reads or makes more than {MOST_NODE_INPUTS} values")
        unknown = [name for name in read if name not in computed and name not in constants]
        if unknown:
            reader.refuse("BX532", f"a node reads {unknown[0]!r}, which nothing before it makes")
        if all(name in constants for name in read):
            reader.refuse("BX532", f"a node of kind {operator} reads constants only")
        for name in made:
            if not name or name in computed or name in constants:
                reader.refuse("BX532", f"the name {name!r} stands for more than one value, or for none")
            computed.add(name)
    for name in sorted(outputs - computed):
        reader.refuse("BX532", f"nothing makes the output {name}")
    return len(graph.places.get("node", []))


def _attribute(reader: ProtobufReader, place: Place, operator: str) -> str:
    """The name of an attribute that is allowed."""
    attribute = reader.message(place, _ATTRIBUTE, "an attribute")
    name = reader.text(attribute.place("name"), longest=LONGEST_NAME)
    if name not in OPERATORS[operator]:
        reader.refuse("BX533", f"a node of kind {operator} has the attribute {name!r}, which it may not have")
    if len(attribute.numbers.get("integers", [])) > MOST_DIMENSIONS:
        reader.refuse("BX529", f"the attribute {name!r} lists more than {MOST_DIMENSIONS} numbers")
    return name


_MODEL: Fields = {
    1: Field("ir_version", "number"),
    2: Field("producer_name"),
    3: Field("producer_version"),
    4: Field("domain"),
    5: Field("model_version", "number"),
    6: Field("a long description", refused="BX530"),
    7: Field("graph", "message"),
    8: Field("opset", "message", many=True),
    14: Field("metadata", "message", many=True),
    20: Field("training parts", refused="BX525"),
    25: Field("functions of its own", refused="BX525"),
    26: Field("a configuration of devices", refused="BX525"),
}
_OPSET: Fields = {1: Field("domain"), 2: Field("version", "number")}
_ENTRY: Fields = {1: Field("key"), 2: Field("value")}
_GRAPH: Fields = {
    1: Field("node", "message", many=True),
    2: Field("name"),
    5: Field("constant", "message", many=True),
    10: Field("a long description", refused="BX530"),
    11: Field("input", "message", many=True),
    12: Field("output", "message", many=True),
    13: Field("notes on values between", refused="BX521"),
    14: Field("notes on quantization", refused="BX521"),
    15: Field("sparse constants", refused="BX527"),
    16: Field("metadata", "message", many=True),
}
_NODE: Fields = {
    1: Field("input", many=True),
    2: Field("output", many=True),
    3: Field("name"),
    4: Field("operator"),
    5: Field("attribute", "message", many=True),
    6: Field("a long description", refused="BX530"),
    7: Field("domain"),
    8: Field("an overload of a function", refused="BX525"),
    9: Field("metadata", refused="BX530"),
    10: Field("a configuration of devices", refused="BX525"),
}
_ATTRIBUTE: Fields = {
    1: Field("name"),
    2: Field("float", "fixed32"),
    3: Field("integer", "number"),
    4: Field("a text", refused="BX533"),
    5: Field("a tensor", refused="BX534"),
    6: Field("a subgraph", refused="BX526"),
    7: Field("a list of floats", refused="BX533"),
    8: Field("integers", "numbers", many=True),
    9: Field("texts", refused="BX533"),
    10: Field("tensors", refused="BX534"),
    11: Field("subgraphs", refused="BX526"),
    13: Field("a long description", refused="BX530"),
    14: Field("a type", refused="BX533"),
    15: Field("types", refused="BX533"),
    20: Field("type", "number"),
    21: Field("a reference to a function's attribute", refused="BX525"),
    22: Field("a sparse tensor", refused="BX527"),
    23: Field("sparse tensors", refused="BX527"),
}
_TENSOR: Fields = {
    1: Field("dimension", "numbers", many=True),
    2: Field("type", "number"),
    3: Field("segments", refused="BX531"),
    4: Field("data outside its raw bytes", refused="BX531"),
    5: Field("data outside its raw bytes", refused="BX531"),
    6: Field("texts", refused="BX531"),
    7: Field("data outside its raw bytes", refused="BX531"),
    8: Field("name"),
    9: Field("data", "bytes"),
    10: Field("data outside its raw bytes", refused="BX531"),
    11: Field("data outside its raw bytes", refused="BX531"),
    12: Field("a long description", refused="BX530"),
    13: Field("data in another file", refused="BX522"),
    14: Field("a statement of where its data are", refused="BX522"),
    16: Field("metadata", refused="BX530"),
}
_VALUE: Fields = {1: Field("name"), 2: Field("type", "message"), 3: Field("a long description", refused="BX530")}
_TYPE: Fields = {
    1: Field("tensor", "message"),
    4: Field("a sequence", refused="BX528"),
    5: Field("a map", refused="BX528"),
    7: Field("an opaque value", refused="BX528"),
    8: Field("a sparse tensor", refused="BX528"),
    9: Field("an optional value", refused="BX528"),
}
_TENSOR_TYPE: Fields = {1: Field("type", "number"), 2: Field("shape", "message")}
_SHAPE: Fields = {1: Field("dimension", "message", many=True)}
_DIMENSION: Fields = {1: Field("size", "number"), 2: Field("name")}
