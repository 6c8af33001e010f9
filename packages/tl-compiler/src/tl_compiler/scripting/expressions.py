"""The expressions of a function: names, operators, conditions, containers, parts."""

from __future__ import annotations

import ast
import operator as python_operator
from typing import Any

from ..script.printing import constant_text, text_literal
from ..script.types import Type
from .conditions import MAGIC, Conditions, Refinement
from .operands import Items, ModuleValue, Operand, PythonValue, Value
from .operator_types import STR, TENSOR, accepts, list_of, result_of, unify

__all__ = ["Expressions"]

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Mod: "remainder", ast.Pow: "pow",
           ast.FloorDiv: "floordiv", ast.MatMult: "matmul", ast.BitAnd: "__and__", ast.BitOr: "__or__",
           ast.BitXor: "__xor__", ast.LShift: "__lshift__", ast.RShift: "__rshift__"}  # fmt: skip


class Expressions(Conditions):
    """The part of the compiler that compiles expressions."""

    def expression(self: Any, node: ast.expr, expected: Type | None = None) -> Operand:
        """What an expression stands for.

        Args:
            node: the expression.
            expected: the type that its place states, for empty containers.
        """
        match node:
            case ast.Constant(value=value):
                return self.constant_operand(value, node)
            case ast.Name(id=name):
                return self.lookup(name, node)
            case ast.Attribute(value=value, attr=attribute):
                return self.attribute(self.expression(value), attribute, node)
            case ast.Call():
                return self.call(node, expected)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op=op, operand=inner):
                return self.unary(node, op, inner)
            case ast.BoolOp() | ast.Compare():
                return self.condition(node)[0]
            case ast.IfExp():
                return self.choice(node, expected)
            case ast.Subscript(value=value, slice=key):
                owner = self.expression(value)
                choice = self.interface_choice(owner, key, expected, node) if expected is not None else None
                return self.part(owner, key, node) if choice is None else choice
            case ast.List(elts=items):
                return self.list_display(items, expected, node)
            case ast.Tuple(elts=items):
                return self.tuple_display(items, expected)
            case ast.Dict():
                return self.dict_display(node, expected)
            case ast.ListComp() | ast.DictComp():
                return self.comprehension(node, expected)
            case ast.JoinedStr(values=values):
                return self.format_text(values, node)
        raise self.source.syntax_error(node)

    def constant_operand(self: Any, value: Any, node: ast.expr) -> Operand:
        """A constant of the source."""
        if value is ...:
            return PythonValue(..., "Ellipsis")
        constant = self.session.constant(value)
        if constant is None:
            raise self.source.syntax_error(node, f"constants of type {type(value).__name__} aren't supported")
        return constant

    def lookup(self: Any, name: str, node: ast.expr) -> Operand:
        """A variable of the function, or a name that the function sees."""
        operand = self.scope.values.get(name)
        if operand is not None:
            return operand
        if name in self.scope.reasons:
            raise self.error(node, self.scope.reasons[name])
        try:
            return PythonValue(self.source.scope(name), name)
        except KeyError:
            if name in self.session.caller_names:
                return PythonValue(self.session.caller_names[name], name)
            raise self.error(node, f"undefined value {name}") from None

    # ---- attributes
    def attribute(self: Any, owner: Operand, name: str, node: ast.AST) -> Operand:
        """An attribute of an operand."""
        result = self.session.attribute(self, owner, name, node)
        if result is None:
            shown = owner.type if isinstance(owner, Value) else getattr(owner, "name", "")
            raise self.error(node, f"'{shown}' object has no attribute or method '{name}'")
        return result

    # ---- operators
    def binary(self: Any, node: ast.AST, op: ast.operator, left: Operand, right: Operand) -> Operand:
        """An operation on two operands."""
        if isinstance(left, Items) or isinstance(right, Items):
            left, right = self.as_value(left, node), self.as_value(right, node)
        a, b = self.as_value(left, node), self.as_value(right, node)
        magic = self.session.method_signature(a.type, f"__{MAGIC.get(type(op), '')}__")
        if magic is not None:
            return self.invoke_method(a, f"__{MAGIC[type(op)]}__", [b], {}, node)
        name = _BINARY[type(op)]
        if a.fields is not None and b.fields is not None and name == "add":
            return self.tuple_of([*a.fields, *b.fields])
        if a.type.name == "Tuple" and b.type.name == "Tuple" and name == "add":
            return self.tuple_of([*self.spread(a), *self.spread(b)])
        if name == "add" and {a.type.name, b.type.name} == {"List", "Tuple"}:
            a, b = self.as_same_list(a, b), self.as_same_list(b, a)
        if name == "remainder" and a.type == STR:
            values = b if b.type.name == "Tuple" else self.tuple_of([b])
            return Value(f"torch.percentFormat({a.text}, {values.text})", STR)
        if name == "floordiv" and TENSOR in (a.type, b.type):
            name = "floor_divide"
        self.check_operands(node, name, a, b)
        result = Value(f"torch.{name}({a.text}, {b.text})", result_of(name, [a.type, b.type], {}))
        if name in ("__and__", "__or__", "__xor__") and TENSOR in (a.type, b.type):
            result.type = TENSOR
        return self.fold(result, a, b, name)

    def as_same_list(self: Any, value: Value, other: Value) -> Value:
        """A tuple as a list of the type of the other operand, where all of its elements have that type."""
        if value.type.name == "List" or any(t != other.type.element(None) for t in value.type.arguments):
            return value
        return Value(f"[{', '.join(v.text for v in self.spread(value))}]", other.type)

    def fold(self: Any, result: Value, a: Value, b: Value, name: str) -> Value:
        """The value, as a constant where the compiler knows both operands."""
        function = {"add": python_operator.add, "sub": python_operator.sub, "mul": python_operator.mul,
                    "floordiv": python_operator.floordiv}.get(name)  # fmt: skip
        plain = all(v.is_known and type(v.constant) in (int, str) for v in (a, b))
        if (
            function is None
            or not plain
            or type(a.constant) is not type(b.constant)
            or (name == "floordiv" and not b.constant)
        ):
            return result
        if type(a.constant) is str and name != "add":
            return result
        value = function(a.constant, b.constant)
        return Value(constant_text(value), result.type, value)

    def spread(self: Any, value: Value) -> list[Value]:
        """The elements of a tuple."""
        if value.fields is not None:
            return value.fields
        owner_value = self.temporary(value)
        return [Value(f"({owner_value.text})[{i}]", kind) for i, kind in enumerate(value.type.arguments)]

    def unary(self: Any, node: ast.UnaryOp, op: ast.unaryop, inner: ast.expr) -> Operand:
        """An operation on one operand."""
        if isinstance(op, ast.Not):
            return self.condition(node)[0]
        value = self.as_value(self.expression(inner), node)
        if isinstance(op, ast.USub):
            if value.is_known and type(value.constant) in (int, float):
                return Value(constant_text(-value.constant), value.type, -value.constant)
            magic = self.session.method_signature(value.type, "__neg__")
            if magic is not None:
                return self.invoke_method(value, "__neg__", [], {}, node)
            return Value(f"torch.neg({value.text})", value.type)
        if isinstance(op, ast.Invert):
            return Value(f"torch.bitwise_not({value.text})", value.type)
        return value

    # ---- choices
    def choice(self: Any, node: ast.IfExp, expected: Type | None) -> Operand:
        """One of two values."""
        test, yes, no = self.condition(node.test)
        if test.is_known:
            return self.expression(node.body if test.constant else node.orelse, expected)
        test = self.truth(test, node.test)
        first, lines_a = self.side(node.body, yes, expected)
        second, lines_b = self.side(node.orelse, no, expected)
        kind = unify(first.type, second.type)
        if kind is None:
            a, b = self.convert(first, second.type), self.convert(second, first.type)
            if a is None and b is None:
                raise self.error(
                    node,
                    "Type mismatch: the values of an if-expression have type "
                    f"{first.type} in the true branch and type {second.type} in the false branch",
                )
            kind = second.type if a is not None else first.type
            first, second = a or first, b or second
        texts = [self.widen(v, kind) for v in (first, second)]
        if not lines_a and not lines_b:
            return Value(f"({texts[0]} if {test.text} else {texts[1]})", kind)
        name, indent = self.fresh(), "  " * (self.depth + 1)
        self.branches(
            test.text, [*lines_a, f"{indent}{name} = {texts[0]}"], [*lines_b, f"{indent}{name} = {texts[1]}"]
        )
        return Value(name, kind)

    def side(
        self: Any, node: ast.expr, refined: Refinement, expected: Type | None
    ) -> tuple[Value, list[str]]:
        """One value of a choice, and the statements that it needs."""
        outer, self.scope = self.scope, self.scope.copy()
        self.scope.values.update(refined)
        lines, self.lines = self.lines, []
        self.depth += 1
        try:
            return self.as_value(self.expression(node, expected), node), self.lines
        finally:
            self.depth -= 1
            self.lines, self.scope = lines, outer

    # ---- containers
    def operands(self: Any, items: list[ast.expr]) -> list[Operand]:
        """The operands of a display or a call, with starred ones taken apart."""
        result: list[Operand] = []
        for item in items:
            if not isinstance(item, ast.Starred):
                result.append(self.expression(item))
                continue
            operand = self.expression(item.value)
            iterable = operand if isinstance(operand, Items) else self.iterable(operand, item)
            if not isinstance(iterable, Items):
                raise self.error(
                    item, "cannot expand a list of unknown length: starred arguments must be tuples"
                )
            result += iterable.values
        return result

    def list_display(self: Any, items: list[ast.expr], expected: Type | None, node: ast.expr) -> Operand:
        """A list of operands."""
        expected_type = expected.inner if expected is not None and expected.inner.name == "List" else None
        operands = self.operands(items)
        if operands and any(
            isinstance(o, (ModuleValue, PythonValue))
            and not (isinstance(o, PythonValue) and self.session.is_constant(o.value))
            for o in operands
        ):
            return Items(operands)
        values = [self.as_value(o, node) for o in operands]
        if not values:
            kind = expected_type or list_of(TENSOR)
            return Value(f"annotate({kind}, [])", kind)
        element = expected_type.element(0) if expected_type is not None else None
        if element is not None and any(self.convert(v, element) is None for v in values):
            raise self.error(
                node,
                f"List type annotation `{expected_type}` did not match the types of the given list elements, "
                + ", ".join(dict.fromkeys(str(v.type) for v in values)),
            )
        if element is None:
            element = values[0].type
            for value in values[1:]:
                join_values = unify(element, value.type)
                if join_values is None and {element.name, value.type.name} <= {
                    "int",
                    "float",
                    "complex",
                    "bool",
                    "number",
                }:
                    join_values = Type("number")
                if join_values is None:
                    join_values = Type("Union", (element, value.type))
                element = join_values
        result = Value(f"[{', '.join(v.text for v in values)}]", list_of(element))
        if element.name in ("Optional", "Union", "number"):
            result.text = (
                f"annotate({result.type}, {result.text})" if element.name != "number" else result.text
            )
        if all(v.is_known for v in values):
            result.fields = values
        result.fields = values
        return result

    def tuple_display(self: Any, items: list[ast.expr], expected: Type | None) -> Operand:
        """A tuple of operands."""
        operands = self.operands(items)
        if any(not isinstance(o, Value) for o in operands):
            return Items(operands)
        if expected is not None and expected.name == "Tuple" and len(expected.arguments) == len(operands):
            operands = [self.convert(v, k) or v for v, k in zip(operands, expected.arguments, strict=True)]
        return self.tuple_of(operands)

    def dict_display(self: Any, node: ast.Dict, expected: Type | None) -> Operand:
        """A dictionary."""
        expected_type = expected.inner if expected is not None and expected.inner.name == "Dict" else None
        if not node.keys:
            kind = expected_type or Type("Dict", (STR, TENSOR))
            return Value(f"annotate({kind}, {{}})", kind)
        keys = [self.as_value(self.expression(k), node) for k in node.keys if k is not None]
        values = [
            self.as_value(self.expression(v, expected_type.element(None) if expected_type else None), node)
            for v in node.values
        ]
        if len(keys) != len(values):
            raise self.source.syntax_error(node, "** in a dictionary isn't supported")
        kind = values[0].type
        for value in values[1:]:
            join_values = unify(kind, value.type)
            if join_values is None and expected_type is None:
                raise self.error(
                    node,
                    f"Dict values must contain only a single type. Expected: {kind} but found "
                    f"{value.type} instead",
                )
            kind = join_values or kind
        owner_value = expected_type or Type("Dict", (keys[0].type, kind))
        text = "{" + ", ".join(f"{k.text}: {v.text}" for k, v in zip(keys, values, strict=True)) + "}"
        return Value(
            f"annotate({owner_value}, {text})"
            if kind.name in ("Optional", "Union", "Any") or expected_type
            else text,
            owner_value,
        )

    def comprehension(self: Any, node: ast.ListComp | ast.DictComp, expected: Type | None) -> Operand:
        """A list or dictionary that a loop fills."""
        if len(node.generators) != 1:
            raise self.source.syntax_error(
                node, "List comprehensions with multiple ifs or generators not supported yet"
            )
        generator = node.generators[0]
        iterable = self.iterable(self.expression(generator.iter), node)
        if isinstance(iterable, Items) and isinstance(node, ast.ListComp) and not generator.ifs:
            outer, self.scope = self.scope, self.scope.copy()
            results = []
            for operand in iterable.values:
                self.bind_target(generator.target, operand, node)
                results.append(self.expression(node.elt))
            self.scope = outer
            values = [v for v in results if isinstance(v, Value)]
            if len(values) == len(results) and values:
                result = Value(f"[{', '.join(v.text for v in values)}]", list_of(values[0].type))
                result.fields = values
                return result
            return Items(results)
        return self.fill(node, generator, iterable, expected)

    def bind_target(self: Any, target: ast.expr, operand: Operand, node: ast.AST) -> None:
        """Gives the target of a comprehension that is written out an operand: expressions use the operand itself."""
        if isinstance(target, ast.Name):
            self.scope.values[target.id] = operand
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.source.syntax_error(target, "a comprehension assigns to names")
        items = (
            operand.values
            if isinstance(operand, Items)
            else self.elements(self.as_value(operand, node), target.elts, node)
        )
        if len(items) != len(target.elts):
            raise self.error(node, f"Provided {len(target.elts)} variables to unpack {len(items)} values")
        for inner, item in zip(target.elts, items, strict=True):
            self.bind_target(inner, item, node)

    def fill(
        self: Any, node: Any, generator: ast.comprehension, iterable: Any, expected: Type | None
    ) -> Value:
        """A container that statements fill."""
        name, index = self.fresh(), self.fresh("_i")
        items = iterable if isinstance(iterable, Items) else None
        lines, self.lines = self.lines, []
        outer, self.scope = self.scope, self.scope.copy()
        self.depth += 1
        self.assign(generator.target, items.values[0] if items else iterable[1](index), node)
        tests = [self.truth(self.condition(t)[0], t) for t in generator.ifs]
        if isinstance(node, ast.ListComp):
            value = self.as_value(self.expression(node.elt), node)
            kind = (
                expected.inner
                if expected is not None and expected.inner.name == "List"
                else list_of(value.type)
            )
            last, empty = f"torch.append({name}, {value.text})", "[]"
        else:
            key, value = (self.as_value(self.expression(e), node) for e in (node.key, node.value))
            kind = Type("Dict", (key.type, value.type))
            stated = expected.inner if expected is not None else kind
            if (
                stated.name == "Dict"
                and stated.arguments[0] == key.type
                and accepts(stated.arguments[1], value.type)
            ):
                kind = stated
            last, empty = f"torch._set_item({name}, {key.text}, {value.text})", "{}"
        for test in tests:
            self.emit(f"if {test.text}:")
            self.depth += 1
        self.emit(last)
        self.depth -= 1 + len(tests)
        inner, self.lines, self.scope = self.lines, lines, outer
        self.emit(f"{name} = annotate({kind}, {empty})")
        if items:
            raise self.source.syntax_error(node, "conditions over modules aren't supported in comprehensions")
        self.emit(f"for {index} in range({iterable[0]}):")
        self.lines += inner
        return Value(name, kind)

    def format_text(self: Any, values: list[ast.expr], node: ast.expr) -> Value:
        """An f-string."""
        template, parts = "", []
        for piece in values:
            if isinstance(piece, ast.Constant):
                template += str(piece.value)
            elif isinstance(piece, ast.FormattedValue):
                if piece.format_spec is not None or piece.conversion not in (-1, 115):
                    raise self.source.syntax_error(
                        node,
                        "format specs in f-strings aren't supported"
                        if piece.format_spec
                        else "Don't support conversion in JoinedStr",
                    )
                template += "{}"
                parts.append(self.as_value(self.expression(piece.value), node).text)
        if not parts:
            return Value(text_literal(template), STR, template)
        return Value(f"torch.format({', '.join([text_literal(template), *parts])})", STR)
