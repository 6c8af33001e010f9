"""Copies and pickles of tensors, and tensors of subclasses on the memory of others."""

from __future__ import annotations

import copy
import copyreg
from typing import Any

from tl_core import _C, overrides, sparse
from tl_core._C import Tensor
from tl_core.base import operator_hooks
from tl_core.storage import TypedStorage, read_tensor
from tl_core.tensors.conj_neg_bits import conj_neg_bits_of, with_conj_neg_bits
from tl_core.tensors.parameter import as_leaf

__all__ = ["METHODS"]


def _rebuild_tensor(storage: Any, offset: int, size: Any, stride: Any) -> Tensor:
    return read_tensor(storage.untyped(), storage.dtype, size, stride, offset)


def _rebuild_tensor_v2(
    storage: Any,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    tensor = with_conj_neg_bits(_rebuild_tensor(storage, offset, size, stride), **(metadata or {}))
    return as_leaf(tensor, requires_grad)


def _wrapper_subclasses() -> Any:
    return operator_hooks.maker("wrapper subclasses")


def _rebuild_from_type(func: Any, type: Any, args: Any, state: Any) -> Any:
    tensor = func(*args)
    if type is not Tensor and not isinstance(tensor, type):
        tensor = _make_subclass(type, tensor, tensor.requires_grad)
    for name, value in state.items():
        setattr(tensor, name, value)
    return tensor


def _attributes(self: Tensor) -> dict[str, Any]:
    """What was set on the tensor, in its dictionary and in the slots of its classes."""
    state = dict(getattr(self, "__dict__", {}))
    if type(self) is not Tensor:
        slots = copyreg._slotnames(type(self))  # type: ignore[attr-defined]  # as pickle finds them
        state |= {name: getattr(self, name) for name in slots if hasattr(self, name)}
    return state


def _reduce_ex(self: Tensor, protocol: Any) -> Any:
    state = _attributes(self)
    if _C._has_names(self):
        from tl_core.tensors import named_tensor  # few programs name dimensions

        named_tensor.check_serializing_named_tensor(self)
    if self.layout is not _C.strided:
        return _reduce_sparse(self, state)
    if self.is_quantized:
        return operator_hooks.quantized_methods["__reduce_ex__"](self)
    if _C._is_hollow(self):
        wrappers = _wrapper_subclasses()
        return (_rebuild_from_type, (wrappers.rebuild, type(self), wrappers.reduced(self), state))
    storage = TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)
    args: Any = (storage, self.storage_offset(), tuple(self.shape), self.stride(), self.requires_grad, {})
    if bits := conj_neg_bits_of(self):
        args += (bits,)
    if type(self) is Tensor and not state:
        return (_rebuild_tensor_v2, args)
    return (_rebuild_from_type, (_rebuild_tensor_v2, type(self), args, state))


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    if layout is _C.sparse_coo:
        indices, values, size, is_coalesced = data
        return sparse.sparse_coo_tensor(
            indices, values, size, check_invariants=True, is_coalesced=is_coalesced
        )
    compressed, plain, values, size = data
    return sparse.sparse_compressed_tensor(
        compressed, plain, values, size, layout=layout, check_invariants=True
    )


def _sparse_parts(self: Tensor) -> tuple[Any, ...]:
    if self.layout is _C.sparse_coo:
        return (self._indices(), self._values(), self.shape, self.is_coalesced())
    if self.layout in (_C.sparse_csr, _C.sparse_bsr):
        return (self.crow_indices(), self.col_indices(), self._values(), self.shape)
    return (self.ccol_indices(), self.row_indices(), self._values(), self.shape)


def _reduce_sparse(self: Tensor, state: dict[str, Any]) -> Any:
    parts = _sparse_parts(self)
    args = (self.layout, parts)
    if type(self) is Tensor and not state:
        return (_rebuild_sparse_tensor, args)
    return (_rebuild_from_type, (_rebuild_sparse_tensor, type(self), args, state))


def _copy_elements(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """The same elements in a storage of their own, or in one that `memo` has copied."""
    if self.layout is not _C.strided:
        return self.detach().clone()
    if _C._is_hollow(self):
        return _wrapper_subclasses().clone_wrapper(self)
    storage = copy.deepcopy(self.untyped_storage(), memo)
    tensor = _C._with_storage(
        storage._tensor, self.dtype, tuple(self.shape), self.stride(), self.storage_offset()
    )
    if self.is_quantized:
        _C._share_quantizer(tensor, self)
        return tensor
    return with_conj_neg_bits(tensor, **conj_neg_bits_of(self)).resolve_conj().resolve_neg()


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Any:
    if overrides.has_torch_function((self,)):
        return overrides.handle_torch_function(Tensor.__deepcopy__, (self,), self, memo)
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of an intermediate result kept in it, "
            "such as the weight that torch.nn.utils.weight_norm computes before each call; modules with "
            "torch.nn.utils.parametrizations.weight_norm can be copied."
        )
    if id(self) in memo:
        return memo[id(self)]
    result = _copy_elements(self, memo)
    if type(self) is not type(result):
        result = _C._make_subclass(type(self), result)
    if _C._has_names(self):
        _C._set_names(result, _C._names_of(self))
    as_leaf(result, self.requires_grad)
    if self.grad is not None:
        result.grad = copy.deepcopy(self.grad, memo)
    memo[id(self)] = result
    for name, value in _attributes(self).items():
        setattr(result, name, copy.deepcopy(value, memo))
    return result


def _as_subclass(self: Tensor, cls: type) -> Any:
    """The same memory as an object of a subclass; gradients flow through."""
    return _C._as_subclass(cls, self)


def _make_subclass(
    cls: Any,
    data: Tensor,
    require_grad: bool = False,
    *,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    device_for_backend_keys: Any = None,
) -> Any:
    """A tensor of a subclass on the data's memory, outside the graph; as an option its handler says its sizes."""
    tensor = _C._make_subclass(cls, data)
    if dispatch_sizes_strides_policy or dispatch_device or dispatch_layout:
        wrappers = _wrapper_subclasses()
        wrappers.ask_handler(tensor, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    if not require_grad:
        return tensor
    with overrides.DisableTorchFunctionSubclass():  # the class isn't asked before its tensor is complete
        return as_leaf(tensor)


def _make_wrapper_subclass(*args: Any, **kwargs: Any) -> Any:
    """A tensor of a class with `__torch_dispatch__` that has no memory: see `tl_core.subclasses.wrappers`."""
    return _wrapper_subclasses().make_wrapper_subclass(*args, **kwargs)


METHODS: dict[str, Any] = {
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce_ex,
    "_make_subclass": staticmethod(_make_subclass),
    "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass),
    "as_subclass": _as_subclass,
}
