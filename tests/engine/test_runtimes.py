"""Which runtime is taken: by name, or the faster one of the same answers, found out once."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny

import biomux
from biomux.engine import bundle, load, race, remembered, runtimes
from biomux.engine.packing import Batch, Specials
from biomux.errors import BundleError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass
class Clock:
    """Time that passes only when something says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Fake:
    """A session that takes so many seconds a piece; its logits are those of a word's id, plus `shift` for the second tag."""

    clock: Clock
    a_piece: float
    shift: float = 0.0
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        self.shapes.append(batch.ids.shape)
        self.clock.now += self.a_piece * batch.ids.size
        logits = np.zeros((len(batch.first), 2), dtype=np.float32)
        logits[:, 0] = 1.0
        logits[:, 1] = 0.9 + self.shift
        return {"only": logits}


def batches() -> list[Batch]:
    return race.batches(tiny.tokenizer(), Specials(0, 2, 3), limit=tiny.LIMIT)


def raced(other: float, *, shift: float = 0.0, reference: float = 1e-4) -> race.Outcome:
    clock = Clock()
    return race.race(Fake(clock, reference), Fake(clock, other, shift), batches(), clock=clock)


def test_batches_are_of_the_stated_shapes_within_the_limit() -> None:
    assert [batch.ids.shape for batch in batches()] == [(1, 32), (16, 32), (8, 64)]
    assert all(len(batch.first) for batch in batches())


def test_a_faster_session_wins() -> None:
    outcome = raced(0.5e-4)
    assert outcome.won
    assert outcome.speed == pytest.approx(2.0)


@pytest.mark.parametrize("a_piece", [0.95e-4, 1e-4, 3e-4])
def test_a_slower_one_or_one_as_fast_does_not(a_piece: float) -> None:
    assert not raced(a_piece).won


def test_one_that_answers_otherwise_does_not_win_however_fast() -> None:
    clock = Clock()
    outcome = race.race(Fake(clock, 1e-4, shift=-0.9), Fake(clock, 1e-6, shift=0.9), batches(), clock=clock)
    assert outcome.differing == len(batches()[0].first)
    assert not outcome.won


def test_answers_within_what_is_close_are_the_same() -> None:
    assert raced(0.5e-4, shift=0.2).won  # the second tag is now the best, by little, and was nearly so


@pytest.mark.parametrize("a_piece", [1e-6, 1e-3, 0.1])
def test_a_race_is_over_in_time_unless_one_sentence_takes_longer(a_piece: float) -> None:
    clock = Clock()
    race.race(Fake(clock, a_piece), Fake(clock, a_piece), batches(), clock=clock)
    assert clock.now <= max(race.SECONDS * 1.1, 6 * 32 * a_piece * 1.01)


