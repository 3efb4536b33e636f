"""A bundle's files, read and checked before anything in them is run.

`reader` opens the files that the manifest names and compares their checksums. `onnx_check`, `tokenizer_check`, `heads` and `crf_transitions` refuse whatever our exporter does not write, with
`strict_json` and `protobuf` as parsers. `verify` annotates the example texts of a bundle and compares the answers with those that it stores. docs/reference/bundles.md is the specification.
"""
