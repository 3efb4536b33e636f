"""Make word vectors from plain text, one document a line: skip-gram with negative sampling, the same vectors for the same seed.

    pip install 'biomux[vectors]'
    python scripts/vectors.py corpora/text/*.txt.gz --without heldout.txt.gz --lower --recipe default/lexical -o vectors.npz

Words are those of `biomux.text.words`, within sentences of `biomux.text.sentences`, so that every word a model meets is looked up
as it was learned. With `--recipe` whatever stands in the development and test parts of a recipe's corpora is left out first, and what
was found is printed. The .npz has `words`, the most frequent first, and `vectors` (float16), as `biomux.training.encoders.word_vector_files`
reads it. One thread: with more, two runs differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from biomux.corpora import corpus
from biomux.corpora.leaks import filter_leaks
from biomux.document import Document
from biomux.files import whole_file
from biomux.formats import lines, sources
from biomux.recipes.read import read as read_recipe
from biomux.text import sentences, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def main(arguments: list[str] | None = None) -> int:
    """Split the texts, train, write."""
    parser = argparse.ArgumentParser(description="Make word vectors from plain text.")
    parser.add_argument("texts", nargs="+", help="files of plain text, one document a line, gzipped or not")
    parser.add_argument("--without", nargs="*", default=[], help="names of files among them that stay out")
    parser.add_argument("--recipe", help="leave out what stands in the held-out parts of this recipe's corpora")
    parser.add_argument("--corpora", type=Path, help="the directory of the corpora")
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--lower", action="store_true", help="words that differ in case share a vector")
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--minimum", type=int, default=5, help="how often a word comes at least")
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--negative", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    try:
        from gensim.models.word2vec import Word2Vec
    except ImportError:
        print("gensim is not installed: pip install 'biomux[vectors]'", file=sys.stderr)
        return 2
    files = [file for file in chosen.texts if Path(file).name not in chosen.without]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "words.txt"
        texts = documents(files)
        if chosen.recipe:
            texts = without_held_out(texts, chosen.recipe, chosen.corpora)
        number = write_words(texts, place, lower=chosen.lower)
        print(f"{number:,} words of {len(files)} files after {time.monotonic() - begun:.0f} s", flush=True)
        model = Word2Vec(
            corpus_file=str(place),
            vector_size=chosen.width,
            min_count=chosen.minimum,
            window=chosen.window,
            negative=chosen.negative,
            epochs=chosen.epochs,
            sample=1e-4,
            sg=1,
            workers=1,
            seed=chosen.seed,
        )
    with whole_file(chosen.output) as fresh, fresh.open("wb") as stream:
        np.savez(stream, words=np.array(model.wv.index_to_key), vectors=model.wv.vectors.astype(np.float16))
    print(f"{len(model.wv):,} words × {chosen.width} after {time.monotonic() - begun:.0f} s: {chosen.output}")
    return 0


def documents(files: Iterable[str]) -> Iterator[str]:
    """The lines of files, each a document."""
    for source in chain.from_iterable(sources(file) for file in files):
        for _, line in lines(source):
            yield line


def without_held_out(texts: Iterable[str], recipe: str, directory: Path | None) -> Iterator[str]:
    """The texts without the sentences of the development and test parts of a recipe's corpora."""
    corpora = {task.corpus for task in read_recipe(recipe).tasks.values()}
    held_out = {
        f"{name}/{split}": corpus.load(name, split, directory=directory)
        for name in sorted(corpora)
        for split in ("devel", "test")
    }
    kept, report = filter_leaks({"text": [Document(str(at), text) for at, text in enumerate(texts)]}, held_out)
    print(report, flush=True)
    return (document.text for document in kept["text"])


def write_words(texts: Iterable[str], place: Path, *, lower: bool) -> int:
    """Write the words of texts, a sentence a line; gives how many there are."""
    number = 0
    with place.open("w", encoding="utf-8") as stream:
        for text in texts:
            for start, end in sentences.split(text):
                sentence = text[start:end]
                found = [sentence[first:last] for first, last in words.split(sentence)]
                number += len(found)
                line = " ".join(found)
                stream.write((line.lower() if lower else line) + "\n")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
