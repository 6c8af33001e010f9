"""`torch._utils`: flat buffers of many tensors, errors that travel between workers, names of devices."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import operator
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.api.tensor_methods import _get_async_or_non_blocking as _get_async_or_non_blocking
from tl_core.dispatch import modes as dispatch_modes
from tl_core.pytree import tree_map_only

__all__: list[str] = []


# ---- many tensors as one -------------------------------------------------------------------------------------------
def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of all tensors, one after another, in a new one of one dimension."""
    return tl_core.cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of a flat tensor with the shapes of the given ones, whose elements it holds in their order."""
    views, at = [], 0
    for t in tensors:
        views.append(flat.narrow(0, at, t.numel()).view(t.shape))
        at += t.numel()
    return tuple(views)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one type and about `size_limit` bytes, each group as soon as it is full."""
    open_groups: dict[str, tuple[list[Tensor], int]] = defaultdict(lambda: ([], 0))
    for t in tensors:
        kind, size = t.type(), t.numel() * t.element_size()
        group, nbytes = open_groups[kind]
        if group and nbytes + size > size_limit:
            yield group
            group, nbytes = [], 0
        group.append(t)
        open_groups[kind] = group, nbytes + size
    yield from (group for group, _ in open_groups.values() if group)


def _flatten_sparse_tensors(tensors: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """The indices and the values of sparse tensors, each one after another in a new tensor of one dimension."""
    parts = [t.coalesce() for t in tensors]
    return _flatten_dense_tensors(t._indices() for t in parts), _flatten_dense_tensors(
        t._values() for t in parts
    )


def _unflatten_sparse_tensors(flat: tuple[Tensor, Tensor], tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Sparse tensors like the given ones whose indices and values are views of the two flat ones."""
    parts = [t.coalesce() for t in tensors]
    indices = _unflatten_dense_tensors(flat[0], [t._indices() for t in parts])
    values = _unflatten_dense_tensors(flat[1], [t._values() for t in parts])
    built = zip(parts, indices, values, strict=True)
    return tuple(tl_core.sparse_coo_tensor(i, v, t.shape) for t, i, v in built)


def _handle_complex(tensor: Tensor) -> Tensor:
    """The tensor; a complex one as its real and imaginary parts, unless it has no elements yet."""
    lazy = hasattr(type(tensor), "materialize")
    return tl_core.view_as_real(tensor) if not lazy and tensor.is_complex() else tensor


def _chunk_or_narrow_cat(tensor: Tensor, num_chunks: int, narrow_dim: int, cat_dim: int = 0) -> Tensor:
    """Equal parts of a tensor along one dimension, one after another along another."""
    if tensor.shape[narrow_dim] % num_chunks:
        raise RuntimeError(
            f"tensor's size {tensor.shape[narrow_dim]} in dimension {narrow_dim} has no {num_chunks} equal parts"
        )
    return tl_core.cat(tensor.chunk(num_chunks, narrow_dim), cat_dim)


def _maybe_view_chunk_cat(res: Tensor, group_size: int, gather_dim: int) -> Tensor:
    """What a group has gathered along the first dimension, moved to lie along `gather_dim`."""
    return res if gather_dim == 0 else tl_core.cat(res.chunk(group_size), gather_dim)


def get_tensor_metadata(tensor: Tensor) -> dict[str, bool]:
    """Which of the bits "conj" and "neg" a tensor carries, as files keep them."""
    return {name: True for name, carried in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if carried}


def set_tensor_metadata(tensor: Tensor, metadata: dict[str, bool]) -> None:
    """Gives a tensor the bits that `get_tensor_metadata` says."""
    tl_core._C._set_conj(tensor, metadata.get("conj", False))
    tl_core._C._set_neg(tensor, metadata.get("neg", False))


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The tensors in an order in which their types are those of the others."""
    by_type: dict[str, Iterator[Tensor]] = {}
    groups: dict[str, list[Tensor]] = defaultdict(list)
    for t in tensors:
        groups[t.type()].append(t)
    by_type = {kind: iter(group) for kind, group in groups.items()}
    return tuple(next(by_type[t.type()]) for t in ordered_tensors)


# ---- tensors from their parts --------------------------------------------------------------------------------------
def _rebuild_tensor(storage: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """A tensor of this shape on a typed storage."""
    return tl_core.empty(0, dtype=storage.dtype).set_(storage.untyped(), storage_offset, size, stride)


def _accumulate(iterable: Iterable[Any], fn: Callable[[Any, Any], Any] = operator.add) -> Iterator[Any]:
    """As `itertools.accumulate`."""
    return itertools.accumulate(iterable, fn)


def _import_dotted_name(name: str) -> Any:
    """The object that a dotted name means."""
    module, *attributes = name.split(".")
    target: Any = importlib.import_module(module)
    for attribute in attributes:
        target = getattr(target, attribute)
    return target


def try_import(module_name: str) -> Any:
    """A module; None where it isn't installed."""
    if importlib.util.find_spec(module_name) is None:
        return None
    return importlib.import_module(module_name)


# ---- errors from other processes and threads -----------------------------------------------------------------------
class KeyErrorMessage(str):
    """The text of a KeyError, printed as it is and not as a representation."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, which can be sent to another thread or process and raised there.

    Args:
        exc_info: what `sys.exc_info()` gives; by default the exception that is being handled.
        where: where it happened, for the message.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> None:
        """Raises an exception of the same class whose message has the traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(KeyErrorMessage(message))
        try:
            error = self.exc_type(message)
        except Exception:  # the class takes other arguments
            raise RuntimeError(message) from None
        raise error


# ---- devices -------------------------------------------------------------------------------------------------------
def _get_available_device_type() -> str | None:
    """The type of the accelerator that is there; None for none."""
    return None


def _get_device_attr(get_member: Callable[[Any], Any]) -> Any:
    return None


def _get_all_device_indices() -> list[int]:
    """The indices of all accelerators: none."""
    return []


def _get_current_device_index() -> int:
    """The index of the accelerator in use; -1 where there is none."""
    return -1


def get_current_device_index() -> int:
    """The index of the accelerator in use; -1 where there is none."""
    return _get_current_device_index()


def _get_devices_properties(device_ids: Sequence[int]) -> list[Any]:
    """What is known of accelerators; RuntimeError for any, as there is none."""
    if device_ids:
        raise RuntimeError(f"no accelerator is available, so none has the index {device_ids[0]}")
    return []


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index that a device names; without one, the current device's where `optional`, else ValueError.

    Args:
        device: a device, its name, its index, or None.
        optional: whether one without index is taken.
        allow_cpu: whether the CPU is taken, as -1.
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = tl_core.device(device)
    if isinstance(device, tl_core.device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return 0


# ---- small things --------------------------------------------------------------------------------------------------
def is_compiling() -> bool:
    """Whether the code becomes a program instead of computing a result: while it is exported."""
    return dispatch_modes.is_compiling()


class classproperty:
    """A property of a class: read through the class or its objects."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: type) -> Any:
        return self.func(owner)


class _Shown:
    """Stands for a tensor in a call that is shown: its sizes, not its numbers."""

    def __init__(self, tensor: Tensor) -> None:
        self._text = f"tensor([...], size={tuple(tensor.shape)})"

    def __repr__(self) -> str:
        return self._text


def render_call(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """A call as text; of tensors, their sizes."""
    args, kwargs = tree_map_only(Tensor, _Shown, (list(args), dict(kwargs)))
    name = tl_core.overrides.resolve_name(fn) or str(fn)
    shown = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
    return f"{name}({', '.join(shown)})"


def annotate(ret: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that writes the annotations of a function."""

    def decorate(function: Any) -> Any:
        function.__annotations__ = {**kwargs, "return": ret}
        return function

    return decorate


class CallbackRegistry:
    """Functions that are called one after another when something happens; one that fails doesn't stop the others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list[Callable[..., Any]] = []

    def add_callback(self, cb: Callable[..., Any]) -> None:
        """Adds a function."""
        self.callback_list.append(cb)

    def fire_callbacks(self, *args: Any, **kwargs: Any) -> None:
        """Calls them all; what one raises is logged."""
        import logging

        for callback in self.callback_list:
            try:
                callback(*args, **kwargs)
            except Exception:
                logging.getLogger(__name__).exception("a callback of %s failed", self.name)


# ---- what pickles keep of objects ----------------------------------------------------------------------------------
def _get_obj_state(obj: Any) -> Any:
    """What pickle keeps of an object beside its class: its attributes, or these and its slots."""
    return obj.__getstate__()


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Gives an object what `_get_obj_state` has kept of another, and returns it."""
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"Invalid serialized state: {state}")
    else:
        state = state, None
    for part in state:
        for name, value in (part or {}).items():
            setattr(obj, name, value)
    return obj
