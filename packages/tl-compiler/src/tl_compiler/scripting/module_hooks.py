"""Hooks of modules: a call of a part in a program runs the hooks that the part had when it was compiled."""

from __future__ import annotations

import ast
from typing import Any

from .module_types import class_attribute
from .operands import ModuleValue, Operand, Value
from .operator_types import NONE

__all__ = ["ModuleHooks", "hooks_of"]


def hooks_of(module: Any) -> tuple[list[Any], list[Any]]:
    """Returns the hooks that run before `forward` of a module, and those that run after it.

    Raises:
        RuntimeError: two hooks have one name, or a hook has the name of a method.
    """
    before = list(module._forward_pre_hooks.values())
    after = list(module._forward_hooks.values())
    for word, hooks in (("Pre-hook", before), ("Hook", after)):
        names: dict[str, Any] = {}
        for hook in hooks:
            name = getattr(hook, "__name__", type(hook).__name__)
            if names.setdefault(name, hook) is not hook:
                raise RuntimeError(
                    f"{word} '{name}' on {type(module).__name__} has at least two different python definitions. "
                    "Please use unique names for all hooks."
                )
            if class_attribute(type(module), name) is not None:
                raise RuntimeError(
                    f"Can't define hook: {name} on class: {type(module).__name__} because a method or hook with that "
                    "name already exists."
                )
    return before, after


class ModuleHooks:
    """The part of a session that compiles hooks."""

    def call_with_hooks(
        self: Any, compiler: Any, owner: ModuleValue, arguments: list[Operand], node: ast.AST
    ) -> Operand | None:
        """The result of a call of a module that has hooks, or None for another module."""
        kind = self._module_classes.get(owner.name)
        before, after = hooks_of(owner.module) if kind is not None else ([], [])
        if not before and not after:
            return None
        values = compiler.temporary(compiler.tuple_of(compiler.values(arguments, node)))
        for hook in before:
            result = self._run_hook(compiler, owner, kind, hook, [values], node)
            if result is not None:
                values = result if result.type.name == "Tuple" else compiler.tuple_of([result])
        output = compiler.call_module(owner, "forward", compiler.spread(values), {}, node)
        for hook in after:
            output = compiler.temporary(compiler.as_value(output, node))
            output = self._run_hook(compiler, owner, kind, hook, [values, output], node) or output
        return output

    def _run_hook(
        self: Any,
        compiler: Any,
        owner: ModuleValue,
        kind: Any,
        hook: Any,
        arguments: list[Value],
        node: ast.AST,
    ) -> Value | None:
        """The result of a hook, or None for a hook without one."""
        name = hook.__name__
        signature = self.compile_method(kind, name, hook)
        texts = compiler.match_arguments(signature, arguments, {}, node)
        receiver = owner.text if owner.text == "self" else f"({owner.text})"
        call = f"{receiver}.{name}({', '.join(texts)})"
        result = compiler.fresh()
        compiler.emit(f"{result} = {call}")
        return None if signature.result == NONE else Value(result, signature.result)
