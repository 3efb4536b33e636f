"""The word-level encoder of look-up tables: any word has a vector, padding changes nothing, few rows move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from training.words_of_ours import SENTENCES, features, laid_out, vectors

from biomux.engine.bundle.tokenizer_check import check
from biomux.recipes import schema
from biomux.recipes.schema import Loop
from biomux.training import encoders, optimizers
from biomux.training.encoders import ENCODERS, lexical
from biomux.training.encoders.lexical import Lexical
from biomux.training.encoders.recurrence import Recurrence
from biomux.training.heads import HEADS
from biomux.training.heads.features import Features
from biomux.training.model import Model
from biomux.training.plan import Draw, Objective, Plan

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.training.encoders.encoder import BuiltEncoder

SMALL = {"width": 10, "word_width": 6, "gram_width": 5, "shape_width": 3, "word_rows": 64, "gram_rows": 256}
UNSEEN = "Quatrine2 binds zolmides and β-Aspirin."


def make(*, layers: int = 2, **chosen: Any) -> BuiltEncoder:
    torch.manual_seed(3)
    described = {"kind": "lexical", "layers": layers, "lexical": {**SMALL, **chosen}}
    return ENCODERS["lexical"].make(schema.EncoderSettings.model_validate(described), SENTENCES)


def network(made: BuiltEncoder) -> Lexical:
    assert isinstance(made.encoder, Lexical)
    return made.encoder


def own(made: BuiltEncoder, text: str) -> torch.Tensor:
    """The words' own vectors, before any neighbour is read."""
    ids, mask, places = laid_out(made, [text])
    return network(made).layers(ids, mask)[0].reshape(-1, network(made).width)[places]


def test_the_engine_takes_such_a_tokenizer() -> None:
    made = make()
    check(made.tokenizer.to_str().encode(), vocabulary=made.tokenizer.get_vocab_size())


@pytest.mark.parametrize("recurrent", [True, False])
def test_a_vector_for_each_token(recurrent: bool) -> None:
    made = make(recurrent=recurrent)
    encoder = network(made)
    ids, mask, _ = laid_out(made, [*SENTENCES, UNSEEN])
    found = encoder.layers(ids, mask)
    assert [tuple(layer.shape) for layer in found] == [(*ids.shape, 10)] * (3 + recurrent)
    assert (encoder.width, encoder.depth) == (10, 2 + recurrent)
    assert torch.equal(encoder(ids, mask), found[-1])
    assert not any(layer[mask == 0].any() for layer in found)


