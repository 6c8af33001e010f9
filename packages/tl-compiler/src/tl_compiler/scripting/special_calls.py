"""Calls of the language of TorchScript: `annotate`, `fork`, questions about compilation, warnings."""

from __future__ import annotations

import ast
import typing
import warnings
from collections.abc import Callable
from typing import Any

import tl_core

from ..jit import decorations
from ..script import tasks
from ..script.types import Type
from .operands import Operand, Value
from .operator_types import ANY, NONE, STR, TENSOR, accepts

__all__ = ["SPECIAL", "assert_call"]

Handler = Callable[[Any, ast.Call, Any], Operand]


def _annotate(compiler: Any, node: ast.Call, expected: Any) -> Operand:
    kind = compiler.annotation(node.args[0])
    value = compiler.as_value(compiler.expression(node.args[1], kind), node)
    convert = compiler.convert(value, kind)
    if convert is None and value.type == TENSOR and isinstance(node.args[1], ast.Call):
        convert = Value(value.text, kind)
    if convert is None:
        raise compiler.error(node, f"expected an expression of type {kind} but found {value.type}")
    return Value(f"annotate({kind}, {convert.text})", kind) if value.type != kind else convert


def _cast(compiler: Any, node: ast.Call, expected: Any) -> Operand:
    kind = compiler.annotation(node.args[0])
    value = compiler.as_value(compiler.expression(node.args[1]), node)
    return Value(f"unchecked_cast({kind}, {value.text})", kind)


def _constant_answer(value: bool) -> Handler:
    def call(compiler: Any, node: ast.Call, expected: Any) -> Operand:
        return compiler.known_truth(value)

    return call


def _fork(compiler: Any, node: ast.Call, expected: Any) -> Operand:
    call = ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node)
    name = compiler.fresh("_fork_")
    lines, compiler.lines = compiler.lines, []
    compiler.depth += 1
    value = compiler.as_value(compiler.expression(call), node)
    compiler.emit(f"return {value.text}")
    compiler.depth -= 1
    inner, compiler.lines = compiler.lines, lines
    compiler.emit(f"def {name}() -> {value.type}:")
    compiler.lines += inner
    task = compiler.fresh()
    compiler.emit(f"{task} = fork({name})")
    return Value(task, Type("Future", (value.type,)))


def _wait(compiler: Any, node: ast.Call, expected: Any) -> Operand:
    value = compiler.as_value(compiler.expression(node.args[0]), node)
    if value.type.name != "Future":
        raise compiler.error(node, f"wait() takes a Future, got {value.type}")
    return Value(f"torch.wait({value.text})", value.type.element(0) or ANY)


def _warn(compiler: Any, node: ast.Call, expected: Any) -> Operand:
    message = compiler.as_value(compiler.expression(node.args[0]), node)
    compiler.emit(f"torch.warn({message.text if message.type == STR else f'torch.str({message.text})'})")
    return Value("None", NONE, None)


def _is_tensor(compiler: Any, node: ast.Call, expected: Any) -> Operand:
    value = compiler.as_value(compiler.expression(node.args[0]), node)
    return compiler.known_truth(accepts(TENSOR, value.type))


def assert_call(compiler: Any, node: ast.Call, expected: Any) -> Operand:
    """Compiles a call that asserts a condition as the statement `assert`.

    Args:
        compiler: the compiler of the function.
        node: the call, with the condition and perhaps a message.
        expected: the kind of value that the code around expects, which has no effect.

    Returns:
        The value None.
    """
    statement = ast.copy_location(
        ast.Assert(node.args[0], node.args[1] if len(node.args) > 1 else None), node
    )
    compiler.on_Assert(statement)
    return Value("None", NONE, None)


SPECIAL: dict[Any, Handler] = {
    decorations.annotate: _annotate, typing.cast: _cast, decorations.is_scripting: _constant_answer(True),
    decorations.is_tracing: _constant_answer(False), tasks.fork: _fork, tasks.wait: _wait, warnings.warn: _warn,
    tl_core.is_tensor: _is_tensor,
}  # fmt: skip
for _name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
    _function = getattr(tl_core.overrides, _name, None)
    if _function is not None:
        SPECIAL[_function] = _constant_answer(False)
