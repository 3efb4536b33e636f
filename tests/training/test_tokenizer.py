"""Tokenizers of encoders in Hugging Face's layout: with tokenizer.json, or with vocab.txt alone; vocabularies by file, folder or hub name."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
import tiny

pytest.importorskip("torch", reason="the extra 'train' is not installed")

import torch
from transformers import AutoConfig, AutoModel

from biomux.errors import TrainingError
from biomux.recipes.schema import EncoderSettings, VocabularySettings
from biomux.training.encoders import hub, transformer
from biomux.training.encoders.tokenizer import tokenizer_of, tokens_of

if TYPE_CHECKING:
    from pathlib import Path

LOWER = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "aspirin", "##s", "after", "e", "s", "\u2028", "."]
CASED = [*LOWER[:5], "Aspirin", *LOWER[5:]]


def encoder_folder(folder: Path, tokens: list[str]) -> Path:
    """An encoder as BioBERT and BlueBERT are given out: configuration, weights, vocab.txt."""
    torch.manual_seed(0)
    described = {**tiny.config(), "vocab_size": len(tokens)}
    AutoModel.from_config(AutoConfig.for_model(**described)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    return folder


def test_a_tokenizer_is_made_of_vocab_txt(tmp_path: Path) -> None:
    made = transformer.make(EncoderSettings(name=str(encoder_folder(tmp_path, LOWER))), [])
    encoding = made.tokenizer.encode("ASPIRINS after\u00a0é.")
    assert encoding.tokens == ["[CLS]", "aspirin", "##s", "after", "e", ".", "[SEP]"]
    assert encoding.offsets[1:3] == [(0, 7), (7, 8)]
    assert (made.specials.pad, made.specials.before, made.specials.after) == (0, 2, 3)
    pair = made.tokenizer.encode("aspirin", "after")
    assert pair.type_ids == [0, 0, 0, 1, 1]


def test_it_splits_as_the_library_itself_does(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(encoder_folder(tmp_path, LOWER))
    texts = ["Aspirins After e.e", "ASPIRIN 中after", "naïve aspirin\u2028s", "[MASK] after"]
    for text in texts:
        assert tokenizer_of(str(tmp_path)).encode(text).ids == theirs(text)["input_ids"]


@pytest.mark.parametrize(
    ("tokens", "files", "setting", "lower"),
    [
        (LOWER, {}, None, True),
        (CASED, {}, None, False),
        (CASED, {"tokenizer_config.json": {"do_lower_case": True}}, None, True),
        (CASED, {"config.json": {"do_lower_case": True}}, None, True),
        (LOWER, {"tokenizer_config.json": {"do_lower_case": False}}, None, False),
        (LOWER, {"tokenizer_config.json": {"do_lower_case": True}}, False, False),
        (CASED, {}, True, True),
    ],
)
def test_case_is_as_set_or_as_the_files_say_or_as_the_vocabulary_shows(
    tmp_path: Path, tokens: list[str], files: dict[str, dict[str, bool]], setting: bool | None, lower: bool
) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    tokenizer = tokenizer_of(str(tmp_path), lower_case=setting)
    wanted = "aspirin" if lower else "Aspirin" if "Aspirin" in tokens else "[UNK]"
    assert tokenizer.encode("Aspirin", add_special_tokens=False).tokens == [wanted]


def test_the_case_of_a_tokenizer_json_can_be_set(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(CASED), encoding="utf-8")
    tokenizer_of(str(tmp_path)).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "vocab.txt").unlink()
    assert tokenizer_of(str(tmp_path)).encode("Aspirin").tokens[1] == "Aspirin"
    assert tokenizer_of(str(tmp_path), lower_case=True).encode("Aspirin").tokens[1] == "aspirin"


def test_a_vocabulary_is_taken_from_a_file_a_folder_or_a_hub_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError

    plain, fast = tmp_path / "plain", tmp_path / "fast"
    plain.mkdir()
    fast.mkdir()
    (plain / "vocab.txt").write_text("\n".join(LOWER) + "\n", encoding="utf-8")
    tokenizer_of(str(plain)).save(str(fast / "tokenizer.json"))

    def download(name: str, file: str, *, local_files_only: bool) -> str:
        assert isinstance(local_files_only, bool)
        if (name, file) != ("someone/some-model", "vocab.txt"):
            raise EntryNotFoundError("not there")
        return str(plain / "vocab.txt")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    for name in (plain / "vocab.txt", plain, fast, fast / "tokenizer.json", "someone/some-model"):
        assert tokens_of(str(name)) == LOWER
    for name in ("someone/other-model", str(tmp_path / "none.txt"), "vocab.txt", "", str(tmp_path)):
        with pytest.raises(TrainingError, match="cannot find the vocabulary") as caught:
            tokens_of(name)
        assert caught.value.code == "BX401"


def test_without_a_network_a_hub_name_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> list[object]:
        raise OSError("the name is not known")

    for name in hub.ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    hub.reachable.cache_clear()
    monkeypatch.setattr("socket.getaddrinfo", unknown)
    begun = time.monotonic()
    try:
        with pytest.raises(TrainingError, match=r"BX401.*the hub cannot be reached to download it"):
            transformer.load("someone/some-model")
    finally:
        hub.reachable.cache_clear()
    assert time.monotonic() - begun < 5  # the library by itself tries for half a minute


def test_a_mirror_or_a_proxy_may_know_what_this_machine_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.invalid")
    hub.reachable.cache_clear()
    assert hub.reachable()
    hub.reachable.cache_clear()


def test_the_recipe_of_the_first_tagger_names_a_vocabulary_that_can_be_loaded(tmp_path: Path) -> None:
    """An encoder with one vocabulary, and the vocabulary of another, which is named by its folder."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "vocab.txt").write_text("\n".join([*LOWER, "zolmide"]), encoding="utf-8")
    folder = encoder_folder(tmp_path / "encoder", LOWER)
    settings = EncoderSettings(
        name=str(folder), vocabulary=VocabularySettings(kind="file", file=str(tmp_path / "other"))
    )
    made = transformer.make(settings, ["Zolmide after aspirin."])
    assert made.tokenizer.encode("zolmide", add_special_tokens=False).tokens == ["zolmide"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"aspirin\n", "it lacks"), (b"\xff\xfe", "cannot read the vocabulary"), (None, "neither tokenizer.json nor")],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "vocab.txt").write_bytes(content)
    with pytest.raises(TrainingError, match=said) as caught:
        tokenizer_of(str(tmp_path))
    assert caught.value.code == "BX401"
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(TrainingError, match="cannot read the vocabulary"):
        tokenizer_of(str(tmp_path))
