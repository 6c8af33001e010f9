"""Operators of one's own: from Python functions, or added to those of other libraries.

`custom_op` makes one of a function; `register_fake`, `register_autograd`, `register_vmap` and the others add to it what
it has to know of meta tensors, gradients and batches; `opcheck` tests what was registered.
"""

from __future__ import annotations

from typing import Any

from tl_core.dispatch.registrations import fallthrough_kernel
from tl_core.library.custom_ops import CustomOpDef, custom_op
from tl_core.library.libraries import Library, define, impl
from tl_core.library.libraries import _impls as _impls
from tl_core.library.libraries import _scoped_library as _scoped_library
from tl_core.library.registering import (
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from tl_core.library.schema_inference import infer_schema
from tl_core.library.triton import triton_op, wrap_triton
from tl_core.subclasses.fake_impl import get_ctx

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]


def __getattr__(name: str) -> Any:
    if name == "opcheck":
        from tl_core.library.operator_checks import opcheck

        globals()[name] = opcheck
        return opcheck
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
