"""Paper E's head: each data set's own BiLSTM over the words of a window, then a linear layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from biomux.training.encoders import packed_sequences
from biomux.training.heads.sequence import sequences, word_at

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features


class BiLSTMHead(nn.Module):
    """Dropout, BiLSTM(width, hidden each way), dropout, Linear(2 · hidden, labels). It labels words."""

    def __init__(self, width: int, labels: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * hidden, labels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """Logits, one row per place; the whole window is read, whichever of its words are needed."""
        if not len(rows):
            return self.output.weight.new_zeros((0, self.output.out_features))
        words = self.dropout(features.at(features.words))
        states = packed_sequences.states(self.lstm, words, sequences(features).sizes)
        logits: Tensor = self.output(self.dropout(states).index_select(0, word_at(features, rows)))
        return logits


def build(width: int, labels: int, *, hidden: int = 100, dropout: float = 0.1) -> nn.Module:
    """`hidden` is the state's size, each way."""
    return BiLSTMHead(width, labels, hidden, dropout)
