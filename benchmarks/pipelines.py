"""transformers' token-classification pipeline, one model per type, and our engine with the same weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer, processors

from benchmarks.models import Size, graph_bytes, torch_body, weights
from biomux.document import Document
from biomux.engine import load
from biomux.engine.annotator import Annotator
from biomux.engine.graph_session import Place
from biomux.engine.onnx_session import OnnxSession
from biomux.tasks.tagging import Tagging
from biomux.training.encoders.transformer import specials

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TYPES = ("Chemical", "Disease", "Gene")
OUTSIDE = 1.0
"""What is added to the label of "no entity", so that random weights find about as few entities as trained ones."""


def contestants(
    size: Size, texts: Sequence[str], *, threads: int, tokenizer: Path | None = None, bundle: str | None = None
) -> dict[str, Callable[[], object]]:
    """Name → a run over all texts. All cut text by the same tokenizer: that of the bundle, unless another is named."""
    import torch

    torch.set_num_threads(threads)
    folder = load.find(bundle)
    cutter = Tokenizer.from_file(str(tokenizer or folder / "tokenizer.json"))
    cutter.no_padding()
    cutter.no_truncation()
    size = Size(size.name, size.layers, size.width, size.attention_heads, size.inner, cutter.get_vocab_size())
    made, heads = weights(size), _heads(size)
    documents = [Document(str(index), text) for index, text in enumerate(texts)]
    runs: dict[str, Callable[[], object]] = {}
    for batch in (1, 8):
        chain = [_pipeline(size, made, head, cutter, batch=batch) for head in heads]
        runs[f"transformers pipelines, batch {batch}"] = lambda chain=chain: [list(one(list(texts))) for one in chain]  # type: ignore[misc]
    for precision in ("fp32", "int8"):
        annotator = _annotator(size, made, heads, cutter, precision=precision, threads=threads)
        runs[f"Biomux {precision}"] = lambda annotator=annotator: list(annotator.annotate(documents))  # type: ignore[misc]
    whole = load.load(folder, threads=threads)
    runs[f"Biomux, bundle {folder.name}, all {len(whole.heads)} heads"] = lambda: list(whole.annotate(documents))
    return runs


def _heads(size: Size) -> list[tuple[Any, Any]]:
    chance = np.random.default_rng(5)
    bias = np.array([OUTSIDE, 0, 0], np.float32)
    return [((chance.standard_normal((size.width, 3)) * 0.05).astype(np.float32), bias) for _ in TYPES]


def _pipeline(size: Size, made: Any, head: tuple[Any, Any], cutter: Tokenizer, *, batch: int) -> Any:
    import torch
    from transformers import (
        BertConfig,
        BertForTokenClassification,
        PreTrainedTokenizerFast,
        TokenClassificationPipeline,
    )

    settings = {key: value for key, value in size.config().items() if key != "model_type"}
    names = dict(enumerate(("O", "B-X", "I-X")))
    model = BertForTokenClassification(
        BertConfig(**settings, id2label=names, label2id={v: k for k, v in names.items()})
    )
    model.bert.load_state_dict(torch_body(size, made).state_dict(), strict=False)
    with torch.no_grad():
        model.classifier.weight.copy_(torch.from_numpy(head[0].T.copy()))
        model.classifier.bias.copy_(torch.from_numpy(head[1]))
    own = Tokenizer.from_str(cutter.to_str())
    ends = [(name, own.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    own.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=own, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", model_max_length=512
    )  # fmt: skip
    return TokenClassificationPipeline(
        model=model.eval(), tokenizer=fast, aggregation_strategy="simple", batch_size=batch, device=torch.device("cpu")
    )


def _annotator(
    size: Size, made: Any, heads: list[Any], cutter: Tokenizer, *, precision: Any, threads: int
) -> Annotator:
    content = graph_bytes(size, made, (heads,), precision=precision)
    tasks = tuple(Tagging(type_.lower(), (type_,)) for type_ in TYPES)
    places = {task.name: Place("logits", 3 * index, 3 * index + 3) for index, task in enumerate(tasks)}
    return Annotator(OnnxSession(content, places, threads=threads), cutter, specials(cutter), tasks)
