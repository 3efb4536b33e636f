"""Hostile bundles. Each function makes one change to the folder of a good bundle; `ATTACKS` says how it must be refused.

An attacker writes the manifest too: unless the attack is on it, checksums are made to fit again.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import tiny
from onnx import helper, numpy_helper

from biomux.engine.bundle import checksums, onnx_check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Change = Callable[[Any], None]


def seal(folder: Path) -> None:
    """Make the manifest fit the files."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, described in manifest["files"].items():
        content = (folder / name).read_bytes()
        described.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
    (folder / "manifest.json").write_text(json.dumps(manifest))


def in_json(name: str, change: Change) -> Callable[[Path], None]:
    """Change the content of a JSON file."""

    def attack(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))
        if name != "manifest.json":
            seal(folder)

    return attack


def in_text(name: str, before: str, after: str) -> Callable[[Path], None]:
    """Replace a text in a file once."""

    def attack(folder: Path) -> None:
        content = (folder / name).read_text()
        assert before in content
        (folder / name).write_text(content.replace(before, after, 1))
        if name != "manifest.json":
            seal(folder)

    return attack


def in_graph(change: Change) -> Callable[[Path], None]:
    """Change the ONNX model."""

    def attack(folder: Path) -> None:
        model = onnx.load_from_string((folder / "graph.onnx").read_bytes())
        change(model)
        (folder / "graph.onnx").write_bytes(model.SerializeToString())
        seal(folder)

    return attack


