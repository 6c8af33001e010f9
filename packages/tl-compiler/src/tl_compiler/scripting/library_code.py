"""The code of the library's own functions and layers, which programs call."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Optional

import tl_core
import tl_core.operators.packets
from tl_nn import functional

from ..script.printing import constant_text
from .functional_code import FUNCTIONAL
from .module_code import LAYERS
from .operands import Operand, PythonValue, Value
from .operator_types import FLOAT, list_of
from .source import FunctionSource, source_of_text

__all__ = ["functional_source", "module_source"]

_SCOPE: dict[str, Any] = {
    "aten": tl_core.operators.packets.aten, "F": functional, "Tensor": tl_core.Tensor, "Optional": Optional,
    "List": list, "Tuple": tuple, "int": int, "float": float, "len": len, "range": range, "list": list, "bool": bool,
    "str": str, "inf": math.inf, "ValueError": ValueError, "NotImplementedError": NotImplementedError,
}  # fmt: skip


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
    return source_of_text(FUNCTIONAL, _find, "", "torch/nn/functional.py")


@functools.cache
def _helpers() -> dict[str, _Helper]:
    """The functions without a counterpart in `nn.functional`."""
    names = [n for n in _functions() if not callable(getattr(functional, n, None))]
    return {name: _Helper(name) for name in names}


@functools.cache
def _by_function() -> dict[int, tuple[Any, str]]:
    """The names of the library's functions by the id of the function."""
    table = {id(h): (h, name) for name, h in _helpers().items()}
    for name in _functions():
        function = getattr(functional, name, None)
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
    name = entry[1]
    if name.startswith("max_pool") and _asks_for_indices(session, arguments, keywords):
        name = f"{name}_with_indices"
    for index, operand in enumerate(arguments):
        if name in _LISTS and index in _LISTS[name]:
            arguments[index] = _as_list(compiler, operand, name, arguments[0])
    for key in keywords.keys() & {
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "output_size",
        "size",
        "scale_factor",
        "pad",
    }:
        first = arguments[0] if arguments else keywords.get("input")
        keywords[key] = _as_list(compiler, keywords[key], name, first, is_real=key == "scale_factor")
    source = _functions()[name]
    return source, lambda: source, f"__torch__.torch.nn.functional.{name}"


_LISTS = {
    **{f"max_pool{n}d{end}": (1, 2, 3, 4) for n in (1, 2, 3) for end in ("", "_with_indices")},
    **{f"avg_pool{n}d": (1, 2, 3) for n in (1, 2, 3)},
    **{f"adaptive_{word}_pool{n}d": (1,) for word in ("avg", "max") for n in (1, 2, 3)},
    "unfold": (1, 2, 3, 4), "fold": (1, 2, 3, 4, 5), "interpolate": (1, 2), "pad": (1,),
}  # fmt: skip


def _as_list(
    compiler: Any, operand: Operand, name: str, first: Operand | None, is_real: bool = False
) -> Operand:
    """A number as the list that stands for it: with an element for each dimension where an operator needs that."""
    value = operand
    if isinstance(value, PythonValue):
        value = compiler.session.constant(value.value) or value
    if not isinstance(value, Value) or value.type.name not in ("int", "float"):
        return operand
    kind = FLOAT if is_real else value.type
    text = value.text
    if kind != value.type:
        text = constant_text(float(value.constant)) if value.is_known else f"float({value.text})"
    if name == "interpolate" and isinstance(first, Value):
        return Value(f"torch.mul([{text}], torch.sub(torch.dim({first.text}), 2))", list_of(kind))
    count = int(name[-2]) if name.startswith("adaptive") else 1
    return Value(f"[{', '.join([text] * count)}]", list_of(kind), fields=[Value(text, kind)] * count)


def _asks_for_indices(session: Any, arguments: list[Operand], keywords: dict[str, Operand]) -> bool:
    operand = keywords.get("return_indices") or (arguments[6] if len(arguments) > 6 else None)
    if isinstance(operand, PythonValue):
        operand = session.constant(operand.value)
    return isinstance(operand, Value) and bool(operand.is_known and operand.constant)


def module_source(module: Any, name: str) -> FunctionSource | None:
    """Returns the source of a method of a layer of the library; None where the layer's own source is compiled.

    Args:
        module: the layer.
        name: the name of the method.
    """
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
def _layer(key: str) -> dict[str, FunctionSource]:
    return source_of_text(LAYERS[key], _find, key, f"torch/nn/modules/{key}.py")
