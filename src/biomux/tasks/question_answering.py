"""Answers: the words of a text that answer a question about it.

A long text is read in overlapping windows, the question before each. A window without the answer learns to say so. Answers are ranked over all
windows by how much likelier they are than no answer in their window.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from biomux.document import Answer
from biomux.tasks.examples import Labels, ModelInput
from biomux.tasks.softmax import sigmoid
from biomux.tasks.task import Evaluation, rows_of
from biomux.text import tokens as text_tokens
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Question
    from biomux.text.tokens import Tokens

QUESTION = 64
"""The most tokens of a question that are read."""
FIGURES = ("strict", "lenient", "mrr", "exact", "f1")


@dataclass(frozen=True, slots=True)
class Answers:
    """Extractive answers of at most `longest` words, the `best` so many of them.

    `others` is the share of the windows without an answer that are learned from; `may_be_none` lets a question stay unanswered.
    """

    name: str
    best: int = 5
    longest: int = 30
    others: float = 1.0
    may_be_none: bool = False
    kind: Literal["answers"] = "answers"
    positive: ClassVar[int] = 0

    @classmethod
    def of_documents(cls, name: str, documents: Iterable[Document], **settings: Any) -> Answers:  # noqa: ARG003
        """The task; documents tell it nothing."""
        return cls(name, **settings)

    @property
    def unit(self) -> Literal["answer"]:
        """First and last word of an answer."""
        return "answer"

    @property
    def labels(self) -> tuple[str, ...]:
        """What a head says about each word."""
        return ("first", "last")

    @property
    def objective(self) -> str:
        """Both ends' cross-entropy."""
        return "answers"

    def targets(self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]) -> list[Labels | None]:
        """The place of the answer in each window of a question that has an answer with a place, or none at all."""
        held: set[str] = set()
        targets: list[Labels | None] = []
        for input_ in inputs:
            question: Question = input_.note
            placed = [answer for answer in question.answers if answer.start is not None]
            place = _place(input_.tokens, placed)
            if place is not None:
                held.add(question.id)
            elif question.answers and not placed:
                targets.append(None)
                continue
            elif not self._lucky(document, question, input_):
                counts["windows without an answer left out"] += 1
                targets.append(None)
                continue
            targets.append(Labels("answer", np.array(place or (-1, -1), dtype=np.int32)))
        for question in document.questions:
            counts["questions"] += 1
            if question.answers and all(answer.start is None for answer in question.answers):
                counts["questions whose answers have no place"] += 1
            elif question.answers and question.id not in held:
                counts["questions whose answer no window holds"] += 1
        return targets

    def _lucky(self, document: Document, question: Question, read: ModelInput) -> bool:
        if self.others >= 1:
            return True
        name = f"{document.id}\0{question.id}\0{read.tokens.starts[:1].tolist()}"
        return zlib.crc32(name.encode()) / 2**32 < self.others

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """The windows of each question; the note is the question."""
        if not document.questions:
            return
        context = text_tokens.split(tokenizer, document.text, [(0, len(document.text))])[0]
        for number, question in enumerate(document.questions):
            asked = text_tokens.split(tokenizer, question.text, [(0, len(question.text))])[0]
            most = min(QUESTION, limit // 2)
            if len(asked) > most:
                counts["questions shortened"] += 1
                asked = asked.window(0, most)
            for window in windows(len(context), limit=limit - len(asked) - 1):
                if window.end > window.start:
                    read = context.window(window.start, window.end)
                    yield ModelInput(read, asked, note=question, part=(0, len(document.text)), number=number)

    def bare(self, document: Document) -> Document:
        """The document with its questions, unanswered."""
        questions = tuple(replace(question, answers=(), impossible=False) for question in document.questions)
        return replace(document, questions=questions)

    def decode(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with each question's best answers, the best first; none where that is allowed and likelier."""
        by_question: dict[str, dict[str, Answer]] = {}
        for input_, rows in zip(inputs, outputs, strict=True):
            by_text = by_question.setdefault(input_.note.id, {})
            for first, last, margin in self._best(input_, rows):
                start, end = int(input_.tokens.starts[first]), int(input_.tokens.ends[last])
                text = document.text[start:end]
                score = float(sigmoid(np.array(margin, dtype=np.float32)))
                if text.casefold() not in by_text or (by_text[text.casefold()].score or 0.0) < score:
                    by_text[text.casefold()] = Answer(text, start, end, score=score, head=self.name)
        questions = []
        for question in document.questions:
            ranked = sorted(
                by_question.get(question.id, {}).values(),
                key=lambda answer: (-(answer.score or 0.0), answer.start, answer.end),
            )
            none = self.may_be_none and (not ranked or (ranked[0].score or 0.0) < 0.5)
            best = () if none else tuple(ranked[: self.best])
            questions.append(
                replace(question, answers=(*question.answers, *best), impossible=question.impossible or none)
            )
        return replace(document, questions=tuple(questions))

    def _best(self, read: ModelInput, rows: NDArray[np.float32]) -> list[tuple[int, int, float]]:
        """The best (first word, last word, how much above no answer) of a window."""
        places = read.tokens.first + read.begin
        none = float(rows[0, 0] + rows[0, 1])
        begins, ends = rows[places, 0], rows[places, 1]
        sums = begins[:, None] + ends[None, :] - none
        number = np.arange(len(places))
        distance = number[None, :] - number[:, None]
        sums = np.where((distance >= 0) & (distance < self.longest), sums, -np.inf)
        flat = sums.reshape(-1)
        most = min(self.best, int(np.isfinite(flat).sum()))
        chosen = np.argsort(-flat, kind="stable")[:most]
        return [(int(at // len(places)), int(at % len(places)), float(flat[at])) for at in chosen]

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        """Strict and lenient accuracy and mean reciprocal rank as BioASQ, exact match and token F1 as SQuAD."""
        from biomux.scoring.answers import AnswerScores, score_answers

        each = []
        for gold_document, predicted_document in zip(gold, predicted, strict=True):
            asked = {question.id: question for question in predicted_document.questions}
            each.append(
                score_answers(
                    (
                        [answer.text for answer in question.answers],
                        [answer.text for answer in asked[question.id].answers if answer.head == self.name],
                    )
                    for question in gold_document.questions
                )
            )
        whole = sum(each, AnswerScores())
        return Evaluation(
            "f1",
            {name: getattr(whole, name).value for name in FIGURES},
            rows_of("mean", gold, [(scores.f1.value * scores.f1.number, scores.f1.number) for scores in each]),
            [
                {"values": {name: getattr(scores, name).value for name in FIGURES}} if scores.questions else {}
                for scores in each
            ],
            {"answers": {"questions": whole.questions, **whole.to_json()}},
            scored=whole.questions,
        )


def _place(tokens: Tokens, answers: Sequence[Answer]) -> tuple[int, int] | None:
    """First and last word of the first answer that lies wholly among the tokens, widened to whole words."""
    for answer in answers:
        if answer.start is None or answer.end is None:
            continue
        begin = int(np.searchsorted(tokens.ends, answer.start, side="right"))
        end = int(np.searchsorted(tokens.starts, answer.end, side="left"))
        if begin < end and (begin > 0 or tokens.starts[0] <= answer.start) and tokens.ends[-1] >= answer.end:
            return begin, end - 1
    return None
