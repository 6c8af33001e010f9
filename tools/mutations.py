"""The small changes of a Python file that a test should notice: operators, conditions, constants, returns, statements.

A change replaces a range of bytes, so the rest of the file keeps its form. Annotations, documentation, decorators,
messages of errors and code for type checkers have no effect that a test could see and are left out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.MatMult: ("@", "*"), ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&"),
    ast.And: ("and", "or"), ast.Or: ("or", "and"), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One change of a file.

    Args:
        kind: "operator", "condition", "constant", "return" or "statement".
        line: the first line of the change, from 1.
        start: the offset of the first byte that is replaced.
        end: the offset after the last byte that is replaced.
        text: the new text.
        scope: the names of the classes and functions around the change, outermost first.
        statement: the offset of the innermost statement of a function that runs before the change has an effect; None
            outside functions.
    """

    kind: str
    line: int
    start: int
    end: int
    text: str
    scope: tuple[str, ...]
    statement: int | None = None

    def apply(self, source: str) -> str:
        """The source after the change.

        Args:
            source: the text of the file.
        """
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


class _Reader(ast.NodeVisitor):
    """Collects the mutations of a file."""

    def __init__(self, source: str) -> None:
        self.data = source.encode()
        self.lines = [0]
        for line in self.data.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.mutations: list[Mutation] = []
        self.scope: tuple[str, ...] = ()
        self.statement: int | None = None  # None outside functions

    # ---- positions
    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def _line_start(self, node: ast.stmt) -> int:
        """The offset of a statement with its decorators."""
        first = min([node, *getattr(node, "decorator_list", ())], key=lambda n: n.lineno)
        return self._start(first) - (first is not node)  # the sign @

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def _add(self, kind: str, node: ast.expr | ast.stmt, text: str, start: int = -1, end: int = -1) -> None:
        start = self._start(node) if start < 0 else start
        end = self._end(node) if end < 0 else end
        line = self.data.count(b"\n", 0, start) + 1
        self.mutations.append(Mutation(kind, line, start, end, text, self.scope, self.statement))

    def _text(self, node: ast.expr) -> str:
        return self.data[self._start(node) : self._end(node)].decode()

    # ---- statements around a change
    def visit(self, node: ast.AST) -> None:
        """Visits a node; a statement of a function is the statement of the changes in it, except `elif`."""
        outer = self.statement
        if (
            outer is not None
            and isinstance(node, ast.stmt)
            and not self.data.startswith(b"elif", self._start(node))
        ):
            self.statement = self._line_start(node)
        super().visit(node)
        self.statement = outer

    # ---- operators
    def _operator(self, left: ast.expr, operator: ast.AST, right: ast.expr) -> None:
        old, new = OPERATORS[type(operator)]
        start = self.data.find(old.encode(), self._end(left), self._start(right))
        if start >= 0:
            self._add("operator", left, new, start, start + len(old.encode()))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node.left, node.op, node.right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator(left, node.op, right)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, node.comparators, strict=False):
            self._operator(left, operator, right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub)):
            self._add("operator", node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    # ---- conditions, constants, returns
    def _condition(self, node: ast.If | ast.While | ast.IfExp) -> None:
        if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            return
        self._add("condition", node.test, f"(not ({self._text(node.test)}))")
        self.generic_visit(node)

    visit_If = visit_While = visit_IfExp = _condition

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._add("condition", test, f"(not ({self._text(test)}))")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, (int, float)):
            self._add("constant", node, str(node.value + 1))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and ast.unparse(node.value) != "None":
            self._add("return", node, "return None")
            self.generic_visit(node)

    # ---- statements
    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # documentation
            return
        if self.scope and isinstance(node.value, ast.Call):
            self._add("statement", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add("statement", node, "pass")
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets):
            self._add("statement", node, "pass")
        if not any(isinstance(t, ast.Name) and t.id.startswith("__") for t in node.targets):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    # ---- scopes and code without an effect
    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if any("overload" in ast.unparse(decorator) for decorator in node.decorator_list):
            return
        outer, self.scope = self.scope, (*self.scope, node.name)
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.visit(default)
            self.statement = self._line_start(node.body[0])
        for statement in node.body:
            self.visit(statement)
        self.scope = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _define

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "stacklevel":
            self.generic_visit(node)

    def _pass(self, node: ast.AST) -> None:
        """Leaves out messages, and texts whose parts have no position."""

    visit_Raise = visit_Assert = visit_JoinedStr = _pass


def mutations(source: str) -> list[Mutation]:
    """The mutations of a file, in the order of a walk over its syntax tree.

    Args:
        source: the text of the file.

    Example:
        >>> source = "def f(x):\\n    return x + 1\\n"
        >>> [m.apply(source).splitlines()[1].strip() for m in mutations(source)]
        ['return None', 'return x - 1', 'return x + 2']
    """
    reader = _Reader(source)
    reader.visit(ast.parse(source))
    return reader.mutations
