"""`torch._dynamo.backends.debugging`: backends that run graphs as they are."""

from __future__ import annotations

from tl_compiler.compiler.backends import eager
from tl_compiler.compiler.explain import ExplainOutput

__all__ = ["ExplainOutput", "eager"]
