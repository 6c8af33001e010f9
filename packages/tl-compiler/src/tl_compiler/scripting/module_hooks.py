"""Hooks of modules: a call of a part in a program runs the hooks that the part had when it was compiled."""

from __future__ import annotations

import ast
from typing import Any

from ..script.types import Type
from .module_types import class_attribute
from .operands import ModuleValue, Operand, Value
from .operator_types import NONE
from .source import source_of

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


def _tuple_of(kinds: list[Type]) -> Type:
    return Type("Tuple", tuple(kinds))


class _HookCheck:
    """The check of a hook's signature.

    Args:
        word: "Pre-hook" or "Hook".
        name: the name of the hook.
        module: the name of the module's class.
        arguments: the types of the arguments of `forward`.
    """

    def __init__(self, word: str, name: str, module: str, arguments: list[Type]) -> None:
        self._head = f"{word} '{name}' on module '{module}'"
        self.arguments = arguments

    def error(self, text: str) -> RuntimeError:
        """An error about the hook."""
        return RuntimeError(f"{self._head} {text}")

    def count(self, own: list[Type], expected: int) -> None:
        """Checks the number of arguments, the module included."""
        if len(own) + 1 != expected:
            raise self.error(
                f"was expected to only have exactly {expected} inputs but it had {len(own) + 1} inputs"
            )

    def inputs(self, kind: Type) -> None:
        """Checks the argument that holds those of `forward`."""
        if kind.name != "Tuple":
            raise self.error(
                f"expected the input argument to be typed as a Tuple but found type: '{kind}' instead."
            )
        expected = _tuple_of(self.arguments)
        end = f"Received type: '{kind}'. Expected type: '{expected}'."
        if len(kind.arguments) != len(self.arguments):
            raise self.error(f"has the wrong number of contained types for the input argument's Tuple. {end}")
        if kind != expected:
            raise self.error(f"has the wrong inner types for the input tuple argument. {end}")

    def replacement(self, kind: Type, stated: bool) -> None:
        """Checks the result of a hook before `forward`: None, new arguments, or the only new argument."""
        if kind == NONE:
            return
        if not stated:
            raise self.error(
                "is missing a return annotation. Return annotations are required, please add one."
            )
        expected = _tuple_of(self.arguments)
        single = self.arguments[0] if len(self.arguments) == 1 else None
        if single is not None and single.name == "Tuple" and kind != expected:
            raise self.error(
                f"returned the wrong type of: '{kind}'. When forward has a single tuple input argument, the return "
                "needs to be 'None' or a nested tuple containing forward's input tuple argument as in: "
                f"'{expected}'"
            )
        if kind not in (expected, single):
            raise self.error(f"returned the wrong type of: '{kind}'. Expected '{expected}' or None")


class ModuleHooks:
    """The part of a session that compiles hooks."""

    def hook_lines(self: Any, module: Any) -> list[str]:
        """The lines of a module's class that name its hooks, which run where the archive is loaded and called."""
        tables = zip(("__forward_pre_hooks__", "__forward_hooks__"), hooks_of(module), strict=True)
        names = {
            table: [hook.__name__ for hook in hooks if hasattr(hook, "__name__")] for table, hooks in tables
        }
        return [f"  {table} = [{', '.join(map(repr, own))}]" for table, own in names.items() if own]

    def check_hooks(self: Any, kind: Any) -> None:
        """Checks the signatures of the hooks of a module's class.

        Raises:
            RuntimeError: a signature doesn't fit `forward`.
        """
        before, after = hooks_of(kind.module)
        if not before and not after:
            return
        forward = self.compile_method(kind, "forward")
        arguments, output = [t for _, t, _ in forward.arguments], forward.result
        for word, hooks in (("Pre-hook", before), ("Hook", after)):
            for hook in hooks:
                signature = self.compile_method(kind, hook.__name__, hook)
                own = [t for _, t, _ in signature.arguments]
                check = _HookCheck(word, hook.__name__, type(kind.module).__name__, arguments)
                check.count(own, 2 if word == "Pre-hook" else 3)
                check.inputs(own[0])
                if word == "Pre-hook":
                    check.replacement(signature.result, source_of(hook).node.returns is not None)
                    continue
                if own[1] != output:
                    raise check.error(
                        f"has the wrong type for the output argument. Received type: '{own[1]}'. Expected type: "
                        f"'{output}'."
                    )
                output = output if signature.result == NONE else signature.result

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
