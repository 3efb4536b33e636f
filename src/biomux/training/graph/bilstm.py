"""Paper E's encoder: word vectors and a character BiLSTM, then BiLSTMs over words.

As in `biomux.training.encoders.bilstm`, spelled tokens are joined to words again here: M words of B windows, of L tokens each. LSTMs read
steps × sequences: the words of window b are at w · B + b, where w is the word's number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from biomux.training.encoders import word_tokenizer
from biomux.training.encoders.tokenizer import SPECIALS
from biomux.training.graph import recurrent, transformer
from biomux.training.graph.encoded import Encoded, Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Pick, State


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:  # noqa: ARG001
    """All words are computed: the state of each depends on all others in its window."""
    width = 2 * int(config["hidden"])
    begins = _begins(graph, state)
    axis = graph.constant(np.array(1, np.int64))
    number = graph.add("Sub", graph.add("CumSum", begins, axis), graph.integers(1))
    windows, length = graph.size("ids", 0), graph.size("ids", 1)
    row = _numbers(graph)
    at = graph.reshape(graph.add("Add", graph.add("Mul", number, windows), row), -1)
    firsts = graph.reshape(graph.add("NonZero", graph.reshape(begins, -1)), -1)
    words = _words(graph, state, config, begins, firsts)
    sizes = graph.add("ReduceSum", begins, graph.integers(1), keepdims=0)
    real = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.integers(2))
    places = graph.add("Unsqueeze", graph.add("Gather", at, firsts, axis=0), graph.integers(1))
    inner = int(config["word_width"]) + 2 * int(config["character_hidden"])
    steps = graph.add("Mul", length, windows)
    laid_out = graph.add("ScatterND", graph.zeros(steps, inner), places, words)
    rows = graph.reshape(laid_out, length, windows, inner)
    states = []
    for layer in range(int(config["layers"])):
        rows, _ = recurrent.both_ways(graph, rows, sizes, state, f"layer.{layer}")
        flat = graph.reshape(rows, -1, width)
        token_states = graph.reshape(graph.add("Gather", flat, at, axis=0), windows, length, width)
        states.append(graph.add("Mul", token_states, real))
    return Encoded(pick(states[-1], width), tuple(states[:-1]), width)


def _numbers(graph: Graph) -> str:
    """The number of its window, for each token: windows × length."""
    one = graph.integers(1)
    ones = graph.add("Add", graph.add("Mul", "ids", graph.integers(0)), one)
    out: str = graph.add("Sub", graph.add("CumSum", ones, graph.constant(np.array(0, np.int64))), one)
    return out


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:  # noqa: ARG001
    """None: the layers of a recurrent network stay fp32."""
    return ()


def _begins(graph: Graph, state: State) -> str:
    """1 where a word begins: at a token that does not continue the one before it, or that follows a special one."""
    zero, one = graph.integers(0), graph.integers(1)
    table = graph.constant(state["continues"].astype(np.int64), "embeddings.continues")
    continues = graph.add("Gather", table, "ids", axis=0)
    column = graph.integers(1)
    first = graph.add("Mul", graph.add("Slice", "ids", zero, one, column), zero)
    before = graph.add("Concat", first, graph.add("Slice", "ids", zero, graph.integers(-1), column), axis=1)
    # 1 where the token before is an ordinary one: special tokens come first in the vocabulary.
    above = graph.add("Sub", before, graph.integers(len(SPECIALS) - 1))
    ordinary = graph.add("Min", graph.add("Max", above, zero), one)
    out: str = graph.add("Mul", "mask", graph.add("Sub", one, graph.add("Mul", continues, ordinary)))
    return out


def _words(graph: Graph, state: State, config: Config, begins: str, firsts: str) -> str:
    """Word vector and characters of each word: M × (word width + 2 · character hidden)."""
    zero, one = graph.integers(0), graph.integers(1)
    ids, mask, flags = (graph.reshape(values, -1) for values in ("ids", "mask", begins))
    # A word continues if the token after its first one exists and begins no word.
    continues = graph.add("Sub", mask, flags)
    next_one = graph.add("Concat", graph.add("Slice", continues, one, graph.integers(1 << 40), zero), zero, axis=0)
    several = graph.add("Gather", next_one, firsts, axis=0)
    tokens = graph.add("Gather", ids, firsts, axis=0)
    word_rows = graph.add("Gather", graph.constant(state["rows"].astype(np.int64), transformer.WORDS), tokens, axis=0)
    single = graph.add("Mul", word_rows, graph.add("Sub", one, several))
    rows = graph.add("Add", single, graph.add("Mul", several, graph.integers(word_tokenizer.UNKNOWN)))
    table = np.concatenate([floats(state, "own.weight"), floats(state, "given")])
    vectors = graph.table(table, "embeddings.vectors", rows)
    characters, sizes = _spelled(graph, state, config, ids, mask, flags, firsts)
    character_vectors = graph.add(
        "Gather", graph.constant(floats(state, "characters.weight"), "characters"), characters, axis=0
    )
    steps = graph.add("Transpose", character_vectors, perm=[1, 0, 2])
    _, last = recurrent.both_ways(graph, steps, sizes, state, "speller")
    out: str = graph.add("Concat", vectors, last, axis=-1)
    return out


def _spelled(
    graph: Graph, state: State, config: Config, ids: str, mask: str, flags: str, firsts: str
) -> tuple[str, str]:
    """The characters of each word, those of all its tokens one after the other (M × longest), and their number."""
    longest = int(config["longest"])
    zero, one, end = graph.integers(0), graph.integers(1), graph.integers(longest)
    flat = graph.constant(np.array(0, np.int64))
    token_sizes = graph.add("Gather", graph.constant(state["sizes"].astype(np.int64), "embeddings.sizes"), ids, axis=0)
    sizes = graph.add("Mul", token_sizes, mask)
    through = graph.add("CumSum", sizes, flat)
    characters_before = graph.add("Sub", through, sizes)
    starts = graph.add("Gather", characters_before, firsts, axis=0)
    word = graph.add("Sub", graph.add("CumSum", flags, flat), one)
    offset = graph.add("Sub", characters_before, graph.add("Gather", starts, word, axis=0))
    number = graph.constant(np.arange(longest, dtype=np.int64)[None], "embeddings.numbers")
    target = graph.add("Add", graph.add("Unsqueeze", offset, one), number)
    inside = graph.add("Sub", graph.add("Unsqueeze", sizes, one), number)
    exists = graph.add("Min", graph.add("Max", inside, zero), one)
    # What does not exist, or is beyond the longest, goes to a column that is not read.
    column = graph.add("Add", graph.add("Mul", target, exists), graph.add("Mul", end, graph.add("Sub", one, exists)))
    column = graph.add("Min", column, end)
    wide = graph.integers(longest + 1)
    place = graph.add("Add", graph.add("Unsqueeze", graph.add("Mul", word, wide), one), column)
    spelling = graph.add(
        "Gather", graph.constant(state["spelling"].astype(np.int64), "embeddings.spelling"), ids, axis=0
    )
    words = graph.add("Shape", firsts)
    nothing = graph.add("Cast", graph.zeros(graph.add("Mul", words, wide)), to=TensorProto.INT64)
    filled = graph.add(
        "ScatterND",
        nothing,
        graph.add("Unsqueeze", graph.reshape(place, -1), one),
        graph.reshape(spelling, -1),
    )
    after = graph.add(
        "Concat", graph.add("Slice", starts, one, graph.integers(1 << 40), zero), _total(graph, sizes), axis=0
    )
    count = graph.add("Max", graph.add("Min", graph.add("Sub", after, starts), end), one)
    most = graph.add("ReduceMax", count, zero, keepdims=1)
    spelled_words = graph.reshape(filled, words, longest + 1)
    return graph.add("Slice", spelled_words, zero, most, one), count


def _total(graph: Graph, sizes: str) -> str:
    out: str = graph.add("ReduceSum", sizes, graph.integers(0), keepdims=1)
    return out


FAMILY = Family(write, matrices)
