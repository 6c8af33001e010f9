"""What is known of operators beyond their schemas."""

from __future__ import annotations

import enum
import functools

from tl_core import _C
from tl_core.base.row_facts import facts

__all__ = ["Tag", "tags_of"]


class Tag(enum.IntEnum):
    """What an operator is known to be or to do; `ops.aten.add.Tensor.tags` lists them.

    Example:
        >>> from tl_core import ops
        >>> Tag.pointwise in ops.aten.add.Tensor.tags
        True
    """

    core = 0
    data_dependent_output = 1
    dynamic_output_shape = 2
    flexible_layout = 3
    generated = 4
    inplace_view = 5
    maybe_aliasing_or_mutating = 6
    needs_fixed_stride_order = 7
    nondeterministic_bitwise = 8
    nondeterministic_seeded = 9
    pointwise = 10
    pt2_compliant_tag = 11
    view_copy = 12

    def __repr__(self) -> str:
        return f"Tag.{self.name}"

    __str__ = __repr__


by_operator: dict[str, list[Tag]] = {}


def forget(op: str) -> None:
    """Forgets what was said of an operator that has been removed.

    Args:
        op: its name.
    """
    by_operator.pop(op, None)


def tags_of(op: str) -> list[Tag]:
    """The tags of an operator, by its native name.

    Args:
        op: such as `add.Tensor` or `mylib::sinc`.
    """
    if "::" not in op:
        return list(_tags_of_row(op))
    return list(by_operator[op]) if op in by_operator else [Tag[name] for name in _C._operator_tags(op)]


def tags_of_function(op: str) -> list[Tag]:
    """The tags of an operator of aten that is a function of Python.

    Args:
        op: such as `relu6` or `add.Scalar`.

    Example:
        >>> tags_of_function("add.Scalar")
        [Tag.core, Tag.pt2_compliant_tag]
    """
    core = facts("core")
    row = op.replace(".Scalar", ".Tensor")  # the row, of an overload for numbers
    return [*([Tag.core] if op in core or row in core else []), Tag.pt2_compliant_tag]


@functools.cache
def _tags_of_row(op: str) -> tuple[Tag, ...]:
    _, _, _, _, is_view, is_random, elementwise = _C._operator_facts(op)
    base = op.partition(".")[0]
    holds = {
        Tag.core: op in facts("core"),
        Tag.data_dependent_output: op in facts("numbers"),
        Tag.dynamic_output_shape: facts("sizes").get(op, False),
        Tag.inplace_view: op in facts("inplace_views"),
        Tag.nondeterministic_seeded: is_random,
        Tag.pointwise: elementwise and not is_view,
        Tag.pt2_compliant_tag: True,
        Tag.view_copy: base.endswith("_copy") and base.removesuffix("_copy") in _views(),
    }
    return tuple(tag for tag, is_true in holds.items() if is_true)


@functools.cache
def _views() -> frozenset[str]:
    return frozenset(
        name.partition(".")[0] for name in _C._operators() if "::" not in name and _C._operator_facts(name)[4]
    )
