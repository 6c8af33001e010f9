"""Derivative formulas of the rows, as programs: `generated/programs.h` and `generated/programs.cpp`.

A formula is a Python expression. It may use

- `g`, or `g0`, `g1`, … and `g_<result>` with several results, and `grads`, the list of all;
- the row's arguments, `result` or a result's name (kept for the backward only where a needed formula reads
  them), and their
  `shape`, `dtype`, … (kept without keeping the tensor);
- operators, methods and functions of any row: `g * other.conj()`, `unsum(g, self.shape, dim, keepdim)`;
- on plain values: arithmetic, comparisons, `and`, `or`, `not`, indexing and slicing of lists, `len`,
  `range`, `min`, `max`,
  `abs`, `prod`, `sum`; `a if c else b`; a comprehension over a list, `zip` or `enumerate`;
- `defined(g)`, `is_tensor(x)`, and under a key of several arguments a tuple and `needs[i]`, or all of
  `needs` as a list.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from opgen.overload import Resolver
from opgen.program_text import DTYPES, Program, Saved, Step, Target, declarations, definitions
from opgen.row import Row


class FormulaError(ValueError):
    """A formula that cannot be compiled; the message names the row and the part."""


@dataclass(frozen=True)
class Value:
    """An operand word and what is known of it: tensor, operand, tensors, none, bool, int, float, list,
    value."""

    word: tuple[str, int]
    kind: str


@dataclass(frozen=True)
class Stored:
    """An argument or a result: becomes an operand when it is read."""

    source: str
    index: int
    kind: str
    row: int | None = None  # element `row` (a register) of the list


METAS = {"shape": "SHAPE", "ndim": "NDIM", "dtype": "DTYPE", "device": "DEVICE", "layout": "LAYOUT"}
META_CALLS = {
    "size": "SHAPE",
    "stride": "STRIDES",
    "storage_offset": "OFFSET",
    "dim": "NDIM",
    "numel": "NUMEL",
    "is_complex": "IS_COMPLEX",
    "is_floating_point": "IS_FLOATING",
}
META_KIND = {
    "SHAPE": "list",
    "STRIDES": "list",
    "NDIM": "int",
    "NUMEL": "int",
    "OFFSET": "int",
    "DTYPE": "dtype",
    "DEVICE": "device",
    "LAYOUT": "layout",
    "IS_COMPLEX": "bool",
    "IS_FLOATING": "bool",
    "IS_TENSOR": "bool",
    "COUNT": "int",
}
ARITH = {
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
MIRRORED = {
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
TENSOR_OPERATORS = {
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}
VALUE_FUNCTIONS = {
    "len": "LEN",
    "abs": "ABS",
    "prod": "PROD",
    "range": "RANGE",
    "sum": "LIST_SUM",
    "defined": "DEFINED",
}
TENSORS = ("tensor", "operand")


def programs(rows: list[Row]) -> dict[str, Program]:
    """Operator name (of every form that records) -> its program."""
    resolver = Resolver(rows)
    compiled: dict[str, Program] = {}
    for row in rows:
        if isinstance(row.grad, dict):
            program = compile_formulas(row, resolver)
            compiled.update((schema.name, program) for variant, schema in row.forms() if variant != "out")
    return compiled


def symbols(compiled: dict[str, Program]) -> dict[str, str]:
    """Operator name -> the C++ expression of its program's address."""
    return {name: f"&{program.symbol}" for name, program in compiled.items()}


def programs_h(compiled: dict[str, Program]) -> str:
    """Declares every program."""
    return declarations(_distinct(compiled))


def programs_cpp(compiled: dict[str, Program]) -> str:
    """Defines every program as constant tables."""
    return definitions(_distinct(compiled))


def _distinct(compiled: dict[str, Program]) -> list[Program]:
    return list({p.symbol: p for p in compiled.values()}.values())


def compile_formulas(row: Row, resolver: Resolver) -> Program:
    """The program of a row whose `grad` is a dict; raises FormulaError."""
    return _Compiler(row, resolver).run()


