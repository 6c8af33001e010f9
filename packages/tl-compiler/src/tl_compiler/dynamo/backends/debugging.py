"""`torch._dynamo.backends.debugging`: backends that run graphs as they are."""

from __future__ import annotations

from ...compiler.backends import eager
from ...compiler.explain import ExplainOutput

__all__ = ["ExplainOutput", "eager"]
