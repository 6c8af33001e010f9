"""The loops of a function, and the regions that `with` opens."""

from __future__ import annotations

import ast
from typing import Any

from .operands import Bound, Items, Value
from .operator_types import NONE, accepts
from .scopes import Scope, assigned_names, exits

__all__ = ["Regions"]

_UNROLLED = 10_000  # turns of a loop over modules or tuples


class Regions:
    """The part of the compiler that compiles loops and regions."""

    # ---- loops
    def on_While(self: Any, node: ast.While) -> None:
        """A loop with a condition."""
        if node.orelse:
            raise self.source.syntax_error(node, "else branches of while loops aren't supported")
        self.before_loop(node.body, node)
        outer, self.lines = self.lines, []
        self.depth += 1
        test, _, _ = self.condition(node.test)
        text = self.truth(test, node.test).text
        self.depth -= 1
        first, self.lines = self.lines, outer
        if first:  # the condition needs statements, which each turn runs
            indent = "  " * (self.depth + 1)
            scope, lines = self.block(node.body, {}, loops=True)
            lines = [
                *first,
                f"{indent}if {text}:",
                f"{indent}  pass",
                f"{indent}else:",
                f"{indent}  break",
                *lines,
            ]
            text = "True"
        else:
            scope, lines = self.block(node.body, {}, loops=True)
        self.emit(f"while {text}:")
        self.lines += lines or ["  " * (self.depth + 1) + "pass"]
        self.after_loop(scope, node)

    def on_For(self: Any, node: ast.For) -> None:
        """A loop over a range, a list, a dictionary, or over operands that the compiler knows."""
        if node.orelse:
            raise self.source.syntax_error(node, "else branches of for loops aren't supported")
        iterable = self.iterable(self.expression(node.iter), node.iter)
        if isinstance(iterable, Items):
            self.unroll(node, iterable)
            return
        count, element = iterable
        self.before_loop(node.body, node)
        index = self.fresh("_i")
        start = self.lines
        outer_scope, self.scope, self.lines = self.scope, self.scope.copy(), []
        self.depth += 1
        self.loops += 1
        self.assign(node.target, element(index), node.target)
        self.body(node.body)
        self.loops -= 1
        self.depth -= 1
        lines, scope = self.lines, self.scope
        self.lines, self.scope = start, outer_scope
        self.emit(f"for {index} in range({count}):")
        self.lines += lines or ["  " * (self.depth + 1) + "pass"]
        self.after_loop(scope, node)

    def unroll(self: Any, node: ast.For, iterable: Items) -> None:
        """A loop that is written out: one over modules or the elements of a tuple."""
        if any(isinstance(n, (ast.Break, ast.Continue)) for s in node.body for n in ast.walk(s)):
            raise self.error(
                node,
                "Because we emit iteration over Modulelists or Tuples as unrolled loops, we do not "
                "support break or continue inside the body of these loops",
            )
        for operand in iterable.values[:_UNROLLED]:
            self.assign(node.target, operand, node.target)
            self.body(node.body)

    def before_loop(self: Any, body: list[ast.stmt], node: ast.AST) -> None:
        """Puts each variable that a loop assigns into a variable of its own."""
        for name in assigned_names(body):
            value = self.scope.values.get(name)
            if isinstance(value, Value) and (not value.slot or value.is_known):
                own = name if name not in self.taken_names(name) else self.fresh(name)
                if own != value.text:
                    self.emit(f"{own} = {value.text}")
                self.scope.values[name] = Value(own, value.type, slot=True)

    def taken_names(self: Any, name: str) -> set[str]:
        """The names of variables in the code that hold other values."""
        return {
            v.text for n, v in self.scope.values.items() if isinstance(v, Value) and v.slot and n != name
        } | {a.arg for a in self.source.node.args.args}

    def after_loop(self: Any, scope: Scope, node: ast.AST) -> None:
        """Finds the variables after a loop: those before it."""
        for name, old in self.scope.values.items():
            new = scope.values.get(name)
            if not isinstance(old, Value) or not isinstance(new, Value) or new is old:
                continue
            if not accepts(old.type, new.type) and new.type != old.type:
                raise self.error(
                    node,
                    f"Variable '{name}' previously had type {old.type} but is now being assigned to a "
                    f"value of type {new.type}",
                )
            if new.text != old.text and old.slot and new.slot:
                raise self.error(node, f"Variable '{name}' has no value that the loop carries")
        for name in scope.values:
            if name not in self.scope.values:
                self.scope.reasons[name] = f"{name} is not defined after the loop: the loop may run no turn"

    def on_Break(self: Any, node: ast.Break) -> None:
        """The end of a loop."""
        self.emit("break")

    def on_Continue(self: Any, node: ast.Continue) -> None:
        """The end of a turn."""
        self.emit("continue")

    # ---- regions
    def on_With(self: Any, node: ast.With) -> None:
        """A region: gradients on or off, or a class of the program with __enter__ and __exit__."""
        ends = []
        for item in node.items:
            start = self.region(item)
            ends.append(start)
            self.cleanups.append(start)
        self.body(node.body)
        for lines in reversed(ends):
            self.cleanups.pop()
            if not exits(node.body):
                for line in lines:
                    self.emit(line)

    def region(self: Any, item: ast.withitem) -> list[str]:
        """Enters a region, and returns the lines that leave it."""
        call = item.context_expr
        operand = self.expression(call.func) if isinstance(call, ast.Call) else None
        switch = self.session.grad_switch(operand)
        if switch is not None:
            on = "True" if switch == "enable_grad" else "False"
            if switch == "set_grad_enabled" and isinstance(call, ast.Call):
                on = self.as_value(self.expression(call.args[0]), call).text
            before = self.fresh("_grad")
            self.emit(f"{before} = torch.is_grad_enabled()")
            self.emit(f"torch.set_grad_enabled({on})")
            return [f"torch.set_grad_enabled({before})"]
        if self.session.is_profiler_region(operand):
            return []
        value = self.temporary(self.as_value(self.expression(call), call))
        result = self.invoke(Bound(value, "__enter__"), [], {}, call)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, result, call)
        else:
            self.emit(f"{self.fresh()} = {self.as_value(result, call).text}")
        none = [Value("None", NONE, None)] * 3
        leave = self.as_value(self.invoke(Bound(value, "__exit__"), none, {}, call), call)
        return [f"{self.fresh()} = {leave.text}"]

    def on_FunctionDef(self: Any, node: ast.FunctionDef) -> None:
        """A function in the function, which only `fork` could call: it isn't one of TorchScript's statements."""
        raise self.source.syntax_error(node, "function definitions aren't supported")

    def on_Delete(self: Any, node: ast.Delete) -> None:
        """The removal of an element or a variable."""
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                owner = self.as_value(self.expression(target.value), target)
                if isinstance(target.slice, ast.Slice):
                    raise self.error(target, "TorchScript only supports deletion at a single index")
                key = self.as_value(self.expression(target.slice), target)
                if owner.type.name.startswith("__torch__."):
                    if self.session.method_signature(owner.type, "__delitem__") is None:
                        raise self.error(target, "Class does not define __delitem__")
                    call = self.invoke_method(owner, "__delitem__", [key], {}, node)
                    self.emit(f"{self.fresh()} = {call.text}")
                    continue
                self.emit(f"torch.Delete({owner.text}, {key.text})")
            elif isinstance(target, ast.Name):
                self.scope.values.pop(target.id, None)
                self.scope.reasons[target.id] = f"{target.id} is deleted"
            else:
                raise self.source.syntax_error(target, "del statements for attributes aren't supported")
