"""Makes tensors of storages and geometry that a file describes; each checks what it is given."""

from __future__ import annotations

import pickle
import warnings
import weakref
from typing import Any

import tl_core
from tl_core import wrapper_subclasses
from tl_core.conj_neg_bits import with_conj_neg_bits
from tl_core.storage import TypedStorage, UntypedStorage, read_tensor, tensor_on

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

functions = tl_core  # what has the functions that the reference keeps in a class of its own


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
        storage: the storage.
        offset: where the first element lies, in elements.
        size: the sizes.
        stride: the strides, in elements.
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
        storage: the storage.
        offset: where the first element lies, in elements.
        size: the sizes.
        stride: the strides, in elements.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
        dtype: the type of the elements.
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
    made = read_tensor(storage, dtype, sizes, strides, offset)
    if dtype is tl_core.bool:
        _check_booleans(storage)
    if metadata:
        made = _marked(made, metadata)
    return _recorded(made) if requires_grad else made


def _check_booleans(storage: Any) -> None:
    """Other bytes than 0 and 1 are no booleans for a processor; each storage is looked through once."""
    if storage in _booleans or storage.device.type == "meta" or not storage.nbytes():
        return
    if bool((tensor_on(storage, tl_core.uint8, (storage.nbytes(),), (1,)) > 1).any()):
        raise pickle.UnpicklingError("a tensor of booleans has bytes other than 0 and 1")
    _booleans.add(storage)


_booleans: weakref.WeakSet[Any] = weakref.WeakSet()


def _recorded(made: Any) -> Any:
    """The tensor with requires_grad; without tl-autograd it is loaded all the same, to be looked at."""
    if not (made.is_floating_point() or made.is_complex()):
        raise pickle.UnpicklingError(f"a tensor of {made.dtype} can't require a gradient")
    try:
        return made.requires_grad_()
    except RuntimeError:
        text = "tl-autograd isn't loaded: tensors come without requires_grad; import tl_autograd or tl before"
        warnings.warn(text, UserWarning, stacklevel=2)
        return made


def _marked(made: Any, metadata: Any) -> Any:
    if type(metadata) is not dict or not set(metadata) <= {"conj", "neg"}:
        raise pickle.UnpicklingError(f"a tensor has marks that aren't known: {metadata!r}")
    return with_conj_neg_bits(made, conj=bool(metadata.get("conj")), neg=bool(metadata.get("neg")))


def sparse(layout: Any, data: Any) -> Any:
    """A sparse tensor of its parts; its indices are looked at."""
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
        data: the tensor.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
    """
    if not isinstance(data, tl_core.Tensor):
        raise pickle.UnpicklingError("a parameter's data is no tensor")
    made = tl_core.Parameter(data, requires_grad=False)
    return _recorded(made) if requires_grad else made


def parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    """A parameter with attributes.

    Args:
        data: the tensor.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
        state: its attributes by name.
    """
    made = parameter(data, requires_grad, backward_hooks)
    set_tensor_state(made, state)
    return made


def meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    """A tensor without memory.

    Args:
        dtype: the type of the elements.
        size: the sizes.
        stride: the strides, in elements.
        requires_grad: whether gradients are recorded.
    """
    made = tl_core.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return _recorded(made) if requires_grad else made


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
        kind: the class.
        dtype: the type of the elements.
        size: the sizes.
        stride: the strides, in elements.
        offset: where the first element lies, in elements.
        layout: `strided`.
        device: the device.
        requires_grad: whether gradients are recorded.
    """
    _check_class(kind)
    if not all(type(n) is int and n >= 0 for n in (*tuple(size), *tuple(stride), offset)):
        raise pickle.UnpicklingError("a tensor's offset, sizes and strides must be whole numbers")
    made = wrapper_subclasses.rebuild(kind, dtype, tuple(size), tuple(stride), offset, layout, device, False)
    return _recorded(made) if requires_grad else made


def from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor of a subclass, with attributes; classes are those that are allowed.

    Args:
        function: the function that makes the plain tensor.
        kind: the subclass.
        args: the arguments of the function.
        state: its attributes by name.
    """
    _check_class(kind)
    maker = function.make if type(function) is Global else function
    if not any(maker is known for known in _MAKERS) or type(args) is not tuple:
        raise pickle.UnpicklingError("a tensor is made by something else")
    made = maker(*args)
    if type(made) is not kind:
        requires_grad = made.requires_grad
        made = made.detach().as_subclass(kind)
        made = _recorded(made) if requires_grad else made
    set_tensor_state(made, nested.attributes(state) if maker is nested.jagged else state)
    return made


def layout(name: Any) -> Any:
    """The layout of that name."""
    found = getattr(tl_core, str(name).removeprefix("torch."), None)
    if not isinstance(found, tl_core.layout):
        raise pickle.UnpicklingError(f"there is no layout {name!r}")
    return found


_MAKERS = (tensor, tensor_of_dtype, meta_tensor, parameter, nested.jagged, wrapper_subclass)


def set_tensor_state(target: Any, state: Any) -> None:
    """A tensor's attributes; slots come as a second dict."""
    for part in state if type(state) is tuple else (state,):
        if part is None:
            continue
        if type(part) is not dict or not all(type(key) is str and not key.startswith("__") for key in part):
            raise pickle.UnpicklingError("a tensor's state must be a dict of attributes")
        for name, value in part.items():
            setattr(target, name, value)


def set_object_state(target: Any, state: Any) -> None:
    """The state of an object whose class a user has allowed, as pickle sets it."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if attributes:
        vars(target).update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)