def in_bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Change the bytes of the ONNX file."""

    def attack(folder: Path) -> None:
        (folder / "graph.onnx").write_bytes(change((folder / "graph.onnx").read_bytes()))
        seal(folder)

    return attack


def node(model: Any, operator: str) -> Any:
    return next(one for one in model.graph.node if one.op_type == operator)


def rename_file(name: str) -> Change:
    def change(manifest: Any) -> None:
        manifest["files"][name] = manifest["files"].pop("card.md")

    return change


def put(*path: Any, value: Any) -> Change:
    """Set a value deep inside."""

    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


def transitions(head: str, **parts: Any) -> Callable[[Path], None]:
    """Give a head transitions: good ones, but for `parts`."""

    def attack(folder: Path) -> None:
        good = {"between": [[0.5] * 5] * 5, "first": [0.0] * 5, "last": [0] * 5}
        (folder / "transitions.json").write_text(json.dumps({head: {**good, **parts}}))
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"]["transitions.json"] = {}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        seal(folder)

    return attack


def heated_transitions(folder: Path) -> None:
    transitions("drugs")(folder)
    in_json("heads.json", put("heads", 0, "temperature", value=2.0))(folder)


def flip(folder: Path) -> None:
    content = bytearray((folder / "graph.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "graph.onnx").write_bytes(content)


def link_graph(folder: Path) -> None:
    (folder / "graph.onnx").rename(folder.parent / "elsewhere.onnx")
    (folder / "graph.onnx").symlink_to(folder.parent / "elsewhere.onnx")


def link_manifest(folder: Path) -> None:
    (folder / "manifest.json").rename(folder.parent / "elsewhere.json")
    (folder / "manifest.json").symlink_to(folder.parent / "elsewhere.json")


def pipe(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")


def a_folder(folder: Path) -> None:
    (folder / "heads.json").unlink()
    (folder / "heads.json").mkdir()


def remove(name: str) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        (folder / name).unlink()

    return attack


def long_manifest(folder: Path) -> None:
    content = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(content + " " * checksums.LARGEST_MANIFEST)


def deep(folder: Path) -> None:
    (folder / "manifest.json").write_text("[" * 50_000)


def stray(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"1234")


def external(model: Any) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../../etc/passwd")


def external_quietly(model: Any) -> None:
    """Data in the file, and a place elsewhere beside them."""
    model.graph.initializer[0].external_data.add(key="location", value="/etc/passwd")


def external_in_attribute(model: Any) -> None:
    tensor = onnx.TensorProto(data_type=1, dims=[1], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="/etc/passwd")
    node(model, "Cast").attribute[0].t.CopyFrom(tensor)


def another_operator(model: Any) -> None:
    node(model, "Relu").op_type = "Loop"


def another_domain(model: Any) -> None:
    node(model, "Relu").domain = "com.example"


def function(model: Any) -> None:
    model.functions.append(
        helper.make_function("own", "Relu", ["x"], ["y"], [helper.make_node("Abs", ["x"], ["y"])], model.opset_import)
    )


def training(model: Any) -> None:
    model.training_info.add()


def subgraph(model: Any) -> None:
    inner = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "inner", [], [])
    node(model, "Cast").attribute.append(helper.make_attribute("to", inner))


def sparse(model: Any) -> None:
    values = numpy_helper.from_array(np.ones(1, np.float32), "s")
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, numpy_helper.from_array(np.zeros(1, np.int64), "i"), [4])
    )


def more_inputs(model: Any) -> None:
    model.graph.input.append(helper.make_tensor_value_info("path", onnx.TensorProto.STRING, [1]))


def other_output(model: Any) -> None:
    model.graph.output[0].name = "Relu_1"


def sequence_input(model: Any) -> None:
    model.graph.input[0].type.CopyFrom(
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(onnx.TensorProto.INT64, None))
    )


def many_nodes(model: Any) -> None:
    model.graph.node.extend(
        helper.make_node("Abs", ["ids"], [f"x{number}"]) for number in range(onnx_check.MOST_NODES + 1)
    )


def long_name(model: Any) -> None:
    model.graph.node[0].output[0] = "x" * (onnx_check.LONGEST_NAME + 1)


def huge_dimension(model: Any) -> None:
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend([1 << 40, 1 << 40])


def metadata(model: Any) -> None:
    for number in range(onnx_check.MOST_METADATA + 1):
        model.metadata_props.add(key=str(number), value="{0.__class__}")


def just_enough_metadata(model: Any) -> None:
    for number in range(onnx_check.MOST_METADATA):
        model.metadata_props.add(key=str(number), value="x")


def no_tokens(tokenizer: Any) -> None:
    tokenizer["model"]["vocab"] = {}
    tokenizer["added_tokens"] = []


def description(model: Any) -> None:
    model.doc_string = "x" * 1000


def too_few_data(model: Any) -> None:
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]


def texts(model: Any) -> None:
    model.graph.initializer.append(helper.make_tensor("texts", onnx.TensorProto.STRING, [1], [b"x"]))


def constants_only(model: Any) -> None:
    """Two small constants whose product has no room in memory: a runtime would fold it while it loads."""
    model.graph.initializer.append(numpy_helper.from_array(np.ones((100_000, 1), np.float32), "tall"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones((1, 100_000), np.float32), "wide"))
    model.graph.node.append(helper.make_node("MatMul", ["tall", "wide"], ["bomb"]))


def half_elsewhere(model: Any) -> None:
    """A constant of bf16 that a product reads."""
    content = bytes(2 * 32 * 4)
    model.graph.initializer.append(helper.make_tensor("half", onnx.TensorProto.BFLOAT16, (32, 4), content, raw=True))
    model.graph.node.append(helper.make_node("MatMul", [node(model, "Gelu").output[0], "half"], ["more"]))


def to_two_types(model: Any) -> None:
    """A Cast that says what it makes twice: a check and a runtime might each believe another one."""
    made = helper.make_node("Cast", ["ids"], ["more"], to=onnx.TensorProto.INT64)
    made.attribute.append(helper.make_attribute("to", onnx.TensorProto.FLOAT))
    model.graph.node.append(made)


def cycle(model: Any) -> None:
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]


def twice(model: Any) -> None:
    model.graph.node[1].output[0] = model.graph.node[0].output[0]


def constant_twice(model: Any) -> None:
    model.graph.initializer.append(model.graph.initializer[0])


def constant(name: str, *shape: int) -> Change:
    def change(model: Any) -> None:
        model.graph.initializer.append(numpy_helper.from_array(np.zeros(shape, np.float32), name))

    return change


def many_constants(model: Any) -> None:
    for number in range(onnx_check.MOST_CONSTANTS + 1):
        model.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float32), f"c{number}"))


def output(*shape: int | str, kind: int = onnx.TensorProto.FLOAT) -> Change:
    """Say something else of what comes out."""

    def change(model: Any) -> None:
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("logits", kind, shape))

    return change


def one_more_node(*inputs: str, outputs: tuple[str, ...] = ("more",)) -> Change:
    def change(model: Any) -> None:
        model.graph.node.append(helper.make_node("Max", inputs, outputs))

    return change


def no_logits(model: Any) -> None:
    last = next(made for made in model.graph.node if "logits" in made.output)
    last.output[0] = "lost"


def long_list(model: Any) -> None:
    node(model, "Transpose").attribute[0].ints.append(0)


def more_attributes(model: Any) -> None:
    node(model, "Relu").attribute.append(helper.make_attribute("body", 1))


def turned(model: Any) -> None:
    """Well-formed, and nonsense."""
    attribute = node(model, "Transpose").attribute[0]
    del attribute.ints[:]
    attribute.ints.extend([0, 0, 0, 0])


def not_a_number(model: Any) -> None:
    tensor = next(one for one in model.graph.initializer if one.name == "heads.logits.0.0.weight")
    tensor.raw_data = np.full(len(tensor.raw_data) // 4, np.nan, np.float32).tobytes()


def lying_example(folder: Path) -> None:
    lines = (folder / "examples.jsonl").read_text().splitlines()
    example = json.loads(lines[0])
    example["spans"] = example["spans"][1:]
    (folder / "examples.jsonl").write_text(json.dumps(example) + "\n")
    seal(folder)


def strange_example(folder: Path) -> None:
    example = json.loads((folder / "examples.jsonl").read_text().splitlines()[0])
    example["spans"][0]["start"] = [1]
    (folder / "examples.jsonl").write_text(json.dumps(example) + "\n")
    seal(folder)


def lying_logits(folder: Path) -> None:
    example = json.loads((folder / "examples.jsonl").read_text().splitlines()[0])
    example["logits"]["drugs"][0][0] += 1.0
    (folder / "examples.jsonl").write_text(json.dumps(example) + "\n")
    seal(folder)


def pattern(tokenizer: Any) -> None:
    """A pattern that takes forever on the right text."""
    tokenizer["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"Regex": "(a+)+$"},
        "behavior": "Isolated",
        "invert": False,
    }


def hidden_pattern(tokenizer: Any) -> None:
    pattern(tokenizer)
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [tokenizer["pre_tokenizer"]]}


def hidden_deeper(tokenizer: Any) -> None:
    hidden_pattern(tokenizer)
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [tokenizer["pre_tokenizer"]]}


def two_kinds(tokenizer: Any) -> None:
    """A sequence that says one thing under one name and another under the other."""
    pattern(tokenizer)
    inner = [tokenizer["pre_tokenizer"]]
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "normalizers": [{"type": "Whitespace"}], "pretokenizers": inner}


def cutting(tokenizer: Any) -> None:
    tokenizer["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}


def overlong_varint(content: bytes) -> bytes:
    """IR version 10, written in eleven bytes."""
    assert content[:2] == b"\x08\x0a"
    return b"\x08" + b"\x8a" + b"\x80" * 9 + b"\x00" + content[2:]


ATTACKS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "no manifest": ("BX501", remove("manifest.json")),
    "a later version": ("BX502", in_json("manifest.json", put("version", value=checksums.VERSION + 1))),
    "a version before the first": ("BX502", in_json("manifest.json", put("version", value=0))),
    "a later version of the table": ("BX511", in_json("heads.json", put("version", value=3))),
    "a table of both versions": ("BX511", in_json("heads.json", lambda it: it.pop("version"))),
    "a version that equals 1": ("BX502", in_json("manifest.json", put("version", value=True))),
    "another format": ("BX502", in_json("manifest.json", put("format", value="zip"))),
    "one bit flipped": ("BX503", flip),
    "a file missing": ("BX503", remove("tokenizer.json")),
    "a size that lies": ("BX503", in_json("manifest.json", put("files", "heads.json", "size", value=3))),
    "a key twice": ("BX506", in_text("manifest.json", '"version"', '"version": 1, "version"')),
    "a number that is none": ("BX506", in_text("heads.json", '"temperature": 1.0', '"temperature": NaN')),
    "a manifest nested deep": ("BX506", deep),
    "a name that climbs": ("BX507", in_json("manifest.json", rename_file("../card.md"))),
    "an absolute name": ("BX507", in_json("manifest.json", rename_file("/etc/passwd"))),
    "a name with a backslash": ("BX507", in_json("manifest.json", rename_file("..\\card.md"))),
    "a name with a line end": ("BX507", in_json("manifest.json", rename_file("card.md\u2028"))),
    "the manifest in its own list": ("BX507", in_json("manifest.json", rename_file("manifest.json"))),
    "a linked graph": ("BX508", link_graph),
    "a linked manifest": ("BX508", link_manifest),
    "a pipe to wait for": ("BX508", pipe),
    "a folder for a file": ("BX508", a_folder),
    "a graph beyond all size": ("BX509", in_json("manifest.json", put("files", "graph.onnx", "size", value=1 << 40))),
    "a manifest beyond all size": ("BX509", long_manifest),
    "an unknown key in the manifest": ("BX510", in_json("manifest.json", put("run", value="rm -rf"))),
    "a negative size": ("BX510", in_json("manifest.json", put("files", "card.md", "size", value=-1))),
    "no checksum": ("BX510", in_json("manifest.json", put("files", "card.md", "sha256", value=""))),
    "a required file not named": ("BX510", in_json("manifest.json", lambda it: it["files"].pop("graph.onnx"))),
    "an unknown key of a head": ("BX511", in_json("heads.json", put("heads", 0, "module", value="os.system"))),
    "two heads of one name": ("BX511", in_json("heads.json", put("heads", 1, "name", value="drugs"))),
    "an unknown scheme": ("BX511", in_json("heads.json", put("heads", 0, "settings", "scheme", value="{0}"))),
    "a head's name with terminal codes": ("BX511", in_json("heads.json", put("heads", 0, "name", value="\x1b[2J"))),
    "sentences of no words": ("BX511", in_json("heads.json", put("heads", 0, "settings", "longest", value=0))),
    "columns that overlap": ("BX512", in_json("heads.json", put("heads", 1, "columns", value=[4, 9]))),
    "a setting that taggers do not have": (
        "BX511",
        in_json("heads.json", put("heads", 0, "settings", "code", value="import os")),
    ),
    "columns of an output that is not there": (
        "BX512",
        in_json("heads.json", put("heads", 1, "output", value="states")),
    ),
    "columns in the place of another": ("BX512", in_json("heads.json", put("heads", 1, "columns", value=[0, 5]))),
    "columns before the first": ("BX512", in_json("heads.json", put("heads", 0, "columns", value=[-5, 0]))),
    "columns beyond the graph": (
        "BX512",
        in_json("heads.json", lambda it: it["heads"].append({**it["heads"][1], "name": "more", "columns": [10, 15]})),
    ),
    "a temperature of zero": ("BX513", in_json("heads.json", put("heads", 0, "temperature", value=0))),
    "an infinite temperature": ("BX513", in_text("heads.json", '"temperature": 1.0', '"temperature": 1e999')),
    "a temperature beyond all floats": (
        "BX513",
        in_text("heads.json", '"temperature": 1.0', f'"temperature": {10**400}'),
    ),
    "thresholds of a strange head": ("BX513", in_json("calibration.json", put("nobody", value={}))),
    "thresholds that fall": ("BX513", in_json("calibration.json", put("drugs", value={"Chemical": [[1, 0], [0, 1]]}))),
    "a default threshold of a strange type": (
        "BX511",
        in_json("heads.json", put("heads", 0, "thresholds", value={"x": 0})),
    ),
    "a default threshold beyond 1": (
        "BX513",
        in_json("heads.json", put("heads", 0, "thresholds", value={"Chemical": 2})),
    ),
    "a default threshold that is no number": (
        "BX513",
        in_json("heads.json", put("heads", 0, "thresholds", value={"Chemical": "0"})),
    ),
    "a factor that is not above zero": ("BX515", in_json("types.json", put("gene", "outside", value=0))),
    "a factor that is no number": ("BX515", in_json("types.json", put("gene", "outside", value="1e9"))),
    "a level beyond all": ("BX515", in_json("types.json", put("gene", "level", value=10))),
    "a level that is no number": ("BX515", in_json("types.json", put("gene", "level", value=True))),
    "windows beyond the encoder": ("BX514", in_json("heads.json", put("limit", value=511))),
    "plain types of strange heads": ("BX515", in_json("types.json", put("x", value={"sources": [["nobody", "Gene"]]}))),
    "plain types with more than that": ("BX515", in_json("types.json", put("gene", "import", value="os"))),
    "a pattern in the tokenizer": ("BX516", in_json("tokenizer.json", pattern)),
    "a pattern in a sequence": ("BX516", in_json("tokenizer.json", hidden_pattern)),
    "a pattern in a sequence in a sequence": ("BX516", in_json("tokenizer.json", hidden_deeper)),
    "a sequence under two names": ("BX516", in_json("tokenizer.json", two_kinds)),
    "an impossible tokenizer": ("BX516", in_json("tokenizer.json", put("model", "unk_token", value=7))),
    "a tokenizer that cuts": ("BX517", in_json("tokenizer.json", cutting)),
    "tokens beyond the encoder": ("BX518", in_json("tokenizer.json", put("model", "vocab", "the", value=100_000))),
    "a negative token": ("BX518", in_json("tokenizer.json", put("model", "vocab", "the", value=-1))),
    "a token just beyond the encoder": (
        "BX518",
        in_json("tokenizer.json", put("model", "vocab", "the", value=len(tiny.PIECES))),
    ),
    "no tokens": (
        "BX518",
        in_json("tokenizer.json", no_tokens),
    ),
    "special tokens beyond it": ("BX518", in_json("heads.json", put("specials", "pad", value=100_000))),
    "a graph cut short": ("BX520", in_bytes(lambda content: content[: len(content) // 2])),
    "a number without end": ("BX520", in_bytes(overlong_varint)),
    "nothing for a graph": ("BX524", in_bytes(lambda content: b"")),
    "an unknown field": ("BX521", in_bytes(lambda content: content + b"\xfa\x07\x01x")),
    "two graphs in one": ("BX521", in_bytes(lambda content: content + b"\x3a\x00")),
    "data in another file": ("BX522", in_graph(external)),
    "data here and in another file": ("BX522", in_graph(external_quietly)),
    "a loop": ("BX523", in_graph(another_operator)),
    "an operator of a stranger": ("BX523", in_graph(another_domain)),
    "a stranger's operator set": ("BX524", in_graph(lambda it: it.opset_import.add(domain="com.example", version=1))),
    "a later operator set": ("BX524", in_graph(lambda it: it.opset_import.pop() and it.opset_import.add(version=99))),
    "a function": ("BX525", in_graph(function)),
    "training": ("BX525", in_graph(training)),
    "a subgraph": ("BX526", in_graph(subgraph)),
    "a sparse tensor": ("BX527", in_graph(sparse)),
    "one more input": ("BX528", in_graph(more_inputs)),
    "another output": ("BX528", in_graph(other_output)),
    "a sequence for an input": ("BX528", in_graph(sequence_input)),
    "too many nodes": ("BX529", in_graph(many_nodes)),
    "a name too long": ("BX529", in_graph(long_name)),
    "a dimension too large": ("BX529", in_graph(huge_dimension)),
    "too much metadata": ("BX530", in_graph(metadata)),
    "a description": ("BX530", in_graph(description)),
    "fewer data than the shape says": ("BX531", in_graph(too_few_data)),
    "texts for numbers": ("BX531", in_graph(texts)),
    "a constant of bf16": ("BX531", in_graph(half_elsewhere)),
    "a Cast to two types": ("BX533", in_graph(to_two_types)),
    "a product that fills memory": ("BX532", in_graph(constants_only)),
    "nodes in a circle": ("BX532", in_graph(cycle)),
    "a value made twice": ("BX532", in_graph(twice)),
    "a constant twice": ("BX532", in_graph(constant_twice)),
    "a constant without a name": ("BX532", in_graph(constant("", 1))),
    "a constant in place of an input": ("BX528", in_graph(constant("ids", 1))),
    "a constant of five dimensions": ("BX529", in_graph(constant("deep", 1, 1, 1, 1, 1))),
    "too many constants": ("BX529", in_graph(many_constants)),
    "an output of one dimension": ("BX528", in_graph(output(4))),
    "an output of three dimensions": ("BX528", in_graph(output("words", 8, 1))),
    "an output of any size": ("BX528", in_graph(output("words", "labels"))),
    "an output of five dimensions": ("BX529", in_graph(output("words", 1, 1, 1, 1))),
    "an output of whole numbers": ("BX528", in_graph(output("words", 8, kind=onnx.TensorProto.INT64))),
    "two outputs": ("BX528", in_graph(lambda it: it.graph.output.append(it.graph.output[0]))),
    "no output": ("BX528", in_graph(lambda it: it.graph.output.pop())),
    "an input twice": ("BX528", in_graph(lambda it: it.graph.input.append(it.graph.input[0]))),
    "a node that reads too much": ("BX529", in_graph(one_more_node(*["ids"] * 9))),
    "a node that makes too much": ("BX529", in_graph(one_more_node("ids", outputs=tuple("abcdefghi")))),
    "a node that reads nothing": ("BX532", in_graph(one_more_node())),
    "a node that reads what nothing makes": ("BX532", in_graph(one_more_node("ids", "nothing"))),
    "a value without a name": ("BX532", in_graph(one_more_node("ids", outputs=("",)))),
    "an input made anew": ("BX532", in_graph(one_more_node("ids", outputs=("mask",)))),
    "a constant made anew": ("BX532", in_graph(one_more_node("ids", outputs=(onnx_check.WORDS_TABLE,)))),
    "logits that nothing makes": ("BX532", in_graph(no_logits)),
    "an attribute with a long list": ("BX529", in_graph(long_list)),
    "an earlier IR": ("BX524", in_graph(lambda it: setattr(it, "ir_version", onnx_check.IR_VERSION - 1))),
    "long metadata": (
        "BX530",
        in_graph(lambda it: it.metadata_props.add(key="x", value="y" * onnx_check.LONGEST_METADATA)),
    ),
    "long metadata of the graph": (
        "BX530",
        in_graph(lambda it: it.graph.metadata_props.add(key="x", value="y" * onnx_check.LONGEST_METADATA)),
    ),
    "an attribute too many": ("BX533", in_graph(more_attributes)),
    "data in another file, in an attribute": ("BX534", in_graph(external_in_attribute)),
    "axes that make no sense": ("BX540", in_graph(turned)),
    "transitions of a strange head": ("BX543", transitions("nobody")),
    "transitions of too many labels": ("BX543", transitions("drugs", first=[0.0] * 6)),
    "transitions that are not square": ("BX543", transitions("drugs", between=[[0.5] * 5] * 4)),
    "transitions with a short row": ("BX543", transitions("drugs", between=[[0.5] * 4] * 5)),
    "transitions with rows that are no lists": ("BX543", transitions("drugs", between=[5] * 5)),
    "transitions of true and false": ("BX543", transitions("drugs", last=[True] * 5)),
    "transitions far below zero": ("BX543", transitions("drugs", last=[-1e9] * 5)),
    "transitions that are no numbers": ("BX543", transitions("drugs", last=["0"] * 5)),
    "transitions beyond all sense": ("BX543", transitions("drugs", last=[1e9] * 5)),
    "transitions with more than that": ("BX543", transitions("drugs", code="import os")),
    "transitions of a heated head": ("BX543", heated_transitions),
}
"""What is done to a bundle → the code with which loading it is refused."""


def in_pairs(change: Change) -> Callable[[Path], None]:
    """Change the graph of pairs."""

    def attack(folder: Path) -> None:
        model = onnx.load_from_string((folder / "pairs.onnx").read_bytes())
        change(model)
        (folder / "pairs.onnx").write_bytes(model.SerializeToString())
        seal(folder)

    return attack


def without_pairs(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["pairs.onnx"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "pairs.onnx").unlink()


def own(head: int, *path: Any, value: Any) -> Callable[[Path], None]:
    """Set a setting of a head: 1 links pairs, 3 and 4 classify, 7 answers."""
    return in_json("heads.json", put("heads", head, "settings", *path, value=value))


def no_pairs_graph(folder: Path) -> None:
    (folder / "pairs.onnx").write_bytes(b"\xff")
    seal(folder)


def wide_states(model: Any) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 31


ATTACKS_ON_EVERY_HEAD: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a task that nobody knows": ("BX545", in_json("heads.json", put("heads", 1, "kind", value="os.system"))),
    "a module for a task": ("BX545", in_json("heads.json", put("heads", 1, "kind", value="subprocess:run"))),
    "a task of another unit": ("BX512", own(1, "variant", value="markers")),
    "a variant that there is not": ("BX511", own(1, "variant", value="{0.__class__}")),
    "a setting that there is not": ("BX511", own(1, "__init__", value=1)),
    "what was learned, in the settings": ("BX511", own(1, "learned", value=[])),
    "a name among the settings": ("BX511", own(1, "name", value="other")),
    "a setting that is missing": ("BX511", in_json("heads.json", lambda it: it["heads"][1]["settings"].pop("types"))),
    "a text for a list": ("BX511", own(1, "types", value="causes")),
    "a number for a text": ("BX511", own(1, "negative", value=7)),
    "an object for a setting": ("BX511", own(1, "tags", value={"a": "b"})),
    "lists nested deep": ("BX511", own(1, "tags", value=[[[[["a"]]]]])),
    "too many classes": ("BX511", own(3, "classes", value=[f"c{number}" for number in range(1025)])),
    "a class twice": ("BX511", own(3, "classes", value=["cell", "cell", "gene"])),
    "a class with terminal codes": ("BX511", own(3, "classes", value=["cell", "\x1b[2J", "gene"])),
    "a class too long": ("BX511", own(3, "classes", value=["cell", "x" * 257, "gene"])),
    "no classes": ("BX511", own(3, "classes", value=[])),
    "more classes than columns": ("BX512", own(3, "classes", value=["cell", "drug", "gene", "more"])),
    "true for a number": ("BX511", own(7, "longest", value=True)),
    "thresholds for an answer": ("BX511", in_json("heads.json", put("heads", 7, "thresholds", value={"first": 0.5}))),
    "a threshold of a strange class": ("BX511", in_json("heads.json", put("heads", 3, "thresholds", value={"x": 0}))),
    "curves for an answer": ("BX513", in_json("calibration.json", put("asked", value={"first": [[0.5, 0.5]]}))),
    "pairs of another head": ("BX512", in_json("heads.json", put("heads", 1, "output", value="pairs.1"))),
    "words among the pairs": ("BX512", in_json("heads.json", put("heads", 0, "output", value="pairs.0"))),
    "no graph of pairs": ("BX512", without_pairs),
    "pairs of another encoder": ("BX512", in_pairs(wide_states)),
    "pairs with another operator": ("BX523", in_pairs(another_operator)),
    "pairs with data elsewhere": ("BX522", in_pairs(external)),
    "pairs of one more input": ("BX528", in_pairs(more_inputs)),
    "pairs of three places": (
        "BX528",
        in_pairs(lambda it: setattr(it.graph.input[1].type.tensor_type.shape.dim[1], "dim_value", 3)),
    ),
    "pairs of states that are no numbers with a point": (
        "BX528",
        in_pairs(lambda it: setattr(it.graph.input[0].type.tensor_type, "elem_type", onnx.TensorProto.INT64)),
    ),
    "pairs without states": ("BX528", in_pairs(lambda it: it.graph.input.pop(0))),
    "pairs under another name": ("BX528", in_pairs(lambda it: setattr(it.graph.output[0], "name", "pairs.7"))),
    "pairs that nothing makes": ("BX532", in_pairs(lambda it: it.graph.node.pop())),
    "no pairs at all": ("BX528", in_pairs(lambda it: it.graph.output.pop())),
    "a graph of pairs that is none": ("BX520", no_pairs_graph),
    "an input of another kind": (
        "BX528",
        in_graph(lambda it: setattr(_input(it, "segments").type.tensor_type, "elem_type", onnx.TensorProto.FLOAT)),
    ),
    "an input of our names with another shape": (
        "BX528",
        in_graph(lambda it: _input(it, "starts").type.tensor_type.shape.dim.add(dim_value=2)),
    ),
}
"""The same for a bundle with a head of every kind."""


def _input(model: Any, name: str) -> Any:
    return next(one for one in model.graph.input if one.name == name)


VERIFIED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a stray file": ("BX519", stray),
    "answers that are no numbers": ("BX540", in_graph(not_a_number)),
    "an example that lies about spans": ("BX541", lying_example),
    "an example that makes no sense": ("BX541", strange_example),
    "an example that lies about logits": ("BX541", lying_logits),
}
"""What only `biomux verify` finds, or the first use."""

ALLOWED: dict[str, Callable[[Path], None]] = {
    "a constant of four dimensions": in_graph(constant("deep", 1, 1, 1, 1)),
    "a name as long as may be": in_graph(constant("x" * onnx_check.LONGEST_NAME, 1)),
    "a node that reads as much as may be": in_graph(one_more_node(*["ids"] * 8)),
    "as much metadata as may be": in_graph(just_enough_metadata),
    "the largest transitions": transitions("drugs", first=[1e4] * 5, last=[-1e4] * 5),
}
"""What may be done to a bundle: it stands just within the limits."""
