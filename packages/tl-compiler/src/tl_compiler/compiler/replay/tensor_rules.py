"""What attributes and functions of tensors do: describe the tensor, compute, ask for a value, or write a gradient."""

from __future__ import annotations

import functools
import types
from typing import Any

import tl_core
import tl_nn
from tl_autograd.engine_calls import has_saved_hooks, run_backward
from tl_core.dispatch.native_calls import native_function

__all__ = [
    "BACKWARD",
    "GETTERS",
    "GRAD_MODE",
    "METADATA",
    "METADATA_FUNCTIONS",
    "SETTINGS",
    "SET_GRAD_MODE",
    "TENSORS",
    "VALUES",
    "VIEW_ATTRIBUTES",
    "is_operator",
    "refusal_of",
]

Tensor = tl_core.Tensor
TENSORS = (Tensor, tl_nn.Parameter)

# Attributes that follow from what a tape compares of tensors: sizes, strides, types, and the need of gradients.
METADATA = frozenset(
    [
        "shape", "dtype", "device", "layout", "ndim", "itemsize", "nbytes", "is_cpu", "is_cuda", "is_meta", "is_sparse",
        "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_mps", "is_xpu", "is_ipu", "is_maia", "is_mtia",
        "is_vulkan", "is_xla", "requires_grad", "is_leaf",
    ]
)  # fmt: skip
_METADATA_METHODS = (
    "size", "stride", "dim", "ndimension", "numel", "nelement", "element_size", "is_contiguous", "is_complex",
    "is_floating_point", "is_signed", "is_inference", "is_conj", "is_neg", "get_device", "__len__",
)  # fmt: skip
VIEW_ATTRIBUTES = frozenset(["T", "mT", "H", "mH", "real", "imag"])
_VALUE_METHODS = ("item", "__bool__", "__int__", "__float__", "__index__", "is_nonzero", "equal", "allclose")

# Operators whose results have a shape that depends on values, or that do more than write to their arguments.
_DENIED = frozenset(
    [
        "nonzero", "nonzero_static", "argwhere", "masked_select", "unique", "unique_consecutive", "_unique", "_unique2",
        "unique_dim", "bincount", "repeat_interleave", "tensor_split", "combinations", "set_", "resize_", "resize_as_",
        "requires_grad_", "detach_", "data_ptr", "as_strided_", "swapaxes_", "swapdims_", "t_", "transpose_",
        "squeeze_", "unsqueeze_", "rename_", "to_sparse", "to_dense", "to_sparse_csr", "sparse_coo_tensor", "coalesce",
        "from_file", "histogram", "histogramdd", "one_hot", "ctc_loss", "segment_reduce", "pin_memory", "is_pinned",
        "record_stream", "_pin_memory", "share_memory_", "retain_grad", "manual_seed", "storage", "untyped_storage",
        "tolist", "numpy", "item", "is_set_to", "storage_offset", "as_strided", "where", "frexp_", "data", "polygamma_",
        "from_numpy", "frombuffer", "_weight_norm_interface", "lu_unpack", "embedding_bag", "_pack_padded_sequence",
        "_pad_packed_sequence", "sparse_resize_", "multinomial", "embedding_renorm_", "embedding", "linalg_lstsq",
        "lstsq", "register_hook",
    ]
) - {"where", "multinomial", "embedding"}  # fmt: skip

_DYNAMIC = ("dynamic_output_shape",)


def _functions(names: tuple[str, ...]) -> frozenset[Any]:
    return frozenset(Tensor.__dict__[name] for name in names if name in Tensor.__dict__) | frozenset(
        function
        for name in names
        for function in (getattr(tl_core, name, None), native_function(name))
        if isinstance(function, types.BuiltinFunctionType)
    )


def _of_core(*names: str) -> frozenset[int]:
    return frozenset(id(native_function(name)) for name in names if native_function(name) is not None)


def _of_objects(*functions: Any) -> frozenset[int]:
    return frozenset(map(id, functions))


