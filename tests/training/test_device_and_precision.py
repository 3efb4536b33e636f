"""Where training computes, and with which numbers: chosen by what is there, refused in one sentence where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file
from training import invented, small

from biomux.errors import TrainingError
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.tagging import Tagging
from biomux.training import batch_losses, device, loop, precision, run
from biomux.training.batches import collate

if TYPE_CHECKING:
    from pathlib import Path

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
TASK = Tagging("ner", ("Chemical", "Disease"))


def cuda(
    patch: pytest.MonkeyPatch, *, devices: int = 1, bf16: bool = True, capability: tuple[int, int] = (8, 0)
) -> None:
    """Pretends that torch sees such devices; nothing is computed on them."""
    patch.setattr(torch.cuda, "is_available", lambda: devices > 0)
    patch.setattr(torch.cuda, "device_count", lambda: devices)
    patch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: bf16)
    patch.setattr(torch.cuda, "get_device_capability", lambda _: capability)


def test_auto_takes_cuda_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda(monkeypatch, devices=0)
    assert device.choose("auto") == CPU
    cuda(monkeypatch, devices=2)
    assert device.choose("auto") == device.choose("cuda") == CUDA
    assert device.choose("cpu") == CPU
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert device.choose("auto") == torch.device("cuda", 1), "each process has a device of its own"


@pytest.mark.parametrize(
    ("here", "capability", "wanted", "found"),
    [
        (True, (8, 0), "auto", "bf16"),
        (False, (7, 5), "auto", "fp16"),
        (False, (6, 1), "auto", "fp32"),
        (False, (6, 1), "fp16", "fp16"),
        (True, (8, 0), "fp32", "fp32"),
    ],
)
def test_a_cuda_device_computes_with_what_it_has(
    monkeypatch: pytest.MonkeyPatch, here: bool, capability: tuple[int, int], wanted: Any, found: str
) -> None:
    cuda(monkeypatch, bf16=here, capability=capability)
    assert precision.choose(wanted, CUDA) == found


@pytest.mark.parametrize(
    ("flags", "wanted", "found"),
    [
        ((), "auto", "fp32"),
        ((), "bf16", "bf16"),
        (("avx512_bf16",), "auto", "bf16"),
        (("avx512_fp16",), "fp16", "fp16"),
    ],
)
def test_a_processor_computes_with_what_it_has(
    monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], wanted: Any, found: str
) -> None:
    monkeypatch.setattr(precision, "flags", lambda: frozenset(flags))
    assert precision.choose(wanted, CPU) == found


@pytest.mark.parametrize(
    ("loop_settings", "said"),
    [
        ({"device": "cuda"}, "no CUDA device is available"),
        ({"precision": "fp16"}, "this processor has no fp16 arithmetic"),
    ],
)
def test_what_is_not_there_is_refused_before_there_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop_settings: dict[str, str], said: str
) -> None:
    cuda(monkeypatch, devices=0)
    monkeypatch.setattr(precision, "flags", lambda: frozenset())
    with pytest.raises(TrainingError, match=said) as caught:
        run.start(invented.recipe(loop=loop_settings), tmp_path / "run", directory=tmp_path)
    assert caught.value.code == "BX408"
    assert caught.value.hint
    assert not (tmp_path / "run").exists()


def test_bf16_is_refused_on_a_cuda_device_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda(monkeypatch, bf16=False, capability=(7, 0))
    with pytest.raises(TrainingError, match="CUDA device has no bf16 arithmetic"):
        precision.choose("bf16", CUDA)


def test_where_a_run_computes_is_not_part_of_what_it_is() -> None:
    assert invented.recipe(loop={"device": "cpu"}).training() == invented.recipe().training()
    assert invented.recipe(loop={"precision": "bf16"}).training() != invented.recipe().training()


def _has() -> list[Any]:
    return [TASK, Auxiliary("has", "has", ("Chemical", "Disease"), of="ner")]


class Table(torch.nn.Module):
    """The simplest encoder."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.vectors = torch.nn.Embedding(1000, width)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.vectors(ids) * mask[..., None]
        return found


