"""Whether an encoder, a run or a file is available without a network."""

from __future__ import annotations

from pathlib import Path


def at_hand(name: str) -> bool:
    """Whether a folder or file exists, or a hub name's weights are in the local cache of downloads."""
    if not name or Path(name).exists():
        return bool(name)
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "model.safetensors"), str)
    except HFValidationError:
        return False
