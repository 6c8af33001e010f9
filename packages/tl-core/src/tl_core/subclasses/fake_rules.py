"""What fakes have to know of single operators: where results lie, and which depend on elements."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.row_facts import facts
from tl_core.base.rule_table import RuleTable

DEVICES: RuleTable[Callable[[Any, list[Any]], Any]] = RuleTable("devices of fakes")


def has_mask(args: Any) -> bool:
    """Whether one of an index's tensors is a mask."""
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else ():
            if isinstance(item, Tensor) and item.dtype in (_C.bool, _C.uint8):
                return True
    return False


@functools.cache
def _kind(name: str) -> str:
    """The kind of fact that says how an operator depends on elements; "" for all others."""
    functional = name.removesuffix(".out").removesuffix("_out")
    kinds = ("numbers", "sizes", "mask_reads", "mask_writes")
    return next((kind for kind in kinds if functional in facts(kind)), "")


def depends_on_elements(name: str, args: Any) -> bool:
    """Whether the sizes of an operator's results depend on elements.

    Args:
        name: the operator's, without its namespace.
        args: what it is called with.
    """
    kind = _kind(name)
    return kind == "sizes" or (kind == "mask_reads" and has_mask(args))


def returns_number_of_elements(name: str) -> bool:
    """Whether an operator returns a number that depends on elements.

    Args:
        name: the operator's, without its namespace.
    """
    return _kind(name) == "numbers"


def writes_at_mask(name: str, args: Any) -> bool:
    """Whether an operator writes at the elements that a mask selects, so that its results are like its first argument.

    Args:
        name: the operator's, without its namespace.
        args: what it is called with.
    """
    return _kind(name) == "mask_writes" and has_mask(args)


def common_device(func: Any, tensors: list[Any]) -> Any:
    """Where the result lies of tensors on these devices; tensors without dimensions on the CPU go anywhere.

    Args:
        func: the operator.
        tensors: the arguments that are tensors.

    Raises:
        RuntimeError: two lie on different devices.
    """
    first = tensors[0].device
    if all(t.device == first for t in tensors):
        return first
    return DEVICES.get(func._native_name, _one_device)(func, tensors)


@DEVICES.rule(
    *("copy_", "copy", "copy.out", "_to_copy", "to_device", "resize_as_", "index.Tensor", "index.Tensor_out"),
    *("index_put", "index_put_", "index_put.out", "_index_put_impl_", "slice_scatter", "slice_scatter.out"),
    *("select_scatter", "_foreach_copy_", "set_", "gather", "type_as"),
)
def _first_device(func: Any, tensors: list[Any]) -> Any:
    return tensors[0].device


@DEVICES.rule("embedding", "embedding_dense_backward", "_embedding_bag", "index_select")
def _device_of_lookup(func: Any, tensors: list[Any]) -> Any:
    """Indices may lie on the CPU if the rows that they select are on meta."""
    first = tensors[0].device
    is_lookup = first.type == "meta" and {t.device.type for t in tensors} == {"meta", "cpu"}
    return first if is_lookup else _one_device(func, tensors)


def _one_device(func: Any, tensors: list[Any]) -> Any:
    device, device_is_number = None, True
    for t in tensors:
        is_number = t.dim() == 0 and t.device.type == "cpu"
        if device is None or (device_is_number and not is_number):
            device, device_is_number = t.device, is_number
        elif not is_number and t.device != device:
            raise RuntimeError(
                f"Unhandled FakeTensor Device Propagation for {func}, found two different devices {device}, {t.device}"
            )
    return device
