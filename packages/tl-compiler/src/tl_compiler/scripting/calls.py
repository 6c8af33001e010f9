"""The calls of a function: operators, methods, functions that are compiled too, and functions of the language."""

from __future__ import annotations

import ast
import functools
from typing import Any

from tl_core.extensions.custom_classes import Method

from ..jit.decorations import FunctionModifiers
from ..jit.frontend import FrontendError
from ..jit.internal import get_torchscript_modifier
from ..script.script_module import ScriptModule
from ..script.types import Type
from .builtin_calls import BUILTINS
from .names import CASTS, operator_of, packet_of
from .operands import Bound, ModuleValue, Operand, PythonValue, Value
from .operator_types import ANY, NONE, STR, TENSOR, operator_exists, result_of
from .parts import Parts
from .source import SourceRange
from .tensor_calls import METHODS as TENSOR_METHODS

__all__ = ["Calls"]


class Calls(Parts):
    """The part of the compiler that compiles calls."""

    def call(self: Any, node: ast.Call, expected: Type | None = None) -> Operand:
        """The result of a call."""
        if (
            isinstance(node.func, ast.Name)
            and node.func.id == "super"
            and node.func.id not in self.scope.values
        ):
            return PythonValue(super, "super")
        callee = self.expression(node.func)
        if isinstance(callee, PythonValue):
            special = self.session.special_call(self, callee.value, node, expected)
            if special is not None:
                return special
        if any(k.arg is None for k in node.keywords):
            raise self.source.syntax_error(node, "keyword-arg expansion is not supported")
        arguments = self.operands(node.args)
        keywords = {str(k.arg): self.expression(k.value) for k in node.keywords}
        return self.invoke(callee, arguments, keywords, node, expected)

    def invoke(
        self: Any,
        callee: Operand,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
        expected: Type | None = None,
    ) -> Operand:
        """The result of a call of an operand."""
        if isinstance(callee, PythonValue):
            return self.call_python(callee, arguments, keywords, node, expected)
        if isinstance(callee, ModuleValue):
            result: Operand | None = (
                None if keywords else self.session.call_with_hooks(self, callee, arguments, node)
            )
            if result is not None:
                return result
            return self.call_module(callee, "forward", arguments, keywords, node)
        if isinstance(callee, Bound):
            if isinstance(callee.owner, ModuleValue):
                return self.call_module(callee.owner, callee.name, arguments, keywords, node)
            if callee.name == "tolist" and callee.owner.type == TENSOR and expected is not None:
                element = expected
                while element.name == "List":
                    element = element.arguments[0]
                if element.name not in ("int", "float", "bool", "complex"):
                    raise self.error(
                        node, f"{element} is not one of the supported element types for tolist()"
                    )
                return Value(f"annotate({expected}, ({callee.owner.text}).tolist())", expected)
            return self.invoke_method(callee.owner, callee.name, arguments, keywords, node)
        value = self.as_value(callee, node)
        if self.session.method_signature(value.type, "__call__") is not None:
            return self.invoke_method(value, "__call__", arguments, keywords, node)
        raise self.error(
            node, f"cannot call a value of type '{value.type}': '{value.type}' object is not callable"
        )

    def values(self: Any, operands: list[Operand], node: ast.AST) -> list[Value]:
        """Operands as values of the running program."""
        return [self.as_value(o, node) for o in operands]

    # ---- functions of Python
    def call_python(
        self: Any,
        callee: PythonValue,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
        expected: Any,
    ) -> Operand:
        """The result of a call of a function or class of Python."""
        function = callee.value
        packet = packet_of(function)
        if packet is not None:
            namespace, name = packet
            return self.operator(name, arguments, keywords, node, namespace)
        handler = BUILTINS.get(function) if _hashable(function) else None
        if handler is not None:
            self.expected = expected
            return handler(self, arguments, keywords, node)
        if isinstance(function, functools.partial):
            fixed = [self.as_value(PythonValue(v), node) for v in function.args]
            named = {k: self.as_value(PythonValue(v), node) for k, v in function.keywords.items()}
            inner = PythonValue(function.func, callee.name)
            return self.call_python(inner, [*fixed, *arguments], {**named, **keywords}, node, expected)
        if isinstance(function, type):
            return self.construct(function, arguments, keywords, node)
        if isinstance(function, Method):
            return self.call_static(function, arguments, keywords, node)
        try:
            compiled = self.session.function(function, self, arguments, keywords, node)
        except RuntimeError as error:
            if not callee.holder:
                raise
            raise RuntimeError(
                f"Module '{callee.holder}' has no attribute '{callee.name}' (This function exists as an attribute on "
                "the Python module, but we failed to compile it to a TorchScript function.\nThe error stack is "
                f"reproduced here:\n{error})"
            ) from error
        if compiled is not None:
            target, signature = compiled
            texts = self.match_arguments(signature, arguments, keywords, node)
            return Value(f"{target}({', '.join(texts)})", signature.result)
        own = operator_of(function)
        if own is not None:
            return self.operator(own, arguments, keywords, node)
        if isinstance(function, ScriptModule):
            raise self.error(
                node,
                "Cannot call a ScriptModule that is not a submodule of the caller: "
                f"{function.original_name} is no part of the module",
            )
        raise self.error(node, f"Python builtin {function!r} is currently not supported in Torchscript")

    def construct(
        self: Any, kind: type, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
    ) -> Operand:
        """An object of a class."""
        if get_torchscript_modifier(kind) == FunctionModifiers.IGNORE:
            raise FrontendError(
                SourceRange(self.source, node),
                f"Cannot instantiate class '{kind.__name__}' in a script function: it is marked to stay Python",
            )
        if issubclass(kind, BaseException):
            raise self.error(node, f"an object of the exception {kind.__name__} can only be raised")
        name = self.session.class_name(kind)
        declaration = self.session.program.declaration(name)
        if declaration is not None and declaration.kind == "enum":
            raise self.error(
                node, "Enum value must be of form {Enum}.{member}: a call of an enumeration isn't supported"
            )
        try:
            signature = self.session.constructor(kind, self, node)
        except (RuntimeError, FrontendError) as error:
            raise self.source.called_from(error, kind.__name__, node) from error.__cause__
        texts = self.match_arguments(signature, arguments, keywords, node)
        if declaration is not None and declaration.kind == "tuple":
            return Value(f"{name}({', '.join(texts)})", Type(name))
        own = self.fresh()
        self.emit(f"{own} = {name}.__new__({name})")
        self.emit(f"{self.fresh()} = ({own}).__init__({', '.join(texts)})")
        return Value(own, Type(name))

    def call_static(
        self: Any, method: Method, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
    ) -> Operand:
        """The result of a function of a class that an extension registered."""
        signature = self.session.method_signature(Type(method.owner._qualified_name), method.name)
        if signature is None:
            raise self.error(
                node, f"the types of {method.owner.__name__}.{method.name} have no names in schemas"
            )
        texts = self.match_arguments(signature, arguments, keywords, node)
        own = self.fresh()
        self.emit(f"{own} = {method.owner._qualified_name}.{method.name}")
        return Value(f"{own}({', '.join(texts)})", signature.result)

    def match_arguments(
        self: Any, signature: Any, arguments: list[Operand], keywords: dict[str, Operand], node: ast.AST
    ) -> list[str]:
        """The arguments of a call as code, by the signature of what is called."""
        names = [name for name, _, _ in signature.arguments]
        if len(arguments) > len(names):
            raise self.error(
                node,
                f"{_shown(signature)} expected at most {len(names)} argument(s) but received "
                f"{len(arguments)} argument(s)",
            )
        by_name: dict[str, Operand] = dict(zip(names, arguments, strict=False))
        for name, operand in keywords.items():
            if name not in names:
                raise self.error(node, f"Unknown keyword argument '{name}'. {_shown(signature)}")
            if name in by_name:
                raise self.error(node, f"Argument {name} specified twice in schema. {_shown(signature)}")
            by_name[name] = operand
        texts = []
        for name, kind, default in signature.arguments:
            if name not in by_name:
                if default is None:
                    raise self.error(
                        node,
                        f"{signature.name}() is missing value for argument '{name}'. "
                        f"Declaration: {_shown(signature)}",
                    )
                texts.append(default.text)
                continue
            value = self.as_value(by_name[name], node)
            convert = self.convert(value, kind)
            if convert is None:
                note = (
                    ""
                    if name not in signature.inferred
                    else (
                        f"\nInferred '{name}' to be of type 'Tensor' because it was not annotated with an explicit "
                        "type."
                    )
                )
                kind_text = f"{kind} (inferred)" if note else str(kind)
                raise self.error(
                    node,
                    f"\n{_shown(signature)}:\nExpected a value of type '{kind_text}' for argument "
                    f"'{name}' but instead found type '{value.type}'.{note}",
                )
            texts.append(convert.text)
        return texts

    # ---- methods
    def call_module(
        self: Any,
        owner: ModuleValue,
        name: str,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
    ) -> Operand:
        """The result of a call of a module's method."""
        special = self.session.module_call(self, owner, name, arguments, keywords, node)
        if special is not None:
            return special
        overload = self.session.overloaded_method(owner, name, self, arguments, keywords, node)
        name, signature = overload or (name, self.session.module_method(owner, name, self, node))
        texts = self.match_arguments(signature, arguments, keywords, node)
        receiver = owner.text if owner.text == "self" else f"({owner.text})"
        return Value(f"{receiver}.{name}({', '.join(texts)})", signature.result)

    def invoke_method(
        self: Any,
        owner: Value,
        name: str,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
    ) -> Operand:
        """The result of a call of a value's method."""
        signature = self.session.method_signature(owner.type, name)
        if signature is not None:
            texts = self.match_arguments(signature, arguments, keywords, node)
            return Value(f"({owner.text}).{name}({', '.join(texts)})", signature.result)
        kind = owner.type.inner.name if owner.type.name != "Optional" else "Optional"
        if kind == "Future" and name == "wait":
            return Value(f"torch.wait({owner.text})", owner.type.element(0) or ANY)
        if kind == "str" and name == "format":
            texts = [v.text for v in self.values(arguments, node)]
            return Value(f"torch.format({', '.join([owner.text, *texts])})", STR)
        if kind == "Tensor" and name == "tolist":
            raise self.error(node, "Expected type hint for result of tolist()")
        if kind not in ("Tensor", "List", "Dict", "str") or not _method_exists(kind, name):
            raise self.error(
                node,
                f"'{owner.type}' object has no attribute or method '{name}'. Did you forget to "
                "initialize an attribute in __init__()?"
                if kind not in ("Tensor", "List", "Dict", "str")
                else f"'{owner.type}' object has no attribute or method '{name}'.",
            )
        handler = _METHODS.get((kind, name))
        if handler is not None:
            return handler(self, owner, arguments, keywords, node)
        if kind in ("List", "Dict") and not keywords:
            arguments = self.element_arguments(owner, name, arguments, node)
        return self.operator(name, [owner, *arguments], keywords, node)

    def element_arguments(
        self: Any, owner: Value, name: str, arguments: list[Operand], node: ast.AST
    ) -> list[Operand]:
        """The arguments of a list's method, converted to the type of its elements."""
        element = owner.type.element(None)
        at = {"append": 0, "insert": 1, "remove": 0}.get(name)
        if element is None or at is None or at >= len(arguments) or owner.type.inner.name != "List":
            return arguments
        value = self.as_value(arguments[at], node)
        convert = self.convert(value, element)
        if convert is None:
            raise self.error(
                node,
                f"\nArguments for call are not valid.\nThe following variants are available:\n  \n  "
                f"aten::{name}.t(t[](a!) self, t(c -> *) el) -> t[](a!):\n  Could not match type {value.type} to "
                f"t in argument 'el': Type variable 't' previously matched to type {element} is matched to type "
                f"{value.type}.\n\nThe original call is",
            )
        return [*arguments[:at], convert, *arguments[at + 1 :]]

    # ---- operators
    def operator(
        self: Any,
        name: str,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
        namespace: str = "aten",
    ) -> Operand:
        """The result of an operator."""
        values = self.values(arguments, node)
        lookup = {k: self.as_value(v, node) for k, v in keywords.items()}
        if namespace == "aten" and not operator_exists(name):
            raise self.error(
                node,
                f"Unknown builtin op: aten::{name}.\nCould not find any similar ops to aten::{name}. This "
                "op may not exist or may not be currently supported in TorchScript.\n",
            )
        spread = _SPREAD.get(name)
        if spread is not None and len(values) > spread and values[spread].type.name == "int":
            rest = values[spread:]
            if all(v.type.name in ("int", "Tensor") for v in rest):
                texts = [f"int({v.text})" if v.type == TENSOR else v.text for v in rest]
                values = [*values[:spread], Value(f"[{', '.join(texts)}]", Type("List", (Type("int"),)))]
        first = _SPREAD_TENSORS.get(name)
        if first is not None and len(values) > first and values[first].type == TENSOR:
            items = ", ".join(v.text for v in values[first:])
            values = [*values[:first], Value(f"[{items}]", Type("List", (TENSOR,)))]
        self.refuse_optional(name, values, node)
        texts = [v.text if name == "hash" else self.argument_text(v) for v in values] + [
            f"{k}={self.argument_text(v)}" for k, v in lookup.items()
        ]
        kind = result_of(name, [v.type for v in values], {k: v.type for k, v in lookup.items()})
        prefix = "torch" if namespace == "aten" else f"ops.{namespace}"
        return Value(f"{prefix}.{name}({', '.join(texts)})", kind)

    def argument_text(self: Any, value: Value) -> str:
        """An argument of an operator: a tuple of numbers is a list."""
        if value.type.name == "Tuple" and value.type.arguments and len(set(value.type.arguments)) == 1:
            items = value.fields
            if items is not None:
                return f"[{', '.join(v.text for v in items)}]"
            owner_value = self.temporary(value)
            return f"[{', '.join(f'({owner_value.text})[{i}]' for i in range(len(value.type.arguments)))}]"
        return value.text

    def refuse_optional(self: Any, name: str, values: list[Value], node: ast.AST) -> None:
        """Raises an error where the first argument may be None."""
        if (
            values
            and values[0].type.name == "Optional"
            and values[0].type.inner == TENSOR
            and name not in ("__is__", "__isnot__", "_unwrap_optional")
        ):
            raise self.error(
                node,
                f"Arguments for call are not valid.\nThe following variants are available:\n  \n  "
                f"aten::{name}(Tensor self) -> Tensor:\n  Expected a value of type 'Tensor' for argument 'self' "
                f"but instead found type '{values[0].type}'.\n\nThe original call is",
            )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


