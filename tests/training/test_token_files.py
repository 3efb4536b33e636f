"""Text as tokens on disk: nothing is lost, nothing comes twice, and nothing is made twice."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from training import plain

from biomux.errors import TrainingError
from biomux.recipes.pretraining import TextSettings
from biomux.tasks.examples import Masking
from biomux.training import token_files
from biomux.training.plain_text import PlainText
from biomux.training.token_files import ShuffledBatches, Windows

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 30
SEPARATOR = tiny.PIECES.index("[SEP]")


def _text(file: Path, *, held_out: Any = 0.1, **settings: Any) -> PlainText:
    return PlainText(TextSettings(files=(str(file),), format="lines", held_out=held_out, **settings))


def _kept(place: Path, text: PlainText, *, tokenizer: Tokenizer | None = None, seed: int = 1) -> Any:
    told: list[str] = []
    found = token_files.kept(
        text,
        tokenizer or tiny.tokenizer(),
        place=place,
        checksum=text.checksum(),
        separator=SEPARATOR,
        seed=seed,
        listen=told.append,
    )
    return (*found, told)


def _windows(file: Any, *, limit: int = LIMIT) -> Windows:
    return Windows(file, limit=limit, task="words", masking=Masking(4, len(tiny.PIECES)))


def test_windows_hold_all_tokens_of_all_documents_in_their_order(tmp_path: Path) -> None:
    file = plain.texts(tmp_path / "a.txt", number=20)
    training, held, about, _ = _kept(tmp_path, _text(file, held_out=0))
    tokenizer = tiny.tokenizer()
    wanted: list[int] = []
    for line in file.read_text().splitlines():
        wanted += [*tokenizer.encode(line, add_special_tokens=False).ids, SEPARATOR]
    windows = _windows(training)
    assert [int(one) for example in windows for one in example.tokens.ids] == wanted
    assert {len(example.tokens) for example in windows[:-1]} == {LIMIT}
    assert (about.documents, about.tokens, len(held.raw), about.small) == (20, len(wanted), 0, True)


def test_words_begin_where_the_tokenizer_says(tmp_path: Path) -> None:
    """By the vocabulary for WordPiece, and by the tokenizer itself for others: both are the same here."""
    (tmp_path / "a.txt").write_text("quatrinex, zolmidemycin (bexolosis) 12.5 mice\n")
    training, _, _, _ = _kept(tmp_path, _text(tmp_path / "a.txt", held_out=0))
    encoding = tiny.tokenizer().encode("quatrinex, zolmidemycin (bexolosis) 12.5 mice", add_special_tokens=False)
    first = [at for at, word in enumerate(encoding.word_ids) if at == 0 or word != encoding.word_ids[at - 1]]
    assert _windows(training)[0].tokens.first.tolist() == [*first, len(encoding.ids)]
    other = Tokenizer(models.BPE({"[UNK]": 0, "a": 1, "b": 2, "[MASK]": 3}, [], unk_token="[UNK]"))
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    (tmp_path / "b.txt").write_text("ab aab\n")
    training, _, _, _ = _kept(tmp_path, _text(tmp_path / "b.txt", held_out=0), tokenizer=other)
    tokens = _windows(training)[0].tokens
    assert (tokens.ids.tolist(), tokens.first.tolist()) == ([1, 2, 1, 1, 2, SEPARATOR], [0, 2, 5])


def test_large_vocabularies_have_four_bytes_a_token(tmp_path: Path) -> None:
    words = {"[UNK]": 0, **{f"w{number}": number for number in range(1, token_files.SMALL + 10)}}
    other = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    (tmp_path / "a.txt").write_text(f"w1 w{token_files.SMALL + 5}\n")
    training, _, about, _ = _kept(tmp_path, _text(tmp_path / "a.txt", held_out=0), tokenizer=other)
    assert not about.small
    assert _windows(training)[0].tokens.ids.tolist() == [1, token_files.SMALL + 5, SEPARATOR]


def test_text_is_split_once_and_again_where_it_is_another(tmp_path: Path) -> None:
    file = plain.texts(tmp_path / "a.txt")
    *_, told = _kept(tmp_path, _text(file))
    assert told[0].startswith("splitting ")
    assert " in " in told[0]
    *_, told = _kept(tmp_path, _text(file))
    assert [one.split()[0] for one in told] == ["reading"]
    (folder,) = [one for one in tmp_path.iterdir() if one.is_dir()]
    path = folder / "train.tokens"
    whole = path.read_bytes()
    path.write_bytes(whole[:-2])  # damaged: made again
    _kept(tmp_path, _text(file))
    assert path.read_bytes() == whole
    file.write_text(file.read_text() + "one more line\n")
    *_, told = _kept(tmp_path, _text(file))
    assert told[0].startswith("splitting ")
    assert len([one for one in tmp_path.iterdir() if one.is_dir()]) == 2


def test_the_size_told_beforehand_is_about_right(tmp_path: Path) -> None:
    """Of a compressed file too, though only its beginning is read for it."""
    file = tmp_path / "a.txt.gz"
    with gzip.open(file, "wt") as stream:
        for at in range(3000):
            stream.write(tiny.text(40, seed=at) + "\n")
    _, _, about, told = _kept(tmp_path, _text(file))
    number, unit = told[0].split("about ")[1].split()[:2]
    size = float(number) * {"kB": 1e3, "MB": 1e6}[unit]
    assert size == pytest.approx(2 * (about.tokens + about.held_out_tokens), rel=0.2)


def test_a_share_of_the_documents_is_held_out_by_their_text_and_the_seed(tmp_path: Path) -> None:
    lines = [tiny.text(12, seed=at) for at in range(300)]
    (tmp_path / "a.txt").write_text("\n".join([*lines, *lines]) + "\n")
    _, _, about, _ = _kept(tmp_path / "1", _text(tmp_path / "a.txt", held_out=0.2))
    assert about.held_out_documents % 2 == 0  # what comes twice is on one side
    assert about.held_out_documents == pytest.approx(120, abs=50)
    text = _text(tmp_path / "a.txt", held_out=0.2)
    sides = [[text.is_held_out(line, seed) for line in lines] for seed in (1, 1, 2)]
    assert sides[0] == sides[1] != sides[2]


def test_held_out_text_may_be_files_of_its_own(tmp_path: Path) -> None:
    file, other = plain.texts(tmp_path / "a.txt"), plain.texts(tmp_path / "b.txt", number=3, seed=5)
    _, held, about, _ = _kept(tmp_path, _text(file, held_out=(str(other),)))
    assert (about.documents, about.held_out_documents) == (60, 3)
    first = tiny.tokenizer().encode(other.read_text().splitlines()[0], add_special_tokens=False).ids
    assert _windows(held)[0].tokens.ids.tolist()[: min(LIMIT, len(first))] == first[:LIMIT]


def test_long_documents_are_cut_at_blanks_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_files, "LONGEST", 50)
    (tmp_path / "a.txt").write_text(tiny.text(200, seed=1) + " " + "x" * 120 + "\n")
    training, _, _, _ = _kept(tmp_path / "cut", _text(tmp_path / "a.txt", held_out=0))
    monkeypatch.undo()
    whole, _, _, _ = _kept(tmp_path / "whole", _text(tmp_path / "a.txt", held_out=0))
    ours, theirs = (np.concatenate([one.tokens.ids for one in _windows(file)]) for file in (training, whole))
    words = len(tiny.tokenizer().encode(tiny.text(200, seed=1), add_special_tokens=False).ids)
    assert ours[:words].tolist() == theirs[:words].tolist()


@pytest.mark.parametrize(
    ("written", "settings", "said"),
    [
        ("", {}, "no words to train on"),
        ("one line\n", {}, "nothing was held out: the text has 1 document"),
    ],
)
def test_text_that_nothing_can_be_learned_from_is_told(
    tmp_path: Path, written: str, settings: dict[str, Any], said: str
) -> None:
    (tmp_path / "a.txt").write_text(written)
    with pytest.raises(TrainingError, match=said) as caught:
        _kept(tmp_path, _text(tmp_path / "a.txt", **settings))
    assert caught.value.code == "BX550"
    assert caught.value.hint


def test_lines_that_look_like_documents_are_told(tmp_path: Path) -> None:
    file = plain.texts(tmp_path / "a.txt")
    *_, told = _kept(tmp_path, PlainText(TextSettings(files=(str(file),), held_out=0)))
    assert "each of its lines looks like a document: text.format=lines reads one document per line" in told[0]


def test_no_text_at_all_is_told(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"BX550.*no text to pre-train on"):
        PlainText(TextSettings()).check()
    with pytest.raises(TrainingError, match=r"BX550.*standard input"):
        PlainText(TextSettings(files=("-",))).check()
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingError, match=r"BX550.*no files"):
        PlainText(TextSettings(files=(str(tmp_path / "empty"),))).check()


def test_every_format_gives_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Aspirin treats fever.")
    (tmp_path / "b.jsonl").write_text(json.dumps({"id": "1", "text": "Mice given zolmide."}) + "\n")
    (tmp_path / "c.pubtator").write_text("7|t|Severe ulcer\n7|a|Treated.\n\n")
    text = PlainText(TextSettings(files=(str(tmp_path),)))
    assert sorted(text.documents()) == ["Aspirin treats fever.", "Mice given zolmide.", "Severe ulcer Treated."]


@given(windows=st.integers(1, 400), rows=st.integers(1, 9), seed=st.integers(0, 2**32 - 1), shard=st.integers(1, 100))
def test_an_epoch_has_each_window_once(windows: int, rows: int, seed: int, shard: int) -> None:
    batches = ShuffledBatches(windows, rows=rows, seed=seed, epoch=0, shard=shard)
    found = [place for batch in batches for place in batch]
    assert sorted(found) == list(range(windows))
    assert max(map(len, batches)) <= rows
    assert batches[3:6] == [batches[at] for at in range(3, min(6, len(batches)))]
    again = ShuffledBatches(windows, rows=rows, seed=seed, epoch=0, shard=shard)
    assert again[len(again) - 1] == batches[-1]  # whatever was looked at before
    if windows > 50:
        assert list(ShuffledBatches(windows, rows=rows, seed=seed, epoch=1, shard=shard)) != list(batches)


def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    """Ten times the text, the same memory: documents are read, split and written as a stream."""
    import tracemalloc

    peaks = []
    for number in (4_000, 40_000):
        file = tmp_path / f"{number}.txt"
        line = tiny.text(60, seed=1)
        file.write_text("".join(f"{line} {at}\n" for at in range(number)))
        tracemalloc.start()
        _kept(tmp_path / str(number), _text(file))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 1e6
