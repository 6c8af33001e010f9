"""`torch._dynamo.backends.registry`: the backends of `compile` by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_compiler.compiler.backends import (
    list_backends,
    lookup_backend,
    register_backend,
    register_debug_backend,
    register_experimental_backend,
)

__all__ = [
    "CompiledFn",
    "CompilerFn",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
]

CompiledFn = Callable[..., Any]  # takes the inputs of a graph
CompilerFn = Callable[..., CompiledFn]  # takes a graph and examples of its inputs
