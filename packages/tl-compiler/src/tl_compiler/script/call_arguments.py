"""The arguments that Python passes to a program: checked and converted by the types that the program states.

A number becomes one of the stated type, and a list or dictionary is copied, so a program doesn't change those of its
caller. `ScriptList` and `ScriptDict` are passed as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tl_core import Tensor, dtype, layout, memory_format

from .containers import ScriptDict, ScriptList
from .dtype_codes import code_of
from .types import EXTENSION_CLASSES, Type, conforms, type_of

__all__ = ["check_call", "needs_check", "type_text"]

Convert = Callable[[Any], Any]
_CODED = (dtype, layout, memory_format)
_NAMES = {type(None): "NoneType", str: "str", bool: "bool", int: "int", float: "float", complex: "complex"}


class Mismatch(Exception):
    """A value isn't of the stated type. Its text is the reason, or ""."""


def type_text(value: Any) -> str:
    """The type of a value, as an error names it.

    Example:
        >>> type_text(["a"]), type_text({"a": 1}), type_text((1, 2.0))
        ('List[str]', 'Dict[str, int]', 'Tuple[int, float]')
    """
    if isinstance(value, list) and value:
        return f"List[{type_text(value[0])}]"
    if isinstance(value, dict) and value:
        key, item = next(iter(value.items()))
        return f"Dict[{type_text(key)}, {type_text(item)}]"
    if isinstance(value, tuple) and value and not hasattr(value, "_fields"):
        return f"Tuple[{', '.join(map(type_text, value))}]"
    return "Tensor" if isinstance(value, Tensor) else _NAMES.get(type(value), type(value).__name__)


def _number(kind: type, method: str) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is kind:
            return value
        if isinstance(value, str) or not hasattr(value, method):
            raise Mismatch
        return kind(value)

    return convert


def _as_int(value: Any) -> Any:
    """A whole number. Element types, layouts and memory formats are numbers of programs."""
    return code_of(value) if isinstance(value, _CODED) else _index(value)


def _boolean(value: Any) -> Any:
    if isinstance(value, (bool, int)) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise Mismatch


def _instance(kind: type) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, kind):
            raise Mismatch
        return value

    return convert


def _complex(value: Any) -> Any:
    if isinstance(value, (int, float, complex)) or hasattr(value, "__complex__"):
        return complex(value)
    raise Mismatch


_index = _number(int, "__index__")
_PLAIN: dict[str, Convert] = {
    "Tensor": _instance(Tensor), "int": _as_int, "float": _number(float, "__float__"),
    "bool": _boolean, "complex": _complex, "str": _instance(str), "NoneType": _instance(type(None)),
}  # fmt: skip


def _converter(kind: Type, program: Any) -> Convert | None:
    """The function that checks and converts a value of a type, or None if each value passes as it is."""
    if kind.name in _PLAIN:
        return _PLAIN[kind.name]
    arguments = [_converter(a, program) for a in kind.arguments]
    if kind.name == "List" and arguments:
        return _list(arguments[0])
    if kind.name == "Dict" and len(arguments) == 2:
        return _dict(*arguments)
    if kind.name == "Tuple":
        return _tuple(arguments)
    if kind.name == "Optional" and arguments:
        inner = arguments[0]
        return None if inner is None else lambda value: None if value is None else inner(value)
    if kind.name == "Union":
        return _union(kind, arguments, program)
    declaration = program.declaration(kind.name) if kind.name.startswith("__torch__.") else None
    if declaration is None:
        return _of_extension(kind) if kind.name.startswith(EXTENSION_CLASSES) else None
    if declaration.kind.endswith("interface"):
        return _implementation(declaration)
    if declaration.kind == "record":
        return _object(declaration, program)
    return _record(declaration, program) if declaration.kind in ("tuple", "enum") else None


def _of_extension(kind: Type) -> Convert:
    """Objects of a class that an extension registered."""

    def convert(value: Any) -> Any:
        if not conforms(value, kind, {}):
            raise Mismatch
        return value

    return convert


def _list(element: Convert | None) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, ScriptList):
            return value
        if (
            isinstance(value, (str, dict, Tensor))
            or not hasattr(value, "__len__")
            or not hasattr(value, "__iter__")
        ):
            raise Mismatch
        return list(value) if element is None else [element(v) for v in value]

    return convert


def _dict(key: Convert | None, item: Convert | None) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, ScriptDict):
            return value
        if not isinstance(value, dict):
            raise Mismatch
        return {(key(k) if key else k): (item(v) if item else v) for k, v in value.items()}

    return convert


def _tuple(elements: list[Convert | None]) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, (tuple, list)) or len(value) != len(elements):
            raise Mismatch(f"expected a tuple of {len(elements)} elements")
        return tuple(e(v) if e else v for e, v in zip(elements, value, strict=True))

    return convert


def _union(kind: Type, options: list[Convert | None], program: Any) -> Convert | None:
    if any(option is None for option in options):
        return None

    def convert(value: Any) -> Any:
        for stated, option in zip(kind.arguments, options, strict=True):
            assert option is not None
            if conforms(value, stated, program.classes):
                return option(value)
        raise Mismatch(f"Expected a member of {kind} but instead found type {type_text(value)}")

    return convert


def _record(declaration: Any, program: Any) -> Convert:
    """Named tuples, whose fields are checked, and members of enumerations."""
    own = program.class_of(declaration.name)
    if declaration.kind == "enum":
        return _instance(own)
    fields = [_converter(kind, program) for kind in declaration.attributes.values()]
    kinds = ", ".join(map(str, declaration.attributes.values()))
    shown = f"{kinds} (aka NamedTuple({', '.join(declaration.attributes)}))"

    def convert(value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) != len(fields):
            raise Mismatch(f"expected {shown}")
        try:
            return own(*(f(v) if f else v for f, v in zip(fields, value, strict=True)))
        except Mismatch:
            raise Mismatch(f"Object {value!r} is not a {shown}") from None

    return convert


