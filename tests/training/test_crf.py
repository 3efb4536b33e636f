"""The conditional random field: likelihood, best path and marginals against all tag sequences written out."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from training.words_of_ours import SENTENCES, features, losses

from biomux.recipes import schema
from biomux.tasks.best_tags import transitions
from biomux.tasks.crf_decoding import Chained, Transitions, best_path, marginals
from biomux.tasks.examples import MASKED
from biomux.tasks.tagging import Tagging
from biomux.text import tokens as text_tokens
from biomux.training.encoders import ENCODERS
from biomux.training.heads import HEADS
from biomux.training.heads.crf import CRF, chained
from biomux.training.objectives import crf as objective

if TYPE_CHECKING:
    from biomux.training.encoders.encoder import BuiltEncoder

numbers = st.floats(-4, 4, width=32)


@st.composite
def chains(draw: st.DrawFn, labels: tuple[int, ...] = (2, 3)) -> tuple[Any, Transitions]:
    size, words = draw(st.sampled_from(labels)), draw(st.integers(1, 5))
    parts = [
        draw(arrays.arrays(np.float32, shape, elements=numbers)) for shape in ((words, size), (size, size), size, size)
    ]
    return parts[0], Transitions(*parts[1:])


def every_sequence(scores: Any, learned: Transitions, allowed: str | None = None) -> dict[tuple[int, ...], float]:
    """The score of each tag sequence, in double precision."""
    found = {}
    for tags in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        if allowed is not None:
            follow, start, stop = transitions(scores.shape[1], allowed)
            steps = all(follow[left, right] for left, right in itertools.pairwise(tags))
            if not (steps and start[tags[0]] and stop[tags[-1]]):
                continue
        total = float(learned.first[tags[0]]) + float(learned.last[tags[-1]])
        total += sum(float(scores[at, tag]) for at, tag in enumerate(tags))
        found[tags] = total + sum(float(learned.between[left, right]) for left, right in itertools.pairwise(tags))
    return found


@given(chains(), st.data())
@settings(max_examples=60, deadline=None)
def test_the_likelihood_is_that_of_all_sequences_written_out(
    chain: tuple[Any, Transitions], data: st.DataObject
) -> None:
    scores, learned = chain
    labels = [data.draw(st.sampled_from([MASKED, *range(scores.shape[1])])) for _ in scores]
    written = every_sequence(scores, learned)
    right = [
        value
        for tags, value in written.items()
        if all(label in (MASKED, tag) for label, tag in zip(labels, tags, strict=True))
    ]
    expected = np.logaddexp.reduce(list(written.values())) - np.logaddexp.reduce(right)
    found = objective.summed(
        torch.from_numpy(scores)[None],
        torch.tensor([labels]),
        torch.ones(1, len(labels), dtype=torch.bool),
        between=torch.from_numpy(learned.between),
        first=torch.from_numpy(learned.first),
        last=torch.from_numpy(learned.last),
    )
    assert float(found) == pytest.approx(expected, abs=1e-4)


@given(chains(), st.sampled_from([None, "bio"]))
@settings(max_examples=60, deadline=None)
def test_the_best_path_is_the_best_of_all_sequences(chain: tuple[Any, Transitions], scheme: str | None) -> None:
    scores, learned = chain
    scheme = scheme if scores.shape[1] == 3 else None
    written = every_sequence(scores, learned, scheme)
    assert written[tuple(best_path(scores, learned, scheme).tolist())] == pytest.approx(max(written.values()), abs=1e-4)


@given(chains((5,)))
@settings(max_examples=20, deadline=None)
def test_bioes_holds_too(chain: tuple[Any, Transitions]) -> None:
    scores, learned = chain
    written = every_sequence(scores, learned, "bioes")
    assert written[tuple(best_path(scores, learned, "bioes").tolist())] == pytest.approx(
        max(written.values()), abs=1e-4
    )


@given(chains(), st.sampled_from([None, "bio"]))
@settings(max_examples=60, deadline=None)
def test_marginals_are_sums_over_all_sequences(chain: tuple[Any, Transitions], scheme: str | None) -> None:
    scores, learned = chain
    scheme = scheme if scores.shape[1] == 3 else None
    written = every_sequence(scores, learned, scheme)
    whole = np.logaddexp.reduce(list(written.values()))
    expected = np.zeros(scores.shape)
    for tags, value in written.items():
        expected[np.arange(len(tags)), list(tags)] += np.exp(value - whole)
    np.testing.assert_allclose(marginals(scores, learned, scheme), expected, atol=1e-4)


@given(chains((3,)))
@settings(max_examples=30, deadline=None)
def test_what_all_labels_of_a_word_have_in_common_changes_nothing(chain: tuple[Any, Transitions]) -> None:
    """So logits and their log-probabilities decode alike: the annotator hands on probabilities."""
    scores, learned = chain
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    logs = np.log(powers / powers.sum(axis=1, keepdims=True))
    written = every_sequence(scores, learned, "bio")
    assert written[tuple(best_path(logs, learned, "bio").tolist())] == pytest.approx(max(written.values()), abs=1e-4)


def test_no_words_no_tags() -> None:
    nothing = np.zeros((0, 3), dtype=np.float32)
    assert best_path(nothing, Transitions.none(3), "bio").tolist() == []
    assert marginals(nothing, Transitions.none(3)).shape == (0, 3)


def make() -> BuiltEncoder:
    torch.manual_seed(3)
    small = {"word_width": 6, "hidden": 5, "character_width": 4, "character_hidden": 3}
    return ENCODERS["bilstm"].make(
        schema.EncoderSettings.model_validate({"kind": "bilstm", "bilstm": small}), SENTENCES
    )


def head_of(**chosen: Any) -> CRF:
    torch.manual_seed(7)
    head = HEADS["crf"](10, 3, dropout=0.0, **chosen)
    assert isinstance(head, CRF)
    with torch.no_grad():
        for part in (head.between, head.first, head.last):
            part.normal_()
    return head


def test_the_loss_of_a_batch_is_the_sum_of_its_windows_and_padding_adds_nothing() -> None:
    made, head = make(), head_of()
    together = features(made, SENTENCES, length=120)
    labels = torch.arange(len(together.words)) % 3
    windows = together.windows(together.words)
    alone = 0.0
    for index, text in enumerate(SENTENCES):
        one = features(made, [text])
        alone += head.loss(one, one.words, labels[windows == index]).item()
    assert head.loss(together, together.words, labels).item() == pytest.approx(alone, abs=1e-4)


def test_words_that_are_not_asked_about_may_have_any_label() -> None:
    made, head = make(), head_of(head="bilstm", hidden=4)
    read = features(made, ["Mice had ulcers.", "Velarin binds."])
    known = {0: 1, 2: 0}
    written = every_sequence(head(read, read.words[:4]).detach().numpy(), head.transitions())
    right = [value for tags, value in written.items() if all(tags[at] == label for at, label in known.items())]
    expected = np.logaddexp.reduce(list(written.values())) - np.logaddexp.reduce(right)
    found = head.loss(read, read.words[list(known)], torch.tensor(list(known.values())))
    assert found.item() == pytest.approx(expected, abs=1e-4)


def test_every_parameter_has_a_gradient() -> None:
    made, head = make(), head_of()
    read = features(made, SENTENCES)
    torch.autograd.backward(head.loss(read, read.words, torch.arange(len(read.words)) % 3))
    for name, parameter in (*head.named_parameters(), *made.encoder.named_parameters()):
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_a_task_is_decoded_with_what_its_head_learned() -> None:
    made, head = make(), head_of()
    task = Tagging("drugs", ("Drug",))
    assert chained(task, HEADS["linear"](10, 3)) is task
    found = chained(task, head)
    assert isinstance(found, Chained)
    assert found.labels == task.labels
    tokens = text_tokens.split(made.tokenizer, SENTENCES[0], [(0, len(SENTENCES[0]))])[0]
    even = np.full((tokens.words, 3), 1 / 3, dtype=np.float32)
    stay = np.zeros((3, 3), dtype=np.float32)
    stay[1, 2] = stay[2, 2] = 5
    drawn = Chained(
        "drugs", ("Drug",), learned=Transitions(stay, np.array([0, 9, 0], np.float32), np.zeros(3, np.float32))
    )
    (span,) = drawn.entities(np.log(even), tokens, SENTENCES[0])
    assert (span.start, span.end, span.type, span.head) == (0, len(SENTENCES[0]), "Drug", "drugs")
    assert span.score is not None
    assert 0.9 < span.score <= 1


def test_without_transitions_it_decodes_as_a_plain_head_does() -> None:
    made = make()
    tokens = text_tokens.split(made.tokenizer, SENTENCES[1], [(0, len(SENTENCES[1]))])[0]
    chance = np.random.default_rng(2)
    for _ in range(20):
        powers = np.exp(chance.standard_normal((tokens.words, 5)))
        rows = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
        plain = Tagging("both", ("Drug", "Organ")).entities(np.log(rows), tokens, SENTENCES[1])
        same = Chained("both", ("Drug", "Organ")).entities(np.log(rows), tokens, SENTENCES[1])
        assert [(span.start, span.end, span.type) for span in plain] == [(s.start, s.end, s.type) for s in same]


def test_training_lowers_the_loss_as_it_always_did() -> None:
    made = make()
    head = HEADS["crf"](10, 2, dropout=0.0)
    found = losses(made.encoder, head, made, steps=20, rate=0.03)
    assert found[0] == pytest.approx(0.870151, abs=1e-4)
    assert found[9] == pytest.approx(0.271823, abs=1e-4)
    assert found[-1] < 0.5 * found[0]
