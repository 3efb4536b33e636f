"""The engine: makes an annotator from a bundle, and adds entities to documents with it. No torch.

`load` opens a bundle (`bundle/` reads and checks its files). `annotator` splits documents into sentences and tokens, makes batches (`packing`, `parallel`), runs them in a session
(`onnx_session`, `openvino_session`) and decodes the result. `query` and `asked_tasks` hold what a call asks for, including thresholds. `type_merging` merges what several heads find into plain types,
and `overlaps` decides which of two overlapping entities stays.

Public are `biomux.load` and the `Tagger` that it returns, which is an `Annotator` for plain texts (`biomux.tagger`).
"""
