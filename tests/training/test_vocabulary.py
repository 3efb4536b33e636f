"""Vocabularies that are trained, and where new tokens start from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import tiny
import torch
from tokenizers import Tokenizer, models
from training import invented, plain

from biomux.errors import RecipeError
from biomux.recipes.schema import VocabularySettings
from biomux.training import run
from biomux.training.encoders import vocabulary

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["Glucokinase in hepatocytes.", "Hepatocytes of mice, hepatocytes of patients."] * 20


def _table() -> torch.Tensor:
    return torch.randn(len(tiny.PIECES), 8, generator=torch.Generator().manual_seed(1))


def test_a_vocabulary_is_trained_on_the_text() -> None:
    settings = VocabularySettings(kind="train", size=120)
    tokenizer, table = vocabulary.shaped(tiny.tokenizer(), _table(), settings, TEXTS)
    assert tokenizer.get_vocab_size() == len(table) <= 120
    assert tokenizer.encode("µ", add_special_tokens=False).tokens == ["[UNK]"]
    assert tokenizer.encode("Hepatocytes", add_special_tokens=False).tokens == ["hepatocytes"]  # lower-cased as before
    assert [tokenizer.token_to_id(one) for one in tiny.SPECIALS] == [0, 1, 2, 3, 4]
    for _ in range(5):
        again, same = vocabulary.shaped(tiny.tokenizer(), _table(), settings, iter(TEXTS))
        assert again.to_str() == tokenizer.to_str()
        assert torch.equal(same, table)


def test_new_tokens_start_from_those_that_spell_them() -> None:
    table = _table()
    tokenizer, rows = vocabulary.replace(tiny.tokenizer(), table, ["mice", "aspirinmycin"])
    old = tiny.tokenizer()
    assert torch.equal(rows[tokenizer.token_to_id("mice")], table[old.token_to_id("mice")])
    spelled = table[[old.token_to_id("aspirin"), old.token_to_id("##mycin")]].mean(dim=0)
    torch.testing.assert_close(rows[tokenizer.token_to_id("aspirinmycin")], spelled)


def test_new_tokens_start_from_the_nearest_of_given_word_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "NEAREST", 2)
    file = tmp_path / "vectors.txt"
    file.write_text("aspirin 1 0.1\nbexol 1 0\nmice 0 1\nnewdrug 5 0.2\nfever -1 0\n")
    table, old = _table(), tiny.tokenizer()
    tokens = ["mice", "newdrug", "aspirinmycin", "##newdrug"]
    tokenizer, rows = vocabulary.replace(old, table, tokens, vectors=str(file))
    near = table[[old.token_to_id("aspirin"), old.token_to_id("bexol")]].mean(dim=0)
    torch.testing.assert_close(rows[tokenizer.token_to_id("newdrug")], near)
    spelled = table[[old.token_to_id("aspirin"), old.token_to_id("##mycin")]].mean(dim=0)
    torch.testing.assert_close(rows[tokenizer.token_to_id("aspirinmycin")], spelled)  # it has no vector
    assert torch.equal(rows[tokenizer.token_to_id("mice")], table[old.token_to_id("mice")])


def test_the_tokens_of_a_file_all_stay_with_a_minimum_of_nothing(tmp_path: Path) -> None:
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join([*tiny.SPECIALS, "mice", "liver", "zebrafish"]) + "\n")
    settings = VocabularySettings(kind="file", file=str(file), minimum=0)
    tokenizer, _ = vocabulary.shaped(tiny.tokenizer(), _table(), settings, ["mice"])
    assert vocabulary.in_order(tokenizer) == file.read_text().split()
    trimmed, _ = vocabulary.shaped(tiny.tokenizer(), _table(), settings.model_copy(update={"minimum": 1}), ["mice"])
    assert vocabulary.in_order(trimmed) == [*tiny.SPECIALS, "mice"]


def test_only_wordpiece_can_be_trained() -> None:
    other = Tokenizer(models.BPE({"[UNK]": 0, "a": 1}, [], unk_token="[UNK]"))
    with pytest.raises(RecipeError, match="only a WordPiece vocabulary can be trained"):
        vocabulary.learn(other, TEXTS, size=100)


def test_what_a_trimmed_vocabulary_saves_is_told_and_kept(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=12)
    plain.encoder(tmp_path / "encoder", layers=1)
    encoder = {"name": str(tmp_path / "encoder"), "limit": 30, "vocabulary": {"kind": "trim"}}
    recipe = invented.recipe(tasks={"ner": {"corpus": "bc5cdr"}}, model={"encoder": encoder}, loop={"epochs": 1})
    run.start(recipe, tmp_path / "run", directory=directory)
    saved = json.loads((tmp_path / "run" / "counts.json").read_text())["vocabulary"]
    assert saved["tokens_after"] < saved["tokens_before"]
    assert saved["parameters_saved"] == 32 * (saved["tokens_before"] - saved["tokens_after"])
    assert saved["sample_before"] == saved["sample_after"]
    journal = (tmp_path / "run" / "journal.jsonl").read_text().splitlines()
    assert "vocabulary" in [json.loads(line)["event"] for line in journal]