def test_everything_of_a_step_is_where_the_model_is(tmp_path: Path) -> None:
    """On torch's meta device, which computes shapes alone: a tensor that is made elsewhere is an error there, as on CUDA."""
    tasks = _has()
    network = small.model(tasks)
    network.encoder = Table(
        network.encoder.width
    )  # transformers' encoders look into the mask, which has no values there
    network.to("meta")
    made = small.examples(tasks, {"ner": small.documents(4)}, joint=True)
    one = small.run(tmp_path, network, small.plan("joint", tasks), made)
    part = collate(made, small.SPECIALS)
    losses = batch_losses.of_batch(one, part)
    counts = {head: float(len(target.labels)) for head, target in part.targets.items()}
    total = batch_losses.total(one, losses, counts, part)
    total.backward()  # type: ignore[no-untyped-call]
    assert total.device.type == "meta"
    assert all(value.grad is not None and value.grad.device.type == "meta" for value in network.heads.parameters())


def _trained(folder: Path, **settings: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    made = small.examples([TASK], {"ner": small.documents(30, seed=5)})
    one = small.run(folder, small.model([TASK]), small.plan("single", [TASK]), made, events=events, **settings)
    one.report_every = 0.0
    loop.train(one)
    return [event for event in events if event["event"] == "step"]


@pytest.mark.parametrize("numbers", ["bf16", "fp16"])
def test_half_width_numbers_learn_about_what_full_ones_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: str
) -> None:
    monkeypatch.setattr(precision, "flags", lambda: frozenset({"avx512_fp16"}))
    full, half = _trained(tmp_path / "full"), _trained(tmp_path / "half", precision=numbers)
    left, right = ([step["losses"]["ner"] for step in steps] for steps in (full, half))
    assert left != right, "nothing was computed with fewer bits"
    assert right == pytest.approx(left, abs=0.05)


def test_fp16_goes_on_to_the_same_weights_and_the_same_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "flags", lambda: frozenset({"avx512_fp16"}))
    settings: dict[str, Any] = {"precision": "fp16", "checkpoint_minutes": 1e-9}
    _trained(tmp_path / "whole", **settings)
    step, number = loop.step, 0

    def dies(*arguments: Any) -> Any:
        nonlocal number
        number += 1
        if number == 4:
            raise ZeroDivisionError
        return step(*arguments)

    monkeypatch.setattr(loop, "step", dies)
    with pytest.raises(ZeroDivisionError):
        _trained(tmp_path / "killed", **settings)
    monkeypatch.setattr(loop, "step", step)
    _trained(tmp_path / "killed", **settings)
    for file in ("model.safetensors", "state.safetensors"):
        one, other = (load_file(tmp_path / name / "checkpoints/last" / file) for name in ("whole", "killed"))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert one["extra/scaler/_growth_tracker"].item() > 0


def test_a_step_that_overflows_in_fp16_is_left_out_and_the_scale_made_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "flags", lambda: frozenset({"avx512_fp16"}))
    network = small.model([TASK])
    made = small.examples([TASK], {"ner": small.documents(4)})
    one = small.run(tmp_path, network, small.plan("single", [TASK]), made, precision="fp16")
    assert one.scaler is not None
    movers = {"shared": torch.optim.AdamW(network.parameters(), lr=1e-3)}
    before, scale = small.copy(network), one.scaler.get_scale()
    weight: Any = network.get_parameter("heads.ner.1.weight")
    hook = weight.register_hook(lambda found: found * float("inf"))
    loop.step(one, movers, [[0, 1]])
    assert not small.moved(before, network)
    assert one.scaler.get_scale() == scale / 2
    hook.remove()
    loop.step(one, movers, [[0, 1]])
    assert small.moved(before, network)
    one.scaler.update(loop.LEAST_SCALE)
    weight.register_hook(lambda found: found * float("inf"))
    with pytest.raises(TrainingError, match="'ner' overflows in fp16 at step 0"):
        loop.step(one, movers, [[0, 1]])


@pytest.mark.parametrize(
    ("numbers", "device_", "wanted"), [("bf16", CPU, "eager"), ("fp32", CPU, "sdpa"), ("bf16", CUDA, "sdpa")]
)
def test_attention_is_plain_products_only_in_bf16_on_a_cpu(numbers: Any, device_: torch.device, wanted: str) -> None:
    encoder = small.encoder()
    encoder.body.set_attn_implementation("sdpa")
    precision.prefer_plain_attention(encoder, numbers, device_)
    assert encoder.config._attn_implementation == wanted
    precision.prefer_plain_attention(torch.nn.Identity(), numbers, device_)  # an encoder without attention
