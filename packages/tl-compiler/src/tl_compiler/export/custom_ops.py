"""Operators of exported programs that are no operators of tensors: there are none of their own."""

from __future__ import annotations

__all__: list[str] = []
