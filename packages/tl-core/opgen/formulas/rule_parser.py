"""Rules as typed trees: `RuleParser` reads the statements of a function of `optable/rules/`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from opgen.formulas.parser import Parser, constant
from opgen.formulas.scope import Names, Scope, extra
from opgen.formulas.tree import (
    After,
    AllResults,
    Arithmetic,
    Bind,
    Body,
    Constant,
    Node,
    OperatorCall,
    Stored,
    Variable,
)
from opgen.overload import Resolver

Helpers = Mapping[str, ast.FunctionDef]


class RuleParser(Parser):
    """Reads one rule. Calls of helpers are replaced by the statements of the helper."""

    def __init__(self, scope: Scope, resolver: Resolver, helpers: Helpers, common: Names):
        super().__init__(scope, resolver)
        self.helpers, self.common = helpers, common
        self.unexpanded = 0  # a bit for each argument that the rule reads without a batch
        self._open: list[str] = []  # the helpers around the current statement

    # ---- statements ------------------------------------------------------------------------------------------------

    def function(self, definition: ast.FunctionDef, n_results: int) -> Body:
        """The tree of a function that returns `n_results` results."""
        return self._block(definition.body, n_results, definition)

    def _block(self, statements: Sequence[ast.stmt], n_results: int, owner: ast.stmt) -> Body:
        """Assignments, then a result: `return`, or one for each branch of an `if`."""
        steps: list[Bind] = []
        for i, statement in enumerate(statements):
            if isinstance(statement, ast.Return) and statement.value:
                body = self.body(statement.value, n_results)
                return Body((*steps, *body.steps), body.results)
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return):
                choice = self._early_return(statement, statements[i + 1 :], n_results)
                return Body(tuple(steps), (choice,))
            steps += self._statement(statement)
        self.scope.fail(owner, "has no result")

    def _early_return(self, node: ast.If, rest: Sequence[ast.stmt], n_results: int) -> Node:
        if n_results != 1:
            self.scope.fail(node.test, "chooses between several results")
        test = self.test(node.test)
        return self.choice(test, *(self._branch(block, node) for block in (node.body, node.orelse or rest)))

    def _branch(self, statements: Sequence[ast.stmt], owner: ast.stmt) -> Node:
        with self.scope.inner():
            return _node(self._block(statements, 1, owner))

    def _statement(self, node: ast.stmt) -> Iterable[Bind]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ()  # the docstring
        if isinstance(node, ast.If):
            return (self._bind(*self._chosen(node)),)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                return (self._bind(target.id, self.value(node.value)),)
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
                return self._unpacked(target, node.value)
        self.scope.fail(node, "is not part of the language of rules")

    def _bind(self, name: str, value: Node) -> Bind:
        variable = Variable(value.kind)
        self.scope.names[name] = variable
        return Bind(value.kind, variable, value)

    def _chosen(self, node: ast.If) -> tuple[str, Node]:
        """The variable that either branch assigns at its end, and the choice of its value."""
        name = _assigned(node)
        if name is None:
            self.scope.fail(node.test, "is the condition of branches that end with different variables")
        test = self.test(node.test)
        return name, self.choice(test, *(self._assignment(block) for block in (node.body, node.orelse)))

    def _assignment(self, block: Sequence[ast.stmt]) -> Node:
        """The value of the last assignment of a branch."""
        *statements, last = block
        with self.scope.inner():
            steps = [bind for statement in statements for bind in self._statement(statement)]
            value = self._chosen(last)[1] if isinstance(last, ast.If) else self.value(last.value)
        return After(value.kind, tuple(steps), value) if steps else value

    # ---- helpers ---------------------------------------------------------------------------------------------------

    def _unpacked(self, target: ast.Tuple, call: ast.Call) -> list[Bind]:
        """`a, b = helper(…)`: names for the results of a helper."""
        body = self._inlined(call, len(target.elts))
        steps = list(body.steps)
        for name, result in zip(target.elts, body.results):
            if not isinstance(name, ast.Name):
                self.scope.fail(target, "is not part of the language of rules")
            if isinstance(result, (Variable, Stored, Constant)):
                self.scope.names[name.id] = result
            else:
                steps.append(self._bind(name.id, result))
        return steps

    def _inlined(self, call: ast.Call, n_results: int) -> Body:
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name not in self.helpers:
            self.scope.fail(call, "is no call of a helper of this file")
        if name in self._open:
            self.scope.fail(call, "calls itself")
        helper = self.helpers[name]
        steps, operands = self._operands(call, [a.arg for a in helper.args.args])
        with self.scope.inner():
            self.scope.names.clear()
            self.scope.names.update({**self.common, **operands})
            self._open.append(name)
            body = self._block(helper.body, n_results, helper)
            self._open.pop()
        return Body((*steps, *body.steps), body.results)

    def _operands(self, call: ast.Call, parameters: list[str]) -> tuple[list[Bind], Names]:
        """The operands of a helper by parameter. A name stands for itself, any other expression is computed first."""
        nodes = dict(zip(parameters, call.args)) | {k.arg: k.value for k in call.keywords if k.arg}
        if list(nodes) != parameters or len(call.args) > len(parameters):
            self.scope.fail(call, f"must have the arguments {', '.join(parameters)}")
        steps, operands = [], {}
        for parameter, node in nodes.items():
            value = self.value(node)
            if not isinstance(value, (Variable, Stored, Constant)):
                bind = Bind(value.kind, Variable(value.kind), value)
                steps.append(bind)
                value = bind.variable
            operands[parameter] = value
        return steps, operands

    # ---- expressions of rules ---------------------------------------------------------------------------------

    def _binop(self, node: ast.BinOp) -> Node:
        """A sum of integers that a helper receives is an integer."""
        value = super()._binop(node)
        if isinstance(value, Arithmetic) and value.arith == "ADD":
            left, right = value.operands
            if (
                isinstance(left, Constant)
                and isinstance(right, Constant)
                and left.kind == right.kind == "int"
            ):
                return constant(left.value + right.value)
        return value

    def call(self, node: ast.Call, n_results: int) -> Node:
        """A call of a helper, of a function of the language of rules, or one that every formula may make."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in self.helpers and n_results == 1:
            return _node(self._inlined(node, 1))
        if name == "results":
            return self._all_results(node)
        if name in ("batched", "unexpanded"):
            argument = self._argument(node)
            return extra(1 + argument.index, "bool") if name == "batched" else argument
        return super().call(node, n_results)

    def _all_results(self, node: ast.Call) -> Node:
        call = self.value(node.args[0])
        if not isinstance(call, OperatorCall):
            self.scope.fail(node, "is not about a call of an operator")
        return AllResults("tensors", call)

    def _argument(self, node: ast.Call) -> Stored:
        argument = self.value(node.args[0])
        if not isinstance(argument, Stored) or argument.source != "ARG":
            self.scope.fail(node, "is not about an argument of the row")
        self.unexpanded |= 1 << argument.index
        return argument


def _node(body: Body) -> Node:
    """A body of one result, as a node."""
    (result,) = body.results
    return After(result.kind, body.steps, result) if body.steps else result


def _assigned(statement: ast.stmt | None) -> str | None:
    """The variable that a statement assigns, an `if` at the end of both branches."""
    if isinstance(statement, ast.If):
        names = {_assigned(block[-1] if block else None) for block in (statement.body, statement.orelse)}
        return names.pop() if len(names) == 1 else None
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None
