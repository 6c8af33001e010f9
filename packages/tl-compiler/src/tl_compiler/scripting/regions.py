"""The loops of a function, and the regions that `with` opens."""

from __future__ import annotations

import ast
from typing import Any

from ..script.types import Type
from .operands import Bound, Items, Value
from .operator_types import BOOL, NONE, accepts
from .region_classes import region_class
from .scopes import Scope, assigned_names

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
        """A region: gradients on or off, a name in a profile, or a class of the program with __enter__ and __exit__."""
        for item in node.items:
            self.enter(item)
        self.body(node.body)
        if self.lines[-1].endswith(":"):
            self.emit("pass")
        self.depth -= len(node.items)
        self.regions -= len(node.items)

    def enter(self: Any, item: ast.withitem) -> None:
        """Opens a region, whose lines follow."""
        call = item.context_expr
        value = self.temporary(self.region(call))
        result = self.invoke(Bound(value, "__enter__"), [], {}, call)
        self.invoke(Bound(value, "__exit__"), [Value("None", NONE, None)] * 3, {}, call)  # which must exist
        target = item.optional_vars
        entered = self.fresh("_entered") if target is not None else ""
        self.emit(f"with {value.text}{' as ' if entered else ''}{entered}:")
        self.depth += 1
        self.regions += 1
        if target is not None:
            self.assign(target, Value(entered, self.as_value(result, call).type), call)

    def region(self: Any, call: ast.expr) -> Value:
        """The object of a region."""
        operand = self.expression(call.func) if isinstance(call, ast.Call) else None
        switch = self.session.grad_switch(operand)
        if switch is None and not self.session.is_profiler_region(operand):
            return self.as_value(self.expression(call), call)
        assert isinstance(call, ast.Call)
        kind = "record_function" if switch is None else "set_grad_enabled"
        name = region_class(self.session.program, kind)
        if switch in (None, "set_grad_enabled"):
            arguments = self.operands(call.args)
            keywords = {str(k.arg): self.expression(k.value) for k in call.keywords}
        else:
            arguments, keywords = [Value(str(switch == "enable_grad"), BOOL)], {}
        signature = self.session.method_signature(Type(name), "__init__")
        texts = self.match_arguments(signature, arguments, keywords, call)
        own = self.fresh()
        self.emit(f"{own} = {name}.__new__({name})")
        self.emit(f"{self.fresh()} = ({own}).__init__({', '.join(texts)})")
        return Value(own, Type(name))

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
