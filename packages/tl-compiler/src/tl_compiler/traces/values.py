"""The arguments of a trace's operators as code: numbers, sizes, element types, lists.

>>> value_text([1, 2.0, None], str)
'[1, 2., None]'
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.operators.packets
import tl_core.symbolic.arithmetic

from ..fx.node import Node
from ..script.dtype_codes import code_of
from ..script.printing import constant_text

__all__ = ["call_text", "is_number_node", "number_text", "value_text"]

_aten: Any = tl_core.operators.packets.aten
_CODED = (tl_core.dtype, tl_core.layout, tl_core.memory_format)
_NUMBERS: dict[Any, str] = {
    operator.add: "torch.add", operator.sub: "torch.sub", operator.mul: "torch.mul", operator.neg: "torch.neg",
    operator.floordiv: "torch.floordiv", operator.mod: "torch.remainder", operator.truediv: "torch.div",
    operator.pow: "torch.pow", operator.and_: "torch.__and__", operator.or_: "torch.__or__", abs: "ops.prim.abs",
    operator.eq: "torch.eq", operator.ne: "torch.ne", operator.lt: "torch.lt", operator.le: "torch.le",
    operator.gt: "torch.gt", operator.ge: "torch.ge", math.trunc: "int", math.floor: "torch.floor",
    math.ceil: "torch.ceil", round: "torch.round", _aten.sym_size.int: "torch.size",
        _aten.sym_numel.default: "torch.numel",
    tl_core.symbolic.arithmetic.sym_max: "ops.prim.max", tl_core.symbolic.arithmetic.sym_min: "ops.prim.min",
    tl_core.symbolic.arithmetic.sym_float: "float", tl_core.symbolic.arithmetic.sym_int: "int",
    tl_core.symbolic.arithmetic.sym_not: "torch.__not__",
}  # fmt: skip
# Operators of traces that archives name otherwise.
_RENAMED = {"lift_fresh_copy": "clone", "sym_stride": "stride", "sym_storage_offset": "storage_offset"}
_EMPTY = {"int[]": "List[int]", "SymInt[]": "List[int]", "Tensor[]": "List[Tensor]", "float[]": "List[float]"}

Text = Callable[[Node], str]


def is_number_node(node: Node) -> bool:
    """Whether a node computes a number, which code writes where it uses it."""
    return node.op == "call_function" and node.target in _NUMBERS


def number_text(node: Node, name: Text) -> str:
    """Returns the code of a node that computes a number.

    Args:
        node: the node.
        name: returns the code of the other nodes.
    """
    arguments = [value_text(a, name) for a in node.args]
    text = f"{_NUMBERS[node.target]}({', '.join(arguments)})"
    if node.target is operator.pow:  # of whole numbers, where the function is one of real ones
        return f"int({text})"
    return text


def value_text(value: Any, name: Text, kind: str = "") -> str:
    """Returns an argument as code.

    Args:
        value: the argument: a node, a constant, or a container of them.
        name: returns the code of a node.
        kind: the type that the operator's schema states.
    """
    if isinstance(value, Node):
        return number_text(value, name) if is_number_node(value) else name(value)
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int) and kind.rstrip("?") == "float":
        return constant_text(float(value))
    if isinstance(value, _CODED):
        return str(code_of(value))
    if isinstance(value, tl_core.device):
        return f"torch.device({constant_text(str(value))})"
    if isinstance(value, (list, tuple)):
        return _list_text(value, name, kind)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{constant_text(k)}: {value_text(v, name)}" for k, v in value.items()) + "}"
    if isinstance(value, (int, float, complex, str)):
        return constant_text(value)
    raise RuntimeError(f"a trace can't hold an argument of {type(value).__name__}")


def _list_text(value: Any, name: Text, kind: str) -> str:
    plain = kind.rstrip("?")
    base = plain.partition("[")[0]
    items = [value_text(v, name, base) for v in value]
    text = f"[{', '.join(items)}]"
    if base == "Tensor?":
        return f"annotate(List[Optional[Tensor]], {text})"
    if not items:
        return f"annotate({_EMPTY.get(base + '[]', 'List[int]')}, [])"
    return text


def call_text(node: Node, name: Text) -> str:
    """Returns the code of an operator's call.

    Args:
        node: the node of the call.
        name: returns the code of a node.
    """
    target: Any = node.target
    schema = target._schema
    kinds = {a.name: a.real_type.schema_text() for a in schema.arguments}
    positional = [a for a in schema.arguments if not a.kwarg_only]
    arguments = [
        value_text(value, name, kinds[argument.name])
        for value, argument in zip(node.args, positional, strict=False)
    ]
    arguments += [
        f"{key}={value_text(value, name, kinds.get(key, ''))}" for key, value in node.kwargs.items()
    ]
    own = target.overloadpacket.__name__
    namespace = target.namespace
    prefix = "torch" if namespace == "aten" else f"ops.{namespace}"
    return f"{prefix}.{_RENAMED.get(own, own)}({', '.join(arguments)})"
