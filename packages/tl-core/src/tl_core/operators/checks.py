"""Operators of graphs that check conditions and sizes, or take a number out of a tensor."""

from __future__ import annotations

from typing import Any

from tl_core.operators.python_operator import Overloads, add_packets
from tl_core.symbolic.numbers import SymBool, SymInt


def _item(self: Any) -> Any:
    return self.item()


def _lift(self: Any) -> Any:
    return self.clone()


def _holds(condition: Any) -> bool:
    """Whether a condition holds; of one that data decide, which is taken as true from now on, True."""
    return condition.node.expect_true("", 0) if isinstance(condition, SymBool) else bool(condition)


def _assert_scalar(self: Any, assert_msg: str) -> None:
    if not _holds(self):
        raise RuntimeError(assert_msg)


def _constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    if isinstance(size, SymInt):
        number: Any = size
        bounds = (min is None or number >= min, max is None or number <= max)
        if not all(map(_holds, bounds)):
            raise RuntimeError(f"Invalid value range for {number} between [{min}, {max}].")
        return
    value = int(size)
    if (min is not None and value < min) or (max is not None and value > max):
        raise RuntimeError(f"Invalid value range for {value} between [{min}, {max}].")


def _constrain_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    _constrain_range(size, min=0 if min is None else min, max=max)


def _assert_metadata(
    a: Any,
    size: Any = None,
    stride: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    layout: Any = None,
) -> None:
    for name, expected, actual in (
        ("sizes", None if size is None else tuple(size), tuple(a.shape)),
        ("strides", None if stride is None else tuple(stride), a.stride()),
        ("dtype", dtype, a.dtype),
        ("device", None if device is None else type(a.device)(device), a.device),
        ("layout", layout, a.layout),
    ):
        if expected is not None and expected != actual:
            raise RuntimeError(f"Tensor {name} mismatch! Expected: {expected}, Got: {actual}")


_CHECKS: dict[str, Overloads] = {
    "item": {"default": ("item(Tensor self) -> Scalar", _item)},
    "lift_fresh_copy": {"default": ("lift_fresh_copy(Tensor self) -> Tensor", _lift)},
    "_assert_scalar": {
        "default": ("_assert_scalar(Scalar self, str assert_msg) -> ()", _assert_scalar),
    },
    "sym_constrain_range": {
        "default": (
            "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
            _constrain_range,
        )
    },
    "sym_constrain_range_for_size": {
        "default": (
            "sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
            _constrain_size,
        )
    },
    "_assert_tensor_metadata": {
        "default": (
            (
                "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? "
                "dtype=None, *, "
                "Device? device=None, Layout? layout=None) -> ()"
            ),
            _assert_metadata,
        )
    },
}
add_packets("aten", _CHECKS)
