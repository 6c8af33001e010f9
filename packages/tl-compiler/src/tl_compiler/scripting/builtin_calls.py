"""The functions of Python that programs call: numbers, containers, iteration, printing."""

from __future__ import annotations

import ast
import builtins
import collections
import math
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn

from ..jit.decorations import _unwrap_optional
from ..script.printing import constant_text
from ..script.script_module import is_compiled
from ..script.types import Type
from .module_types import class_attribute
from .operands import Items, ModuleValue, Operand, PythonValue, SliceOperand, Value
from .operator_types import BOOL, FLOAT, INT, NONE, STR, TENSOR, list_of, unify
from .tensor_calls import FUNCTIONS as TENSOR_FUNCTIONS

__all__ = ["BUILTINS"]

Handler = Callable[[Any, list[Operand], dict[str, Operand], ast.AST], Operand]
_CONTAINERS = (tl_nn.ModuleList, tl_nn.Sequential, tl_nn.ModuleDict, tl_nn.ParameterList, tl_nn.ParameterDict)
_LENGTHS = [class_attribute(kind, "__len__") for kind in _CONTAINERS]
_NUMBERS = ("int", "float", "bool", "complex", "number")


def _number(name: str) -> Handler:
    kind = Type(name)

    def call(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
        if not arguments:
            return Value(f"{getattr(builtins, name)()!r}", kind)
        value = compiler.as_value(arguments[0], node)
        if value.is_known and isinstance(value.constant, (int, float, str, bool)):
            try:
                constant = getattr(builtins, name)(value.constant)
            except ValueError:  # which the running program raises
                return Value(f"{name}({value.text})", kind)
            return Value(constant_text(constant), kind, constant)
        if name == "bool":
            return compiler.truth(value, node)
        if compiler.session.method_signature(value.type, f"__{name}__") is not None:
            return compiler.invoke_method(value, f"__{name}__", [], {}, node)
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
    if compiler.session.method_signature(value.type, "__str__") is not None:
        return compiler.invoke_method(value, "__str__", [], {}, node)
    return value if value.type == STR else Value(f"torch.str({value.text})", STR)


def _length(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    (operand,) = arguments
    if isinstance(operand, Items):
        return Value(str(len(operand.values)), INT, len(operand.values))
    if isinstance(operand, ModuleValue):
        items = compiler.session.container_items(operand)
        if items is not None:
            if is_compiled(operand.module) or class_attribute(type(operand.module), "__len__") in _LENGTHS:
                return Value(str(len(items)), INT, len(items))
            return compiler.call_module(operand, "__len__", [], {}, node)
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
    if len(arguments) > 1:
        raise compiler.error(node, f"tuple() takes at most 1 argument, got {len(arguments)}")
    operand = arguments[0]
    if isinstance(operand, Value) and operand.fields is not None and operand.type.name == "Tuple":
        return compiler.tuple_of(operand.fields)
    items = compiler.iterable(operand, node)
    if isinstance(items, Items):
        if all(isinstance(v, Value) for v in items.values):
            return compiler.tuple_of(items.values)
        return items
    raise compiler.error(
        node,
        "cannot statically infer the expected size of a list in this context: tuple() of a list: the number of "
        "elements of a tuple must be known when it is compiled",
    )


def _dict(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    expected = compiler.expected.inner if compiler.expected is not None else None
    expected = expected if expected is not None and expected.name == "Dict" else None
    named = {k: compiler.as_value(v, node) for k, v in keywords.items()}
    if not arguments:
        kind = expected or Type("Dict", (STR, next(iter(named.values())).type if named else TENSOR))
        pairs = ", ".join(f"{constant_text(k)}: {v.text}" for k, v in named.items())
        return Value(f"annotate({kind}, {{{pairs}}})" if not named or expected else f"{{{pairs}}}", kind)
    result = _pairs(compiler, arguments[0], node)
    if expected is not None and result.type != expected:
        for word, own, other in zip(("key", "value"), expected.arguments, result.type.arguments, strict=True):
            if own != other:
                raise compiler.error(
                    node,
                    f"Dict type annotation `{expected}` did not match the type of an actual {word} type `{other}`",
                )
    if not named:
        return result
    result = compiler.temporary(result)
    for key, value in named.items():
        compiler.emit(f"torch._set_item({result.text}, {constant_text(key)}, {value.text})")
    return result


def _pairs(compiler: Any, operand: Operand, node: ast.AST) -> Value:
    """A new dictionary of a dictionary, or of pairs."""
    if isinstance(operand, Value) and operand.type.name == "Dict":
        return Value(f"torch.copy({operand.text})", operand.type)
    pair = operand.type.element(0) if isinstance(operand, Value) and operand.type.name == "List" else None
    if isinstance(operand, Value) and (pair is None or pair.name == "Tuple"):
        kind = Type("Dict", pair.arguments if pair is not None else (STR, TENSOR))
        return Value(f"torch.dict({operand.text})", kind)
    items = compiler.iterable(operand, node)
    name = compiler.fresh()
    if isinstance(items, Items):
        rows = [compiler.elements(compiler.as_value(i, node), [node, node], node) for i in items.values]
        kind = Type("Dict", tuple(v.type for v in rows[0])) if rows else Type("Dict", (STR, TENSOR))
        compiler.emit(f"{name} = annotate({kind}, {{}})")
        for key, value in rows:
            compiler.emit(f"torch._set_item({name}, {key.text}, {value.text})")
        return Value(name, kind)
    count, element_of = items
    index = compiler.fresh("_i")
    lines, compiler.lines = compiler.lines, []
    compiler.depth += 1
    key, value = compiler.elements(compiler.as_value(element_of(index), node), [node, node], node)
    compiler.emit(f"torch._set_item({name}, {key.text}, {value.text})")
    compiler.depth -= 1
    inner, compiler.lines = compiler.lines, lines
    if key.type.name == "Union":
        raise compiler.error(
            node,
            "Dicts may only contain homogeneous keys, but the type of the first generated key was "
            + str(key.type),
        )
    kind = Type("Dict", (key.type, value.type))
    compiler.emit(f"{name} = annotate({kind}, {{}})")
    compiler.emit(f"for {index} in range({count}):")
    compiler.lines += inner
    return Value(name, kind)


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


def _tensordot(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    """`tensordot`, whose operator takes the dimensions of each tensor as a list."""
    dims = compiler.as_value(
        arguments[2] if len(arguments) > 2 else keywords.get("dims", PythonValue(2)), node
    )
    a, b = (v.text for v in compiler.values(arguments[:2], node))
    if dims.is_known and type(dims.constant) is int:
        lists = [str(list(range(-dims.constant, 0))), str(list(range(dims.constant)))]
    elif dims.type.name == "Tuple" and [t.name for t in dims.type.arguments] == ["List", "List"]:
        lists = [v.text for v in compiler.spread(dims)]
    elif dims.type == list_of(list_of(INT)):
        lists = [f"({dims.text})[0]", f"({dims.text})[1]"]
    else:
        raise compiler.error(
            node, f"tensordot(): dims must be a number that is constant, or two lists, got {dims.type}"
        )
    lists = [f"annotate(List[int], {text})" if text == "[]" else text for text in lists]
    return Value(f"torch.tensordot({a}, {b}, {lists[0]}, {lists[1]})", TENSOR)


def _device(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    values = compiler.values(arguments, node)
    if values[0].type == Type("Device"):
        return values[0]
    return Value(f"torch.device({', '.join(v.text for v in values)})", Type("Device"))


def _isinstance(
    compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
) -> Operand:
    return compiler.instance_question(node)[0]


def _hasattr(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    return compiler.type_question(node)[0]


def _getattr(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    owner, name = arguments[0], compiler.as_value(arguments[1], node)
    if not name.is_known:
        raise compiler.error(node, "getattr's second argument must be a string literal")
    if len(arguments) > 2 and not compiler.session.has_attribute(compiler, owner, name.constant):
        return arguments[2]
    return compiler.attribute(owner, name.constant, node)


def _unwrap(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    value = compiler.as_value(arguments[0], node)
    return Value(f"torch._unwrap_optional({value.text})", value.type.inner)


def _slice(compiler: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST) -> Operand:
    if keywords:
        raise compiler.error(node, "Slice does not accept any keyword arguments")
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
    hasattr: _hasattr, collections.OrderedDict: _dict, _unwrap_optional: _unwrap, getattr: _getattr,
    type: _type, slice: _slice, tl_core.Size: _list, math.floor: _operator("floor"),
    math.ceil: _operator("ceil"), tl_core.tensordot: _tensordot, **TENSOR_FUNCTIONS,
}  # fmt: skip
