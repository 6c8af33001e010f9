"""Decompositions for the compiler, which are those of `torch._decomp`."""

from __future__ import annotations

from tl_compiler.decompositions import core_aten_decompositions, register_decomposition

__all__ = ["decompositions", "register_decomposition"]

decompositions = core_aten_decompositions()
