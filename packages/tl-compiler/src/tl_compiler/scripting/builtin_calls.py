"""The functions of Python that programs call: numbers, containers, iteration, printing."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

import tl_core

from ..script.printing import constant_text
from ..script.types import Type
from .operands import Items, ModuleValue, Operand, PythonValue, SliceOperand, Value
from .operator_types import BOOL, FLOAT, INT, NONE, STR, TENSOR, list_of, unify

__all__ = ["BUILTINS"]

Handler = Callable[[Any, list[Operand], dict[str, Operand], ast.AST], Operand]
_NUMBERS = ("int", "float", "bool", "complex", "number")


def _number(name: str) -> Handler:
    kind = Type(name)

    def call(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
        if not arguments:
            return Value(f"{getattr(builtins, name)()!r}", kind)
        value = compiler.as_value(arguments[0], node)
        if value.is_known and isinstance(value.constant, (int, float, str, bool)):
            constant = getattr(builtins, name)(value.constant)
            return Value(constant_text(constant), kind, constant)
        if name == "bool":
            return compiler.truth(value, node)
        if value.type == kind:
            return value
        if value.type.name not in (*_NUMBERS, "str", "Tensor"):
            raise compiler.error(node, f"{name}() takes a number, a text or a tensor, got {value.type}")
        return Value(f"{name}({value.text})", kind)

    return call


def _complex(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    values = [v.text for v in compiler.values(arguments, node)]
    return Value(
        f"torch.Complex({', '.join(values if len(values) > 1 else [*values, '0'])})", Type("complex")
    )


def _text(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    value = compiler.as_value(arguments[0], node)
    return value if value.type == STR else Value(f"torch.str({value.text})", STR)


def _length(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    (operand,) = arguments
    if isinstance(operand, Items):
        return Value(str(len(operand.values)), INT, len(operand.values))
    if isinstance(operand, ModuleValue):
        items = compiler.session.container_items(operand)
        if items is not None:
            return Value(str(len(items)), INT, len(items))
    value = compiler.as_value(operand, node)
    fields = compiler.fields_of(value.type)
    if fields is not None:
        return Value(str(len(fields)), INT, len(fields))
    if compiler.session.method_signature(value.type, "__len__") is not None:
        return compiler.invoke_method(value, "__len__", [], {}, node)
    return Value(f"torch.len({value.text})", INT)


def _range(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    return compiler.range_of(compiler.values(arguments, node), node)


def _enumerate(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    start = keywords.get("start") or (arguments[1] if len(arguments) > 1 else Value("0", INT, 0))
    return compiler.enumerate_items(arguments[0], compiler.as_value(start, node), node)


def _zip(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    return compiler.zip_items(arguments, node)


def _reversed(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    items = compiler.iterable(arguments[0], node)
    if isinstance(items, Items):
        return Items(items.values[::-1])
    raise compiler.error(node, "reversed() takes modules or a tuple")


def _extreme(name: str) -> Handler:
    def call(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
        values = compiler.values(arguments, node)
        if any(v.type == TENSOR for v in values):
            return compiler.operator(name, values, keywords, node)
        if len(values) == 1:
            if values[0].type.name == "Tuple":
                values = compiler.spread(values[0])
            else:
                return Value(f"ops.prim.{name}({values[0].text})", values[0].type.element(0) or INT)
        result = values[0]
        for value in values[1:]:
            kind = FLOAT if FLOAT in (result.type, value.type) else result.type
            if all(v.is_known and type(v.constant) in (int, float) for v in (result, value)):
                constant = getattr(builtins, name)(result.constant, value.constant)
                result = Value(constant_text(constant), kind, constant)
            else:
                result = Value(f"ops.prim.{name}({result.text}, {value.text})", kind)
        return result

    return call


def _absolute(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    value = compiler.as_value(arguments[0], node)
    name = "torch.abs" if value.type == TENSOR else "ops.prim.abs"
    return Value(f"{name}({value.text})", value.type)


def _print(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    compiler.emit(f"print({', '.join(v.text for v in compiler.values(arguments, node))})")
    return Value("None", NONE, None)


def _list(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    if not arguments:
        return Value("annotate(List[Tensor], [])", list_of(TENSOR))
    items = compiler.iterable(arguments[0], node)
    if isinstance(items, Items):
        values = [v for v in items.values if isinstance(v, Value)]
        if len(values) < len(items.values):
            return items
        element = values[0].type if values else TENSOR
        for value in values:
            element = unify(element, value.type) or element
        return Value(f"[{', '.join(v.text for v in values)}]", list_of(element))
    count, element_of = items
    operand = arguments[0]
    if isinstance(operand, Value) and operand.type.name in ("List", "str"):
        return Value(f"torch.list({operand.text})", list_of(STR) if operand.type == STR else operand.type)
    name, index = compiler.fresh(), compiler.fresh("_i")
    lines, compiler.lines = compiler.lines, []
    compiler.depth += 1
    value = compiler.as_value(element_of(index), node)
    compiler.emit(f"torch.append({name}, {value.text})")
    compiler.depth -= 1
    inner, compiler.lines = compiler.lines, lines
    compiler.emit(f"{name} = annotate(List[{value.type}], [])")
    compiler.emit(f"for {index} in range({count}):")
    compiler.lines += inner
    return Value(name, list_of(value.type))


def _tuple(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    if not arguments:
        return compiler.tuple_of([])
    operand = arguments[0]
    if isinstance(operand, Value) and operand.fields is not None:
        return compiler.tuple_of(operand.fields)
    items = compiler.iterable(operand, node)
    if isinstance(items, Items):
        if all(isinstance(v, Value) for v in items.values):
            return compiler.tuple_of(items.values)
        return items
    raise compiler.error(
        node, "tuple() of a list: the number of elements of a tuple must be known when it is compiled"
    )


def _dict(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    if keywords:
        values = {k: compiler.as_value(v, node) for k, v in keywords.items()}
        kind = next(iter(values.values())).type
        text = "{" + ", ".join(f"{constant_text(k)}: {v.text}" for k, v in values.items()) + "}"
        return Value(text, Type("Dict", (STR, kind)))
    if not arguments:
        return Value("annotate(Dict[str, Tensor], {})", Type("Dict", (STR, TENSOR)))
    value = compiler.as_value(arguments[0], node)
    if value.type.name == "Dict":
        return Value(f"torch.copy({value.text})", value.type)
    pair = value.type.element(0)
    kind = Type("Dict", pair.arguments if pair is not None and pair.name == "Tuple" else (STR, TENSOR))
    return Value(f"torch.dict({value.text})", kind)


def _fold(name: str) -> Handler:
    def call(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
        value = compiler.as_value(arguments[0], node)
        if value.type.name == "Tuple":
            value = Value(
                f"[{', '.join(v.text for v in compiler.spread(value))}]", list_of(value.type.arguments[0])
            )
        kind = BOOL if name in ("any", "all") else value.type.element(0) or TENSOR
        return Value(f"torch.{name}({value.text})", TENSOR if value.type == TENSOR else kind)

    return call


def _operator(name: str) -> Handler:
    def call(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
        return compiler.operator(name, arguments, keywords, node)

    return call


def _device(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    values = compiler.values(arguments, node)
    if values[0].type == Type("Device"):
        return values[0]
    return Value(f"torch.device({', '.join(v.text for v in values)})", Type("Device"))


def _isinstance(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    return compiler.instance_question(node)[0]


def _getattr(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    owner, name = arguments[0], compiler.as_value(arguments[1], node)
    if not name.is_known:
        raise compiler.error(node, "getattr's second argument must be a string literal")
    if len(arguments) > 2 and not compiler.session.has_attribute(compiler, owner, name.constant):
        return arguments[2]
    return compiler.attribute(owner, name.constant, node)


def _slice(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    values: list[Value | None] = [None if v.type == NONE else v for v in compiler.values(arguments, node)]
    if len(values) == 1:
        values = [None, *values]
    return SliceOperand([*values, *[None] * (3 - len(values))])


def _type(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    if isinstance(arguments[0], ModuleValue):
        return PythonValue(type(arguments[0].module), "type")
    raise compiler.error(node, "type() of a value isn't supported: use isinstance")


BUILTINS: dict[Any, Handler] = {
    int: _number("int"), float: _number("float"), bool: _number("bool"), complex: _complex, str: _text, len: _length,
    range: _range, enumerate: _enumerate, zip: _zip, reversed: _reversed, min: _extreme("min"), max: _extreme("max"),
    abs: _absolute, print: _print, list: _list, tuple: _tuple, dict: _dict, sum: _fold("sum"), any: _fold("any"),
    all: _fold("all"), sorted: _operator("sorted"), round: _operator("round"), ord: _operator("ord"),
    chr: _operator("chr"), hex: _operator("hex"), oct: _operator("oct"), bin: _operator("bin"), hash: _operator("hash"),
    divmod: _operator("divmod"), pow: _operator("pow"), tl_core.device: _device, isinstance: _isinstance,
    getattr: _getattr, type: _type, slice: _slice, tl_core.Size: _list, math.floor: _operator("floor"),
    math.ceil: _operator("ceil"),
}  # fmt: skip
