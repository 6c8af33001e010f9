"""The compiler of one function: the tree of its source becomes lines of an archive's code."""

from __future__ import annotations

import ast
import copy
import re
from typing import Any

from ..script.failures import CodeText, SourcePositions
from ..script.printing import constant_text
from ..script.types import Type
from .annotations import KNOWN_NAMES, UnknownType, type_of_annotation
from .calls import Calls
from .expressions import Expressions
from .operands import Items, ModuleValue, Operand, PythonValue, Value
from .operator_types import BOOL, NONE, TENSOR, accepts, unify
from .scopes import Scope, assigned_names, exits
from .signatures import Signature
from .source import FunctionSource
from .statements import Statements

__all__ = ["FunctionCompiler"]

_RESULT = "__RESULT__"  # the type of the result, which the end of the function tells


class CodeLine(str):
    """A line of code, with the statement of the source that it comes from."""

    node: ast.AST | None = None


class FunctionCompiler(Statements, Expressions, Calls):
    """Compiles one function.

    Args:
        session: the `Session`, which compiles what the function calls.
        source: the source.
        owner: the module or class whose method it is, or None.
        name: the name that the code defines.
    """

    def __init__(self, session: Any, source: FunctionSource, owner: Operand | None, name: str) -> None:
        self.session, self.source, self.owner, self.name = session, source, owner, name
        self.scope = Scope()
        self.lines: list[str] = []
        self.depth = 0
        self.loops = self.conditions = (
            0  # loops, and branches that known conditions select, around the statement
        )
        self.used: set[str] = set(assigned_names(source.node.body)) | {a.arg for a in source.node.args.args}
        self.used |= {"self", "torch", "ops", "CONSTANTS", "inf", "nan", "annotate", "fork"}
        self.result: Type | None = None
        self.stated = False
        self.expected: Type | None = None  # the type that the place of a call states
        self.current = None
        self.regions = 0  # regions that `with` opens around the statement

    # ---- helpers
    @property
    def nesting(self) -> int:
        """The depth of the statement without the regions around it, which always run."""
        return self.depth - self.regions

    def error(self, node: ast.AST, message: str) -> RuntimeError:
        """An error about a place of the function."""
        return self.source.error(node, message)

    def emit(self, line: str) -> None:
        """Appends a line of code."""
        text = CodeLine("  " * self.depth + line)
        text.node = self.current
        self.lines.append(text)

    def fresh(self, base: str = "_") -> str:
        """A name that the function doesn't use."""
        number = 0
        while f"{base}{number}" in self.used:
            number += 1
        name = f"{base}{number}"
        self.used.add(name)
        return name

    def temporary(self, value: Value, base: str = "_") -> Value:
        """The value in a variable, unless it is a variable or a constant."""
        if value.slot or value.is_known or value.text.isidentifier():
            return value
        name = self.fresh(base)
        self.emit(f"{name} = {value.text}")
        return Value(name, value.type, value.constant, value.fields, slot=False)

    def annotation(self, node: ast.expr | None) -> Type | None:
        """The type that an annotation in the source states."""
        if node is None:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if any(_is_size_list(part) for part in ast.walk(node)):
            node = _SizeLists().visit(copy.deepcopy(node))
        try:
            value = eval(
                compile(ast.fix_missing_locations(ast.Expression(node)), "<annotation>", "eval"),
                {},
                _Names(self),
            )
            return type_of_annotation(value, self.session)
        except UnknownType as error:
            if str(error).startswith("Unknown type annotation"):
                raise self.source.annotation_error(node, str(error)) from None
            raise self.error(node, str(error)) from None
        except (NameError, TypeError, AttributeError, KeyError) as error:
            text = f"Unknown type name '{ast.unparse(node)}' ({error})"
            raise self.source.annotation_error(node, text) from None

    # ---- the function
    def compile(self, stated: Signature | None = None) -> tuple[str, Signature]:
        """Returns the code of the function, and its signature.

        Args:
            stated: a signature whose types replace annotations, or None.
        """
        node = self.source.node
        arguments = self.arguments(node, stated)
        self.result = self.stated_result(node, stated)
        self.stated = self.result is not None
        self.depth = 1
        self.body(self.docless(node.body))
        if not exits(node.body):
            self.leave(None, node)
        result = self.result or NONE
        inferred = frozenset(a.arg for a in node.args.args if a.annotation is None and stated is None)
        signature = Signature(self.name, arguments, result, inferred)
        return self.text(signature), signature

    def docless(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements without constants that stand alone, such as the docstring."""
        return [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]

    def arguments(
        self, node: ast.FunctionDef, stated: Signature | None
    ) -> list[tuple[str, Type, Value | None]]:
        """The arguments, which become variables."""
        spec = node.args
        if spec.vararg is not None or spec.kwarg is not None or any(d is not None for d in spec.kw_defaults):
            what = "**" if spec.kwarg is not None else "*"
            raise self.source.syntax_error(
                node,
                f"Compiled functions can't take variable number of arguments or use "
                f"keyword-only arguments with defaults ({what}args)",
            )
        names = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
        if self.owner is not None:
            self.scope.values[names[0].arg] = self.owner
            names = names[1:]
        all_defaults = [*spec.defaults, *(d for d in spec.kw_defaults)]
        defaults: list[Any] = [None] * (len(names) - len(all_defaults)) + all_defaults
        result = []
        for index, (argument, default) in enumerate(
            zip(names, defaults[-len(names) :] if names else [], strict=True)
        ):
            kind = stated.arguments[index][1] if stated else self.annotation(argument.annotation)
            kind = TENSOR if kind is None else kind
            self.scope.values[argument.arg] = Value(argument.arg, kind, slot=True)
            value = self.default(default, kind)
            if (
                argument.annotation is None
                and not stated
                and value is not None
                and value.type not in (TENSOR, NONE)
            ):
                raise self.error(
                    argument,
                    f'Expected a default value of type Tensor (inferred) on parameter "{argument.arg}".Because '
                    f"\"{argument.arg}\" was not annotated with an explicit type it is assumed to be type 'Tensor'.",
                )
            result.append((argument.arg, kind, value))
        return result

    def default(self, node: Any, kind: Type) -> Value | None:
        """The default of an argument."""
        if node is None:
            return None
        of_library = self.source.file.startswith("torch/")
        if isinstance(node, (ast.List, ast.Dict)) and not (of_library or isinstance(self.owner, ModuleValue)):
            raise self.error(
                node,
                "Mutable default parameters are not supported because Python binds them to the function and they "
                "persist across function calls. As a workaround, make the default None and instantiate the default "
                f"parameter within the body of the function. Found {ast.unparse(node)}",
            )
        outer, self.scope = self.scope, Scope()
        try:
            value = self.as_value(self.expression(node, kind), node)
        finally:
            self.scope = outer
        convert = self.convert(value, kind) or value
        return value if value.type == NONE else convert

    def stated_result(self, node: ast.FunctionDef, stated: Signature | None) -> Type | None:
        """The type of the result that an annotation states."""
        if stated:
            result: Type | None = stated.result
            return result
        return self.annotation(node.returns) if node.returns is not None else None

    def text(self, signature: Signature) -> str:
        """The code of the function."""
        arguments = []
        if self.owner is not None and not isinstance(self.owner, PythonValue):
            name = self.owner.name if isinstance(self.owner, ModuleValue) else self.owner.type  # type: ignore[attr-defined]  # a value
            arguments.append(f"self: {name}")
        for name, kind, default in signature.arguments:
            arguments.append(f"{name}: {kind}" + (f"={default.text}" if default is not None else ""))
        head = f"def {self.name}({(',' + chr(10) + '    ').join(arguments)}) -> {signature.result}:"
        lines = [line.replace(_RESULT, str(signature.result)) for line in self.lines]
        result = CodeText("\n".join([head, *lines]) + "\n")
        nodes = [getattr(line, "node", None) for line in self.lines]
        result.positions = SourcePositions(len(head.splitlines()) + 1, nodes, self.source.highlight)
        return result

    # ---- results
    def leave(self, value: Value | None, node: ast.AST) -> None:
        """Returns a value from the function."""
        value = Value("None", NONE, None) if value is None else value
        if self.stated:
            assert self.result is not None
            convert = self.convert(value, self.result)
            if convert is None:
                raise self.error(
                    node,
                    f"Return value was annotated as having type {self.result} but is actually of type {value.type}",
                )
            value = convert
        elif self.result is None:
            self.result = value.type
        else:
            kind = unify(self.result, value.type)
            if kind is None:
                raise self.error(
                    node,
                    f"Previous return statement returned a value of type {self.result} but this return statement "
                    "returns "
                    f"a value of type {value.type}",
                )
            self.result = kind
        self.emit(f"return {value.text}")

    def fail(self, message: str, kind: str) -> None:
        """Raises an error in the running program."""
        name = f", {constant_text(kind)}" if kind else ""
        self.emit(f"ops.prim.RaiseException({message}{name})")
        self.emit(f"return uninitialized({_RESULT})")

    # ---- conversions
    def as_value(self, operand: Operand, node: ast.AST) -> Value:
        """The value of an operand in the running program."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, Items):
            return self.tuple_of([self.as_value(v, node) for v in operand.values])
        if isinstance(operand, PythonValue):
            constant = self.session.constant(operand.value)
            if constant is not None:
                return constant
            shown = operand.name or type(operand.value).__name__
            if callable(operand.value):
                raise self.error(
                    node,
                    f"python value of type '{type(operand.value).__name__}' cannot be used as a value. "
                    "Perhaps it is a closed over global variable? If so, please consider passing it in as an "
                    f"argument or use a local varible instead. ({shown})",
                )
            raise self.error(
                node,
                f"python value of type '{type(operand.value).__name__}' cannot be used as a value. "
                "Perhaps it is a closed over global variable? If so, please consider passing it in as an "
                "argument or use a local varible instead.",
            )
        if isinstance(operand, ModuleValue):
            return Value(operand.text, Type(operand.name))
        raise self.error(node, "a method can't be used as a value; call it")

    def tuple_of(self, values: list[Value]) -> Value:
        """A tuple of values."""
        end = "," if len(values) == 1 else ""
        previous = all(v.is_known for v in values)
        constant: Any = tuple(v.constant for v in values) if previous else None
        result = Value(
            f"({', '.join(v.text for v in values)}{end})", Type("Tuple", tuple(v.type for v in values))
        )
        result.fields = values
        if previous:
            result.constant = constant
        return result

    def convert(self, value: Value, kind: Type) -> Value | None:
        """The value as one of a type, or None if it can't be."""
        if value.type == kind:
            return value
        if kind.name in ("number", "Scalar") and value.type.name in ("int", "float", "complex", "bool"):
            return Value(value.text, value.type, value.constant)
        if accepts(kind, value.type):
            text = f"annotate({kind}, {value.text})" if value.type == NONE or value.fields else value.text
            return Value(text, kind, value.constant)
        if kind.inner.name == "List" and value.type.name == "Tuple" and value.type.arguments:
            items = value.fields or [
                Value(f"({value.text})[{i}]", t) for i, t in enumerate(value.type.arguments)
            ]
            element = kind.element(0)
            convert = [self.convert(v, element) if element else v for v in items]
            if all(v is not None for v in convert):
                text = f"[{', '.join(v.text for v in convert if v is not None)}]"
                wrapped = element is not None and element.name in ("Optional", "Union", "Any")
                return Value(f"annotate({kind.inner}, {text})" if wrapped else text, kind)
        if kind.inner.name == "List" and value.type.name == "List" and value.fields:
            element = kind.inner.element(0)
            parts = [self.convert(v, element) if element else v for v in value.fields]
            if all(p is not None for p in parts):
                text = f"[{', '.join(p.text for p in parts if p is not None)}]"
                return Value(f"annotate({kind.inner}, {text})", kind)
        if kind.name == "Tuple" and value.fields is not None and len(value.fields) == len(kind.arguments):
            parts = [self.convert(v, k) for v, k in zip(value.fields, kind.arguments, strict=True)]
            if all(p is not None for p in parts):
                return self.tuple_of([p for p in parts if p is not None])
        if kind.name == "float" and value.is_known and type(value.constant) is int:
            return Value(constant_text(float(value.constant)), kind, float(value.constant))
        if kind.name == "Optional":
            inner = self.convert(value, kind.arguments[0])
            return None if inner is None else Value(inner.text, kind)
        if value.type.name == "Dict" and kind.name == "Dict" and value.text == "{}":
            return Value(f"annotate({kind}, {{}})", kind)
        if (
            value.type.name == "List"
            and kind.inner.name == "List"
            and value.text in ("[]", "annotate(List[Tensor], [])")
        ):
            return Value(f"annotate({kind.inner}, [])", kind)
        return None

    def truth(self, value: Value, node: ast.AST) -> Value:
        """The value as a truth value."""
        if value.type == BOOL:
            return value
        if value.type == TENSOR or value.type.name in ("int", "float", "number", "complex"):
            result = Value(f"bool({value.text})", BOOL)
            if value.is_known:
                result.constant = bool(value.constant)
                result.text = repr(result.constant)
            return result
        if value.is_known:
            return Value(repr(bool(value.constant)), BOOL, bool(value.constant))
        if self.session.method_signature(value.type, "__bool__") is not None:
            result = self.as_value(self.invoke_method(value, "__bool__", [], {}, node), node)
            if result.type != BOOL:
                raise self.error(node, f"expected a bool expression for condition but found {result.type}")
            return result
        if value.type.name in ("List", "Dict", "str"):
            return Value(f"torch.gt(torch.len({value.text}), 0)", BOOL)
        raise self.error(node, f"Could not cast value of type {value.type} to bool")


class _Names(dict[str, Any]):
    """The names that an annotation uses."""

    def __init__(self, compiler: FunctionCompiler) -> None:
        super().__init__()
        self._find, self._caller_names = compiler.source.scope, compiler.session.caller_names

    def __missing__(self, name: str) -> Any:
        try:
            return self._find(name)
        except KeyError:
            if name in self._caller_names or name not in KNOWN_NAMES:
                return self._caller_names[name]
            return KNOWN_NAMES[name]


def _is_size_list(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.startswith(("BroadcastingList", "_size_"))


class _SizeLists(ast.NodeTransformer):
    """Replaces PyTorch's annotations of lists for which a caller may pass one number by those of lists."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node.value).rpartition(".")[2].startswith("BroadcastingList"):
            node.value = ast.copy_location(ast.Name("List", ast.Load()), node.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if re.fullmatch(r"_size_\d_t", node.id):
            return ast.copy_location(ast.parse("List[int]", mode="eval").body, node)
        return node
