"""Numbers and names by which `.pt2` files say dtypes, layouts, memory formats and functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.operators.packets import OpOverload
from tl_core.symbolic import arithmetic as symbolic

from ...symbolic.python_operators import PYTHON_OPERATORS, ROUNDING
from .portable import aliases

__all__ = [
    "DTYPES",
    "LAYOUTS",
    "MEMORY_FORMATS",
    "FileRefused",
    "function_named",
    "is_identifier",
    "name_of_function",
]

_DTYPE_CODES = {
    "uint8": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "complex32": 9,
    "complex64": 10,
    "complex128": 11,
    "bool": 12,
    "bfloat16": 13,
    "uint16": 28,
    "float8_e4m3fn": 29,
    "float8_e5m2": 30,
    "float8_e4m3fnuz": 31,
    "float8_e5m2fnuz": 32,
    "float8_e8m0fnu": 33,
    "uint32": 34,
    "uint64": 35,
}
DTYPES: dict[int, Any] = {c: getattr(tl_core, n) for n, c in _DTYPE_CODES.items() if hasattr(tl_core, n)}
LAYOUTS: dict[int, Any] = {
    1: tl_core.sparse_coo,
    2: tl_core.sparse_csr,
    3: tl_core.sparse_csc,
    4: tl_core.sparse_bsr,
    5: tl_core.sparse_bsc,
    7: tl_core.strided,
}
MEMORY_FORMATS: dict[int, Any] = {
    1: tl_core.contiguous_format,
    2: tl_core.channels_last,
    3: tl_core.channels_last_3d,
    4: tl_core.preserve_format,
}


class FileRefused(RuntimeError):
    """A file holds no program, or one that isn't taken."""


_FUNCTIONS: dict[str, Callable[..., Any]] = {f"_operator.{n}": f for n, f in PYTHON_OPERATORS.items()}
for _name, _function in ROUNDING.items():
    # Files call functions of `builtins` by either name.
    of_math = _function.__module__ == "math"
    _FUNCTIONS |= (
        {f"math.{_name}": _function} if of_math else {f"builtins.{_name}": _function, _name: _function}
    )
_FUNCTIONS |= {
    f"torch.{n}": getattr(symbolic, n)
    for n in ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sum", "_sym_sqrt")
}
_OPERATOR_NAME = re.compile(r"torch\.ops\.([A-Za-z_]\w*)\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?\Z")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def is_identifier(text: Any) -> bool:
    """Whether a text may be a name in generated code."""
    import keyword

    return isinstance(text, str) and bool(_IDENTIFIER.match(text)) and not keyword.iskeyword(text)


def name_of_function(target: Any) -> str:
    """The name by which files call what a node calls.

    Args:
        target: the operator or function.

    Returns:
        The name.

    Raises:
        NotImplementedError: files have none for it.
    """
    if isinstance(target, OpOverload):
        return f"torch.ops.{target}"
    from ...higher_order.base import HigherOrderOperator

    if isinstance(target, HigherOrderOperator):
        return f"torch.ops.higher_order.{target.name()}"
    for name, function in _FUNCTIONS.items():
        if function is target:
            return name
    raise NotImplementedError(f"{target} can't stand in a file")


def function_named(name: Any) -> Any:
    """What a node calls, from the name in a file.

    Args:
        name: the name.

    Returns:
        The operator or function.

    Raises:
        FileRefused: there is none by this name, or it isn't one that files may call.
    """
    if not isinstance(name, str):
        raise FileRefused(f"the target of a node is a name, got {type(name).__name__}")
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    match = _OPERATOR_NAME.match(name)
    if match is None:
        raise FileRefused(f"{name[:80]!r} is no operator: files may call operators and arithmetic only")
    space, base, overload = match.groups()
    if space == "higher_order":
        return _higher_order(base)
    for alias in aliases(f"{space}.{base}.{overload or 'default'}"):
        operator_ = _overload(*alias.split("."))
        if operator_ is not None:
            break
    else:
        raise FileRefused(f"there is no operator {name[10:]}")
    if not isinstance(operator_, OpOverload):
        raise FileRefused(f"{name!r} is no operator")
    return operator_


def _overload(space: str, base: str, overload: str) -> Any:
    packet = getattr(getattr(tl_core.operators.packets, space), base, None)
    return getattr(packet, overload, None)


def _higher_order(name: str) -> Any:
    from ...higher_order import load_all
    from ...higher_order.base import HigherOrderOperator

    load_all()
    operator_ = HigherOrderOperator.by_name.get(name)
    if operator_ is None:
        raise FileRefused(f"there is no higher-order operator {name}")
    return operator_
