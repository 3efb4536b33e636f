"""Biomux sends nothing, anywhere: libraries underneath that report on their users are told not to.

Called when `biomux` is imported, so that it holds in every process before any of these libraries is. What a user has set stays.
"""

from __future__ import annotations

import os
import sys

SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, from 1.29: a device id, the interpreter's path and timings, on by default
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, which transformers loads encoders through
    "DISABLE_TELEMETRY": "1",  # its older name
    "RAY_USAGE_STATS_ENABLED": "0",  # ray: what a cluster consists of, on by default
}
"""Environment variables that switch telemetry off, as their libraries read them when they are imported."""

REPORTERS = ("openvino_telemetry",)
"""Packages that exist only to report. OpenVINO imports one whenever it is there, and does without where it is not; no variable stops it."""


def disable_telemetry() -> None:
    """Set the switches that the user has not set, and make the reporters look as if they were not installed."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
    for name in REPORTERS:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
