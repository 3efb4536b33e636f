"""A bundle's files, read and checked before anything in them is run.

`reader` opens the folder by its manifest; `onnx_check`, `tokenizer_check`, `heads` and `crf_transitions` refuse whatever is not one of ours, with `strict_json` and
`protobuf` as the parsers; `verify` asks a bundle its own examples again. docs/reference/bundles.md is the specification.
"""