@pytest.fixture
def made(tmp_path: Path) -> bundle.Bundle:
    return bundle.read(tiny.bundle(tmp_path / "bundle"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to remember in, and OpenVINO as good as installed."""
    monkeypatch.setenv(remembered.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(runtimes, "installed", lambda: True)
    return tmp_path / "cache"


class Measured:
    """Stands in for the race: counts how often it is run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome: race.Outcome | Exception) -> None:
        self.times = 0
        self.outcome = outcome
        monkeypatch.setattr(runtimes, "open_session", lambda *_, **__: None)
        monkeypatch.setattr(race, "race", self)

    def __call__(self, *_: Any, **__: Any) -> race.Outcome:
        self.times += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def choose(made: bundle.Bundle, **options: Any) -> tuple[str, list[str]]:
    heard: list[str] = []
    taken = runtimes.choose(made.graph, made.columns, batches, listen=heard.append, **options)
    return taken, heard


@pytest.mark.parametrize(
    ("outcome", "taken", "said"),
    [
        (race.Outcome(1.3, 100, 0), "openvino", "openvino is 1.30 times as fast: openvino is taken"),
        (race.Outcome(1.05, 100, 0), "onnxruntime", "openvino is 1.05 times as fast: onnxruntime is taken"),
        (race.Outcome(3.0, 100, 2), "onnxruntime", "openvino gives other answers (2 of 100): onnxruntime is taken"),
        (BundleError("BX540", "no"), "onnxruntime", "openvino cannot run it: onnxruntime is taken"),
    ],
)
def test_the_outcome_is_told_and_remembered(
    made: bundle.Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch, outcome: Any, taken: str, said: str
) -> None:
    measured = Measured(monkeypatch, outcome)
    found, heard = choose(made)
    assert (found, heard[-1]) == (taken, said)
    assert "once" in heard[0]
    assert choose(made) == (taken, [])
    assert measured.times == 1


def test_other_threads_are_another_question(made: bundle.Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biomux.engine.threads.usable_cores", lambda: 4)
    measured = Measured(monkeypatch, race.Outcome(2.0, 1, 0))
    choose(made, threads=1)
    choose(made, threads=2)
    assert measured.times == 2


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"key": {}, "value": {"runtime": "openvino"}}', b"[" * 5000]
)
def test_a_damaged_memory_is_measured_again(
    made: bundle.Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    measured = Measured(monkeypatch, race.Outcome(1.0, 1, 0))
    choose(made)
    (kept,) = cache.iterdir()
    kept.write_bytes(content)
    assert choose(made)[0] == "onnxruntime"
    assert measured.times == 2
    assert json.loads(kept.read_bytes())["value"]["runtime"] == "onnxruntime"


def test_an_unknown_name_in_the_memory_is_not_taken(
    made: bundle.Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Measured(monkeypatch, race.Outcome(1.0, 1, 0))
    choose(made)
    (kept,) = cache.iterdir()
    kept.write_text(kept.read_text().replace('"runtime": "onnxruntime"', '"runtime": "os.system"'))
    assert choose(made)[0] == "onnxruntime"


def test_what_cannot_be_kept_is_no_error(
    made: bundle.Bundle, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(remembered.VARIABLE, str(tmp_path / "file" / "cache"))
    Measured(monkeypatch, race.Outcome(2.0, 1, 0))
    taken, heard = choose(made)
    assert taken == "openvino"
    assert heard[-1].endswith("that cannot be kept, so name it with --runtime next time")


def test_what_cannot_be_kept_is_measured_once_in_a_process(
    made: bundle.Bundle, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file in place of the folder")
    measured = Measured(monkeypatch, race.Outcome(2.0, 1, 0))
    assert choose(made)[0] == "openvino"
    assert choose(made) == ("openvino", [])
    assert measured.times == 1


def test_an_install_that_is_broken_is_told_and_tried_again(
    made: bundle.Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Measured(monkeypatch, UsageError("BX003", "openvino cannot be imported: no libtbb"))
    assert choose(made)[1][-1] == "openvino cannot be imported: no libtbb: onnxruntime is taken"
    assert not cache.exists()
    measured.outcome = race.Outcome(2.0, 1, 0)
    assert choose(made)[0] == "openvino"


def test_where_nothing_may_be_kept_nothing_is_measured(
    made: bundle.Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(remembered.VARIABLE, "off")
    measured = Measured(monkeypatch, race.Outcome(2.0, 1, 0))
    assert choose(made) == ("onnxruntime", [])
    assert not measured.times


def test_the_usual_folder_is_the_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(remembered.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert remembered.folder() == tmp_path / "biomux"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert remembered.folder() == tmp_path / ".cache" / "biomux"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert remembered.folder() == tmp_path / "Library" / "Caches" / "biomux"


def test_a_user_without_a_home_has_a_folder_only_if_one_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none(*_: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv(remembered.VARIABLE, "~nobody-of-that-name/cache")
    assert remembered.folder() is None
    monkeypatch.delenv(remembered.VARIABLE)
    monkeypatch.setattr("pathlib.Path.home", none)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert remembered.folder() == tmp_path / "biomux"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    assert remembered.folder() is None


def test_without_openvino_auto_is_onnxruntime_and_measures_nothing(
    made: bundle.Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "installed", lambda: False)
    assert choose(made) == ("onnxruntime", [])
    assert load.runtime_of(made.folder) == "onnxruntime"
    assert not cache.exists()


def test_a_runtime_that_is_not_there_is_refused(made: bundle.Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "installed", lambda: False)
    with pytest.raises(
        UsageError, match=r"BX003: the runtime openvino is not installed; pip install 'biomux\[openvino\]'"
    ):
        biomux.load(made.folder, runtime="openvino")
    with pytest.raises(UsageError, match="BX001: there is no runtime 'tensorrt'; one of: auto, onnxruntime, openvino"):
        biomux.load(made.folder, runtime="tensorrt")


def test_a_folder_of_the_name_is_no_openvino(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "openvino").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "openvino", raising=False)
    assert not runtimes.installed()


def test_a_run_has_no_runtime_to_choose(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"BX001: .*this is a run, and runs are annotated with torch, not onnxruntime"):
        biomux.load(tiny.run(tmp_path / "run"), runtime="onnxruntime")
