"""A function of an archive becomes a function of Python, whose globals are the values that its code names.

The function has no builtins. Its attributes are those that the archive's classes declare: where the class of an object
is known, the attribute is read without a check, otherwise `Attributes` checks it in the call.
"""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Callable
from typing import Any

from tl_core.extensions.custom_classes import class_of

from .attributes import Attributes, bound_method
from .failures import error_of
from .operators import bind, bind_custom, bind_prim
from .syntax import PREFIX, dotted_name, literal
from .tasks import fork
from .texts import print_values, text_of
from .types import EXTENSION_CLASSES, Type, conforms, type_of
from .upgraders import upgrade
from .values import number_of, to_bool, to_complex, to_float, to_int, to_list

__all__ = ["lower"]

_WORDS: dict[str, Callable[..., Any]] = {
    "int": to_int, "float": to_float, "bool": to_bool, "complex": to_complex, "str": text_of, "range": range,
    "print": print_values, "fork": fork, "awaitable": fork, "list": list, "dict": dict, "tuple": tuple, "len": len,
}  # fmt: skip
_NUMBERS = frozenset(("int", "float", "complex", "number", "Scalar", "bool"))
_VALUES = {"inf": math.inf, "nan": math.nan, "torch.inf": math.inf, "infj": complex(0, math.inf),
           "nanj": complex(0, math.nan)}  # fmt: skip


