"""`torch._dynamo.backends.registry`: the backends by name."""

from __future__ import annotations

from tl_compiler.compiler.backends import (
    CompilerFn,
    InvalidBackend,
    list_backends,
    lookup_backend,
    register_backend,
    register_debug_backend,
    register_experimental_backend,
)

__all__ = [
    "CompilerFn",
    "InvalidBackend",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
]
