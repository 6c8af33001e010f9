"""The code of the library's own functions and layers, which programs call."""

from __future__ import annotations

import ast
import functools
import math
import types
import warnings
from collections.abc import Callable
from typing import Any, Optional

import tl_core
import tl_core.operators.packets
from tl_nn import functional
from tl_nn.utils import rnn

from ..script.printing import constant_text
from ..script.tensor_functions import TENSOR_FUNCTIONS
from ..script.types import type_of
from .attention_code import ATTENTION
from .functional_code import FUNCTIONAL
from .loss_code import LOSSES
from .module_code import LAYERS
from .names import register_function
from .operands import Operand, PythonValue, Value
from .operator_types import FLOAT, INT, NONE, list_of
from .sequence_code import SEQUENCES
from .source import FunctionSource, source_of_text
from .window_code import WINDOWS

__all__ = ["functional_source", "module_source"]

_SCOPE: dict[str, Any] = {
    "aten": tl_core.operators.packets.aten, "quantized": tl_core.operators.packets.quantized,
    "F": functional, "Tensor": tl_core.Tensor, "Optional": Optional,
    "List": list, "Tuple": tuple, "int": int, "float": float, "len": len, "range": range, "list": list, "bool": bool,
    "str": str, "inf": math.inf, "warn": warnings.warn, "ValueError": ValueError, "RuntimeError": RuntimeError,
    "PackedSequence": rnn.PackedSequence, "rnn": rnn, "tensor": tl_core.tensor,
    "NotImplementedError": NotImplementedError, "AssertionError": AssertionError,
}  # fmt: skip


def _own_operators() -> types.SimpleNamespace:
    """The operators that only programs have, as functions that the texts call."""
    names = ("_pack_padded_sequence", "_pad_packed_sequence")
    for name in names:
        register_function(TENSOR_FUNCTIONS[name], f"aten::{name}")
    return types.SimpleNamespace(**{name: TENSOR_FUNCTIONS[name] for name in names})


_SCOPE["own_operators"] = _own_operators()


class _Helper:
    """A function that only the library's programs call.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"{self.__name__} runs in programs only")


def _find(name: str) -> Any:
    if name in _SCOPE:
        return _SCOPE[name]
    return _helpers()[name]


@functools.cache
def _functions() -> dict[str, FunctionSource]:
    return source_of_text(
        "\n".join((FUNCTIONAL, LOSSES, WINDOWS, ATTENTION, SEQUENCES)), _find, "", "torch/nn/functional.py"
    )


def _python_function(name: str) -> Any:
    """The function of Python that a function of the library's programs stands for, or None."""
    if name.startswith("_"):
        return None
    return getattr(functional, name, None) or getattr(rnn, name, None)


@functools.cache
def _helpers() -> dict[str, _Helper]:
    """The functions without a counterpart in `nn.functional`."""
    names = [n for n in _functions() if _python_function(n) is None]
    return {name: _Helper(name) for name in names}


@functools.cache
def _by_function() -> dict[int, tuple[Any, str]]:
    """The names of the library's functions by the id of the function."""
    table = {id(h): (h, name) for name, h in _helpers().items()}
    for name in _functions():
        function = _python_function(name)
        if function is not None:
            table[id(function)] = function, name
    return table


def functional_source(
    session: Any, function: Any, compiler: Any, arguments: list[Operand], keywords: dict[str, Operand]
) -> tuple[Any, Callable[[], FunctionSource], str] | None:
    """Returns the identity, the source and the dotted name of a function of the library; None for another function.

    Args:
        session: the compilation.
        function: the function.
        compiler: the compiler of the calling function.
        arguments, keywords: the arguments of the call.
    """
    entry = _by_function().get(id(function))
    if entry is None:
        return None
    name = _variant(session, entry[1], arguments, keywords)
    parameters = _functions()[name].node.args.args
    operands = [*zip(range(len(arguments)), parameters, strict=False)]
    first = arguments[0] if arguments else keywords.get("input")
    for index, parameter in operands:
        arguments[index] = _fit(session, arguments[index], parameter, name, first)
    for parameter in parameters:
        if parameter.arg in keywords:
            keywords[parameter.arg] = _fit(session, keywords[parameter.arg], parameter, name, first)
    source = _functions()[name]
    return source, lambda: source, f"__torch__.torch.nn.functional.{name}"