_LIST_METHODS = frozenset(
    ["append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "copy", "count", "index"]
)
_DICT_METHODS = frozenset(
    ["keys", "values", "items", "get", "pop", "popitem", "setdefault", "update", "clear", "copy"]
)
# Operators that take sizes as separate numbers or as one list: the position of the first number.
_SPREAD = {
    "view": 1, "reshape": 1, "expand": 1, "repeat": 1, "permute": 1, "zeros": 0, "ones": 0, "empty": 0, "rand": 0,
    "randn": 0, "new_zeros": 1, "new_ones": 1, "new_empty": 1, "tile": 1, "flip": 1,
}  # fmt: skip
_SPREAD_TENSORS = {"einsum": 1, "broadcast_tensors": 0, "meshgrid": 0, "block_diag": 0, "cartesian_prod": 0}


def _method_exists(kind: str, name: str) -> bool:
    if kind == "Tensor":
        from .names import tensor_method

        return tensor_method(name)
    if kind == "List":
        return name in _LIST_METHODS
    return name in _DICT_METHODS if kind == "Dict" else hasattr(str, name)


def _shown(signature: Any) -> str:
    arguments = ", ".join(
        f"{kind} {name}" + (f"={default.text}" if default is not None else "")
        for name, kind, default in signature.arguments
    )
    return f"{signature.name}({arguments}) -> {signature.result}"


def _to(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
    values = compiler.values(arguments, node)
    lookup = {k: compiler.as_value(v, node) for k, v in keywords.items()}
    texts = [v.text if v.type != STR else f"torch.device({v.text})" for v in values]
    texts += [f"{k}={v.text if v.type != STR else f'torch.device({v.text})'}" for k, v in lookup.items()]
    return Value(f"torch.to({', '.join([owner.text, *texts])})", TENSOR)


def _cast(code: int) -> Any:
    def call(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
        if arguments or keywords:
            raise compiler.error(node, "conversions of the element type take no arguments in TorchScript")
        return Value(f"torch.to({owner.text}, {code})", TENSOR)

    return call


def _item(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
    return Value(f"torch.item({owner.text})", Type("number"))


def _device_copy(name: str) -> Any:
    def call(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
        return Value(f"torch.{name}({owner.text})", TENSOR)

    return call


def _backward(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
    values = [v.text for v in compiler.values(arguments, node)]
    return Value(f"torch.backward({', '.join([owner.text, *values])})", NONE)


def _get(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
    values = compiler.values(arguments, node)
    element = owner.type.element(None) or TENSOR
    kind = element if len(values) > 1 else Type("Optional", (element,))
    return Value(f"torch.get({', '.join([owner.text, *(v.text for v in values)])})", kind)


def _sort(compiler: Any, owner: Value, arguments: Any, keywords: Any, node: ast.AST) -> Operand:
    reverse = keywords.get("reverse") or (arguments[0] if arguments else None)
    text = compiler.as_value(reverse, node).text if reverse is not None else "False"
    return Value(f"torch.sort({owner.text}, {text})", NONE)


_METHODS: dict[tuple[str, str], Any] = {
    ("Tensor", "to"): _to, ("Tensor", "item"): _item, ("Tensor", "cpu"): _device_copy("cpu"),
    ("Tensor", "cuda"): _device_copy("cuda"), ("Tensor", "backward"): _backward, ("Dict", "get"): _get,
    ("List", "sort"): _sort, **TENSOR_METHODS,
    **{("Tensor", name): _cast(code) for name, code in CASTS.items()},
}  # fmt: skip
