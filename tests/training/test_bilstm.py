"""Paper E's network: words put together from their tokens, masking, description, learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from training.words_of_ours import SENTENCES, features, laid_out, losses, vectors

from biomux.engine.bundle.tokenizer_check import check
from biomux.recipes import schema
from biomux.text import tokens as text_tokens
from biomux.training import encoders
from biomux.training.encoders import ENCODERS, word_tokenizer
from biomux.training.encoders.bilstm import BiLSTM
from biomux.training.heads import HEADS
from biomux.training.heads.features import Features

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.training.encoders.encoder import BuiltEncoder

SMALL = {"word_width": 6, "hidden": 5, "character_width": 4, "character_hidden": 3}
UNSEEN = "Quatrine2 binds zolmides."


def make(*, layers: int = 1, **chosen: Any) -> BuiltEncoder:
    torch.manual_seed(3)
    described = {"kind": "bilstm", "layers": layers, "bilstm": {**SMALL, **chosen}}
    return ENCODERS["bilstm"].make(schema.EncoderSettings.model_validate(described), SENTENCES)


def network(made: BuiltEncoder) -> BiLSTM:
    assert isinstance(made.encoder, BiLSTM)
    return made.encoder


def test_a_known_word_is_one_token_and_an_unknown_one_is_spelled() -> None:
    made = make(minimum=2)
    tokens = made.tokenizer.encode("the velarin of Quatrin", add_special_tokens=False).tokens
    assert tokens == ["the", "velarin", "o", "##f", "Q", *(f"##{one}" for one in "uatrin")]


def test_tokens_give_words_with_their_places() -> None:
    made = make()
    found = text_tokens.split(made.tokenizer, UNSEEN, [(0, len(UNSEEN))])[0]
    assert [UNSEEN[a:b] for a, b in zip(found.starts, found.ends, strict=True)] == [
        "Quatrine2",
        "binds",
        "zolmides",
        ".",
    ]


def test_the_engine_takes_such_a_tokenizer() -> None:
    made = make()
    check(made.tokenizer.to_str().encode(), vocabulary=made.tokenizer.get_vocab_size())


@given(st.lists(st.text("abcXYZ019", min_size=1, max_size=9), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_a_spelled_word_is_read_as_if_it_were_one_token(unknown: list[str]) -> None:
    """Characters come out the same whether a word is known or spelled; only the word vector is that of [UNK]."""
    made, text = make(minimum=9), " ".join(unknown)
    encoder = network(made)
    ids, mask, _ = laid_out(made, [text])
    inner = ids[0, 1 : int(mask.sum()) - 1]
    word = torch.tensor(made.tokenizer.encode(text, add_special_tokens=False).word_ids)
    several = torch.bincount(word) > 1
    for index, spelled in enumerate(unknown):
        tokens = inner[word == index]
        if several[index]:
            joined, size = encoder._joined(tokens, word[word == index])
        else:
            joined, size = encoder.spelling[tokens], encoder.sizes[tokens]
        singles = [encoder.spelling[made.tokenizer.token_to_id(one), 0] for one in spelled]
        assert joined[0, : int(size)].tolist() == [int(one) for one in singles]


def test_a_word_longer_than_what_is_read_is_cut() -> None:
    made = make(longest=4)
    short, long = features(made, ["abcd"]), features(made, ["abcdefgh"])
    torch.testing.assert_close(short.at(short.words), long.at(long.words))


@pytest.mark.parametrize("layers", [1, 2])
def test_a_vector_for_each_token(layers: int) -> None:
    made = make(layers=layers)
    encoder = network(made)
    ids, mask, _ = laid_out(made, [*SENTENCES, UNSEEN])
    found = encoder.layers(ids, mask)
    assert [tuple(layer.shape) for layer in found] == [(*ids.shape, encoder.width)] * layers
    assert (encoder.width, encoder.depth) == (10, layers - 1)
    assert torch.equal(encoder(ids, mask), found[-1])
    assert not found[-1][mask == 0].any()


def test_all_tokens_of_a_word_have_its_vector() -> None:
    made = make()
    read = features(made, ["Quatrine2"])
    inside = read.hidden[0, 1 : int(read.mask.sum()) - 1]
    assert len(inside) > 1
    assert torch.equal(inside, inside[:1].expand_as(inside))


@pytest.mark.parametrize("head", [None, "bilstm"])
def test_padding_changes_nothing(head: str | None) -> None:
    made = make(layers=2)
    torch.manual_seed(5)
    answer: Any = HEADS[head](10, 3, hidden=4, dropout=0.0) if head else Features.at
    texts = [*SENTENCES, UNSEEN]
    together = features(made, texts, length=120)
    alone = [features(made, [text], length=length) for text, length in zip(texts, (100, 60, 80, 64, 77), strict=True)]
    torch.testing.assert_close(
        answer(together, together.words),
        torch.cat([answer(one, one.words) for one in alone]),
        rtol=0,
        atol=1e-6,
    )


def test_a_window_that_begins_within_a_word_does_not_join_it_to_what_stands_before() -> None:
    made = make()
    ids, mask, _ = laid_out(made, ["Quatrine2 binds"])
    later = torch.cat([ids[:, :1], ids[:, 3:]], dim=1)
    found = made.encoder(later, mask[:, 2:])
    assert not torch.equal(found[0, 0], found[0, 1])
    assert torch.equal(found[0, 1], found[0, 2])


def test_the_head_answers_for_the_words_that_are_asked_about() -> None:
    made = make()
    read = features(made, SENTENCES)
    head = HEADS["bilstm"](10, 3, hidden=4, dropout=0.0)
    every = head(read, read.words)
    assert torch.equal(head(read, read.words[[1, 5, 8]]), every[[1, 5, 8]])
    assert head(read, read.words[:0]).shape == (0, 3)


def test_the_head_reads_a_window_at_a_time() -> None:
    made = make()
    read = features(made, SENTENCES)
    other = Features(read.hidden.clone(), read.mask, read.words)
    other.hidden[0] += 1
    head = HEADS["bilstm"](10, 3, hidden=4, dropout=0.0)
    moved = (head(read, read.words) != head(other, other.words)).any(dim=1)
    assert torch.equal(moved, read.windows(read.words) == 0)


@pytest.mark.parametrize("chosen", [{}, {"frozen": True}, {"case": "keep"}, {"case": "lower"}])
def test_built_again_from_its_description(tmp_path: Path, chosen: dict[str, Any]) -> None:
    made = make(vectors=vectors(tmp_path), **chosen)
    encoder = network(made)
    again = encoders.build(encoder.describe())
    again.load_state_dict(encoder.state_dict())
    ids, mask, _ = laid_out(made, [*SENTENCES, UNSEEN])
    assert torch.equal(again(ids, mask), encoder(ids, mask))


@pytest.mark.parametrize("frozen", [False, True])
def test_vectors_of_a_file_move_unless_frozen(tmp_path: Path, frozen: bool) -> None:
    made = make(vectors=vectors(tmp_path), frozen=frozen)
    names = dict(made.encoder.named_parameters())
    assert ("given" in names) != frozen
    ids, mask, places = laid_out(made, [*SENTENCES, UNSEEN])
    made.encoder(ids, mask).reshape(-1, 10)[places].pow(2).sum().backward()
    for name, parameter in names.items():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def row(made: BuiltEncoder, word: str) -> int:
    return int(network(made).rows[made.tokenizer.token_to_id(word)])


def test_case_may_be_kept_left_to_the_characters_or_dropped(tmp_path: Path) -> None:
    file = vectors(tmp_path)
    made = make(vectors=file)
    own = network(made).own.num_embeddings
    assert row(made, "The") == row(made, "the") == own
    assert row(made, "Zolmide") == row(made, "zolmide") == own + 1
    assert row(made, "Mice") == row(made, "mice") < own
    assert made.tokenizer.encode("The", add_special_tokens=False).tokens == ["The"]
    kept = make(vectors=file, case="keep", minimum=1)
    assert row(kept, "Mice") != row(kept, "mice")
    assert kept.tokenizer.token_to_id("Aspirin") is None
    lower = make(vectors=file, case="lower")
    assert lower.tokenizer.encode("THE", add_special_tokens=False).tokens == ["the"]


def test_words_of_the_file_are_known_though_no_text_has_them(tmp_path: Path) -> None:
    assert row(make(vectors=vectors(tmp_path)), "Aspirin") > 5
    few = make(vectors=vectors(tmp_path), most=0)
    assert few.tokenizer.token_to_id("aspirin") is None
    assert network(few).settings["given"] == 2


def test_a_letter_that_does_not_come_back_from_its_capital_is_known_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "micro.txt"
    file.write_text("\u00b5m3 1 2 3 4 5 6\nthe 6 5 4 3 2 1\n", encoding="utf-8")
    made = make(vectors=str(file))
    assert row(made, "\u00b5m3") == row(made, "the") - 1
    assert made.tokenizer.token_to_id("\u039cm3") is None


def test_unknown_starts_from_the_mean_of_the_file(tmp_path: Path) -> None:
    encoder = network(make(vectors=vectors(tmp_path)))
    torch.testing.assert_close(encoder.own.weight[word_tokenizer.UNKNOWN], encoder.given.mean(dim=0))


def test_settings_of_another_kind_are_refused() -> None:
    with pytest.raises(ValidationError, match="cannot give settings of 'bilstm' to an encoder of kind 'transformer'"):
        schema.EncoderSettings.model_validate({"name": "x", "bilstm": {}})
    with pytest.raises(ValidationError, match="needs a name"):
        schema.EncoderSettings.model_validate({"kind": "convolution"})


def test_half_precision_around_it_changes_little() -> None:
    made = make()
    ids, mask, _ = laid_out(made, SENTENCES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = made.encoder(ids, mask)
    torch.testing.assert_close(half, made.encoder(ids, mask), rtol=0, atol=1e-5)


def test_training_lowers_the_loss_as_it_always_did() -> None:
    made = make()
    head = HEADS["bilstm"](10, 2, hidden=4, dropout=0.0)
    found = losses(made.encoder, head, made, steps=20, rate=0.03)
    assert found[0] == pytest.approx(0.634998, abs=1e-4)
    assert found[9] == pytest.approx(0.369527, abs=1e-4)
    assert found[-1] < 0.5 * found[0]
