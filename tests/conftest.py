"""What every test may rely on, wherever it is run."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import biomux  # noqa: F401  first of all, since it switches off the telemetry of libraries that tests import themselves

if TYPE_CHECKING:
    from pathlib import Path

# Tests share the machine's cores: two threads that wait for each other on a busy core take a hundred times as long as one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts background jobs with Ctrl-C ignored, and children inherit that; tests of Ctrl-C need it to be heard.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("biomux", deadline=None)
settings.load_profile("biomux")


@pytest.fixture(scope="session")
def answering_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a head of every kind (`answering`): relations, classes, pairs, questions."""
    import answering

    return answering.run(tmp_path_factory.mktemp("answering") / "run")


@pytest.fixture(scope="session")
def answering_bundle(answering_run: Path) -> Path:
    """The same as a bundle."""
    from biomux.training.export import export

    folder = answering_run.with_name("bundle")
    export(answering_run, folder, precision="fp32", measure=False)
    return folder
