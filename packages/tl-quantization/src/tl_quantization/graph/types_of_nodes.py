"""Which nodes have tensors as values, and which arguments of a call are no activations."""

from __future__ import annotations

import operator
from typing import Any

from tl_compiler.fx import Node

__all__ = ["has_tensor", "is_observable"]

_SIZES = ("size", "dim", "numel", "ndimension", "nelement", "stride", "storage_offset", "element_size")
_ATTRIBUTES = ("shape", "ndim", "dtype", "device", "layout")


def has_tensor(node: Any, answers: dict[Any, bool]) -> bool:
    """Whether the value of a node may be a tensor: sizes and what is computed from them aren't.

    Args:
        node: the node, or an argument.
        answers: answers by node, which are added to.
    """
    if isinstance(node, (list, tuple)):
        return any(has_tensor(part, answers) for part in node)
    if isinstance(node, dict):
        return any(has_tensor(part, answers) for part in node.values())
    if not isinstance(node, Node):
        return False
    if node not in answers:
        answers[node] = False  # graphs have no circles
        answers[node] = _has_tensor(node, answers)
    return answers[node]


def _has_tensor(node: Node, answers: dict[Any, bool]) -> bool:
    if node.op in ("placeholder", "get_attr", "call_module"):
        return True
    if node.op == "call_method" and node.target in _SIZES:
        return False
    if node.op == "call_function" and node.target is getattr and node.args[1] in _ATTRIBUTES:
        return False
    return has_tensor(node.args, answers) or has_tensor(node.kwargs, answers)


# Methods whose arguments behind the first are sizes, axes, masks or positions.
_FIRST_ONLY = {
    *(
        "masked_fill",
        "permute",
        "repeat",
        "repeat_interleave",
        "reshape",
        "size",
        "transpose",
        "unsqueeze",
        "squeeze",
    ),
    *("unsqueeze_", "view", "expand", "index_select", "gather", "select", "narrow"),
}


def is_observable(node: Node, index: int, arg: Any, answers: dict[Any, bool]) -> bool:
    """Whether an argument of a call may be quantized.

    Args:
        node: the call.
        index: the argument's position.
        arg: the argument.
        answers: answers of `has_tensor`.
    """
    name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    if index > 0 and (name in _FIRST_ONLY or node.target is operator.getitem):
        return False
    return has_tensor(arg, answers)
