"""Functions that rebuild tensors from storages and geometry of a file; each checks its arguments."""

from __future__ import annotations

import pickle
import warnings
import weakref
from typing import Any

import tl_core
from tl_core.storage import TypedStorage, UntypedStorage, read_tensor, tensor_on
from tl_core.subclasses import wrappers as wrapper_subclasses
from tl_core.tensors.conj_neg_bits import with_conj_neg_bits

from . import nested
from .globals import Global, RefusedGlobal

__all__ = [
    "from_type",
    "functions",
    "layout",
    "meta_tensor",
    "parameter",
    "parameter_with_state",
    "set_object_state",
    "set_tensor_state",
    "sparse",
    "tensor",
    "tensor_of_dtype",
    "wrapper_subclass",
]

functions = tl_core  # the module of the functions that PyTorch has in a class


def tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    backward_hooks: Any = None,
    metadata: Any = None,
) -> Any:
    """A view of a typed storage.

    Args:
        storage: a typed or untyped storage.
        offset: offset of the first element, in elements.
        size: sizes by dimension.
        stride: strides by dimension, in elements.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
        metadata: further state of the tensor, such as the conjugate bit.
    """
    if not isinstance(storage, TypedStorage):
        raise pickle.UnpicklingError("a tensor's storage is something else")
    return _view(storage.untyped(), storage.dtype, offset, size, stride, requires_grad, metadata)


