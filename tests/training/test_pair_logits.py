"""Pairs of spans that are found after words were decoded get the answers that they would have got as part of the batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tiny
from training import small

from biomux.engine.packing import pack
from biomux.recipes.schema import HeadSettings
from biomux.tasks.examples import ModelInput
from biomux.tasks.relation import Relations
from biomux.text import tokens as text_tokens
from biomux.training.model import TorchSession


def test_pairs_may_be_asked_about_after_the_pass() -> None:
    task = Relations("links", ("causes",), variant="one-pass")
    model = small.model([task], {"links": HeadSettings(kind="pair-of-spans")})
    text = tiny.text(12, seed=2)
    windows = text_tokens.split(tiny.tokenizer(), text, [(0, len(text) // 2), (len(text) // 2, len(text))])
    batch = next(pack([ModelInput(one) for one in windows], specials=small.SPECIALS, budget=10_000))
    places = np.array([[0, 1, 2, 2], [len(batch.first) - 2, len(batch.first) - 1, 3, 4]])
    session = TorchSession(model)
    answered = session.run(batch)
    assert answered["links"].shape == (0, 2)
    asked = session.run(replace(batch, pairs=batch.first[places]))["links"]
    assert np.array_equal(answered.pair_logits("links", places), asked)