METADATA_FUNCTIONS = _functions(_METADATA_METHODS)
VALUES = _functions(_VALUE_METHODS)
GETTERS = _of_core(
    "_is_recording", "_any_autocast_is_on", "get_default_dtype", "_inference_mode", "_get_default_device",
    "_autocast_is_on", "_autocast_dtype", "get_num_threads", "_is_layer_excluded", "_mode_stack",
)  # fmt: skip
# What operators read beside their arguments, and who looks on.
SETTINGS: tuple[Any, ...] = (
    *map(
        native_function,
        ("get_default_dtype", "_get_default_device", "_is_recording", "_override_mode_active"),
    ),
    has_saved_hooks,
)
GRAD_MODE = _of_core("_grad_enabled")
SET_GRAD_MODE = _of_core("_set_grad_enabled")
BACKWARD = _of_objects(run_backward, Tensor.__dict__["backward"])

# Functions of C that are several operators each, or their methods under other names.
_EXTRA = frozenset(
    name
    for name, value in Tensor.__dict__.items()
    if isinstance(value, types.MethodDescriptorType)
    and name not in _METADATA_METHODS
    and not name.startswith("_")
    and name not in _DENIED
)


def is_operator(function: Any) -> bool:
    """Whether a function of C computes with tensors, and does nothing beside.

    Args:
        function: a function, or an unbound method.

    Example:
        >>> is_operator(tl_core.add), is_operator(Tensor.add_), is_operator(print)
        (True, True, False)
    """
    kind = type(function)
    name = function.__name__
    if kind is types.MethodDescriptorType:
        return function.__objclass__ is Tensor and (name in _EXTRA or _is_row(name))
    if kind is types.WrapperDescriptorType:
        return function.__objclass__ is Tensor and name in _SPECIAL
    if kind is not types.BuiltinFunctionType or name in _DENIED:
        return False
    return _is_native(function) and (
        _is_row(name) or name in _FACTORIES or name in _EXTRA or name.startswith(("_foreach_", "_fused_"))
    )


_NAMESPACES = tuple(map(native_function, ("_nn", "_linalg", "_fft", "_special")))


def _is_native(function: Any) -> bool:
    """Whether a function is tl-core's. Its `__module__` is another one in programs that import torch."""
    name = function.__name__
    return native_function(name) is function or any(
        getattr(space, name, None) is function for space in _NAMESPACES
    )


_SPECIAL = frozenset(
    f"__{prefix}{name}__"
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
    )
    for prefix in ("", "r", "i")
) | {"__neg__", "__pos__", "__abs__", "__invert__", "__getitem__", "__setitem__"}  # fmt: skip
_SPECIAL |= {f"__{name}__" for name in ("lt", "le", "eq", "ne", "gt", "ge")}
_FACTORIES = frozenset(
    [
        "tensor", "as_tensor", "zeros", "ones", "full", "empty", "arange", "linspace", "eye", "rand", "randn",
        "randint", "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "scalar_tensor",
    ]
)  # fmt: skip


_is_operator_name = native_function("_is_operator")


def _is_row(name: str) -> bool:
    """Whether a function is an operator. `lstm` and its like are rows with the name of an overload."""
    names = (name, name.rstrip("_"), f"{name}.input")
    return name not in _DENIED and any(map(_is_operator_name, names))


def _aten() -> Any:
    ops: Any = tl_core.ops
    return ops.aten


@functools.lru_cache(maxsize=1024)
def _has_dynamic_shape(name: str) -> bool:
    packet = getattr(_aten(), name, None)
    if packet is None:
        return False
    tags = {tag.name for overload in packet.overloads() for tag in getattr(packet, overload).tags}
    return not tags.isdisjoint(_DYNAMIC)


def refusal_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Why a call of an operator is not replayed, or None.

    Args:
        function: the operator.
        args, kwargs: its arguments.
    """
    name = function.__name__
    if name in (
        "__getitem__",
        "getitem",
        "setitem",
        "__setitem__",
        "index",
        "_index",
        "index_put",
        "index_put_",
    ):
        if any(t.dtype in (tl_core.bool, tl_core.uint8) for t in _tensors(args[1:2])):
            return "a mask selects elements: the shape of the result depends on values"
    elif name == "where" and len(args) + len(kwargs) == 1:
        return "where(condition) has a shape that depends on values"
    elif _has_dynamic_shape(name):
        return f"the shape of the result of {name} depends on values"
    return None


def _tensors(values: Any) -> list[Any]:
    result = []
    for value in values:
        if isinstance(value, Tensor):
            result.append(value)
        elif isinstance(value, (tuple, list)):
            result += _tensors(value)
        elif isinstance(value, dict):
            result += _tensors(value.values())
    return result