def tensor_of_dtype(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    """A view of bytes as elements of a type.

    Args:
        storage: a typed or untyped storage.
        offset: offset of the first element, in elements.
        size: sizes by dimension.
        stride: strides by dimension, in elements.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
        dtype: element type.
        metadata: further state of the tensor, such as the conjugate bit.
    """
    untyped = storage.untyped() if isinstance(storage, TypedStorage) else storage
    if not isinstance(untyped, UntypedStorage) or not isinstance(dtype, tl_core.dtype):
        raise pickle.UnpicklingError("a tensor's storage or dtype is something else")
    return _view(untyped, dtype, offset, size, stride, requires_grad, metadata)


def _view(
    storage: Any, dtype: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, metadata: Any
) -> Any:
    sizes, strides = tuple(size), tuple(stride)
    if not all(type(n) is int and n >= 0 for n in (offset, *sizes)) or not all(
        type(n) is int for n in strides
    ):
        raise pickle.UnpicklingError("a tensor's offset, sizes and strides must be whole numbers")
    view = read_tensor(storage, dtype, sizes, strides, offset)
    if dtype is tl_core.bool:
        _check_booleans(storage)
    if metadata:
        view = _set_bits(view, metadata)
    return _require_grad(view) if requires_grad else view


def _check_booleans(storage: Any) -> None:
    """Raises UnpicklingError for bytes other than 0 and 1; checks each storage once."""
    if storage in _booleans or storage.device.type == "meta" or not storage.nbytes():
        return
    if bool((tensor_on(storage, tl_core.uint8, (storage.nbytes(),), (1,)) > 1).any()):
        raise pickle.UnpicklingError("a tensor of booleans has bytes other than 0 and 1")
    _booleans.add(storage)


_booleans: weakref.WeakSet[Any] = weakref.WeakSet()


def _require_grad(tensor: Any) -> Any:
    """Sets requires_grad; without tl-autograd it warns and leaves the tensor unchanged."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise pickle.UnpicklingError(f"a tensor of {tensor.dtype} can't require a gradient")
    try:
        return tensor.requires_grad_()
    except RuntimeError:
        text = "tl-autograd isn't loaded: tensors come without requires_grad; import tl_autograd or tl before"
        warnings.warn(text, UserWarning, stacklevel=2)
        return tensor


def _set_bits(tensor: Any, metadata: Any) -> Any:
    if type(metadata) is not dict or not set(metadata) <= {"conj", "neg"}:
        raise pickle.UnpicklingError(f"a tensor has marks that aren't known: {metadata!r}")
    return with_conj_neg_bits(tensor, conj=bool(metadata.get("conj")), neg=bool(metadata.get("neg")))


def sparse(layout: Any, data: Any) -> Any:
    """A sparse tensor of its parts, after a check of its indices."""
    parts, size = (data[:2], data[2]) if layout is tl_core.sparse_coo else (data[:3], data[3])
    if not all(isinstance(part, tl_core.Tensor) for part in parts):
        raise pickle.UnpicklingError("a sparse tensor's parts are no tensors")
    if layout is not tl_core.sparse_coo:
        compressed, plain, values = parts
        return tl_core.sparse_compressed_tensor(
            compressed, plain, values, size, layout=layout, check_invariants=True
        )
    indices, values = parts
    is_coalesced = bool(len(data) > 3 and data[3])
    return tl_core.sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=is_coalesced)


def parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    """A parameter on a tensor's memory.

    Args:
        data: the tensor with the parameter's memory.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
    """
    if not isinstance(data, tl_core.Tensor):
        raise pickle.UnpicklingError("a parameter's data is no tensor")
    param = tl_core.Parameter(data, requires_grad=False)
    return _require_grad(param) if requires_grad else param


def parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    """A parameter with attributes.

    Args:
        data: the tensor with the parameter's memory.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
        state: attributes by name.
    """
    param = parameter(data, requires_grad, backward_hooks)
    set_tensor_state(param, state)
    return param


def meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    """A tensor without memory.

    Args:
        dtype: element type.
        size: sizes by dimension.
        stride: strides by dimension, in elements.
        requires_grad: whether gradients are recorded.
    """
    meta = tl_core.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return _require_grad(meta) if requires_grad else meta


def _check_class(kind: Any) -> None:
    if isinstance(kind, RefusedGlobal):
        raise kind.error
    if not (isinstance(kind, type) and issubclass(kind, tl_core.Tensor)):
        raise pickle.UnpicklingError("a tensor's class is something else")


def wrapper_subclass(
    kind: Any, dtype: Any, size: Any, stride: Any, offset: Any, layout: Any, device: Any, requires_grad: Any
) -> Any:
    """A tensor of a class whose elements are in its attributes.

    Args:
        kind: the subclass of Tensor.
        dtype: element type.
        size: sizes by dimension.
        stride: strides by dimension, in elements.
        offset: offset of the first element, in elements.
        layout: `strided`.
        device: device of the tensor.
        requires_grad: whether gradients are recorded.
    """
    _check_class(kind)
    if not all(type(n) is int and n >= 0 for n in (*tuple(size), *tuple(stride), offset)):
        raise pickle.UnpicklingError("a tensor's offset, sizes and strides must be whole numbers")
    wrapper = wrapper_subclasses.rebuild(
        kind, dtype, tuple(size), tuple(stride), offset, layout, device, False
    )
    return _require_grad(wrapper) if requires_grad else wrapper


def from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor of an allowed subclass, with attributes.

    Args:
        function: function that rebuilds the plain tensor.
        kind: the subclass of Tensor.
        args: arguments of `function`.
        state: attributes by name.
    """
    _check_class(kind)
    maker = function.make if type(function) is Global else function
    if not any(maker is candidate for candidate in _MAKERS) or type(args) is not tuple:
        raise pickle.UnpicklingError("a tensor is made by something else")
    instance = maker(*args)
    if type(instance) is not kind:
        requires_grad = instance.requires_grad
        instance = instance.detach().as_subclass(kind)
        instance = _require_grad(instance) if requires_grad else instance
    set_tensor_state(instance, nested.attributes(state) if maker is nested.jagged else state)
    return instance


def layout(name: Any) -> Any:
    """The layout by its name."""
    value = getattr(tl_core, str(name).removeprefix("torch."), None)
    if not isinstance(value, tl_core.layout):
        raise pickle.UnpicklingError(f"there is no layout {name!r}")
    return value


_MAKERS = (tensor, tensor_of_dtype, meta_tensor, parameter, nested.jagged, wrapper_subclass)


def set_tensor_state(target: Any, state: Any) -> None:
    """Sets a tensor's attributes; slots come as a second dict."""
    for part in state if type(state) is tuple else (state,):
        if part is None:
            continue
        if type(part) is not dict or not all(type(key) is str and not key.startswith("__") for key in part):
            raise pickle.UnpicklingError("a tensor's state must be a dict of attributes")
        for name, value in part.items():
            setattr(target, name, value)


def set_object_state(target: Any, state: Any) -> None:
    """Sets the state of an object whose class a user has allowed, as pickle does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if attributes:
        vars(target).update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)
