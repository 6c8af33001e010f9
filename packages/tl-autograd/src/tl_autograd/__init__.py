"""Automatic differentiation for tl_core's tensors.

Importing this package gives tensors `requires_grad`, `grad`, `backward()` and the rest, and records what
they go through.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import tl_core  # the core must be there before the extension asks for its table
from tl_autograd import (
    _C,
    hooks,  # registers the maker of hook handles
)
from tl_autograd._C import SavedTensor
from tl_autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from tl_autograd.backward import backward, grad
from tl_autograd.function import Function, NestedIOFunction
from tl_autograd.grad_mode import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from tl_autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from tl_autograd.grad_mode import is_multithreading_enabled as is_multithreading_enabled
from tl_autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tl_autograd.variable import Variable
from tl_autograd.version import __version__
from tl_core.base import operator_hooks
from tl_core.base.public_names import listed_names

__all__ = [
    "Function",
    "GradcheckError",
    "NestedIOFunction",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

# What this package adds to operators that `tl.library` makes.
operator_hooks.makers["derivative"] = "tl_autograd.custom_operator:derivative"
operator_hooks.makers["plain value"] = "tl_autograd.func.levels:plain_value"
operator_hooks.makers["transform"] = "tl_autograd.custom_operator:transform"

_LATER = (
    "checkpoint",
    "custom_operator",
    "forward_ad",
    "func",
    "functional",
    "graph",
    "profiler",
    "profiler_legacy",
    "profiler_util",
)


def __getattr__(name: str) -> Any:
    """Loads what a training step does not need on first touch."""
    if name in _LATER:
        return importlib.import_module(f"tl_autograd.{name}")
    raise AttributeError(f"module 'tl_autograd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__], _LATER)
