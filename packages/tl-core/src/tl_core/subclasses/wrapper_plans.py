"""Plans of calls with wrapper subclasses: a call that its handler has seen runs without Python.

An object of such a class stands for one inner tensor in a layout. The handler of a call says once which layouts the
results have, and which arguments differ for the inner tensors. Later calls with the same operator, layouts and
arguments run the operator on the inner tensors and wrap its results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tl_core import _C
from tl_core._C import WrapperLayout, WrapperPlans

__all__ = ["WrapperLayout", "WrapperPlans", "enroll_layout", "keep_plan", "plan_calls"]


def plan_calls(cls: type, inner: str, layout: str) -> None:
    """Lets calls with objects of a class have plans. Objects of a derived class have none.

    Args:
        cls: the class, whose objects are made by `make_wrapper_subclass`.
        inner: the attribute with the inner tensor.
        layout: the attribute with the layout, a `WrapperLayout`.

    Raises:
        TypeError: the class is no class of tensors.
    """
    _C._plan_wrapper_calls(cls, inner, layout)


def enroll_layout(layout: WrapperLayout, plans: WrapperPlans, equal: WrapperLayout) -> None:
    """Gives a layout its number and the plans of its calls. `layout.enroll()` calls it when a call needs the number.

    Args:
        layout: the layout.
        plans: the plans.
        equal: an equal layout with the same plans, whose number it gets; itself if there is none.
    """
    _C._enroll_layout(layout, plans, equal)


def keep_plan(
    operator: str,
    results: tuple[tuple[WrapperLayout, Sequence[int], Sequence[int], int], ...] | None,
    sizes: Mapping[str, Sequence[int]],
) -> bool:
    """Keeps the plan of the call whose handler is running.

    Args:
        operator: the operator's native name, such as "add.Tensor".
        results: for each tensor among the results its layout, sizes, strides and, of a view, the distance of its
            offset from that of the first argument; None if the operator writes to its first argument and returns it.
        sizes: the integers of arguments that differ for the inner tensors, by name.

    Returns:
        False if the call can't have a plan: a mode is on, it has a tensor of another class or an argument that is no
        number, or the operator has no argument of a name in `sizes`.

    Raises:
        TypeError: an argument is of the wrong type.
    """
    return _C._keep_wrapper_plan(operator, results, dict(sizes))
