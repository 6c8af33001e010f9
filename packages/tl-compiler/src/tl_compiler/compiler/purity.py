"""Which functions a captured call may run: those whose whole effect is their result, or that the state shows."""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any

import tl_core

__all__ = ["DENIED_NAMES", "HIGHER_ORDER", "is_ours", "is_pure", "is_standard", "root_of"]

# Attributes that a tensor without memory answers otherwise than a real one, and functions whose effect no graph has.
DENIED_NAMES = frozenset(
    [
        "__array__",
        "__array_interface__",
        "__cuda_array_interface__",
        "__dlpack__",
        "__version__",
        "_backward_hooks",
        "_base",
        "_cdata",
        "_version",
        "all_gather",
        "all_reduce",
        "backward",
        "barrier",
        "broadcast",
        "data",
        "data_ptr",
        "detach_",
        "exec",
        "eval",
        "fork_rng",
        "from_numpy",
        "frombuffer",
        "from_dlpack",
        "get_rng_state",
        "globals",
        "grad",
        "grad_fn",
        "initial_seed",
        "is_leaf",
        "is_set_to",
        "is_tracing",
        "load",
        "locals",
        "manual_seed",
        "numpy",
        "output_nr",
        "pin_memory",
        "register_hook",
        "register_buffer",
        "register_parameter",
        "register_module",
        "register_post_accumulate_grad_hook",
        "requires_grad_",
        "resize_",
        "resize_as_",
        "retain_grad",
        "retains_grad",
        "save",
        "seed",
        "set_",
        "set_data",
        "set_default_device",
        "set_default_dtype",
        "set_default_tensor_type",
        "set_num_threads",
        "set_rng_state",
        "share_memory_",
        "storage",
        "storage_type",
        "to_dlpack",
        "tolist",
        "untyped_storage",
        "use_deterministic_algorithms",
        "vars",
        "zero_grad",
        "_getframe",
    ]
)

# Functions of C that call a function they are given: no event tells of what they call.
HIGHER_ORDER = frozenset(
    [
        "accumulate",
        "apply_along_axis",
        "dropwhile",
        "filter",
        "filterfalse",
        "groupby",
        "map",
        "max",
        "min",
        "partial",
        "reduce",
        "sort",
        "sorted",
        "starmap",
        "takewhile",
        "vectorize",
    ]
)

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in [
        "abs",
        "all",
        "any",
        "ascii",
        "bin",
        "callable",
        "chr",
        "delattr",
        "divmod",
        "format",
        "getattr",
        "hasattr",
        "hash",
        "hex",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "max",
        "min",
        "next",
        "oct",
        "ord",
        "pow",
        "repr",
        "round",
        "setattr",
        "sorted",
        "sum",
        "__build_class__",
    ]
)
_PURE_MODULES = ("math", "cmath", "_operator", "operator", "itertools", "_collections", "_abc")
_VALUES: tuple[type, ...] = (
    bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice, type(None), property,
    collections.deque, itertools.count, itertools.chain, type(sys.float_info), type({}.keys()),
    type({}.values()), type({}.items()),
    tl_core.Tensor, tl_core.Size, tl_core.dtype, tl_core.device,
)  # fmt: skip


def root_of(module: str | None) -> str:
    """The package of a module's dotted name.

    Args:
        module: the name.

    Example:
        >>> root_of("tl_nn.modules")
        'tl_nn'
    """
    return (module or "").partition(".")[0]


def is_ours(module: str | None) -> bool:
    """Whether a module is one of this library's packages, whose functions the tracer knows.

    Args:
        module: its name, also one that `torch` stands for.

    Example:
        >>> is_ours("tl_core._C"), is_ours("numpy")
        (True, False)
    """
    root = root_of(module)
    return root == "tl" or root.startswith("tl_") or root == "torch"


def is_standard(module: str | None) -> bool:
    """Whether a module belongs to Python.

    Args:
        module: its name.

    Example:
        >>> is_standard("logging.handlers"), is_standard("__main__")
        (True, False)
    """
    root = root_of(module)
    return root in sys.stdlib_module_names and root != "__main__"


def is_pure(function: Any) -> bool:
    """Whether a function of C may run while a call is captured.

    Args:
        function: the function, bound where it is a method.

    Example:
        >>> import math
        >>> is_pure(len), is_pure(math.sqrt), is_pure([].append), is_pure(print)
        (True, True, True, False)
    """
    owner = getattr(function, "__self__", None)
    if is_ours(getattr(function, "__module__", None)):
        return True
    if isinstance(owner, ModuleType) or owner is None:
        module = getattr(function, "__module__", None) or getattr(owner, "__name__", None)
        if module == "builtins":
            return function in _PURE_BUILTINS
        return module in _PURE_MODULES or function is functools.reduce
    if isinstance(owner, _VALUES):
        return True
    if isinstance(owner, type):
        return issubclass(owner, _VALUES) or function.__name__ in ("__new__", "__subclasshook__", "mro")
    if function.__name__ in ("__setattr__", "__getattribute__", "__init__", "__delattr__", "__reduce_ex__"):
        return isinstance(function, BuiltinFunctionType) or hasattr(function, "__objclass__")
    return is_ours(type(owner).__module__)
