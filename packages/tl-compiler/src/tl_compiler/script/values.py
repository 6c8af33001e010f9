"""Operators of archives on numbers, texts, lists and dictionaries: `torch.append(sizes, 3)`, `torch.format("{}", x)`.

>>> FUNCTIONS["floordiv"](7, 2), FUNCTIONS["format"]("{} and {}", 1, "two")
(3, '1 and two')
"""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.dispatch import autocast
from tl_core.operators import number_functions

from .dtype_codes import code_of, dtype_of
from .errors import Error
from .tasks import wait
from .tensor_functions import TENSOR_FUNCTIONS
from .texts import format_percent, format_text, text_of
from .types import Type

__all__ = [
    "FUNCTIONS",
    "PRIM",
    "TENSOR_ATTRIBUTES",
    "number_of",
    "to_bool",
    "to_complex",
    "to_float",
    "to_int",
]


# ---- numbers
def number_of(value: Any) -> Any:
    """Returns the number in a tensor of one element. Other values are returned unchanged.

    Example:
        >>> number_of(tl_core.tensor(3))
        3
    """
    return value.item() if isinstance(value, Tensor) else value


def to_int(value: Any) -> int:
    """Returns a number, a tensor of one element or a text as an integer.

    Example:
        >>> to_int(tl_core.tensor(2.5)), to_int("7")
        (2, 7)
    """
    return int(number_of(value))


def to_float(value: Any) -> float:
    """Returns a number, a tensor of one element or a text as a real number.

    Example:
        >>> to_float(tl_core.tensor(2))
        2.0
    """
    return float(number_of(value))


def to_complex(value: Any, imaginary: Any = 0) -> complex:
    """Returns one or two numbers or tensors of one element as a complex number.

    Example:
        >>> to_complex(1, tl_core.tensor(2.0))
        (1+2j)
    """
    return complex(number_of(value), number_of(imaginary))


def to_bool(value: Any) -> bool:
    """Returns a number, or a tensor of one element, as a truth value.

    Example:
        >>> to_bool(tl_core.tensor(0.0))
        False
    """
    return bool(value)


_ROWS = {name: function for name, (_, function) in number_functions.rows().items()}
_equal_lists, _index_in_list, _index_in_text = (
    _ROWS["eq.int_list"],
    _ROWS["index.list_int"],
    _ROWS["index.str"],
)
_count_in_text = number_functions.TEXT_SEARCHES["count"]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return bool(_equal_lists(a, b))
    return bool(a == b)


def _unequal(a: Any, b: Any) -> bool:
    return not _equal(a, b)


def _floor_divide(a: Any, b: Any) -> Any:
    return a // b if b or (isinstance(a, int) and isinstance(b, int)) else math.nan


def _remainder_range(start: int, stop: int, step: int) -> int:
    return len(range(start, stop, step))


def _numbers() -> dict[str, Callable[..., Any]]:
    """The functions of numbers; of those with several, such as `pow`, the first overload's."""
    table: dict[str, Callable[..., Any]] = {}
    for overload, function in _ROWS.items():
        table.setdefault(overload.partition(".")[0], function)
    return table


# ---- texts
_TEXT_METHODS = (
    "capitalize", "center", "expandtabs", "isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier", "islower",
    "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip", "partition",
    "replace", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "strip", "swapcase", "title",
    "upper", "zfill",
)  # fmt: skip


def _as_list(result: Any) -> Any:
    return list(result) if isinstance(result, tuple) else result


def _text_method(name: str) -> Callable[..., Any]:
    method = getattr(str, name)
    return lambda text, *arguments: method(text, *arguments)


# ---- lists and dictionaries
def _index(values: Any, value: Any, *bounds: int) -> int:
    find = _index_in_text if isinstance(values, str) else _index_in_list
    return int(find(values, value, *bounds))


