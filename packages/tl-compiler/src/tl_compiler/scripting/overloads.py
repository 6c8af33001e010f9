"""Functions and methods with several stated signatures: each is compiled for the types of a call."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import tl_nn

from ..jit.internal import overloads_of
from .operands import Operand, Value
from .signatures import Signature
from .source import source_of

__all__ = ["Overloads"]


class Overloads:
    """The part of a session that chooses among signatures."""

    def choose_overload(
        self: Any,
        function: Any,
        compiler: Any,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
        skip: int = 0,
    ) -> tuple[int, Signature] | None:
        """The first stated signature that takes the arguments of a call, with its number; None without signatures.

        Raises:
            RuntimeError: no signature takes the arguments.
        """
        failure = None
        for index, stated in enumerate(overloads_of(function)):
            signature = self._with_defaults(
                self.declared_signature(stated, compiler, node, skip), function, compiler, skip
            )
            lines = len(compiler.lines)
            try:
                compiler.match_arguments(signature, arguments, keywords, node)
            except RuntimeError as error:
                failure = failure or error
                del compiler.lines[lines:]
                continue
            return index, signature
        if failure is not None:
            raise failure
        return None

    def _with_defaults(self: Any, signature: Signature, function: Any, compiler: Any, skip: int) -> Signature:
        """The signature with the defaults of the implementation, and the arguments that only it has."""
        stated = {name: (kind, default) for name, kind, default in signature.arguments}
        parameters = list(
            inspect.signature(inspect.unwrap(getattr(function, "__func__", function))).parameters.values()
        )
        arguments = []
        for parameter in parameters[skip:]:
            own = None if parameter.default is parameter.empty else self.constant(parameter.default)
            kind, default = stated.get(parameter.name, (None if own is None else own.type, None))
            if kind is None:
                raise compiler.error(
                    compiler.source.node,
                    f"an overload of {signature.name} lacks the argument '{parameter.name}'",
                )
            if default is None and own is not None:
                default = compiler.convert(own, kind)
            arguments.append((parameter.name, kind, default))
        return Signature(signature.name, arguments, signature.result)

    def overloaded_function(
        self: Any,
        function: Any,
        name: str,
        compiler: Any,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
    ) -> tuple[str, Signature] | None:
        """The name and the signature of the compiled overload that a call takes, or None for another function."""
        choice = self.choose_overload(function, compiler, arguments, keywords, node)
        if choice is None:
            return None
        index, signature = choice
        result: tuple[str, Signature] = self._compile_once(
            overloads_of(function)[index], lambda: source_of(function), f"{name}__{index}", signature
        )
        return result

    def overloaded_method(
        self: Any,
        owner: Any,
        name: str,
        compiler: Any,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
    ) -> tuple[str, Signature] | None:
        """The same for a method of a module."""
        kind = self._module_classes.get(owner.name)
        if kind is not None and name == "forward" and self._takes_packing(kind.module, arguments, keywords):
            return "forward_packed", self.compile_method(kind, "forward_packed")
        function = None if kind is None else getattr(type(kind.module), name, None)
        choice = self.choose_overload(function, compiler, arguments, keywords, node, skip=1)
        if choice is None:
            return None
        index, signature = choice
        return f"{name}__{index}", self.compile_method(kind, f"{name}__{index}", function, signature)

    def _takes_packing(
        self: Any, module: Any, arguments: list[Operand], keywords: dict[str, Operand]
    ) -> bool:
        """Whether a call runs a recurrent layer on packed sequences."""
        operand = arguments[0] if arguments else keywords.get("input")
        if not isinstance(module, tl_nn.RNNBase) or not isinstance(operand, Value):
            return False
        return self.python_class(operand.type.name) is tl_nn.utils.rnn.PackedSequence
