"""Functions of tensors that are Python in PyTorch: norms, distinct elements, factors. Programs call their operators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import tl_autograd
import tl_core

from ..script.types import Type
from .operands import Operand, Value
from .operator_types import BOOL, INT, NONE, STR, TENSOR, list_of

__all__ = ["FUNCTIONS", "METHODS"]

Handler = Callable[[Any, list[Operand], dict[str, Operand], ast.AST], Operand]


def _by_name(
    compiler: Any,
    function: str,
    names: tuple[str, ...],
    arguments: list[Operand],
    keywords: dict[str, Operand],
    node: ast.AST,
) -> dict[str, Value]:
    """The arguments of a call by name, without those that are None."""
    if len(arguments) > len(names) or not keywords.keys() <= set(names):
        unknown = [k for k in keywords if k not in names] or [f"{len(arguments)} arguments"]
        raise compiler.error(node, f"{function}() takes the arguments {', '.join(names)}, got {unknown[0]}")
    own = {**dict(zip(names, arguments, strict=False)), **keywords}
    values = {name: compiler.as_value(operand, node) for name, operand in own.items()}
    return {name: value for name, value in values.items() if value.type != NONE}


def _norm(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    """`norm`, whose order may be a name, and whose dimensions and element type may be absent."""
    own = _by_name(
        compiler, "norm", ("input", "p", "dim", "keepdim", "out", "dtype"), arguments, keywords, node
    )
    if "out" in own:
        raise compiler.error(node, "norm(): out= isn't supported in a program")
    x, order = own["input"].text, own.get("p")
    if order is not None and order.type == STR:
        if not order.is_known or order.constant not in ("fro", "nuc"):
            raise compiler.error(node, "norm(): p must be a number, or the constant 'fro' or 'nuc'")
        if order.constant == "nuc":
            rest = [compiler.argument_text(own[n]) for n in ("dim", "keepdim") if n in own]
            return Value(f"torch.nuclear_norm({', '.join([x, *rest])})", TENSOR)
        order = None
    p = "2" if order is None else order.text
    if "dim" not in own:
        last = f", dtype={own['dtype'].text}" if "dtype" in own else ""
        return Value(f"torch.norm({x}, {p}{last})", TENSOR)
    dim = own["dim"]
    dims = f"[{dim.text}]" if dim.type == INT else compiler.argument_text(dim)
    last = f", dtype={own['dtype'].text}" if "dtype" in own else ""
    keep = own["keepdim"].text if "keepdim" in own else "False"
    return Value(f"torch.norm({x}, {p}, {dims}, {keep}{last})", TENSOR)


def _flag(compiler: Any, value: Value | None, name: str, node: ast.AST) -> bool:
    """A switch that selects the type of a result, so that it must be a constant."""
    if value is None:
        return False
    if not value.is_known or value.type != BOOL:
        raise compiler.error(node, f"{name} must be True or False, and a constant of the program")
    return bool(value.constant)


def _select(compiler: Any, text: str, flags: tuple[bool, bool]) -> Operand:
    """The first of three results, with those that flags ask for."""
    kind = Type("Tuple", (TENSOR, TENSOR, TENSOR))
    results = compiler.temporary(Value(text, kind))
    indices = [0, *(index for index, flag in enumerate(flags, 1) if flag)]
    values = [Value(f"({results.text})[{index}]", TENSOR) for index in indices]
    selection: Operand = values[0] if len(values) == 1 else compiler.tuple_of(values)
    return selection


def _unique(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    names = ("input", "sorted", "return_inverse", "return_counts", "dim")
    own = _by_name(compiler, "unique", names, arguments, keywords, node)
    flags = tuple(_flag(compiler, own.get(n), f"unique(): {n}", node) for n in names[2:4])
    order = own["sorted"].text if "sorted" in own else "True"
    if "dim" in own:
        text = f"torch.unique_dim({own['input'].text}, {own['dim'].text}, {order}, {flags[0]}, {flags[1]})"
    else:
        text = f"torch._unique2({own['input'].text}, {order}, {flags[0]}, {flags[1]})"
    return _select(compiler, text, (flags[0], flags[1]))


def _unique_consecutive(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    names = ("input", "return_inverse", "return_counts", "dim")
    own = _by_name(compiler, "unique_consecutive", names, arguments, keywords, node)
    flags = tuple(_flag(compiler, own.get(n), f"unique_consecutive(): {n}", node) for n in names[1:3])
    dim = own["dim"].text if "dim" in own else "None"
    text = f"torch.unique_consecutive({own['input'].text}, {flags[0]}, {flags[1]}, {dim})"
    return _select(compiler, text, (flags[0], flags[1]))


def _lu(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    own = _by_name(compiler, "lu", ("A", "pivot", "get_infos", "out"), arguments, keywords, node)
    pivot = own["pivot"].text if "pivot" in own else "True"
    with_infos = _flag(compiler, own.get("get_infos"), "lu(): get_infos", node)
    text = f"torch._lu_with_info({own['A'].text}, {pivot}, {not with_infos})"
    results = compiler.temporary(Value(text, Type("Tuple", (TENSOR, TENSOR, TENSOR))))
    values = [Value(f"({results.text})[{index}]", TENSOR) for index in range(3 if with_infos else 2)]
    factors: Operand = compiler.tuple_of(values)
    return factors


def _chain(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    texts = ", ".join(v.text for v in compiler.values(arguments, node))
    product: Operand = compiler.operator(
        "chain_matmul", [Value(f"[{texts}]", list_of(TENSOR))], keywords, node
    )
    return product


def _element_type(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    own = _by_name(compiler, "type", ("self", "dtype", "non_blocking"), arguments, keywords, node)
    if "dtype" not in own or own["dtype"].type != INT:
        raise compiler.error(node, "type() takes an element type such as torch.float64 in a program")
    return Value(f"torch.to({own['self'].text}, {own['dtype'].text})", TENSOR)


def _where(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    own = _by_name(compiler, "where", ("self", "condition", "other"), arguments, keywords, node)
    values: list[Operand] = [own[name] for name in ("condition", "self", "other") if name in own]
    choice: Operand = compiler.operator("where", values, {}, node)
    return choice


def _method(handler: Handler) -> Any:
    def call(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
        return handler(compiler, [owner, *arguments], keywords, node)

    return call


def _operator(name: str) -> Handler:
    def call(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
        result: Operand = compiler.operator(name, arguments, keywords, node)
        return result

    return call


FUNCTIONS: dict[Any, Handler] = {
    tl_core.norm: _norm, tl_core.unique: _unique, tl_core.unique_consecutive: _unique_consecutive, tl_core.lu: _lu,
    tl_core.chain_matmul: _chain,
    tl_autograd.grad: _operator("grad"), tl_autograd.backward: _operator("backward"),
}  # fmt: skip
METHODS: dict[tuple[str, str], Any] = {
    ("Tensor", "norm"): _method(_norm), ("Tensor", "type"): _method(_element_type),
    ("Tensor", "where"): _method(_where), ("Tensor", "unique"): _method(_unique),
    ("Tensor", "unique_consecutive"): _method(_unique_consecutive),
}  # fmt: skip