def lower(program: Any, name: str, node: ast.FunctionDef, owner: Type | None) -> Callable[..., Any]:
    """Returns the Python function of a function of an archive.

    Args:
        program: the `Program` of the function, which calls this function.
        name: the dotted name, for messages.
        node: the definition.
        owner: the class of a method's first argument, or None for a function.

    Raises:
        RuntimeError: the code names something that the program and TorchScript lack.
    """
    function = _Function(program, name)
    definition = function.definition(node, owner)
    file = program.archive.file_of(name.rpartition(".")[0])
    function.guard(definition, error_of(name, node, file))
    module = ast.fix_missing_locations(ast.Module([definition], []))
    try:
        # Python opens the file that an error in code names, and the archive names its files.
        code = compile(module, "<archive>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuntimeError(f"{name}: the code can't be compiled: {error}") from error
    exec(code, function.bindings)  # the tree holds only nodes that the functions above let through
    result = function.bindings[node.name]
    assert isinstance(result, types.FunctionType)
    result.__qualname__ = name.removeprefix("__torch__.")
    return result


def _is_tolist(node: ast.AST) -> bool:
    """Whether an expression is the call of the method that turns a tensor into lists."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "tolist"
        and not node.args
        and not node.keywords
    )


def _decode(text: str) -> str:
    """A text whose characters beyond ASCII PyTorch wrote as the bytes of UTF-8, each as an octal number."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:  # the text has the characters themselves
        return text


class _Function:
    """The lowering of one function: statements, expressions, and the types of local names as far as they are known."""

    def __init__(self, program: Any, name: str) -> None:
        self.program, self.name = program, name
        self.bindings: dict[str, Any] = {"__builtins__": {}}
        self.types: dict[str, Type | None] = {}
        self._attributes = Attributes(program.classes)

    # ---- statements
    def definition(self, node: ast.FunctionDef, owner: Type | None = None) -> ast.FunctionDef:
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise self.error(node, "a function of an archive has plain arguments")
        self.types.setdefault(node.name, None)
        for index, argument in enumerate(arguments.args):
            is_self = owner is not None and index == 0
            self.types[argument.arg] = owner if is_self else type_of(argument.annotation)
        plain = [ast.arg(a.arg) for a in arguments.args]
        defaults = [self.expression(d) for d in arguments.defaults]
        signature = ast.arguments([], plain, None, [], [], None, defaults)
        result = ast.FunctionDef(node.name, signature, self.block(node.body), [], None)
        return ast.copy_location(result, node)

    def guard(self, definition: ast.FunctionDef, wrap: Callable[[Exception], Exception]) -> None:
        """Encloses the body of a function in a statement that turns its exceptions into errors of the program."""
        name = f"{PREFIX}error"
        failure = ast.Raise(ast.Call(self.bound(wrap), [ast.Name(name, ast.Load())], []), None)
        handler = ast.ExceptHandler(self.bound(Exception), name, [failure])
        definition.body = [ast.copy_location(ast.Try(definition.body, [handler], [], []), definition)]

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [ast.copy_location(self.statement(s), s) for s in body]

    def statement(self, node: ast.stmt) -> ast.stmt:
        match node:
            case ast.Assign(targets=[target], value=value):
                return self.assignment(target, value, None)
            case ast.AnnAssign(target=target, annotation=annotation, value=value) if value is not None:
                return self.assignment(target, value, type_of(annotation))
            case ast.Return(value=value):
                return ast.Return(self.expression(value) if value is not None else None)
            case ast.Expr(value=value):
                return ast.Expr(self.expression(value))
            case ast.If(test=test, body=body, orelse=orelse):
                return ast.If(self.expression(test), self.block(body), self.block(orelse))
            case ast.While(test=test, body=body, orelse=[]):
                return ast.While(self.expression(test), self.block(body), [])
            case ast.For(target=ast.Name() as target, iter=values, body=body, orelse=[]):
                self.types[target.id] = None
                return ast.For(target, self.expression(values), self.block(body), [])
            case ast.With(items=[item], body=body):
                return self.region(item, body)
            case ast.FunctionDef():
                return self.definition(node)
            case ast.Pass() | ast.Break() | ast.Continue():
                return node
        raise self.error(node, f"no statement of an archive is like this {type(node).__name__}")

    def region(self, item: ast.withitem, body: list[ast.stmt]) -> ast.stmt:
        """A region of an object of the archive, which is left by `__exit__` after an error too."""
        name = f"{PREFIX}region{len(self.bindings)}"
        self.types[name] = self.type_of(item.context_expr)
        holder = ast.copy_location(ast.Name(name, ast.Load()), item.context_expr)
        enter = ast.Call(ast.Attribute(holder, "__enter__", ast.Load()), [], [])
        target = item.optional_vars or ast.Name(f"{PREFIX}entered", ast.Store())
        none: list[ast.expr] = [ast.Constant(None) for _ in range(3)]
        leave = ast.Expr(ast.Call(ast.Attribute(holder, "__exit__", ast.Load()), none, []))
        opening = ast.Assign([ast.Name(name, ast.Store())], self.expression(item.context_expr))
        entry, exit_ = (
            self.statement(ast.fix_missing_locations(ast.copy_location(line, item.context_expr)))
            for line in (ast.Assign([target], enter), leave)
        )
        return ast.If(ast.Constant(True), [opening, entry, ast.Try(self.block(body), [], [], [exit_])], [])

    def assignment(self, target: ast.expr, value: ast.expr, kind: Type | None) -> ast.stmt:
        result = ast.Assign([self.target(target, kind or self.type_of(value))], self.expression(value))
        return result

    def target(self, node: ast.expr, kind: Type | None) -> ast.expr:
        match node:
            case ast.Name(id=name):
                self.types[name] = kind if self.types.get(name, kind) == kind else None
                return node
            case ast.Tuple(elts=items):
                elements = [self.target(e, kind.element(i) if kind else None) for i, e in enumerate(items)]
                return ast.Tuple(elements, ast.Store())
            case ast.Attribute(value=value, attr=name):
                return self.member(value, name, ast.Store())
            case ast.Subscript(value=value, slice=key):
                return ast.Subscript(self.expression(value), self.expression(key), ast.Store())
        raise self.error(node, "nothing can be assigned to this")

    # ---- expressions
    def expression(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(self._expression(node), node)

    def _expression(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Constant(value=value):
                return ast.Constant(_decode(value)) if isinstance(value, str) else node
            case ast.Name(id=name):
                return self.bound(_VALUES[name]) if name in _VALUES else self.local(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
            case ast.Subscript(value=value, slice=key):
                return ast.Subscript(self.expression(value), self.expression(key), ast.Load())
            case ast.Slice(lower=first, upper=last, step=step):
                return ast.Slice(*(e and self.expression(e) for e in (first, last, step)))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return type(node)([self.expression(e) for e in items], ast.Load())
            case ast.Dict(keys=keys, values=values):
                return ast.Dict(
                    [k and self.expression(k) for k in keys], [self.expression(v) for v in values]
                )
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self.expression(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return ast.IfExp(*map(self.expression, (test, body, orelse)))
        raise self.error(node, f"no expression of an archive is like this {type(node).__name__}")

    def local(self, node: ast.Name) -> ast.Name:
        if node.id not in self.types:
            raise self.error(node, f"the name {node.id!r} is undefined")
        return ast.Name(node.id, ast.Load())

    def attribute(self, node: ast.Attribute) -> ast.expr:
        name = dotted_name(node)
        if name in _VALUES:
            return self.bound(_VALUES[name])
        if name and name.startswith("CONSTANTS.c") and name[11:].isdigit():
            return self.bound(self.constant(node, int(name[11:])))
        if name and name.startswith("__torch__."):
            return self.bound(self.global_value(node, name))
        return self.member(node.value, node.attr, ast.Load())

    def constant(self, node: ast.expr, index: int) -> Any:
        if index >= len(self.program.constants):
            raise self.error(node, f"the archive has no constant {index}")
        return self.program.constants[index]

    def global_value(self, node: ast.expr, name: str) -> Any:
        """The function, class or member of an enumeration with a dotted name."""
        if self.program.declaration(name) is not None:
            return self.program.class_of(name)
        owner, _, own = name.rpartition(".")
        declaration = self.program.declaration(owner)
        if declaration is not None and declaration.kind == "enum" and own in declaration.members:
            return self.program.class_of(owner)[own]
        if declaration is not None and own in declaration.methods:
            return self.program.method(owner, own)
        if isinstance(self.program.archive.definition(name), ast.FunctionDef):
            return self.program.function(name)
        if owner.startswith(EXTENSION_CLASSES):
            return bound_method(owner, own)
        raise self.error(node, f"the archive has no {name}")

    def member(self, value: ast.expr, name: str, context: ast.expr_context) -> ast.expr:
        """An attribute: the place that a known class holds it at, or a checked access."""
        if name.startswith("__"):
            raise self.error(value, f"the attribute {name!r} is not allowed")
        kind = self.type_of(value)
        declaration = self.program.declaration(kind.inner.name) if kind else None
        receiver = self.expression(value)
        if declaration is None or declaration.kind not in ("module", "record", "tuple"):
            if isinstance(context, ast.Store):
                raise self.error(value, f"the class of the object whose attribute {name!r} is set is unknown")
            return self.invoke(self._attributes.read, [receiver, ast.Constant(name)])
        if name not in declaration.attributes:
            raise self.error(value, f"{declaration.name} declares no attribute {name!r}")
        if declaration.kind == "tuple":
            return ast.Subscript(receiver, ast.Constant(list(declaration.attributes).index(name)), context)
        holder = self.program.holder(declaration, name)
        if holder:
            return ast.Subscript(ast.Attribute(receiver, holder, ast.Load()), ast.Constant(name), context)
        if not name.isidentifier():
            return self.invoke(self._attributes.read, [receiver, ast.Constant(name)])
        return ast.Attribute(receiver, name, context)

    # ---- calls
    def call(self, node: ast.Call) -> ast.expr:
        name = dotted_name(node.func)
        keywords = tuple(k.arg or "" for k in node.keywords)
        special = self.special_form(node, name)
        if special is not None:
            return special
        if name and name.startswith("torch."):
            operator = name.removeprefix("torch.")
            return self.pass_on(self.operator(operator, len(node.args), keywords), node)
        if name and name.startswith("ops.") and name.count(".") == 2:
            _, namespace, own = name.split(".")
            if namespace == "prim":
                return self.pass_on(bind_prim(own), node)
            if namespace == "python":
                return self.pass_on(self.python_function(node, own), node)
            return self.pass_on(bind_custom(namespace, own, len(node.args), keywords), node)
        if name and name.startswith("__torch__."):
            return self.pass_on(self.global_value(node, name), node)
        if isinstance(node.func, ast.Attribute):
            return self.method_call(node, node.func)
        if isinstance(node.func, ast.Name):
            if node.func.id in _WORDS and node.func.id not in self.types:
                return self.pass_on(_WORDS[node.func.id], node)
            return self.with_arguments(self.local(node.func), node)
        raise self.error(node, "the called expression is no function")

    def python_function(self, node: ast.expr, name: str) -> Callable[..., Any]:
        """A function that stays Python. Only a program that tl compiled in this process has such functions."""
        if name not in self.program.python_functions:
            raise self.error(node, f"the program has no Python function {name!r}")
        result: Callable[..., Any] = self.program.python_functions[name]
        return result

    def operator(self, name: str, count: int, keywords: tuple[str, ...]) -> Callable[..., Any]:
        version = self.program.archive.version
        return upgrade(name, version, lambda: bind(name, count, keywords))

    def special_form(self, node: ast.Call, name: str | None) -> ast.expr | None:
        """The calls that only Python's syntax makes calls."""
        if name == "annotate" and len(node.args) == 2 and _is_tolist(node.args[1]):
            receiver = self.expression(node.args[1].func.value)  # type: ignore[attr-defined]  # a call of a method
            kind = type_of(node.args[0])
            return self.invoke(lambda tensor: to_list(tensor, kind), [receiver])
        if name in ("annotate", "unchecked_cast") and len(node.args) == 2:
            value = self.expression(node.args[1])
            return self.invoke(number_of, [value]) if type_of(node.args[0]).name in _NUMBERS else value
        if name == "uninitialized":
            return ast.Constant(None)
        if name == "getattr" and len(node.args) == 2:
            return self.member(node.args[0], literal(node.args[1]), ast.Load())
        if name == "setattr" and len(node.args) == 3:
            raise self.error(node, "setattr is no call of an archive")
        if name == "isinstance" and len(node.args) == 2:
            kind, classes = type_of(node.args[1]), self.program.classes
            return self.invoke(lambda value: conforms(value, kind, classes), [self.expression(node.args[0])])
        if name and name.startswith("__torch__.") and name.endswith(".__new__"):
            return self.invoke(self.creator(node, name.removesuffix(".__new__")), [])
        return None

    def creator(self, node: ast.expr, name: str) -> Callable[[], Any]:
        declaration = self.program.declaration(name)
        is_registered = declaration is None and name.startswith(EXTENSION_CLASSES)
        if not is_registered and (declaration is None or declaration.kind != "record"):
            raise self.error(node, f"{name} is no class whose objects a program makes")
        kind = class_of(name) if is_registered else self.program.class_of(name)
        return lambda: object.__new__(kind)

    def method_call(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        kind = self.type_of(function.value)
        declaration = self.program.declaration(kind.inner.name) if kind else None
        receiver = self.expression(function.value)
        if declaration is not None and declaration.kind in ("module", "record"):
            if function.attr not in declaration.methods:
                raise self.error(node, f"{declaration.name} has no method {function.attr!r}")
            method = self.program.method(declaration.name, function.attr)
            return self.with_arguments(self.bound(method), node, receiver)
        if kind is not None and kind.name.startswith(EXTENSION_CLASSES):
            return self.with_arguments(self.bound(bound_method(kind.name, function.attr)), node, receiver)
        return self.with_arguments(
            self.invoke(self._attributes.method, [receiver, ast.Constant(function.attr)]), node
        )

    def pass_on(self, function: Any, node: ast.Call) -> ast.Call:
        return self.with_arguments(self.bound(function), node)

    def with_arguments(self, function: ast.expr, node: ast.Call, *first: ast.expr) -> ast.Call:
        arguments = [*first, *map(self.expression, node.args)]
        keywords = [ast.keyword(k.arg, self.expression(k.value)) for k in node.keywords]
        return ast.Call(function, arguments, keywords)

    def invoke(self, function: Any, arguments: list[ast.expr]) -> ast.Call:
        return ast.Call(self.bound(function), arguments, [])

    def bound(self, value: Any) -> ast.Name:
        """A global name for a value."""
        name = f"{PREFIX}{len(self.bindings)}"
        self.bindings[name] = value
        return ast.Name(name, ast.Load())

    # ---- types
    def type_of(self, node: ast.expr) -> Type | None:
        """The type of an expression as far as annotations state it."""
        match node:
            case ast.Name(id=name):
                return self.types.get(name)
            case ast.Attribute(value=value, attr=name):
                return self._member_type(value, name)
            case ast.Subscript(value=value, slice=key):
                kind = self.type_of(value)
                index = key.value if isinstance(key, ast.Constant) and type(key.value) is int else None
                return kind.element(index) if kind else None
            case ast.Call():
                return self._call_type(node)
        return None

    def _member_type(self, value: ast.expr, name: str) -> Type | None:
        kind = self.type_of(value)
        declaration = self.program.declaration(kind.inner.name) if kind else None
        return declaration.attributes.get(name) if declaration else None

    def _call_type(self, node: ast.Call) -> Type | None:
        name = dotted_name(node.func)
        if name in ("annotate", "unchecked_cast") and node.args:
            return type_of(node.args[0])
        if name == "uninitialized" and node.args:
            return type_of(node.args[0])
        if name == "getattr" and len(node.args) == 2:
            return self._member_type(node.args[0], literal(node.args[1]))
        if name and name.startswith("__torch__."):
            kind_name = name.removesuffix(".__new__")
            is_registered = kind_name != name and name.startswith(EXTENSION_CLASSES)
            if is_registered or self.program.declaration(kind_name) is not None:
                return Type(kind_name)
            return self.program.result_type(name)
        if isinstance(node.func, ast.Attribute) and not (name or "").startswith(("torch.", "ops.")):
            kind = self.type_of(node.func.value)
            return self.program.result_type(f"{kind.inner.name}.{node.func.attr}") if kind else None
        return None

    def error(self, node: ast.AST, text: str) -> RuntimeError:
        file = self.program.archive.file_of(self.name.rpartition(".")[0])
        return RuntimeError(f"{file}:{getattr(node, 'lineno', 0)} in {self.name}: {text}")