@dataclass
class _Compiler:
    row: Row
    resolver: Resolver
    program: Program = field(init=False)
    scope: dict[str, Value | Stored] = field(default_factory=dict)
    block: int = 0
    registers: int = 0

    def __post_init__(self) -> None:
        self.program = Program(self.row.name)

    # ---- blocks
    # ----------------------------------------------------------------------------------------------------

    def run(self) -> Program:
        for key, formula in self.row.grad.items():
            self._block([name.strip() for name in key.split(",")], formula)
        return self.program

    def _block(self, names: list[str], formula: str) -> None:
        first_target, first_step = len(self.program.targets), len(self.program.steps)
        self.block, self.registers = len(self.program.blocks), 0
        if self.block >= 32:
            self._fail(formula, "at most 32 formulas a row")
        self.program.targets += [self._target(name) for name in names]
        tree = self._parse(formula)
        self.scope = self._names(first_target, len(names))
        results = self._results(tree, names)
        self.program.add_block(first_target, len(names), first_step, results)
        self.program.registers = max(self.program.registers, self.registers)

    def _parse(self, formula: str) -> ast.expr:
        try:
            return ast.parse(formula.strip(), mode="eval").body
        except SyntaxError as e:
            self._fail(formula, f"is no Python expression: {e.msg}")

    def _target(self, name: str) -> Target:
        for index, arg in enumerate(self.row.args):
            if arg.name == name and arg.is_tensor:
                return Target(index, False, 0)
            if arg.name == name and arg.is_tensor_list:
                return Target(index, True, self._save("ARG", index, "COUNT")[1])
        self._fail(name, "is no tensor argument of the row")

    def _results(self, tree: ast.expr, names: list[str]) -> list[tuple[str, int]]:
        if len(names) == 1:
            return [self._value(tree).word]
        if isinstance(tree, ast.Tuple):
            if len(tree.elts) != len(names):
                self._fail(tree, f"gives {len(tree.elts)} gradients for {len(names)} arguments")
            return [self._value(e).word for e in tree.elts]
        many = self._value(tree, n_results=len(names))
        return [("REGISTER", many.word[1] + i) for i in range(len(names))]

    def _names(self, first_target: int, n_targets: int) -> dict[str, Value | Stored]:
        names: dict[str, Value | Stored] = {}
        for i, arg in enumerate(self.row.args):
            kind = "operand" if arg.type == "Operand" else "tensor" if arg.is_tensor else None
            kind = kind or ("tensors" if arg.is_tensor_list else self._plain_kind(arg))
            names[arg.name] = Stored("ARG", i, kind)
        for i, ret in enumerate(self.row.rets):
            kind = "tensors" if ret.is_tensor_list else "tensor"
            for name in filter(
                None, (ret.name if ret.name not in names else "", f"result{i}", "" if i else "result")
            ):
                names[name] = Stored("RESULT", i, kind)
            for name in filter(None, (f"g{i}", ret.name and f"g_{ret.name}", "" if i else "g")):
                names[name] = (
                    Value(("GRAD", i), "tensor") if kind == "tensor" else Value(("GRADS", 0), "tensors")
                )
        names["grads"] = Value(("GRADS", 0), "tensors")
        names["needs"] = Value(("NEEDS_ALL", 0), "list")
        for i in range(n_targets):
            names[f"needs[{i}]"] = Value(("NEEDS", first_target + i), "bool")
        return names

    @staticmethod
    def _plain_kind(arg) -> str:
        if arg.optional and not arg.type.endswith("[]"):
            return {"ScalarType": "dtype", "Device": "device", "Layout": "layout"}.get(arg.type, "value")
        kinds = {
            "bool": "bool",
            "int": "int",
            "float": "float",
            "ScalarType": "dtype",
            "Device": "device",
            "Layout": "layout",
        }
        return kinds.get(arg.type, "list" if arg.type.endswith("[]") else "value")

    # ---- expressions
    # -----------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, n_results: int = 1) -> Value:
        if isinstance(node, ast.Call):
            return self._call(node, n_results)
        if n_results != 1:
            self._fail(node, "must be a tuple or a call with several results")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            self._fail(node, "is not part of the formula language")
        return method(node)

    def _constant(self, node: ast.Constant) -> Value:
        return self._const(node.value)

    def _const(self, value) -> Value:
        kind = "none" if value is None else "dtype" if value in DTYPES else type(value).__name__
        known = ("none", "dtype", "bool", "int", "float")
        return Value(("CONST", self.program.const(value)), kind if kind in known else "value")

    def _name(self, node: ast.Name) -> Value:
        return self._read(self._lookup(node))

    def _lookup(self, node: ast.expr) -> Value | Stored | None:
        if isinstance(node, ast.Name):
            if node.id not in self.scope:
                self._fail(node, "is no argument, result or gradient of the row")
            return self.scope[node.id]
        return None

    def _read(self, item: Value | Stored) -> Value:
        return self._stored(item, "VALUE") if isinstance(item, Stored) else item

    def _stored(self, item: Stored, meta: str) -> Value:
        kind = item.kind if meta == "VALUE" else META_KIND[meta]
        word = self._save(item.source, item.index, meta)
        if item.row is None:
            return Value(word, kind)
        return self._emit(Step("INDEX", inputs=[word, ("REGISTER", item.row)]), kind)

    def _save(self, source: str, index: int, meta: str) -> tuple[str, int]:
        return ("SAVED", self.program.save(Saved(source, index, meta), self.block))

    def _emit(self, step: Step, kind: str, n_results: int = 1) -> Value:
        step.target, step.n_results = self.registers, n_results
        self.registers += n_results
        self.program.steps.append(step)
        return Value(("REGISTER", step.target), kind)

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self._value(node.left), self._value(node.right)
        if type(node.op) in TENSOR_OPERATORS:
            return self._operator(node, TENSOR_OPERATORS[type(node.op)], [left, right])
        if type(node.op) not in ARITH:
            self._fail(node, "uses an operator that formulas do not have")
        return self._arith(node, type(node.op), left, right)

    def _arith(self, node: ast.expr, op: type, left: Value, right: Value) -> Value:
        arith, name = ARITH[op]
        if left.kind not in TENSORS and right.kind in TENSORS and op in MIRRORED:
            left, right, (arith, name) = right, left, ARITH[MIRRORED[op]]
        if left.kind in TENSORS or right.kind in TENSORS:
            call = self._operator(node, name, [left, right], "ARITH", arith)
            both_numbers = "tensor" not in (left.kind, right.kind)
            return Value(call.word, "operand" if both_numbers else "tensor")
        return self._emit(
            Step("ARITH", arith, [left.word, right.word]), "list" if left.kind == "list" else "value"
        )

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            return self._const(-node.operand.value)
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return self._emit(Step("UNARY", "NOT", [value.word]), "bool")
        if isinstance(node.op, ast.USub) and value.kind in TENSORS:
            return self._operator(node, "neg", [value], "ARITH", "NEG")
        if isinstance(node.op, ast.USub):
            return self._emit(Step("UNARY", "NEG", [value.word]), value.kind)
        if isinstance(node.op, ast.Invert) and value.kind in TENSORS:
            return self._operator(node, "bitwise_not", [value])
        self._fail(node, "uses an operator that formulas do not have")

    def _compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            self._fail(node, "chains comparisons")
        op, right = node.ops[0], node.comparators[0]
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self._is_none(node, isinstance(op, ast.IsNot))
        if isinstance(op, ast.NotIn):
            inside = self._arith(node, ast.In, self._value(node.left), self._value(right))
            return self._emit(Step("UNARY", "NOT", [inside.word]), "bool")
        return self._arith(node, type(op), self._value(node.left), self._value(right))

    def _is_none(self, node: ast.Compare, negate: bool) -> Value:
        if not (isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None):
            self._fail(node, "`is` compares with None only")
        item = self._lookup(node.left)
        if isinstance(item, Stored) and item.kind in TENSORS:
            there = self._stored(item, "IS_TENSOR")
            return there if negate else self._emit(Step("UNARY", "NOT", [there.word]), "bool")
        words = [self._value(node.left).word, self._const(None).word]
        return self._emit(Step("ARITH", "IS_NOT" if negate else "IS", words), "bool")

    def _boolop(self, node: ast.BoolOp) -> Value:
        """`a and b` is `b if a else a`."""
        result = self._move(self._value(node.values[0]))
        for operand in node.values[1:]:
            test = result.word
            if isinstance(node.op, ast.Or):
                test = self._emit(Step("UNARY", "NOT", [test]), "bool").word
            jump = self._jump("JUMP_UNLESS", [test])
            self._move(self._value(operand), result)
            jump.jump = len(self.program.steps)
        return result

    def _ifexp(self, node: ast.IfExp) -> Value:
        test = self._value(node.test)
        if test.kind in TENSORS:
            self._fail(node.test, "chooses by a tensor; use `where`")
        skip = self._jump("JUMP_UNLESS", [test.word])
        result = self._move(self._value(node.body))
        end = self._jump("JUMP", [])
        skip.jump = len(self.program.steps)
        other = self._value(node.orelse)
        self._move(other, result)
        end.jump = len(self.program.steps)
        return Value(result.word, result.kind if other.kind in (result.kind, "none") else other.kind)

    def _jump(self, code: str, inputs: list[tuple[str, int]]) -> Step:
        step = Step(code, inputs=inputs)
        self.program.steps.append(step)
        return step

    def _move(self, value: Value, to: Value | None = None) -> Value:
        step = Step("MOVE", inputs=[value.word])
        if to is None:
            return self._emit(step, value.kind)
        step.target, step.n_results = to.word[1], 1
        self.program.steps.append(step)
        return to

    # ---- lists
    # -----------------------------------------------------------------------------------------------------

    def _list(self, node: ast.List | ast.Tuple) -> Value:
        values = [self._value(e) for e in node.elts]
        kind = "tensors" if any(v.kind == "tensor" for v in values) else "list"
        return self._emit(Step("LIST", inputs=[v.word for v in values]), kind)

    _tuple = _list

    def _subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id == "needs":
            return self._needs(node)
        value = self._value(node.value)
        if value.kind in TENSORS:
            self._fail(node, "indexes a tensor; use `select` or `slice`")
        if isinstance(node.slice, ast.Slice):
            ends = [self._value(e) if e else self._const(None) for e in (node.slice.lower, node.slice.upper)]
            return self._emit(Step("SLICE", inputs=[value.word, *(e.word for e in ends)]), value.kind)
        kind = "tensor" if value.kind == "tensors" else "value"
        return self._emit(Step("INDEX", inputs=[value.word, self._value(node.slice).word]), kind)

    def _needs(self, node: ast.Subscript) -> Value:
        name = ast.unparse(node)
        if name not in self.scope:
            self._fail(node, "needs[i] counts the arguments of its own key")
        return self.scope[name]

    def _listcomp(self, node: ast.ListComp) -> Value:
        if len(node.generators) != 1:
            self._fail(node, "nests comprehensions")
        loop, outer = node.generators[0], dict(self.scope)
        sources = self._loop_sources(loop)
        count = self._loop_count([s for s, _ in sources])
        indices = self._emit(Step("UNARY", "RANGE", [count.word]), "list")
        result = self._emit(Step("LIST"), "list")
        counter = self._move(self._const(0))
        top = len(self.program.steps)
        step = Step("NEXT", inputs=[indices.word, counter.word])
        index = self._emit(step, "int")
        for source, target in sources:
            self.scope[target] = self._element(source, index)
        again = [self._jump_to("JUMP_UNLESS", self._value(test).word, top) for test in loop.ifs]
        element = self._value(node.elt)
        self.program.steps.append(Step("APPEND", inputs=[element.word], target=result.word[1]))
        self._jump_to("JUMP", None, top)
        step.jump = len(self.program.steps)
        del again
        self.scope = outer
        return Value(result.word, "tensors" if element.kind == "tensor" else "list")

    def _jump_to(self, code: str, test: tuple[str, int] | None, where: int) -> None:
        self._jump(code, [test] if test else []).jump = where

    def _loop_sources(self, loop: ast.comprehension) -> list[tuple[Value | Stored | None, str]]:
        """(what is iterated, loop variable); None is the position itself."""
        call = (
            loop.iter.func.id
            if isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name)
            else ""
        )
        args = loop.iter.args if isinstance(loop.iter, ast.Call) else []
        if call in ("zip", "enumerate") and isinstance(loop.target, ast.Tuple):
            names = [e.id for e in loop.target.elts if isinstance(e, ast.Name)]
            sources = [self._lookup(a) or self._value(a) for a in args]
            sources = [None, *sources] if call == "enumerate" else sources
            if len(names) == len(sources):
                return list(zip(sources, names))
        elif isinstance(loop.target, ast.Name):
            return [(self._lookup(loop.iter) or self._value(loop.iter), loop.target.id)]
        self._fail(loop.iter, "does not fit its loop variables")

    def _loop_count(self, sources: list[Value | Stored | None]) -> Value:
        counts = [self._length(s) for s in sources if s is not None]
        shortest = counts[0]
        for count in counts[1:]:
            shortest = self._emit(Step("ARITH", "MIN", [shortest.word, count.word]), "int")
        return shortest

    def _length(self, item: Value | Stored) -> Value:
        if isinstance(item, Stored) and item.kind == "tensors":
            return self._stored(item, "COUNT")
        return self._emit(Step("UNARY", "LEN", [self._read(item).word]), "int")

    def _element(self, source: Value | Stored | None, index: Value) -> Value | Stored:
        if source is None:
            return index
        if isinstance(source, Stored) and source.kind == "tensors":
            return Stored(source.source, source.index, "tensor", index.word[1])
        value = self._read(source)
        kind = "tensor" if value.kind == "tensors" else "value"
        return self._emit(Step("INDEX", inputs=[value.word, index.word]), kind)

    # ---- attributes and calls
    # --------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Value:
        if node.attr in METAS:
            return self._meta(node.value, METAS[node.attr])
        return self._operator(node, node.attr, [self._value(node.value)])

    def _meta(self, node: ast.expr, meta: str) -> Value:
        item = self._lookup(node)
        if isinstance(item, Stored):
            return self._stored(item, meta)
        return self._emit(Step("META", meta, [self._value(node).word]), META_KIND[meta])

    def _call(self, node: ast.Call, n_results: int) -> Value:
        if isinstance(node.func, ast.Name):
            special = self._value_function(node)
            return special or self._operator(
                node, node.func.id, self._args(node), n_results=n_results, keywords=node.keywords
            )
        if not isinstance(node.func, ast.Attribute):
            self._fail(node, "calls something that has no name")
        if node.func.attr in META_CALLS:
            meta = self._meta(node.func.value, META_CALLS[node.func.attr])
            return (
                self._emit(Step("INDEX", inputs=[meta.word, self._value(node.args[0]).word]), "int")
                if node.args
                else meta
            )
        receiver = self._value(node.func.value)
        if node.func.attr == "conj":
            return self._operator(node, "conj", [receiver], "CONJ")
        return self._operator(
            node, node.func.attr, [receiver, *self._args(node)], n_results=n_results, keywords=node.keywords
        )

    def _args(self, node: ast.Call) -> list[Value]:
        return [self._value(a) for a in node.args]

    def _value_function(self, node: ast.Call) -> Value | None:
        """Functions of plain values; None if it is an operator's name after all."""
        name = node.func.id
        if name == "is_tensor":
            return self._meta(node.args[0], "IS_TENSOR")
        if name == "len":
            return self._length(self._lookup(node.args[0]) or self._value(node.args[0]))
        if name in ("min", "max", *VALUE_FUNCTIONS) and node.args and not node.keywords:
            return self._plain_function(node, name)
        return None

    def _plain_function(self, node: ast.Call, name: str) -> Value | None:
        mark, n = self.registers, len(self.program.steps)
        args = self._args(node)
        if name != "defined" and args[0].kind in TENSORS:
            self.registers = mark
            del self.program.steps[n:]
            return None
        if name in ("min", "max"):
            return self._emit(Step("ARITH", name.upper(), [a.word for a in args]), "value")
        kind = "list" if name == "range" else "bool" if name == "defined" else "value"
        return self._emit(Step("UNARY", VALUE_FUNCTIONS[name], [args[0].word]), kind)

    def _operator(
        self,
        node: ast.expr,
        name: str,
        args: list[Value],
        code: str = "CALL",
        arith: str = "ADD",
        n_results: int = 1,
        keywords: list[ast.keyword] = (),
    ) -> Value:
        named = {k.arg: self._value(k.value) for k in keywords}
        row, bound = self._resolve(node, name, args, named, code)
        words = [self._argument(arg, bound.get(arg.name)) for arg in row.args]
        kind = "tensors" if row.rets[0].is_tensor_list else "tensor"
        if code == "CONJ" and args[0].kind == "operand":
            kind = "operand"
        step = Step(code, arith, words, op=self.program.operator(row.name))
        return self._emit(step, kind, n_results)

    def _resolve(
        self, node: ast.expr, name: str, args: list[Value], named: dict, code: str
    ) -> tuple[Row, dict]:
        try:
            return self.resolver.bind(name, args, named)
        except LookupError as e:
            if code != "ARITH" or len(args) != 2 or args[1].kind not in TENSORS:
                self._fail(node, str(e))
        # The engine turns `number - tensor` into the form that takes the tensor first.
        row, bound = self._resolve(node, name, args[::-1], named, "CALL")
        first, second = (a.name for a in row.args[:2])
        return row, {**bound, first: bound[second], second: bound[first]}

    def _argument(self, arg, value: Value | None) -> tuple[str, int]:
        if value is None:
            return ("CONST", self.program.default(arg))
        if arg.count > 1 and value.kind == "int":
            return self._emit(Step("LIST", inputs=[value.word] * arg.count), "list").word
        return value.word

    def _fail(self, node: ast.expr | str, why: str):
        text = node if isinstance(node, str) else ast.unparse(node)
        raise FormulaError(f"the derivative of {self.row.name}: {text!r} {why}")