def _object(declaration: Any, program: Any) -> Convert:
    """Objects of a class of the program, or of the class of Python that it was compiled from."""

    def convert(value: Any) -> Any:
        own = getattr(type(value), "_declaration", None)
        if own is None:
            missing = next((name for name in declaration.attributes if not hasattr(value, name)), None)
            if missing is not None:
                raise Mismatch(
                    f"Tried to cast object to type {declaration.name} but object was missing attribute {missing}"
                )
        return value

    return convert


def _implementation(interface: Any) -> Convert:
    """Objects whose class has the methods of an interface."""
    of_modules = interface.kind.startswith("module")

    def convert(value: Any) -> Any:
        own: Any = getattr(type(value), "_declaration", None)
        if of_modules and (own is None or own.kind != "module"):
            raise Mismatch(
                f"an object of {type(value).__name__} is not compatible with interface {interface.name}: only a "
                "ScriptModule class can be subtype of module interface"
            )
        for name, node in interface.methods.items() if own is not None else ():
            reason = _difference(own.methods.get(name), node)
            if reason:
                raise Mismatch(
                    f"{own.name} is not compatible with interface {interface.name}: {name} {reason}"
                )
        return value

    return convert


def _difference(method: ast.FunctionDef | None, stated: ast.FunctionDef) -> str:
    """Why a method doesn't do as one that an interface states, or ""."""
    if method is None:
        return "is missing"
    own, expected = _types(method), _types(stated)
    if len(own) != len(expected):
        return f"takes {len(own) - 1} arguments, and the interface states {len(expected) - 1}"
    pairs = [*zip(expected[:-1], own[:-1], strict=True), (own[-1], expected[-1])]
    wrong = next(((a, b) for a, b in pairs if not _is_part_of(a, b)), None)
    return "" if wrong is None else f"has the type {wrong[0]} in the place of {wrong[1]}"


def _types(node: ast.FunctionDef) -> list[Type]:
    """The types of a method's arguments, and that of its result."""
    return [*(type_of(a.annotation) for a in node.args.args[1:]), type_of(node.returns)]


def _is_part_of(kind: Type, whole: Type) -> bool:
    """Whether each value of a type is one of another type."""
    if kind == whole or whole.name == "Any":
        return True
    if whole.name == "Optional":
        return kind.name == "NoneType" or _is_part_of(kind.inner, whole.inner)
    if whole.name == "Union":
        return any(_is_part_of(kind, option) for option in whole.arguments)
    return (
        kind.name == whole.name == "Tuple"
        and len(kind.arguments) == len(whole.arguments)
        and all(map(_is_part_of, kind.arguments, whole.arguments))
    )


def needs_check(node: ast.FunctionDef, skip: int) -> bool:
    """Whether a function has arguments that aren't plain tensors, after the first ones that pass unchecked."""
    return any(type_of(a.annotation).name != "Tensor" for a in node.args.args[skip:])


def check_call(
    function: Callable[..., Any], node: ast.FunctionDef, program: Any, skip: int = 0
) -> Callable[..., Any]:
    """Returns a function that checks and converts its arguments, and then calls another one.

    Args:
        function: the compiled function.
        node: its definition.
        program: its `Program`.
        skip: how many arguments pass unchecked, such as the module of a method.
    """
    stated = [(a.arg, type_of(a.annotation)) for a in node.args.args[skip:]]
    converters = [_converter(kind, program) for _, kind in stated]
    by_name = {name: index for index, (name, _) in enumerate(stated)}

    required = [name for name, _ in stated[: len(stated) - len(node.args.defaults)]]

    def convert(index: int, value: Any) -> Any:
        converter = converters[index]
        if converter is None:
            return value
        try:
            return converter(value)
        except Mismatch as error:
            raise RuntimeError(_mismatch(node.name, stated, index, value, str(error))) from None

    def call(*args: Any, **kwargs: Any) -> Any:
        first, rest = args[:skip], args[skip:]
        for name in required[len(rest) :]:
            if name not in kwargs:
                declaration = _declaration(node.name, stated)
                raise RuntimeError(
                    f"{node.name}() is missing value for argument '{name}'. Declaration: {declaration}"
                )
        if len(rest) > len(stated):
            raise RuntimeError(
                f"{node.name}() expected at most {len(stated) + skip} argument(s) but received {len(args)} "
                f"argument(s). Declaration: {_declaration(node.name, stated)}"
            )
        values = [convert(index, value) for index, value in enumerate(rest)]
        if kwargs:
            kwargs = {k: convert(by_name[k], v) if k in by_name else v for k, v in kwargs.items()}
        return function(*first, *values, **kwargs)

    return call


def _declaration(name: str, stated: list[tuple[str, Type]]) -> str:
    return f"{name}({', '.join(f'{kind} {argument}' for argument, kind in stated)})"


def _mismatch(name: str, stated: list[tuple[str, Type]], index: int, value: Any, reason: str) -> str:
    argument, kind = stated[index]
    shown = repr(value)
    shown = shown if len(shown) <= 200 else f"{shown[:200]}..."
    end = f"\nCast error details: {reason}" if reason else ""
    return (
        f"{name}() Expected a value of type '{kind}' for argument '{argument}' but instead found type "
        f"'{type_text(value)}'.\nPosition: {index}\nValue: {shown}\nDeclaration: {_declaration(name, stated)}{end}"
    )