def _slice(values: Any, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return values[start:end:step]


def _sort(values: list[Any], reverse: Any = False) -> None:
    if callable(reverse):
        values.sort(key=functools.cmp_to_key(lambda a, b: -1 if reverse(a, b) else 1 if reverse(b, a) else 0))
    else:
        values.sort(reverse=reverse)


def _sorted(values: Any) -> list[Any]:
    return sorted(values)


def _remove(values: list[Any], value: Any) -> None:
    index = next((i for i, v in enumerate(values) if _equal(v, value)), None)
    if index is None:
        raise Error("list.remove(x): x not in list")
    del values[index]


def _extend(values: list[Any], more: Iterable[Any]) -> list[Any]:
    values.extend(more)
    return values


def _append(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _get(values: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return values.get(key, default)


def _count(values: Any, value: Any, *bounds: int) -> int:
    if isinstance(values, str):
        return int(_count_in_text(values, value, *bounds))
    return sum(_equal(v, value) for v in values)


def _delete(values: Any, key: Any) -> None:
    del values[key]


def _contains(values: Any, value: Any) -> bool:
    return any(_equal(v, value) for v in values) if isinstance(values, list) else value in values


def _list(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, Tensor) else list(values)


def _item(values: Any, key: Any) -> Any:
    return values[key]


def _keys(values: dict[Any, Any]) -> list[Any]:
    return list(values)


def _values(values: dict[Any, Any]) -> list[Any]:
    return list(values.values())


def _items(values: dict[Any, Any]) -> list[Any]:
    return list(values.items())


# ---- the program
def _warn(message: Any, category: str = "", stacklevel: int = 2) -> None:
    kind = {"FutureWarning": FutureWarning, "DeprecationWarning": DeprecationWarning}.get(
        category, UserWarning
    )
    warnings.warn(str(message), kind, stacklevel=3)


def _tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return tl_core.tensor(data, dtype=dtype_of(dtype), device=device, requires_grad=requires_grad)


def _as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    return tl_core.as_tensor(data, dtype=dtype_of(dtype), device=device)


def _subtract_multiple(a: Tensor, b: Tensor, alpha: Any = 1) -> Tensor:
    """An operator that only PyTorch's tests of former versions call."""
    return a - alpha * b


def _size(x: Tensor, dim: int | None = None) -> Any:
    return list(x.shape) if dim is None else x.size(dim)


def _raise(message: Any = "", name: str | None = None) -> None:
    raise Error(f"{name.rpartition('.')[2]}: {message}" if name else str(message))


def _unwrap(value: Any) -> Any:
    if value is None:
        raise Error("AssertionError: Unwrapping null optional")
    return value


def _least(*values: Any) -> Any:
    return min(values[0]) if len(values) == 1 else min(*values)


def _most(*values: Any) -> Any:
    return max(values[0]) if len(values) == 1 else max(*values)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_numbers(),
    **number_functions.TEXT_SEARCHES,
    **TENSOR_FUNCTIONS,
    **{name: _text_method(name) for name in _TEXT_METHODS},
    "eq": _equal, "ne": _unequal, "floordiv": _floor_divide, "floor_divide": _floor_divide, "abs": abs,
    "__not__": operator.not_, "__is__": operator.is_, "__isnot__": operator.is_not, "divmod": divmod,
    "factorial": math.factorial, "degrees": math.degrees, "radians": math.radians, "fabs": math.fabs,
    "modf": math.modf, "mathremainder": math.remainder, "gamma": math.gamma, "hypot": math.hypot, "trunc": math.trunc,
    "__range_length": _remainder_range, "__derive_index": lambda index, start, step: start + index * step,
    "Int": to_int, "Float": to_float, "Bool": to_bool, "Complex": to_complex, "IntImplicit": to_int,
    "FloatImplicit": to_float, "ComplexImplicit": to_complex, "ScalarImplicit": number_of, "item": number_of,
    "format": format_text, "percentFormat": format_percent, "ord": ord, "chr": chr, "hex": hex, "oct": oct, "bin": bin,
    "str": text_of, "hash": hash, "len": len, "append": _append, "extend": _extend, "insert": list.insert,
    "pop": lambda values, *key: values.pop(*key), "popitem": dict.popitem, "remove": _remove, "reverse": list.reverse,
    "clear": lambda values: values.clear(), "copy": lambda values: values.copy(), "count": _count, "index": _index,
    "sort": _sort, "sorted": _sorted, "slice": _slice, "list": _list, "dict": dict, "keys": _keys, "values": _values,
    "items": _items, "get": _get, "setdefault": dict.setdefault, "update": dict.update, "Delete": _delete,
    "_set_item": operator.setitem, "__getitem__": _item, "__contains__": _contains, "add_": operator.iadd,
    "mul_": operator.imul,
    "warn": _warn, "device": tl_core.device, "tensor": _tensor, "as_tensor": _as_tensor, "size": _size,
    "is_grad_enabled": tl_core.is_grad_enabled, "set_grad_enabled": tl_core.set_grad_enabled,
    "is_autocast_enabled": autocast.is_autocast_enabled, "manual_seed": tl_core.manual_seed, "wait": wait,
    "_unwrap_optional": _unwrap, "Size": list, "cpu": lambda x: x.cpu(), "cuda": lambda x: x.cuda(),
    "_test_serialization_subcmul": _subtract_multiple, "is_scripting": lambda: True, "tolist": _list,
}  # fmt: skip


def _attribute(name: str) -> Callable[[Any], Any]:
    return operator.attrgetter(name)


# Attributes of tensors that are operators of `ops.prim`.
TENSOR_ATTRIBUTES = frozenset((
    "dtype", "layout", "shape", "device", "requires_grad", "grad", "data", "ndim", "is_leaf", "is_cuda", "is_cpu",
    "is_xpu", "is_mps", "is_meta", "is_sparse", "is_sparse_csr", "is_mkldnn", "is_quantized", "is_nested", "T",
    "H", "mT", "mH", "real", "imag", "itemsize", "nbytes",
))  # fmt: skip
_OTHER_ATTRIBUTES = ("name", "index", "type")  # those of enumerations and devices

PRIM: dict[str, Callable[..., Any]] = {
    **{name: _attribute(name) for name in (*TENSOR_ATTRIBUTES, *_OTHER_ATTRIBUTES)},
    "RaiseException": _raise, "dtype": lambda x: code_of(x.dtype), "layout": lambda x: code_of(x.layout),
    "shape": _size, "NumToTensor": tl_core.tensor, "min": _least, "max": _most, "abs": abs,
    "unchecked_unwrap_optional": _unwrap, "unchecked_cast": lambda value: value, "ImplicitTensorToNum": number_of,
    "rangelist": lambda n: list(range(n)), "id": id, "tolist": _list,
    **{f"is_{kind}": lambda x: False for kind in ("ipu", "maia", "mtia", "vulkan", "xla")},
    "IfThenElse": lambda test, first, second: first if test else second, "StringIndex": operator.getitem,
    "EnumName": _attribute("name"), "EnumValue": _attribute("value"),
}  # fmt: skip


def to_list(tensor: Tensor, kind: Type) -> Any:
    """Returns a tensor as a number, or as lists in lists, of the type that a program states.

    Args:
        tensor: the tensor.
        kind: the type, such as that of `List[List[int]]`.

    Raises:
        RuntimeError: the tensor has another number of dimensions, or elements of another type.

    Example:
        >>> import tl_core
        >>> to_list(tl_core.tensor([1, 2]), Type("List", (Type("int"),)))
        [1, 2]
    """
    depth = 0
    while kind.name == "List":
        kind, depth = kind.arguments[0], depth + 1
    if tensor.dim() != depth:
        raise RuntimeError(
            "Output annotation list dimension and runtime tensor dimension must match for tolist()"
        )
    dtype = tensor.dtype
    own = (
        "bool"
        if dtype == tl_core.bool
        else "complex"
        if dtype.is_complex
        else "float"
        if dtype.is_floating_point
        else "int"
    )
    if own != kind.name:
        raise RuntimeError(
            "Output annotation element type and runtime tensor element type must match for tolist(): "
            f"{kind.name} and {dtype}"
        )
    return tensor.tolist()