# The parameters that take a number in the place of a list.
_SIZES = frozenset(
    (
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "output_size",
        "output_ratio",
        "size",
        "scale_factor",
        "pad",
    )
)


def _variant(session: Any, name: str, arguments: list[Operand], keywords: dict[str, Operand]) -> str:
    """The name of the program of a function: one that returns indices, or takes sizes of which some are None."""
    names = [a.arg for a in _functions()[name].node.args.args]
    if "return_indices" in names and not name.endswith("_with_indices"):
        operand = _constant(session, _argument("return_indices", names, arguments, keywords))
        if isinstance(operand, Value) and operand.is_known and operand.constant:
            name += "_with_indices"
        elif isinstance(operand, Value) and not operand.is_known:
            raise RuntimeError(f"{name}(): the argument return_indices must be a constant of the program")
    if name.startswith("adaptive_"):
        sizes = _constant(session, _argument("output_size", names, arguments, keywords))
        if isinstance(sizes, Value) and any(t == NONE or t.name == "Optional" for t in sizes.type.arguments):
            name += "_partly"
    return name


def _argument(
    name: str, names: list[str], arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand | None:
    index = names.index(name)
    return arguments[index] if index < len(arguments) else keywords.get(name)


def _constant(session: Any, operand: Operand | None) -> Operand | None:
    """An operand, or the constant of the program that a value of Python is."""
    if isinstance(operand, PythonValue):
        constant: Operand | None = session.constant(operand.value)
        return operand if constant is None else constant
    return operand


def _fit(session: Any, operand: Operand, parameter: ast.arg, name: str, first: Operand | None) -> Operand:
    """A whole number as a real one, or a number as the list that stands for it, where a parameter is that.

    A list has an element for each dimension where an operator needs that.
    """
    value = _constant(session, operand)
    if not isinstance(value, Value) or value.type.name not in ("int", "float"):
        return operand
    kind = type_of(parameter.annotation).inner
    if kind == FLOAT and value.type == INT:
        return _real(value)
    if kind.name != "List" or parameter.arg not in _SIZES:
        return operand
    element = _real(value) if kind.element(None) == FLOAT and value.type == INT else value
    text, item = element.text, element.type
    if name.startswith(("interpolate", "upsample")) and isinstance(first, Value):
        return Value(f"torch.mul([{text}], torch.sub(torch.dim({first.text}), 2))", list_of(item))
    count = int(name.partition("_pool")[2][0]) if name.startswith("adaptive") else 1
    return Value(f"[{', '.join([text] * count)}]", list_of(item), fields=[Value(text, item)] * count)


def _real(value: Value) -> Value:
    """A whole number as a real one."""
    if value.is_known:
        return Value(constant_text(float(value.constant)), FLOAT, float(value.constant))
    return Value(f"float({value.text})", FLOAT)


def module_source(module: Any, name: str) -> FunctionSource | None:
    """Returns the source of a method of a layer of the library; None where the layer's own source is compiled.

    Args:
        module: the layer.
        name: the name of the method.
    """
    for kind in type(module).__mro__:
        if "_SCRIPT_SOURCE" in vars(kind):
            source = _own_program(kind).get(name)
            if source is not None:
                return source
        if name in vars(kind):
            break
    method = getattr(type(module), name, None)
    scope = getattr(method, "__globals__", {})
    if method is not None and not str(scope.get("__name__", "")).startswith("tl_nn"):
        return None
    for kind in type(module).__mro__:
        key = "RNN_" + module.nonlinearity.upper() if kind.__name__ == "RNN" else kind.__name__
        if kind.__module__.startswith(("tl_nn", "torch.nn", "tl.nn")) and key in LAYERS:
            return _layer(key).get(name)
    return None


@functools.cache
def _own_program(kind: Any) -> dict[str, FunctionSource]:
    """The methods that a class of layers states as a program in `_SCRIPT_SOURCE`."""
    path = "/".join(kind.__module__.split("."))
    return source_of_text(kind._SCRIPT_SOURCE, _find, kind.__name__, f"{path}.py")


@functools.cache
def _layer(key: str) -> dict[str, FunctionSource]:
    return source_of_text(LAYERS[key], _find, key, f"torch/nn/modules/{key}.py")