@given(st.lists(st.text("abcXYZ019", min_size=1, max_size=9), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_a_spelled_word_is_read_as_if_it_were_one_token(unknown: list[str]) -> None:
    spelling = make()
    torch.manual_seed(3)
    knowing = ENCODERS["lexical"].make(
        schema.EncoderSettings.model_validate({"kind": "lexical", "layers": 2, "lexical": SMALL}),
        [*SENTENCES, " ".join(unknown)],
    )
    text = f"The {' '.join(unknown)} binds."
    one, other = features(spelling, [text]), features(knowing, [text])
    torch.testing.assert_close(one.at(one.words), other.at(other.words))


def test_all_tokens_of_a_word_have_its_vector() -> None:
    made = make()
    read = features(made, ["Quatrine2"])
    inside = read.hidden[0, 1 : int(read.mask.sum()) - 1]
    assert len(inside) > 1
    assert torch.equal(inside, inside[:1].expand_as(inside))


@pytest.mark.parametrize("recurrent", [True, False])
def test_padding_changes_nothing(recurrent: bool) -> None:
    made = make(recurrent=recurrent)
    texts = [*SENTENCES, UNSEEN]
    together = features(made, texts, length=120)
    alone = [features(made, [text], length=length) for text, length in zip(texts, (100, 60, 80, 64, 77), strict=True)]
    torch.testing.assert_close(
        together.at(together.words), torch.cat([one.at(one.words) for one in alone]), rtol=0, atol=1e-5
    )


def test_a_window_that_begins_within_a_word_does_not_join_it_to_what_stands_before() -> None:
    made = make()
    ids, mask, _ = laid_out(made, ["Quatrine2 binds"])
    later = torch.cat([ids[:, :1], ids[:, 3:]], dim=1)
    found = made.encoder(later, mask[:, 2:])
    assert not torch.equal(found[0, 0], found[0, 1])
    assert torch.equal(found[0, 1], found[0, 2])


@pytest.mark.parametrize("chosen", [{}, {"frozen": False}, {"recurrent": False}])
def test_built_again_from_its_description(tmp_path: Path, chosen: dict[str, Any]) -> None:
    made = make(vectors=vectors(tmp_path), **chosen)
    encoder = network(made)
    ids, mask, _ = laid_out(made, [*SENTENCES, UNSEEN])
    again = encoders.build(encoder.describe())
    with torch.no_grad():
        again(torch.zeros_like(ids), mask)  # words are looked up anew after loading
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again(ids, mask), encoder(ids, mask))


def test_words_of_the_file_are_known_in_any_case_though_no_text_has_them(tmp_path: Path) -> None:
    made = make(vectors=vectors(tmp_path))
    rows = network(made).vector_rows
    assert rows[made.tokenizer.token_to_id("aspirin")] == 3
    assert rows[made.tokenizer.token_to_id("The")] == rows[made.tokenizer.token_to_id("The".lower())] == 1
    assert rows[made.tokenizer.token_to_id("Zolmide")] == 2
    assert rows[made.tokenizer.token_to_id("kinase")] == 0
    assert made.tokenizer.token_to_id("ASPIRIN") is None
    before = own(made, "ASPIRIN")
    with torch.no_grad():
        network(made).vectors[3] += 1
    assert not torch.allclose(own(made, "ASPIRIN"), before)


def test_vectors_beyond_the_most_frequent_are_those_of_the_text(tmp_path: Path) -> None:
    made = make(vectors=vectors(tmp_path), most=0)
    assert made.tokenizer.token_to_id("aspirin") is None
    assert network(made).settings["vectors"] == 1 + 2


@pytest.mark.parametrize("frozen", [False, True])
def test_every_part_learns_and_vectors_of_a_file_unless_frozen(tmp_path: Path, frozen: bool) -> None:
    made = make(vectors=vectors(tmp_path), frozen=frozen)
    names = dict(made.encoder.named_parameters())
    assert ("vectors" in names) != frozen
    ids, mask, places = laid_out(made, [*SENTENCES, UNSEEN])
    made.encoder(ids, mask).reshape(-1, 10)[places].pow(2).sum().backward()
    for name, parameter in names.items():
        assert parameter.grad is not None, name
        assert parameter.grad.to_dense().abs().sum() > 0, name


def test_only_the_rows_that_a_step_uses_move() -> None:
    made = make()
    model = Model(made.encoder, {"x": HEADS["linear"](10, 2)})
    plan = Plan(Draw("mixed"), (Objective("cross-entropy", "x"),))
    movers = optimizers.of_plan(model, plan, Loop(learning_rate=0.1), {})
    assert set(movers) == {"shared", optimizers.TABLES}
    encoder = network(made)
    words, grams = encoder.words.weight.detach().clone(), encoder.grams.weight.detach().clone()
    read = features(made, ["Mice bind."])
    model.heads["x"](read, read.words).sum().backward()
    for mover in movers.values():
        mover.step()
    used = encoder.words.weight.ne(words).any(dim=1)
    assert 0 < int(used.sum()) <= 5  # [CLS], three words, [SEP]
    assert 0 < int(encoder.grams.weight.ne(grams).any(dim=1).sum()) < 60


def test_words_that_were_met_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make()
    before = features(made, [UNSEEN, "Xyz qqq2 zzz9."])
    monkeypatch.setattr(lexical, "REMEMBERED", 4)
    again = [features(made, [text]) for text in (UNSEEN, "Xyz qqq2 zzz9.", UNSEEN)]
    found = torch.cat([one.at(one.words) for one in again[:2]])
    torch.testing.assert_close(found, before.at(before.words), rtol=0, atol=1e-5)
    assert torch.equal(again[0].at(again[0].words), again[2].at(again[2].words))


def test_recurrence_is_a_bilstm_of_packed_rows() -> None:
    torch.manual_seed(1)
    both = torch.nn.LSTM(6, 3, bidirectional=True, batch_first=True)
    ours = Recurrence(6)
    for name, parameter in both.named_parameters():
        side = ours.back if name.endswith("_reverse") else ours.ahead
        with torch.no_grad():
            getattr(side, name.removesuffix("_reverse")).copy_(parameter)
    rows, sizes = torch.randn(3, 5, 6), torch.tensor([5, 2, 3])
    found = ours(rows, sizes)
    for row, size in enumerate(sizes.tolist()):
        torch.testing.assert_close(found[row, :size], both(rows[row : row + 1, :size])[0][0])


def test_training_lowers_the_loss() -> None:
    made = make()
    torch.manual_seed(4)
    model = Model(made.encoder, {"x": HEADS["linear"](10, 2, dropout=0.0)})
    plan = Plan(Draw("mixed"), (Objective("cross-entropy", "x"),))
    movers = optimizers.of_plan(model, plan, Loop(learning_rate=0.01), {})
    ids, mask, places = laid_out(made, SENTENCES)
    labels = torch.arange(len(places)) % 3 == 0
    found = []
    for _ in range(20):
        logits = model.heads["x"](Features(made.encoder(ids, mask), mask, places), places)
        loss = torch.nn.functional.cross_entropy(logits, labels.long())
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for mover in movers.values():
            mover.step()
        found.append(float(loss.detach()))
    assert found[-1] < 0.5 * found[0]


def test_settings_are_those_of_the_kind() -> None:
    with pytest.raises(ValueError, match="cannot give settings of 'lexical' to an encoder of kind 'bilstm'"):
        schema.EncoderSettings.model_validate({"kind": "bilstm", "lexical": {}})
    with pytest.raises(ValueError, match="multiple of 2"):
        schema.EncoderSettings.model_validate({"kind": "lexical", "lexical": {"width": 7}})
