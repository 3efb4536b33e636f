"""The fields that the reader of graphs knows are ONNX's, each read or refused as stated here."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from biomux.engine.bundle import onnx_check

READ = {
    "_MODEL": (
        onnx.ModelProto,
        "ir_version producer_name producer_version domain model_version graph opset_import metadata_props",
    ),
    "_OPSET": (onnx.OperatorSetIdProto, "domain version"),
    "_ENTRY": (onnx.StringStringEntryProto, "key value"),
    "_GRAPH": (onnx.GraphProto, "node name initializer input output metadata_props"),
    "_NODE": (onnx.NodeProto, "input output name op_type attribute domain"),
    "_ATTRIBUTE": (onnx.AttributeProto, "name f i ints type"),
    "_TENSOR": (onnx.TensorProto, "dims data_type name raw_data"),
    "_VALUE": (onnx.ValueInfoProto, "name type"),
    "_TYPE": (onnx.TypeProto, "tensor_type"),
    "_TENSOR_TYPE": (onnx.TypeProto.Tensor, "elem_type shape"),
    "_SHAPE": (onnx.TensorShapeProto, "dim"),
    "_DIMENSION": (onnx.TensorShapeProto.Dimension, "dim_value dim_param"),
}
"""Table → ONNX's message, and the fields of it that are read."""

REFUSED = {
    "_MODEL": {"doc_string": "BX530", "training_info": "BX525", "functions": "BX525", "configuration": "BX525"},
    "_GRAPH": {
        "doc_string": "BX530",
        "value_info": "BX521",
        "quantization_annotation": "BX521",
        "sparse_initializer": "BX527",
    },
    "_NODE": {"doc_string": "BX530", "overload": "BX525", "metadata_props": "BX530", "device_configurations": "BX525"},
    "_ATTRIBUTE": {
        **dict.fromkeys(("s", "floats", "strings", "tp", "type_protos"), "BX533"),
        **dict.fromkeys(("t", "tensors"), "BX534"),
        **dict.fromkeys(("g", "graphs"), "BX526"),
        **dict.fromkeys(("sparse_tensor", "sparse_tensors"), "BX527"),
        "doc_string": "BX530",
        "ref_attr_name": "BX525",
    },
    "_TENSOR": {
        **dict.fromkeys(("segment", "float_data", "int32_data", "string_data"), "BX531"),
        **dict.fromkeys(("int64_data", "double_data", "uint64_data"), "BX531"),
        **dict.fromkeys(("external_data", "data_location"), "BX522"),
        **dict.fromkeys(("doc_string", "metadata_props"), "BX530"),
    },
    "_VALUE": {"doc_string": "BX530"},
    "_TYPE": dict.fromkeys(
        ("sequence_type", "map_type", "opaque_type", "sparse_tensor_type", "optional_type"), "BX528"
    ),
}


@pytest.mark.parametrize("table", READ)
def test_every_field_of_a_message_is_read_or_refused_by_its_number(table: str) -> None:
    message: Any
    message, read = READ[table]
    fields = getattr(onnx_check, table)
    numbers = {name: field.number for name, field in message.DESCRIPTOR.fields_by_name.items()}
    for name in read.split():
        assert fields[numbers[name]].refused is None
    for name, code in REFUSED.get(table, {}).items():
        # an older onnx does not know all of them yet
        assert name not in numbers or fields[numbers[name]].refused == code
    assert len(fields) == len(read.split()) + len(REFUSED.get(table, {}))


@pytest.mark.parametrize("table", READ)
def test_only_what_onnx_repeats_may_stand_twice(table: str) -> None:
    message: Any = READ[table][0]
    for number, field in getattr(onnx_check, table).items():
        if field.refused is None:
            assert field.many == _repeated(message.DESCRIPTOR.fields_by_number[number])


def _repeated(field: Any) -> bool:
    """Whether a field may stand several times; protobuf has two spellings for that."""
    stated = getattr(field, "is_repeated", None)
    return bool(stated) if stated is not None else field.label == field.LABEL_REPEATED
