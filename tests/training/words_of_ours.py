"""Invented sentences and features for tests of encoders and heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from biomux.engine.packing import padded
from biomux.text import tokens as text_tokens
from biomux.training.heads.crf import CRF
from biomux.training.heads.features import Features

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor, nn

    from biomux.training.encoders.encoder import BuiltEncoder

SENTENCES = (
    "Zolmide was given to mice with liver ulcers.",
    "The kinase Bexol2 binds velarin in the liver.",
    "Mice given velarin had ulcers.",
    "Zolmide and velarin, given to mice, bind the kinase.",
)


def vectors(folder: Path) -> str:
    """A file of four word vectors, one of them of two words."""
    file = folder / "vectors.npz"
    table = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    np.savez(file, words=np.array(["the", "zolmide", "aspirin", "new york"]), vectors=table)
    return str(file)


def laid_out(
    made: BuiltEncoder, sentences: Sequence[str], *, length: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and the places of words, each sentence a row between [CLS] and [SEP]."""
    split = [text_tokens.split(made.tokenizer, text, [(0, len(text))])[0] for text in sentences]
    size = length or padded(max(len(found) for found in split) + 2)
    ids = torch.full((len(split), size), made.specials.pad)
    mask = torch.zeros((len(split), size), dtype=torch.int64)
    places = []
    for row, found in enumerate(split):
        inside = [made.specials.before, *found.ids.tolist(), made.specials.after]
        ids[row, : len(inside)] = torch.tensor(inside)
        mask[row, : len(inside)] = 1
        places += [row * size + 1 + int(first) for first in found.first]
    return ids, mask, torch.tensor(places)


def features(made: BuiltEncoder, sentences: Sequence[str], *, length: int | None = None) -> Features:
    """What an encoder says about sentences."""
    ids, mask, places = laid_out(made, sentences, length=length)
    return Features(made.encoder(ids, mask), mask, places)


def losses(encoder: nn.Module, head: nn.Module, made: BuiltEncoder, *, steps: int, rate: float) -> list[float]:
    """Train to tag words that begin with a capital; the loss per word of each step."""
    ids, mask, places = laid_out(made, SENTENCES)
    labels = torch.tensor([int(one[0].isupper()) for text in SENTENCES for one in _words(made, text)])
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=rate)
    found = []
    for _ in range(steps):
        read = Features(encoder(ids, mask), mask, places)
        if isinstance(head, CRF):
            loss = head.loss(read, places, labels) / len(labels)
        else:
            loss = torch.nn.functional.cross_entropy(head(read, places), labels)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        found.append(float(loss.detach()))
    return found


def _words(made: BuiltEncoder, text: str) -> list[str]:
    split = text_tokens.split(made.tokenizer, text, [(0, len(text))])[0]
    return [text[start:end] for start, end in zip(split.starts, split.ends, strict=True)]
