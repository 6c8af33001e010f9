"""Operators on lists of distributed tensors: each list's tensor is computed with where that of the first list lies."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_core.pytree import tree_map

from .dtensor_spec import DTensorSpec, meta_of
from .placement_types import Partial
from .redistribute import redistribute_local_tensor

__all__ = ["call", "is_elementwise_on_lists"]

_REDUCTIONS = ("aten::_foreach_norm", "aten::_foreach_powsum", "aten::_foreach_max")


def is_elementwise_on_lists(func: Any) -> bool:
    """True if an operator computes each element of a list's tensors by itself, as a step of an optimizer does.

    Args:
        func: the operator.
    """
    name: str = func._schema.name
    return name.startswith(("aten::_fused_", "aten::_foreach_")) and name not in _REDUCTIONS


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[Any]) -> Any:
    """Calls such an operator on what this process holds.

    Args:
        func: the operator.
        args: its arguments, the first of which is a list of tensors.
        kwargs: its arguments by name.
        kind: the class of distributed tensors.

    Raises:
        RuntimeError: a tensor of the first list is not distributed, and one in its place in another list is.
        NotImplementedError: a tensor of the first list holds terms of a sum.
    """
    leaders = [tensor._spec if isinstance(tensor, kind) else None for tensor in args[0]]
    for leader in leaders:
        if leader is not None and any(isinstance(placement, Partial) for placement in leader.placements):
            raise NotImplementedError(
                f"{func}: a DTensor is {leader.placements}; make it Replicate() or a Shard with redistribute first"
            )

    def local(argument: Any) -> Any:
        if isinstance(argument, (list, tuple)) and len(argument) == len(leaders):
            pairs = zip(argument, leaders, strict=True)
            return [_local(func, value, leader, kind) for value, leader in pairs]
        return tree_map(lambda v: v.full_tensor() if isinstance(v, kind) else v, argument)

    results = func(*map(local, args), **{name: local(value) for name, value in kwargs.items()})
    if func._schema.is_mutable or results is None:
        return args[0] if isinstance(results, (list, tuple)) else results
    pairs = zip(results, leaders, strict=True)
    return [value if leader is None else _wrapped(value, leader, kind) for value, leader in pairs]


def _local(func: Any, value: Any, leader: DTensorSpec | None, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        if leader is not None and isinstance(value, Tensor) and value.dim():
            raise _mixture_error(func)
        return value
    if leader is None or value._spec.mesh != leader.mesh:
        raise _mixture_error(func)
    if value.shape != leader.shape:
        return value.full_tensor()
    return redistribute_local_tensor(value._local_tensor, value._spec, leader.placements)


def _mixture_error(func: Any) -> RuntimeError:
    return RuntimeError(
        f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
        "distributed operators!"
    )


def _wrapped(value: Tensor, leader: DTensorSpec, kind: type[Any]) -> Any:
    meta = leader.tensor_meta._replace(dtype=meta_of(value).dtype)
    return kind(value, DTensorSpec(leader.mesh, leader.placements, meta), requires_grad=False)
