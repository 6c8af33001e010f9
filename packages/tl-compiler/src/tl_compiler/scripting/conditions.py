"""The conditions of a function: comparisons, `and`, `or`, questions about types, and the types that they prove."""

from __future__ import annotations

import ast
import operator as python_operator
from typing import Any

from ..jit.decorations import missing_argument_text
from ..script.types import Type
from .operands import Items, ModuleValue, Operand, PythonValue, Value
from .operator_types import BOOL, NONE, TENSOR, accepts

__all__ = ["MAGIC", "Conditions", "Refinement"]

MAGIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.Mod: "mod", ast.Pow: "pow",
         ast.FloorDiv: "floordiv", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
         ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}  # fmt: skip
_COMPARED = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_COMPARE: dict[str, Any] = {name: getattr(python_operator, name) for name in _COMPARED.values()}
_ARGUMENTS = ("List", "Tuple", "Dict", "Optional")
_PLAIN = (int, float, bool, str, complex, type(None))

Refinement = dict[str, Operand]


class Conditions:
    """The part of the compiler that compiles conditions."""

    def condition(self: Any, node: ast.expr) -> tuple[Value, Refinement, Refinement]:
        """A truth value, and the narrower types of variables where it is true and where it is false."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return self.connect(isinstance(op, ast.And), values, node)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                value, yes, no = self.condition(inner)
                value = self.truth(value, node)
                if value.is_known:
                    return self.known_truth(not value.constant), no, yes
                return Value(f"torch.__not__({value.text})", BOOL), no, yes
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(op, left, right, node)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                pairs = zip([left, *rights], ops, rights, strict=False)
                parts = [ast.copy_location(ast.Compare(a, [op], [b]), node) for a, op, b in pairs]
                return self.connect(True, parts, node)
            case ast.Call():
                match = self.type_question(node)
                if match is not None:
                    return match
        return self.as_value(self.expression(node), node), {}, {}

    def check_operands(self: Any, node: ast.AST, name: str, a: Value, b: Value) -> None:
        """Raises an error where no overload takes the types of two operands."""
        kinds = {a.type.name, b.type.name}
        if "Optional" in kinds or "NoneType" in kinds or "Union" in kinds:
            wrong = a if a.type.name in ("Optional", "NoneType", "Union") else b
            raise self.error(
                node,
                f"Arguments for call are not valid.\nThe following variants are available:\n  \n  "
                f"aten::{name}(Tensor self, Tensor other) -> Tensor:\n  Expected a value of type 'Tensor' for "
                f"argument '{'self' if wrong is a else 'other'}' but instead found type '{wrong.type}'.\n\nThe "
                "original call is",
            )
        wrong_text = "str" in kinds and kinds - {"str"} and not (name == "mul" and "int" in kinds)
        if wrong_text or ("Dict" in kinds) or ("List" in kinds and kinds & {"float", "bool"}):
            raise self.error(
                node,
                f"Arguments for call are not valid.\nThe following variants are available:\n  \n  "
                f"aten::{name}(Tensor self, Tensor other) -> Tensor:\n  Expected a value of type 'Tensor' for "
                f"argument 'other' but instead found type '{b.type}'.\n\nThe original call is",
            )

    def known_truth(self: Any, value: bool) -> Value:
        """A truth value that the compiler knows."""
        return Value(repr(bool(value)), BOOL, bool(value))

    def connect(self: Any, every: bool, values: list[ast.expr], node: ast.expr) -> Any:
        """Conditions that are connected by `and` or `or`: a later one sees what an earlier one proves."""
        first, yes, no = self.condition(values[0])
        if len(values) == 1:
            return first, yes, no
        rest = values[1:]
        first_truth = self.truth(first, node)
        if first_truth.is_known:
            if bool(first_truth.constant) is every:
                second, more_yes, more_no = self.connect(every, rest, node)
                return second, {**yes, **more_yes}, {**no, **more_no}
            return self.known_truth(not every), yes, no
        outer, self.scope = self.scope, self.scope.copy()
        self.scope.values.update(yes if every else no)
        lines, self.lines = self.lines, []
        self.depth += 1
        second, more_yes, more_no = self.connect(every, rest, node)
        second = self.truth(second, node)
        self.depth -= 1
        inner, self.lines = self.lines, lines
        self.scope = outer
        if second.is_known and bool(second.constant) is not every:
            return self.known_truth(not every), yes, no
        if inner:
            text = self.write_out(first_truth, second, inner, every)
        elif every:
            text = f"({second.text} if {first_truth.text} else False)"
        else:
            text = f"(True if {first_truth.text} else {second.text})"
        if every:
            return Value(text, BOOL), {**yes, **more_yes}, {}
        return Value(text, BOOL), {}, {**no, **more_no}

    def write_out(self: Any, first: Value, second: Value, lines: list[str], every: bool) -> str:
        """Two conditions as statements, where the second needs statements."""
        name = self.fresh()
        indent = "  " * (self.depth + 1)
        run, skip = [*lines, f"{indent}{name} = {second.text}"], [f"{indent}{name} = {not every}"]
        self.branches(first.text, run if every else skip, skip if every else run)
        return str(name)

    def comparison(self: Any, op: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.expr) -> Any:
        """A comparison of two operands."""
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self.identity(isinstance(op, ast.Is), left, right, node)
        first, second = self.expression(left), self.expression(right)
        if isinstance(op, (ast.In, ast.NotIn)):
            return self.membership(isinstance(op, ast.In), first, second, node), {}, {}
        if (
            isinstance(first, PythonValue)
            and isinstance(second, PythonValue)
            and not self.session.is_constant(first.value)
        ):
            return self.known_truth(_COMPARE[_COMPARED[type(op)]](first.value, second.value)), {}, {}
        a, b = self.as_value(first, node), self.as_value(second, node)
        magic = f"__{MAGIC[type(op)]}__"
        if self.session.method_signature(a.type, magic) is not None:
            return self.as_value(self.invoke_method(a, magic, [b], {}, node), node), {}, {}
        name = _COMPARED[type(op)]
        if a.is_known and b.is_known and isinstance(a.constant, _PLAIN) and isinstance(b.constant, _PLAIN):
            try:
                return self.known_truth(_COMPARE[name](a.constant, b.constant)), {}, {}
            except TypeError:
                pass
        kinds = {a.type.name, b.type.name}
        if len(kinds) > 1 and "NoneType" in kinds and name in ("eq", "ne") and "Optional" not in kinds:
            return self.known_truth(name == "ne"), {}, {}
        self.check_operands(node, name, a, b)
        kind = TENSOR if TENSOR in (a.type, b.type) else BOOL
        return Value(f"torch.{name}({a.text}, {b.text})", kind), {}, {}

    def membership(self: Any, inside: bool, item: Operand, container: Operand, node: ast.expr) -> Value:
        """Whether a container holds a value."""
        if isinstance(container, ModuleValue):
            key = self.as_value(item, node)
            return self.known_truth((key.constant in container.module) is inside)
        value, owner_value = self.as_value(item, node), self.as_value(container, node)
        if "(" in value.text and "(" in owner_value.text:
            value = self.temporary(value)  # the item is computed first
        if owner_value.type.name == "Tuple":
            items = owner_value.fields or self.spread(owner_value)
            if value.is_known and all(v.is_known for v in items):
                return self.known_truth((value.constant in [v.constant for v in items]) is inside)
            text = f"torch.__contains__([{', '.join(v.text for v in items)}], {value.text})"
        else:
            text = f"torch.__contains__({owner_value.text}, {value.text})"
        return Value(text if inside else f"torch.__not__({text})", BOOL)

    def identity(self: Any, same: bool, left: ast.expr, right: ast.expr, node: ast.expr) -> Any:
        """`is` and `is not`, of which those with None prove types."""
        first, second = self.expression(left), self.expression(right)
        if isinstance(first, (PythonValue, ModuleValue)) or isinstance(second, PythonValue):
            a = first.module if isinstance(first, ModuleValue) else getattr(first, "value", first)
            b = second.module if isinstance(second, ModuleValue) else getattr(second, "value", second)
            if isinstance(second, Value) and second.type == NONE:
                b = None
            return self.known_truth((a is b) is same), {}, {}
        a, b = self.as_value(first, node), self.as_value(second, node)
        if a.type == NONE and b.type != NONE:
            a, b, left = b, a, right
        if b.type != NONE:
            if a.is_known and b.is_known:
                return self.known_truth((a.constant is b.constant) is same), {}, {}
            return Value(f"torch.__{'is' if same else 'isnot'}__({a.text}, {b.text})", BOOL), {}, {}
        if a.type == NONE:
            return self.known_truth(same), {}, {}
        if a.type.name not in ("Optional", "Union", "Any") or (
            a.type.name == "Union" and NONE not in a.type.arguments
        ):
            return self.known_truth(not same), {}, {}
        value = Value(f"torch.__{'is' if same else 'isnot'}__({a.text}, None)", BOOL)
        present: Refinement = {}
        absent: Refinement = {}
        if isinstance(left, ast.Name) and a.type.name == "Optional":
            inner = a.type.arguments[0]
            present[left.id] = Value(f"unchecked_cast({inner}, {a.text})", inner)
        return (value, absent, present) if same else (value, present, absent)

    def type_question(self: Any, node: ast.Call) -> Any:
        """`isinstance` and `hasattr`, where the call is one."""
        operand = self.expression(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
        value = operand.value if isinstance(operand, PythonValue) else None
        if value is isinstance or value is self.session.jit_isinstance:
            return self.instance_question(node)
        if value is hasattr:
            owner, name = self.expression(node.args[0]), self.as_value(self.expression(node.args[1]), node)
            return self.known_truth(self.session.has_attribute(self, owner, name.constant)), {}, {}
        return None

    def instance_question(self: Any, node: ast.Call) -> Any:
        subject = self.expression(node.args[0])
        if isinstance(subject, ModuleValue):
            kinds = self.expression(node.args[1])
            classes = (
                [v.value for v in kinds.values]
                if isinstance(kinds, Items)
                else [getattr(kinds, "value", object)]
            )
            return self.known_truth(isinstance(subject.module, tuple(classes))), {}, {}
        value = self.as_value(subject, node)
        expected_type = self.wanted_types(node.args[1])
        options = (
            value.type.arguments
            if value.type.name == "Union"
            else ((value.type.arguments[0], NONE) if value.type.name == "Optional" else (value.type,))
        )
        flat = [o for option in options for o in (option.arguments if option.name == "Union" else (option,))]
        fits = [o for o in flat if any(_is_of(o, w) for w in expected_type)]
        if value.type.name == "Any":
            return self.of_any(value, expected_type, node)
        if len(fits) in (0, len(flat)):
            return self.known_truth(bool(fits)), {}, {}
        text = f"isinstance({value.text}, {_options_text(expected_type)})"
        yes: Refinement = {}
        no: Refinement = {}
        if isinstance(node.args[0], ast.Name):
            rest = [o for o in flat if o not in fits]
            for target, kinds in ((yes, fits), (no, rest)):
                kind = _one_of(kinds)
                target[node.args[0].id] = Value(f"unchecked_cast({kind}, {value.text})", kind)
        return Value(text, BOOL), yes, no

    def of_any(self: Any, value: Value, expected_type: list[Type], node: ast.Call) -> Any:
        """A question about a value of any type."""
        yes: Refinement = {}
        if isinstance(node.args[0], ast.Name) and len(expected_type) == 1:
            yes[node.args[0].id] = Value(
                f"unchecked_cast({expected_type[0]}, {value.text})", expected_type[0]
            )
        return Value(f"isinstance({value.text}, {_options_text(expected_type)})", BOOL), yes, {}

    def wanted_types(self: Any, node: ast.expr) -> list[Type]:
        """The types that a question names."""
        if isinstance(node, ast.Tuple):
            return [t for item in node.elts for t in self.wanted_types(item)]
        text = ast.unparse(node).rpartition(".")[2]
        bare = {
            "list": "List",
            "tuple": "Tuple",
            "dict": "Dict",
        }
        if text in _ARGUMENTS:
            raise self.error(node, missing_argument_text(text))
        if text in bare:
            return [Type(bare[text])]
        kind = self.annotation(node)
        return list(kind.arguments) if kind.name == "Union" else [kind]


def _is_of(kind: Type, expected_type: Type) -> bool:
    if expected_type.name in ("List", "Tuple", "Dict") and not expected_type.arguments:
        return kind.name == expected_type.name
    return accepts(expected_type, kind)


def _options_text(expected_type: list[Type]) -> str:
    return (
        str(expected_type[0]) if len(expected_type) == 1 else f"Union[{', '.join(map(str, expected_type))}]"
    )


def _one_of(kinds: list[Type]) -> Type:
    options_left = [k for k in kinds if k != NONE]
    if not options_left:
        return NONE
    inner = options_left[0] if len(options_left) == 1 else Type("Union", tuple(options_left))
    return Type("Optional", (inner,)) if len(options_left) < len(kinds) else inner
