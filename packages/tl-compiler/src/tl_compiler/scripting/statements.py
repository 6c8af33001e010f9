"""The statements of a function: assignments, branches, loops, regions."""

from __future__ import annotations

import ast
from typing import Any

from ..script.types import Type
from .names import SETTER
from .operands import UNSET, Items, ModuleValue, Operand, PythonValue, Value
from .operator_types import BOOL, NONE, STR, TENSOR, accepts, unify
from .regions import Regions
from .scopes import Scope, assigned_names, exits

__all__ = ["Statements"]

_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_", ast.Mod: "remainder_",
             ast.Pow: "pow_", ast.FloorDiv: "floor_divide_", ast.BitAnd: "bitwise_and_", ast.BitOr: "bitwise_or_",
             ast.BitXor: "bitwise_xor_"}  # fmt: skip
_UNROLLED = 10_000  # turns of a loop over modules or tuples


class Statements(Regions):
    """The part of the compiler that compiles statements."""

    current: ast.stmt | None  # the statement that is compiled

    # ---- blocks
    def body(self: Any, body: list[ast.stmt]) -> None:
        """Compiles statements until one leaves the block."""
        for statement in body:
            self.statement(statement)
            if exits([statement]):
                break

    def statement(self: Any, node: ast.stmt) -> None:
        """Compiles a statement."""
        method = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            raise self.source.syntax_error(node)
        outer, self.current = self.current, node
        method(node)
        self.current = outer

    def block(
        self: Any, body: list[ast.stmt], refined: dict[str, Operand], loops: bool = False
    ) -> tuple[Scope, list[str]]:
        """Compiles a branch, and returns its variables and its lines."""
        outer_scope, outer_lines = self.scope, self.lines
        self.scope, self.lines = outer_scope.copy(), []
        self.scope.values.update(refined)
        self.depth += 1
        self.loops += loops
        try:
            self.body(body)
            return self.scope, self.lines
        finally:
            self.loops -= loops
            self.depth -= 1
            self.scope, self.lines = outer_scope, outer_lines

    def on_Pass(self: Any, node: ast.Pass) -> None:
        """Nothing happens."""

    def on_Expr(self: Any, node: ast.Expr) -> None:
        """An expression whose value isn't used."""
        if isinstance(node.value, ast.Constant):
            return
        operand = self.expression(node.value)
        if isinstance(operand, Value) and not operand.is_known and not operand.text.isidentifier():
            self.emit(operand.text if operand.type == NONE else f"{self.fresh()} = {operand.text}")

    def on_Return(self: Any, node: ast.Return) -> None:
        """The result of the function."""
        value = (
            None
            if node.value is None
            else self.as_value(self.expression(node.value, self.result), node.value)
        )
        self.leave(value, node)

    def on_Raise(self: Any, node: ast.Raise) -> None:
        """An error of the program."""
        message, kind = Value('""', STR, ""), "builtins.Exception"
        target = node.exc
        call = target if isinstance(target, ast.Call) else None
        operand = self.expression(call.func if call is not None else target) if target is not None else None
        if isinstance(operand, PythonValue) and isinstance(operand.value, type):
            kind = f"{operand.value.__module__}.{operand.value.__qualname__}"
        if call is not None and call.args:
            message = self.as_value(self.expression(call.args[0]), call)
        text = message.text if message.type == STR else f"torch.str({message.text})"
        self.fail(text, kind)

    def on_Assert(self: Any, node: ast.Assert) -> None:
        """A condition without which the program raises."""
        test, refined, _ = self.condition(node.test)
        if test.is_known and test.constant:
            return
        outer_lines, self.lines = self.lines, []
        self.depth += 1
        message = self.as_value(self.expression(node.msg), node) if node.msg is not None else Value('""', STR)
        self.fail(
            message.text if message.type == STR else f"torch.str({message.text})", "builtins.AssertionError"
        )
        self.depth -= 1
        lines, self.lines = self.lines, outer_lines
        self.branches(test.text, ["  " * (self.depth + 1) + "pass"], lines)
        self.refine(refined)

    def branches(self: Any, test: str, body: list[str], orelse: list[str]) -> None:
        """Writes two branches."""
        indent = "  " * (self.depth + 1)
        self.emit(f"if {test}:")
        self.lines += body or [f"{indent}pass"]
        if orelse:
            self.emit("else:")
            self.lines += orelse

    def refine(self: Any, refined: dict[str, Operand]) -> None:
        """Gives variables the narrower types that a condition proves."""
        for name, operand in refined.items():
            if isinstance(operand, Value):
                own = self.fresh(name)
                self.emit(f"{own} = {operand.text}")
                before = self.scope.values.get(name)
                self.scope.values[name] = Value(
                    own, operand.type, origin=before if isinstance(before, Value) else None
                )

    # ---- branches
    def on_If(self: Any, node: ast.If) -> None:
        """Two branches, of which a known condition selects one while the function is compiled."""
        test, when_true, when_false = self.condition(node.test)
        node.choice = (node.body if test.constant else node.orelse) if test.is_known else None  # type: ignore[attr-defined]
        if test.is_known:
            self.conditions += 1
            self.body(node.choice)  # type: ignore[attr-defined]
            self.conditions -= 1
            return
        text = self.truth(test, node.test).text
        first = self.branch(node.body, when_true)
        second = self.branch(node.orelse, when_false)
        self.join(text, node, first, second)

    def branch(self: Any, body: list[ast.stmt], refined: dict[str, Operand]) -> tuple[Scope, list[str]]:
        """Compiles a branch in which variables have narrower types."""
        outer_lines, self.lines = self.lines, []
        outer_scope, self.scope = self.scope, self.scope.copy()
        self.depth += 1
        try:
            self.refine(refined)
            self.body(body)
            return self.scope, self.lines
        finally:
            self.depth -= 1
            self.lines, self.scope = outer_lines, outer_scope

    def join(self: Any, test: str, node: ast.If, first: Any, second: Any) -> None:
        """Writes two branches, and finds the variables after them."""
        (scope_a, lines_a), (scope_b, lines_b) = first, second
        leaves_a, leaves_b = exits(node.body), exits(node.orelse)
        if leaves_a or leaves_b:
            self.branches(test, lines_a, lines_b)
            self.scope = scope_a if leaves_b else scope_b
            return
        before, self.scope = self.scope, Scope({}, {**scope_a.reasons, **scope_b.reasons})
        indent = "  " * (self.depth + 1)
        for name in dict.fromkeys([*scope_a.values, *scope_b.values]):
            a, b = scope_a.values.get(name), scope_b.values.get(name)
            if a is None or b is None:
                self.scope.reasons[name] = (
                    f"{name} is not defined in the {'true' if a is None else 'false'} branch"
                )
                continue
            value = self.join_values(name, a, b, node, before, (lines_a, lines_b, indent))
            if value is not None:
                self.scope.values[name] = value
        self.branches(test, lines_a, lines_b)

    def join_values(
        self: Any, name: str, a: Operand, b: Operand, node: ast.If, before: Scope, parts: Any
    ) -> Operand | None:
        """The variable after two branches; None for a new one whose types differ, which no statement may use."""
        if a is b or not isinstance(a, Value) or not isinstance(b, Value):
            return a
        old = before.values.get(name)
        is_assigned = not isinstance(old, Value) or _before(a) is not old or _before(b) is not old
        kind = unify(a.type, b.type)
        if kind is None:
            if is_assigned:
                kinds = f"type {a.type} in the true branch and type {b.type} in the false branch"
                text = f"Type mismatch: {name} is set to {kinds}"
                if old is not None:
                    raise self.error(node, text)
                self.scope.reasons[name] = text
                return None
            kind = a.type
        if a.text == b.text:
            return Value(
                a.text, kind, a.constant if a.constant is b.constant else UNSET, slot=a.slot and b.slot
            )
        if not is_assigned:
            assert isinstance(old, Value)
            return old
        own = self.fresh(name)
        lines_a, lines_b, indent = parts
        lines_a.append(f"{indent}{own} = {self.widen(a, kind)}")
        lines_b.append(f"{indent}{own} = {self.widen(b, kind)}")
        return Value(own, kind, slot=True)

    def widen(self: Any, value: Value, kind: Type) -> str:
        """The code of a value as one of a wider type."""
        return value.text if value.type == kind else f"annotate({kind}, {value.text})"

    # ---- assignments
    def on_Assign(self: Any, node: ast.Assign) -> None:
        """A value for one or more targets."""
        operand = self.expression(node.value)
        if len(node.targets) > 1 and isinstance(operand, Value):
            operand = self.temporary(operand)
        for target in node.targets:
            self.assign(target, operand, node)

    def on_AnnAssign(self: Any, node: ast.AnnAssign) -> None:
        """A value of a stated type."""
        kind = self.annotation(node.annotation)
        if node.value is None:
            return
        if isinstance(node.value, ast.List) and kind.inner.name not in ("List", "Union", "Any", "Tuple"):
            raise self.error(node, f"Expected an annotation of type List but got {kind}")
        value = self.as_value(self.expression(node.value, kind), node.value)
        convert = self.convert(value, kind)
        if convert is None:
            raise self.error(
                node,
                f"Variable '{ast.unparse(node.target)}' is annotated with type {kind} but is being "
                f"assigned to a value of type {value.type}",
            )
        if value.type == NONE or kind.name in ("Optional", "Union", "Any"):
            convert = Value(f"annotate({kind}, {value.text})", kind)
        self.assign(node.target, convert, node)

    def on_AugAssign(self: Any, node: ast.AugAssign) -> None:
        """An operation on a target and a value. A tensor changes in place."""
        target: Any = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node.target)
        ast.fix_missing_locations(target)
        current = self.as_value(self.expression(target), node)
        value = self.as_value(self.expression(node.value), node)
        name = _IN_PLACE.get(type(node.op))
        if current.type == TENSOR and name is not None:
            result = Value(f"torch.{name}({current.text}, {value.text})", TENSOR)
            if isinstance(node.target, ast.Subscript):  # the view is written, so nothing is assigned
                self.emit(f"{self.fresh()} = {result.text}")
                return
        elif current.type.name == "List" and isinstance(node.op, ast.Add):
            result = Value(f"torch.add_({current.text}, {value.text})", current.type)
        else:
            result = self.binary(node, node.op, current, value)
        self.assign(node.target, result, node)

    def assign(self: Any, target: ast.expr, operand: Operand, node: ast.AST) -> None:
        """Gives a target a value."""
        match target:
            case ast.Name(id=name):
                self.assign_name(name, operand, node)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self.unpack(targets, operand, node)
            case ast.Attribute(value=owner, attr=name):
                self.assign_attribute(self.expression(owner), name, operand, node)
            case ast.Subscript():
                self.assign_item(target, self.as_value(operand, node), node)
            case _:
                raise self.source.syntax_error(
                    target, "unexpected expression on left-hand side of assignment"
                )

    def assign_name(self: Any, name: str, operand: Operand, node: ast.AST) -> None:
        """Gives a variable a value."""
        if not isinstance(operand, (Value, Items)) or (
            isinstance(operand, Items) and self.holds_modules(operand)
        ):
            if isinstance(operand, PythonValue) and self.session.constant(operand.value) is not None:
                operand = self.as_value(operand, node)
            else:
                self.scope.values[name] = operand
                return
        value = self.as_value(operand, node)
        old = self.scope.values.get(name)
        own = old.text if isinstance(old, Value) and old.slot else name
        if own in self.taken_names(name) and not (isinstance(old, Value) and old.slot):
            own = (
                name
                if name in {a.arg for a in self.source.node.args.args}
                and name
                not in {v.text for n, v in self.scope.values.items() if n != name and isinstance(v, Value)}
                else self.fresh(name)
            )
        if isinstance(old, Value) and old.slot and self.nesting > 1 and not accepts(old.type, value.type):
            convert = self.convert(value, old.type)
            if convert is None and (self.loops or old.type != value.type):
                raise self.error(
                    node,
                    f"Variable '{name}' previously had type {old.type} but is now being assigned to a "
                    f"value of type {value.type}",
                )
            value = convert or value
        self.emit(f"{own} = {value.text}")
        self.used.add(own)
        names_left = value.constant if not self.loops and self.nesting == 1 else UNSET
        self.scope.values[name] = Value(own, value.type, names_left, slot=True)
        if names_left is not UNSET and value.type.name in ("List", "Dict", "Tensor"):
            self.scope.values[name].constant = UNSET

    def holds_modules(self: Any, items: Items) -> bool:
        """Whether operands can't be values of the running program."""
        return any(not isinstance(v, Value) for v in items.values)

    def unpack(self: Any, targets: list[ast.expr], operand: Operand, node: ast.AST) -> None:
        """Gives several targets the elements of a value."""
        if isinstance(operand, ModuleValue):
            operand = self.iterable(operand, node)
        if isinstance(operand, Items):
            operands: list[Any] = operand.values
        else:
            value = self.as_value(operand, node)
            operands = self.elements(value, targets, node)
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        if starred:
            at = starred[0]
            rest = len(targets) - at - 1
            middle = operands[at : len(operands) - rest]
            operands = [*operands[:at], Items(middle), *operands[len(operands) - rest :]]
            targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
        if len(operands) != len(targets):
            raise self.error(node, f"Provided {len(targets)} variables to unpack {len(operands)} values")
        if len(targets) > 1:
            operands = [self.apart(o, targets) for o in operands]
        for target, item in zip(targets, operands, strict=True):
            self.assign(target, item, node)

    def apart(self: Any, operand: Operand, targets: list[ast.expr]) -> Operand:
        """The operand in a variable that the other targets don't change."""
        names = set(assigned_names([ast.Assign(list(targets), ast.Constant(0))]))
        if not isinstance(operand, Value) or operand.is_known:
            return operand
        if operand.slot or any(n in operand.text for n in names):
            name = self.fresh()
            self.emit(f"{name} = {operand.text}")
            return Value(name, operand.type)
        return operand

    def assign_attribute(self: Any, owner: Operand, name: str, operand: Operand, node: ast.AST) -> None:
        """Gives an attribute a value."""
        if isinstance(owner, ModuleValue):
            kind = self.session.attribute_type(owner, name)
            if kind is None:
                raise self.error(
                    node,
                    f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in "
                    "__init__()?",
                )
            text = owner.text
        else:
            value = self.as_value(owner, node)
            text = value.text
            kind = self.session.record_attribute(value.type, name, self, operand, node)
            if kind is None and value.type == TENSOR and name in ("data", "requires_grad", "grad"):
                kind = TENSOR if name != "requires_grad" else BOOL
            if kind is None:
                raise self.error(node, f"Tried to set an attribute: {name} on a non-class: {value.type}")
        value = self.as_value(operand, node)
        convert = self.convert(value, kind)
        if convert is None and isinstance(operand, ModuleValue):
            convert = value  # a module for one that an interface declares
        if convert is None:
            raise self.error(
                node, f"Wrong type for attribute assignment. Expected {kind} but got {value.type}"
            )
        text_of_value = self.widen(convert, kind) if convert.type != kind else convert.text
        if self.session.has_setter(owner, name):
            receiver = text if text == "self" else f"({text})"
            self.emit(f"{self.fresh()} = {receiver}.{name}{SETTER}({text_of_value})")
        else:
            self.emit(f"{text}.{name} = {text_of_value}")

    def assign_item(self: Any, target: ast.Subscript, value: Value, node: ast.AST) -> None:
        """Gives an element a value."""
        owner = self.as_value(self.expression(target.value), target.value)
        if owner.type == TENSOR:
            self.assign_part(owner, target.slice, value, node)
            return
        key = self.as_value(self.expression(target.slice), target.slice)
        if owner.type.inner.name not in ("List", "Dict"):
            word = "augmented" if isinstance(node, ast.AugAssign) else "subscripted"
            raise self.error(node, f"'{owner.type}' object does not support {word} assignment")
        element = owner.type.element(None)
        convert = self.convert(value, element) if element else value
        if convert is None:
            raise self.error(
                node,
                f"Arguments for call are not valid. Expected a value of type '{element}' for an element of a "
                f"{owner.type.inner.name} but instead found type '{value.type}'",
            )
        self.emit(f"torch._set_item({owner.text}, {key.text}, {convert.text})")


def _before(value: Value) -> Value:
    """The value of a variable before conditions narrowed its type."""
    while value.origin is not None:
        value = value.origin
    return value
