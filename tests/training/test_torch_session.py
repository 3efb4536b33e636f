"""Answers by torch: several batches at once where cores are free, never while a model is in training."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import tiny
import torch
from training import small

from biomux.document import Document
from biomux.engine.threads import usable_cores
from biomux.tasks.tagging import Tagging
from biomux.training import model as models
from biomux.training.model import TorchSession

if TYPE_CHECKING:
    from collections.abc import Iterator

TASK = Tagging("x", ("Drug",))


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_cores_that_torch_leaves_free_read_further_batches_but_not_during_training() -> None:
    network = small.model([TASK]).train()
    assert TorchSession(network).at_once == 1
    network.eval()
    assert TorchSession(network).at_once == usable_cores()
    torch.set_num_threads(usable_cores())
    assert TorchSession(network).at_once == 1


@pytest.mark.usefixtures("one_thread")
def test_answers_are_the_same_however_many_batches_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [Document(str(number), tiny.text(9, seed=number)) for number in range(40)]
    network = small.model([TASK]).eval()
    readers: set[str] = set()
    run = TorchSession.run

    def watched(session: TorchSession, batch: Any) -> Any:
        readers.add(threading.current_thread().name)
        return run(session, batch)

    monkeypatch.setattr(TorchSession, "run", watched)
    found = {}
    for cores in (1, 3):
        monkeypatch.setattr(models, "usable_cores", lambda cores=cores: cores)
        readers.clear()
        found[cores] = list(replace(small.annotator(network, [TASK]), budget=64).annotate(documents))
        assert (len(readers) > 1) == (cores > 1)
    assert found[1] == found[3]
