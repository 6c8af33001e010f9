"""The row that a name or a sign in a formula means, and the calls of rows."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from opgen.formulas.scope import Scope
from opgen.formulas.tree import TENSORS, Arithmetic, Node, OperatorCall
from opgen.overload import Resolver
from opgen.row import Row

# Python's operator -> the operation on plain values, and the row.
SIGNS: dict[type, tuple[str, str]] = {
    ast.Add: ("ADD", "add"),
    ast.Sub: ("SUB", "sub"),
    ast.Mult: ("MUL", "mul"),
    ast.Div: ("DIV", "div"),
    ast.FloorDiv: ("FLOORDIV", "floor_divide"),
    ast.Mod: ("MOD", "remainder"),
    ast.Pow: ("POW", "pow"),
    ast.Eq: ("EQ", "eq"),
    ast.NotEq: ("NE", "ne"),
    ast.Lt: ("LT", "lt"),
    ast.LtE: ("LE", "le"),
    ast.Gt: ("GT", "gt"),
    ast.GtE: ("GE", "ge"),
    ast.In: ("IN", ""),
}
_MIRRORED: dict[type, type] = {
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
TENSOR_SIGNS: dict[type, str] = {
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}


@dataclass(frozen=True)
class _Operand:
    """An operand for the resolver: its kind, and its position in the order of evaluation."""

    kind: str
    position: int


@dataclass(frozen=True)
class Operators:
    """The rows that formulas call."""

    resolver: Resolver
    scope: Scope

    def call(
        self,
        node: ast.expr,
        name: str,
        operands: Sequence[Node],
        keywords: Mapping[str, Node] | None = None,
        code: str = "CALL",
        arith: str = "ADD",
        n_results: int = 1,
    ) -> OperatorCall:
        """The call of the first overload that takes the operands; raises FormulaError if none does."""
        named = keywords or {}
        every = [*operands, *named.values()]
        slots = [_Operand(value.kind, i) for i, value in enumerate(every)]
        positional, rest = slots[: len(operands)], dict(zip(named, slots[len(operands) :]))
        row, bound = self._bind(node, name, positional, rest, code)
        kind = "tensors" if row.rets[0].is_tensor_list else "tensor"
        if code == "CONJ" and operands[0].kind == "operand":
            kind = "operand"
        positions = {argument: slot.position for argument, slot in bound.items()}
        return OperatorCall(kind, row, tuple(every), positions, code, arith, n_results)

    def _bind(
        self, node: ast.expr, name: str, operands: list[_Operand], keywords: dict[str, _Operand], code: str
    ) -> tuple[Row, dict[str, _Operand]]:
        try:
            return self.resolver.bind(name, operands, keywords)
        except LookupError as error:
            if code != "ARITH" or len(operands) != 2 or operands[1].kind not in TENSORS:
                self.scope.fail(node, str(error))
        # The engine turns `number - tensor` into the form that takes the tensor first.
        row, bound = self._bind(node, name, operands[::-1], keywords, "CALL")
        first, second = (a.name for a in row.args[:2])
        return row, {**bound, first: bound[second], second: bound[first]}

    def sign(self, node: ast.expr, operator: type, left: Node, right: Node) -> Node:
        """`left <operator> right`: a row if one of them is a tensor, otherwise an operation on plain values."""
        if operator in TENSOR_SIGNS:
            return self.call(node, TENSOR_SIGNS[operator], [left, right])
        if operator not in SIGNS:
            self.scope.fail(node, "uses an operator that formulas do not have")
        if left.kind in TENSORS or right.kind in TENSORS:
            return self._tensor_sign(node, operator, left, right)
        kind = "list" if left.kind == "list" else "value"
        return Arithmetic(kind, SIGNS[operator][0], (left, right))

    def _tensor_sign(self, node: ast.expr, operator: type, left: Node, right: Node) -> OperatorCall:
        mirrored = left.kind not in TENSORS and operator in _MIRRORED
        arith, name = SIGNS[_MIRRORED[operator] if mirrored else operator]
        call = self.call(node, name, [right, left] if mirrored else [left, right], None, "ARITH", arith)
        if mirrored:
            positions = {argument: 1 - position for argument, position in call.positions.items()}
            call = replace(call, operands=(left, right), positions=positions)
        return replace(call, kind="tensor" if "tensor" in (left.kind, right.kind) else "operand")
