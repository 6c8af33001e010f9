"""Tensors that stand for others: what their classes and those who look through them need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.grad_mode import no_grad
from tl_core.operators.metadata import ASKED, DEVICES, reply_of_handler
from tl_core.overrides import DisableTorchFunctionSubclass

__all__ = [
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]

_STRIDES = ("stride", "is_contiguous", "is_strides_like_format", "is_non_overlapping_and_dense")
_POLICIES: dict[str | None, tuple[str, ...]] = {
    None: (),
    "strides": _STRIDES,
    "sizes": ("shape", "size", "dim", "ndim", "numel", "plain_numel", "storage_offset", *_STRIDES),
}


def make_wrapper_subclass(
    cls: type,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = _C.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
) -> Any:
    """A tensor of a class with `__torch_dispatch__` that has a geometry but no memory: its handler knows the elements.

    Args:
        cls: the class.
        size: the sizes of the dimensions.
        strides: their strides, in elements; by default those of a contiguous tensor.
        storage_offset: elements before the first one.
        memory_format: the order of a tensor without `strides`.
        dtype: the type of the elements; the default one without it.
        layout: strided.
        device: where the tensor says it lies.
        pin_memory: must be False.
        requires_grad: whether autograd records what is done with it.
        dispatch_sizes_strides_policy: "sizes" or "strides" to ask the handler for them, by `aten.sym_size.default`,
            `aten.sym_stride.default` and their like, whenever Python reads them; what it returns None for is as stored.
        dispatch_device: whether the handler is asked for the device, by `prim.device.default`.
        dispatch_layout: whether it is asked for the layout, by `prim.layout.default`.
        _extra_dispatch_keys: taken for compatibility.
        storage_size: bytes that the storage says it has.

    Raises:
        TypeError: the class has no `__torch_dispatch__`, or an argument is of the wrong type.
        RuntimeError: sizes and strides differ in length.
        ValueError: the policy is unknown.

    Example:
        >>> class Named(Tensor):
        ...     @classmethod
        ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        ...         return f"{func} of {[a.label for a in args]}"
        >>> named = Tensor._make_wrapper_subclass(Named, (2, 3))
        >>> named.shape
        torch.Size([2, 3])
    """
    if not _C._has_torch_dispatch(cls):
        raise TypeError(
            f"_make_wrapper_subclass(): {getattr(cls, '__name__', cls)} must define __torch_dispatch__"
        )
    if layout is not _C.strided:
        raise NotImplementedError(f"_make_wrapper_subclass(): layout must be torch.strided, got {layout}")
    if pin_memory:
        raise RuntimeError("_make_wrapper_subclass(): a tensor without memory can't be pinned")
    if strides is None and memory_format not in (None, _C.contiguous_format, _C.preserve_format):
        strides = _C.empty(size, device="meta", memory_format=memory_format).stride()
    tensor = _C._make_wrapper(
        cls,
        [int(n) for n in size],
        None if strides is None else [int(n) for n in strides],
        int(storage_offset or 0),
        dtype or _C.get_default_dtype(),
        device if device is not None else _C._get_default_device(),
        -1 if storage_size is None else int(storage_size),
    )
    ask_handler(tensor, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    if _extra_dispatch_keys is not None:
        tensor._extra_dispatch_keys = _extra_dispatch_keys
    return tensor.requires_grad_() if requires_grad else tensor


# ---- what the handler is asked for -----------------------------------------------------------------------------------


def ask_handler(t: Tensor, policy: str | None, device: bool, layout: bool) -> None:
    """From now on the tensor's handler says its sizes or strides, its device, its layout."""
    if policy not in _POLICIES:
        raise ValueError(f"dispatch_sizes_strides_policy must be None, 'sizes' or 'strides', got {policy!r}")
    names = _POLICIES[policy] + ("device", *DEVICES) * device + ("layout",) * layout
    if names:
        setattr(t, ASKED, frozenset(names))
        _C._ask_handler(t)


