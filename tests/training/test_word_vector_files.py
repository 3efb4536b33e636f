"""Files of word vectors: three kinds read alike, and each kind of damage told by its code."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.errors import BiomuxError, TrainingError
from biomux.training.encoders.word_vector_files import kind_of, read

WORDS = ["the", "zolmide", "Bexol-2", "naïve", "of"]
TABLE = np.arange(15, dtype=np.float32).reshape(5, 3) / 4 - 1


def text(path: Path, *, first: bool = True, words: list[str] = WORDS) -> Path:
    lines = [f"{len(words)} 3"] if first else []
    lines += [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, TABLE.tolist(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def binary(path: Path, *, ends: bytes = b"\n") -> Path:
    entries = (word.encode() + b" " + row.tobytes() + ends for word, row in zip(WORDS, TABLE, strict=True))
    path.write_bytes(b"5 3\n" + b"".join(entries))
    return path


def npz(path: Path) -> Path:
    np.savez_compressed(path, words=np.array(WORDS), vectors=TABLE.astype(np.float16))
    return path


def every_kind(folder: Path) -> list[Path]:
    packed = folder / "packed.txt.gz"
    packed.write_bytes(gzip.compress(text(folder / "a.txt").read_bytes()))
    return [
        text(folder / "with.txt"),
        text(folder / "without.vec", first=False),
        text(folder / "unnamed"),
        packed,
        binary(folder / "lines.bin"),
        binary(folder / "bare.bin", ends=b""),
        binary(folder / "unnamed-binary"),
        npz(folder / "some.npz"),
    ]


def test_every_kind_gives_the_same(tmp_path: Path) -> None:
    for path in every_kind(tmp_path):
        found = read(path)
        assert found.words == tuple(WORDS), path
        np.testing.assert_array_equal(found.table, TABLE)
        assert (found.seen, found.width) == (5, 3)


def test_only_what_is_wanted_is_kept_and_the_first_of_the_file(tmp_path: Path) -> None:
    for path in every_kind(tmp_path):
        found = read(path, wanted={"of", "naïve", "absent"}, most=1)
        assert found.words == ("the", "naïve", "of"), path
        np.testing.assert_array_equal(found.table, TABLE[[0, 3, 4]])
        assert found.seen == 5
        assert read(path, wanted=()).table.shape == (0, 3)


def test_a_word_that_comes_twice_keeps_its_first_vector(tmp_path: Path) -> None:
    found = read(text(tmp_path / "twice.txt", words=["a", "b", "a", "c", "b"]))
    assert found.words == ("a", "b", "c")
    np.testing.assert_array_equal(found.table, TABLE[[0, 1, 3]])


def test_a_word_may_hold_a_space(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("at home 1 2 3\n. . 4 5 6\n")
    (tmp_path / "b.txt").write_text("2 3\nat home 1 2 3\n. . 4 5 6\n")
    assert read(tmp_path / "b.txt").words == ("at home", ". .")


def broken(folder: Path) -> dict[str, tuple[Path, str]]:
    def write(name: str, content: bytes) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    whole, packed = binary(folder / "whole.bin").read_bytes(), npz(folder / "whole.npz").read_bytes()
    np.savez(folder / "other.npz", tokens=np.array(WORDS))
    np.savez(folder / "fewer.npz", words=np.array(WORDS[:4]), vectors=TABLE)
    np.savez(folder / "pickled.npz", words=np.array(WORDS, dtype=object), vectors=TABLE)
    np.savez(folder / "columns.npz", words=np.array(WORDS), vectors=np.asfortranarray(TABLE))
    np.savez(folder / "whole-numbers.npz", words=np.array(WORDS), vectors=TABLE.astype(int))
    return {
        "absent": (folder / "absent.txt", "BX420"),
        "binary without its first line": (write("a.bin", b"word \0\0\0\0"), "BX420"),
        "an npz of something else": (folder / "other.npz", "BX420"),
        "pickled words": (folder / "pickled.npz", "BX420"),
        "columns": (folder / "columns.npz", "BX420"),
        "empty text": (write("empty.txt", b"0 3\n"), "BX421"),
        "text cut short": (write("short.txt", b"3 2\na 1 2\nb 1 2\n"), "BX421"),
        "binary cut within a vector": (write("short.bin", whole[:-5]), "BX421"),
        "binary cut between words": (write("shorter.bin", whole[: len(whole) - 16]), "BX421"),
        "npz cut": (write("short.npz", packed[: len(packed) // 2]), "BX421"),
        "a shorter vector": (write("few.txt", b"2 3\na 1 2 3\nb 1 2\n"), "BX422"),
        "a longer vector": (write("many.txt", b"2 3\na 1 2 3\nb 1 2 3 4\n"), "BX422"),
        "no number": (write("word.txt", b"a 1 2 3\nb 1 x 3\n"), "BX422"),
        "not finite": (write("nan.txt", b"a 1 2 3\nb 1 nan 3\n"), "BX422"),
        "too wide": (write("wide.txt", b"1 99999\na 1\n"), "BX422"),
        "more words than promised": (write("more.bin", whole.replace(b"5 3\n", b"4 3\n", 1)), "BX422"),
        "words and vectors that differ": (folder / "fewer.npz", "BX422"),
        "vectors of whole numbers": (folder / "whole-numbers.npz", "BX422"),
        "text not UTF-8": (write("latin.txt", b"na\xefve 1 2 3\n"), "BX423"),
        "binary not UTF-8": (write("latin.bin", b"1 1\nna\xefve \0\0\0\0"), "BX423"),
    }


def test_damage_is_told_by_its_code_and_place(tmp_path: Path) -> None:
    for name, (path, code) in broken(tmp_path).items():
        with pytest.raises(TrainingError) as told:
            read(path)
        assert told.value.code == code, (name, str(told.value))
        assert str(path) in str(told.value)
        assert told.value.hint


def test_a_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a 1 2 3\nb 1 2\n")
    with pytest.raises(TrainingError, match=r"a\.txt:2: the vector must have 3 numbers, got 2"):
        read(tmp_path / "a.txt")


def test_another_width_than_asked_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="vectors must have 4 numbers, got 3"):
        read(npz(tmp_path / "a.npz"), width=4)


def outcome(path: Path) -> str:
    try:
        read(path)
    except BiomuxError as error:
        return error.code
    return "read"


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda content: b"2 3\n" + content))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.txt", "any.bin", "any"):
        (folder / name).write_bytes(content)
        assert outcome(folder / name) in {"read", "BX112", "BX420", "BX421", "BX422", "BX423"}


@pytest.mark.skipif("BIOMUX_GLOVE" not in os.environ, reason="BIOMUX_GLOVE does not name a file of vectors")
def test_a_real_set() -> None:
    path = Path(os.environ["BIOMUX_GLOVE"])
    found = read(path, wanted={"imatinib", "kinase"}, most=10)
    assert kind_of(path) == "npz"
    assert found.seen > 100_000
    assert len(found.words) == 12
