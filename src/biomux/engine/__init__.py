"""The engine: a bundle becomes an annotator, and documents become the same documents with entities. No torch.

`load` opens a bundle (`bundle/` reads and checks its files), `annotator` takes documents through sentences, tokens, batches (`packing`, `parallel`), a session
(`onnx_session`, `openvino_session`) and decoding; `query` says what a call asks for, and `entity_types` merges what several heads say into the types that users know
and decides which of two overlapping entities stays.

Public: `biomux.load` and the `Tagger` that it returns, an `Annotator` for plain texts (`biomux.tagger`).
"""