def _metadata(name: str, t: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """What a tensor's handler says of it, or for a fake what says its sizes; NotImplemented where that is as stored."""
    symbolic = t.__dict__.get("symbolic")
    if symbolic is not None:
        return symbolic.says(t, name, (*args, *(kwargs or {}).values()))
    return reply_of_handler(name, t, (*args, *(kwargs or {}).values()))


_C._set_python_helper("metadata", _metadata)


# ---- copies and pickles ----------------------------------------------------------------------------------------------
def has_no_elements(t: Tensor) -> bool:
    """Whether a tensor was made by `make_wrapper_subclass`, and has no memory of its own.

    Args:
        t: the tensor.
    """
    return bool(_C._is_hollow(t))


def rebuild(
    cls: type, dtype: Any, size: Any, stride: Any, offset: int, layout: Any, device: Any, requires_grad: bool
) -> Any:
    """A tensor without memory, from a pickle; its attributes follow."""
    return make_wrapper_subclass(
        cls, size, stride, offset, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def reduced(self: Tensor) -> tuple[Any, ...]:
    """What `rebuild` needs."""
    return (
        type(self), self.dtype, tuple(self.shape), self.stride(), self.storage_offset(), self.layout, self.device,
        self.requires_grad,
    )  # fmt: skip


def clone_wrapper(self: Tensor) -> Tensor:
    """A clone, which must be of the same class."""
    with no_grad(), DisableTorchFunctionSubclass():
        result = self.clone()
    if type(result) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
            f"properly implement clone() and for which cloning returns another instance of the same subclass: that of "
            f"{type(self).__name__} returned {type(result).__name__}. Implement __deepcopy__() or handle aten.clone"
        )
    return result


# ---- looking through -------------------------------------------------------------------------------------------------
def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors says what its objects are made of, by `__tensor_flatten__` and `__tensor_unflatten__`.

    Args:
        t: the class.

    Example:
        >>> is_traceable_wrapper_subclass_type(Tensor)
        False
    """
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor says what it is made of, by `__tensor_flatten__` and `__tensor_unflatten__`.

    Args:
        t: any object.

    Example:
        >>> is_traceable_wrapper_subclass(tensor(1.0))
        False
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any,
    callback: Callable[[str, Tensor], Tensor],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """The same kind of tensor from other parts.

    Args:
        t: a tensor for which `is_traceable_wrapper_subclass` holds.
        callback: gets an attribute's name and the part, and returns what takes the part's place.
        outer_size: the size that the result must have; by default that of `t`.
        outer_stride: likewise.

    Returns:
        What the class makes of the new parts.

    Raises:
        AssertionError: that has another size or other strides.
    """
    size = outer_size if outer_size is not None else t.size()
    stride = outer_stride if outer_stride is not None else t.stride()
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    result = type(t).__tensor_unflatten__(parts, context, size, stride)
    for what, actual, needed in (("shape", result.shape, size), ("strides", result.stride(), stride)):
        if tuple(actual) != tuple(needed):
            raise AssertionError(
                f"Expected return value from {type(t)}__tensor_unflatten__() to have {what} equal to {needed}, "
                f"but got: {actual}"
            )
    return result


# ---- aliases ---------------------------------------------------------------------------------------------------------
def _tensors(x: Any) -> list[Any]:
    return [x] if isinstance(x, Tensor) else list(x) if isinstance(x, (list, tuple)) else []


def _argument(info: Any, i: int, args: Any, kwargs: Any) -> Any:
    return args[i] if i < len(args) else kwargs.get(info.arguments[i][0])


class _Aliases:
    """Which arguments an operator writes, and of which its results are views."""

    def __init__(self, func: Any) -> None:
        self.arguments, self.results, self.is_view, _ = _C._alias_info(func._native_name)
        self.written = {
            alias: i for i, (_, alias, is_write) in enumerate(self.arguments) if alias and is_write
        }
        self.viewed = {
            alias: i for i, (_, alias, is_write) in enumerate(self.arguments) if alias and not is_write
        }


_alias_cache: dict[Any, _Aliases] = {}


def _aliases(func: Any) -> _Aliases:
    if func not in _alias_cache:
        _alias_cache[func] = _Aliases(func)
    return _alias_cache[func]


def _share(view: Any, base: Any) -> None:
    if not isinstance(view, Tensor) or not isinstance(base, Tensor) or view is base:
        return
    if _C._is_hollow(view) and _C._is_hollow(base):
        _C._share_storage(view, base)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a handler of wrapper subclasses returns: written arguments as they are, views in the storage of theirs.

    Args:
        func: the operator that was handled.
        args: its arguments.
        kwargs: those by name.
        out: what the handler has made.

    Returns:
        `out`, or the arguments that the operator writes.
    """
    info, kwargs = _aliases(func), kwargs or {}
    if info.is_view and info.viewed:
        base = _argument(info, next(iter(info.viewed.values())), args, kwargs)
        for view in _tensors(out):
            for root in _tensors(base)[:1]:
                _share(view, root)
    if not info.written:
        return out
    _follow_geometry(func, args, kwargs, info, out)
    results = [
        _argument(info, info.written[alias], args, kwargs) if alias in info.written else None
        for alias in info.results
    ]
    if len(results) == 1:
        return out if results[0] is None else results[0]
    outs = out if isinstance(out, (list, tuple)) else [out]
    return tuple(o if r is None else r for o, r in zip(outs, results, strict=False))


def _follow_geometry(func: Any, args: Any, kwargs: Any, info: _Aliases, out: Any) -> None:
    """An operator such as `transpose_` changes the written tensor's geometry: the handler has changed the parts'."""
    if len(info.written) != 1 or len(info.results) != 1 or not isinstance(out, Tensor):
        return
    target = _argument(info, next(iter(info.written.values())), args, kwargs)
    if not isinstance(target, Tensor) or target is out or not _C._is_hollow(target):
        return
    if target.shape != out.shape or target.stride() != out.stride():
        _C._set_geometry(target, list(out.shape), list(out.stride()), out.storage_offset())
