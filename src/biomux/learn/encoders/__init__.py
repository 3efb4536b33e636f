"""Encoders: networks that turn pieces into vectors. One file each, one line here."""

from __future__ import annotations
