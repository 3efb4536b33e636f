"""The tokenizer of an encoder: its tokenizer.json or, where there is only a vocab.txt (BioBERT, BlueBERT, BiomedBERT), BERT's with that vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from biomux.errors import TrainingError
from biomux.training.encoders import hub

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def tokenizer_of(name: str, *, lower_case: bool | None = None) -> Tokenizer:
    """The tokenizer of a hub name or folder; it neither pads nor cuts.

    Without `lower_case`, the case rule comes from the encoder's files, or else from its vocabulary.
    """
    if (file := file_of(name, "tokenizer.json")) is not None:
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library has no exception class for this
            raise _unreadable(file, str(error)) from None
        if lower_case is not None:
            _set_case(tokenizer, lower_case, name)
    elif (file := file_of(name, "vocab.txt")) is not None:
        tokenizer = _bert(file, name, lower_case)
    else:
        raise TrainingError(
            "BX401",
            "the encoder has neither tokenizer.json nor vocab.txt",
            where=name,
            hint="give a folder that has one of them, or a hub name (needs a network)",
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def tokens_of(name: str) -> list[str]:
    """The tokens of a vocabulary, in their order: of a file (one per line, or a tokenizer.json), a folder or a hub name."""
    path = Path(name)
    if path.is_file():
        file: Path | None = path
    elif path.is_dir() or (name and not path.is_absolute() and path.suffix not in (".txt", ".json")):
        file = file_of(name, "vocab.txt") or file_of(name, "tokenizer.json")
    else:
        file = None
    if file is None:
        raise TrainingError(
            "BX401",
            f"cannot find the vocabulary {name!r}",
            hint="give model.encoder.vocabulary.file a file, a folder with vocab.txt or tokenizer.json, or a hub name (needs a network)",
        )
    if file.suffix != ".json":
        return _lines(file)
    try:
        vocabulary = json.loads(file.read_bytes())["model"]
        if vocabulary["type"] != "WordPiece":
            raise _unreadable(file, f"it is {vocabulary['type']}, not WordPiece")
        return sorted(vocabulary["vocab"], key=vocabulary["vocab"].__getitem__)
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(file, f"{type(error).__name__}: {error}") from None


def file_of(name: str, file: str) -> Path | None:
    """A file of a folder or of a hub name's repository; None if it has no such file."""
    folder = Path(name)
    if folder.is_dir():
        return folder / file if (folder / file).is_file() else None
    if folder.is_file() or name.count("/") > 1 or name.startswith(("/", ".", "~")):  # no hub name
        reason = "it is not a folder" if folder.exists() else "there is no such folder"
        raise TrainingError(
            "BX401",
            f"cannot load {file} of {name!r}: {reason}",
            hint="give the folder of an encoder, such as RUN/encoder of a pre-training run, or a hub name",
        )
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return Path(hf_hub_download(name, file, local_files_only=not hub.reachable()))
    except EntryNotFoundError:  # not in the repository or, without a network, not among earlier downloads
        return None
    except Exception as error:  # the library passes on any error of its network layer
        message = (
            " ".join(str(error).split())[:200]
            if hub.reachable()
            else "the hub cannot be reached, and it was not downloaded before"
        )
        raise TrainingError(
            "BX401", f"cannot load {file} of {name!r}: {message}", hint="give a folder with tokenizer.json or vocab.txt"
        ) from None


def _bert(file: Path, name: str, lower_case: bool | None) -> Tokenizer:
    tokens = _lines(file)
    missing = [token for token in SPECIALS[:4] if token not in tokens]
    if missing:
        raise _unreadable(file, f"it lacks {', '.join(missing)}")
    settings = {**_settings(name, "config.json"), **_settings(name, "tokenizer_config.json")}
    if lower_case is None:
        stated = settings.get("do_lower_case")
        has_capitals = any(token != token.lower() for token in tokens if not token.startswith("["))
        lower_case = stated if isinstance(stated, bool) else not has_capitals
    strip = settings.get("strip_accents")
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIALS[1], max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=lower_case,
        strip_accents=strip if isinstance(strip, bool) else None,
        handle_chinese_chars=settings.get("tokenize_chinese_chars") is not False,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    tokenizer.add_special_tokens([token for token in SPECIALS if token in vocabulary])
    return tokenizer


def _set_case(tokenizer: Tokenizer, lower_case: bool, name: str) -> None:
    if not isinstance(tokenizer.normalizer, normalizers.BertNormalizer):
        raise TrainingError(
            "BX401",
            f"cannot set the case of the tokenizer of {name!r}: it is not a BERT tokenizer",
            where="model → encoder → lower_case",
            hint="leave out model.encoder.lower_case: the tokenizer has its own rule",
        )
    tokenizer.normalizer.lowercase = lower_case


def _settings(name: str, file: str) -> dict[str, Any]:
    """A JSON file that an encoder may have; empty if it has none."""
    path = file_of(name, file)
    if path is None:
        return {}
    try:
        settings = json.loads(path.read_bytes())
    except ValueError as error:
        raise _unreadable(path, str(error)) from None
    return settings if isinstance(settings, dict) else {}


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, str(error)) from None
    # Not splitlines: a token may be a character that str.splitlines takes for a line end.
    return text.removesuffix("\n").replace("\r\n", "\n").split("\n")


def _unreadable(file: Path, reason: str) -> TrainingError:
    return TrainingError(
        "BX401", f"cannot read the vocabulary: {reason}", where=str(file), hint="download the encoder's files again"
    )
