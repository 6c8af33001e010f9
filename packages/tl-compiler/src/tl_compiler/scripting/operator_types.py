"""The types of operators' results, from the types of their arguments.

>>> str(result_of("add", [INT, FLOAT], {})), str(result_of("topk", [TENSOR, INT], {}))
('float', 'Tuple[Tensor, Tensor]')
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tl_core
import tl_core.operators.packets
from tl_core.operators import number_functions

from ..script.operators import bind
from ..script.types import Type, parse_type
from ..script.values import FUNCTIONS, PRIM

__all__ = [
    "BOOL", "FLOAT", "INT", "NONE", "NUMBERS", "STR", "TENSOR", "accepts", "list_of", "operator_exists", "result_of",
    "unify",
]  # fmt: skip

TENSOR, INT, FLOAT, BOOL, STR, NONE = map(Type, ("Tensor", "int", "float", "bool", "str", "NoneType"))
COMPLEX, NUMBER, DEVICE, ANY = map(Type, ("complex", "number", "Device", "Any"))
NUMBERS = ("bool", "int", "float", "complex", "number")
_aten: Any = tl_core.operators.packets.aten


def list_of(element: Type) -> Type:
    """Returns the type of a list."""
    return Type("List", (element,))


# ---- relations of types
def accepts(expected_type: Type, value: Type) -> bool:
    """Returns whether a value of a type can stand where another type is wanted, without a conversion.

    Example:
        >>> accepts(Type("Optional", (INT,)), NONE), accepts(FLOAT, INT)
        (True, False)
    """
    if expected_type == value or expected_type.name in ("Any", "AnyType"):
        return True
    if expected_type.name == "Optional":
        inner = expected_type.arguments[0]
        return value == NONE or accepts(inner, value.arguments[0] if value.name == "Optional" else value)
    if expected_type.name == "Union":
        options = value.arguments if value.name == "Union" else (value,)
        return all(any(accepts(w, g) for w in expected_type.arguments) for g in options)
    if expected_type.name in ("number", "Scalar"):
        return value.name in NUMBERS
    if expected_type.name in ("Tuple", "Future", "List", "Dict") and expected_type.name == value.name:
        if not expected_type.arguments or expected_type.name in ("List", "Dict"):
            return not expected_type.arguments or expected_type.arguments == value.arguments
        pairs = zip(expected_type.arguments, value.arguments, strict=False)
        return len(expected_type.arguments) == len(value.arguments) and all(accepts(w, g) for w, g in pairs)
    return False


def unify(first: Type, second: Type) -> Type | None:
    """Returns the type that holds values of two types, or None if there is none.

    Example:
        >>> str(unify(TENSOR, NONE)), unify(INT, FLOAT)
        ('Optional[Tensor]', None)
    """
    if accepts(first, second):
        return first
    if accepts(second, first):
        return second
    if NONE in (first, second):
        other = second if first == NONE else first
        return Type("Optional", (other,))
    if "Optional" in (first.name, second.name):
        inner = unify(first.inner, second.inner)
        return None if inner is None else Type("Optional", (inner,))
    if first.name == second.name == "Tuple" and len(first.arguments) == len(second.arguments):
        items = [unify(a, b) for a, b in zip(first.arguments, second.arguments, strict=True)]
        return None if None in items else Type("Tuple", tuple(i for i in items if i is not None))
    return None


# ---- operators of numbers, texts, lists and dictionaries
def _wider(types: Sequence[Type]) -> Type:
    order = ("bool", "int", "float", "complex", "number")
    names = [t.name for t in types if t.name in order]
    widest = max(names, key=order.index) if names else "int"
    return Type("int" if widest == "bool" else widest)


def _arithmetic(types: Sequence[Type]) -> Type:
    return types[0] if types[0].name in ("List", "str", "Tuple") else _wider(types[:2])


def _quotient(types: Sequence[Type]) -> Type:
    return (
        COMPLEX
        if any(t.name == "complex" for t in types[:2])
        else NUMBER
        if any(t == NUMBER for t in types[:2])
        else FLOAT
    )


def _power(types: Sequence[Type]) -> Type:
    """A power of whole numbers is a real number, as in PyTorch."""
    return COMPLEX if any(t.name == "complex" for t in types[:2]) else FLOAT


def _element(types: Sequence[Type]) -> Type:
    first = types[0]
    return STR if first == STR else first.element(0) or TENSOR


def _key(types: Sequence[Type]) -> Type:
    return types[0].inner.arguments[0] if types[0].inner.arguments else STR


def _items(types: Sequence[Type]) -> Type:
    return list_of(Type("Tuple", types[0].inner.arguments))


def _first_of(types: Sequence[Type]) -> Type:
    return types[0]


def _get(types: Sequence[Type]) -> Type:
    value = types[0].element(None) or TENSOR
    return value if len(types) > 2 else Type("Optional", (value,))


def _functions_of_reals() -> Iterator[str]:
    """The names of operators on numbers whose first overload returns a float."""
    names: set[str] = set()
    for overload, (schema, _) in number_functions.rows().items():
        name = overload.partition(".")[0]
        if name not in names and schema.endswith("-> float"):
            yield name
        names.add(name)


_FIXED = {
    **dict.fromkeys(
        ("eq", "ne", "lt", "le", "gt", "ge", "__not__", "__is__", "__isnot__", "__contains__", "Bool", "isfinite",
         "isinf", "isnan", "startswith", "endswith", "isalnum", "isalpha", "isdigit", "islower", "isupper",
         "isspace", "isdecimal", "isidentifier", "isnumeric", "isprintable", "istitle", "is_floating_point",
         "is_complex", "is_grad_enabled", "is_contiguous", "is_signed", "is_nonzero", "all", "any"),
        BOOL,
    ),
    **dict.fromkeys(
        ("len", "Int", "floor", "ceil", "dim", "numel", "ord", "hash", "gcd", "factorial", "count", "index",
         "find", "rfind", "rindex", "__range_length", "__derive_index", "storage_offset", "get_device"),
        INT,
    ),
    **dict.fromkeys(
        ("Float", "log2", "gamma", "degrees", "radians", "fabs", "mathremainder", "hypot", *_functions_of_reals()),
        FLOAT,
    ),
    **dict.fromkeys(
        ("format", "percentFormat", "str", "chr", "hex", "oct", "bin", "join", "lower", "upper", "strip",
         "lstrip", "rstrip", "replace", "capitalize", "title", "swapcase", "center", "ljust", "rjust", "zfill",
         "expandtabs"),
        STR,
    ),
    **dict.fromkeys(
        ("split", "rsplit", "splitlines"),
        list_of(STR),
    ),
    "partition": Type("Tuple", (STR, STR, STR)),
    "rpartition": Type("Tuple", (STR, STR, STR)),
    "frexp": Type("Tuple", (FLOAT, INT)),
    "modf": Type("Tuple", (FLOAT, FLOAT)),
    "Complex": COMPLEX,
    "append": NONE,
    "insert": NONE,
    "remove": NONE,
    "reverse": NONE,
    "clear": NONE,
    "sort": NONE,
    "update": NONE,
    "_set_item": NONE,
    "Delete": NONE,
    "warn": NONE,
    "extend": NONE,
    "manual_seed": NONE,
    "set_grad_enabled": NONE,
}  # fmt: skip
_COMPUTED: dict[str, Callable[[Sequence[Type]], Type]] = {
    "add": _arithmetic, "sub": _arithmetic, "mul": _arithmetic, "add_": _arithmetic, "mul_": _arithmetic,
    "div": _quotient, "floordiv": _arithmetic, "remainder": _arithmetic, "pow": _power, "neg": _first_of,
    "__and__": _first_of, "__or__": _first_of, "__xor__": _first_of, "__lshift__": _first_of, "__rshift__": _first_of,
    "__getitem__": _element, "pop": _element, "keys": lambda t: list_of(_key(t)),
    "values": lambda t: list_of(t[0].element(None) or TENSOR), "items": _items, "get": _get,
    "setdefault": lambda t: t[0].element(None) or TENSOR, "popitem": lambda t: Type("Tuple", t[0].inner.arguments),
    "copy": _first_of, "sorted": _first_of, "slice": _first_of, "sum": _element,
    "list": lambda t: list_of(STR) if t[0] == STR else t[0], "divmod": lambda t: Type("Tuple", (_wider(t), _wider(t))),
    "abs": _first_of, "polar": lambda t: COMPLEX, "angle": lambda t: FLOAT,
}  # fmt: skip
# Operators whose result has the same type whatever the arguments are.
_ALWAYS = {
    "tensor": TENSOR, "as_tensor": TENSOR, "device": DEVICE, "item": NUMBER, "len": INT, "dim": INT, "numel": INT,
    "Int": INT, "Float": FLOAT, "Bool": BOOL, "is_floating_point": BOOL, "is_complex": BOOL, "is_contiguous": BOOL,
    "format": STR, "__is__": BOOL, "__isnot__": BOOL, "is_grad_enabled": BOOL, "warn": NONE, "stride": list_of(INT),
    "is_autocast_enabled": BOOL, "ScalarImplicit": NUMBER, "manual_seed": NONE, "set_grad_enabled": NONE,
    "_pack_padded_sequence": Type("Tuple", (TENSOR, TENSOR)), "_pad_packed_sequence": Type("Tuple", (TENSOR, TENSOR)),
    "grad": list_of(Type("Optional", (TENSOR,))), "_infer_size": list_of(INT), "broadcast_shapes": list_of(INT),
    "backward": NONE, "initial_seed": INT, "seed": INT, "is_autocast_cpu_enabled": BOOL, "has_torch_function": BOOL,
    "is_nonzero": BOOL, "equal": BOOL, "allclose": BOOL, "storage_offset": INT, "get_device": INT, "is_same_size": BOOL,
}  # fmt: skip
_ATTRIBUTES = {"dtype": INT, "layout": INT, "device": DEVICE, "shape": list_of(INT), "requires_grad": BOOL, "ndim": INT,
               "index": Type("Optional", (INT,)), "type": STR, "name": STR, "itemsize": INT, "nbytes": INT,
               "grad": Type("Optional", (TENSOR,)), "is_leaf": BOOL}  # fmt: skip


def operator_exists(name: str) -> bool:
    """Returns whether there is an operator `torch.name` of programs."""
    return name in FUNCTIONS or hasattr(_aten, name)


def _has_tensor(types: Sequence[Type]) -> bool:
    return any(t.inner == TENSOR or (t.inner.name == "List" and t.inner.element(0) == TENSOR) for t in types)


def result_of(name: str, types: Sequence[Type], keywords: dict[str, Type]) -> Type:
    """Returns the type of an operator's result.

    Args:
        name: the name below `torch`.
        types: the types of the positional arguments.
        keywords: the types of the keyword arguments.
    """
    if name == "size":
        return INT if len(types) > 1 or keywords else list_of(INT)
    if name == "stride" and (len(types) > 1 or keywords):
        return INT
    if name in _ALWAYS:
        return _ALWAYS[name]
    container = bool(types) and types[0].inner.name in ("List", "Dict", "str", "Tuple")
    if (
        container
        and name in FUNCTIONS
        and (name in _FIXED or name in _COMPUTED)
        and name not in _OF_TENSOR_LISTS
    ):
        return _COMPUTED[name](types) if name in _COMPUTED else _FIXED[name]
    if not _has_tensor([*types, *keywords.values()]) and (name in _FIXED or name in _COMPUTED):
        return _COMPUTED[name](types) if name in _COMPUTED else _FIXED[name]
    return _by_schema(name, len(types), tuple(sorted(keywords)), tuple(types))


_OF_TENSOR_LISTS = frozenset(("stack", "cat"))


def prim_result(name: str, types: Sequence[Type]) -> Type:
    """Returns the type of a result of `ops.prim`."""
    if name in _ATTRIBUTES:
        return _ATTRIBUTES[name]
    if name.startswith("is_"):
        return BOOL
    if name in ("min", "max"):
        return types[0].element(0) or TENSOR if len(types) == 1 else _wider(types)
    return types[0] if name == "abs" else TENSOR


@functools.cache
def _schemas(name: str) -> list[Any]:
    packet = getattr(_aten, name, None)
    return [] if packet is None else [getattr(packet, o)._schema for o in packet.overloads()]


@functools.cache
def _by_schema(name: str, count: int, keywords: tuple[str, ...], types: tuple[Type, ...]) -> Type:
    fits = []
    for schema in _schemas(name):
        names = [a.name for a in schema.arguments]
        positional = [a for a in schema.arguments if not a.kwarg_only]
        if any(a.is_out for a in schema.arguments) != ("out" in keywords) or not set(keywords) <= set(names):
            continue
        if count <= len(positional):
            score = sum(_alike(a.real_type.schema_text(), t) for a, t in zip(positional, types, strict=False))
            fits.append((score, schema))
    if not fits:
        return TENSOR
    best = max(fits, key=lambda pair: pair[0])[1]
    returns = [_schema_type(r.type_text() if hasattr(r, "type_text") else str(r.type)) for r in best.returns]
    if len(returns) == 1:
        return returns[0]
    fields = tuple(r.name for r in best.returns if r.name)
    return Type("Tuple", tuple(returns), fields if len(fields) == len(returns) else ()) if returns else NONE


def _alike(text: str, kind: Type) -> int:
    """How well an argument's type matches that of a schema."""
    plain = text.rstrip("?").partition("(")[0]
    name = kind.inner.name
    if name == "List":
        return 2 if "[" in plain else -2
    if plain == "Tensor":
        return 2 if name == "Tensor" else -2
    if name == "Tensor":  # a number of a schema takes no tensor
        return -8 if plain in ("int", "SymInt", "float", "complex", "bool", "str", "Scalar") else 0
    if plain in ("int", "SymInt"):
        return 2 if name == "int" else -1
    if plain == "str":
        return 2 if name == "str" else -2
    return 1 if plain in ("Scalar", "float") and name in NUMBERS else 0


_SCHEMA_NAMES = {
    "SymInt": "int",
    "Scalar": "number",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
}


def _schema_type(text: str) -> Type:
    text = text.strip()
    if text.endswith("?"):
        return Type("Optional", (_schema_type(text[:-1]),))
    if text.endswith("]"):
        return list_of(_schema_type(text[: text.rindex("[")]))
    base = text.partition("(")[0].strip()
    return Type(_SCHEMA_NAMES.get(base, base))


def check_bound(name: str, count: int, keywords: tuple[str, ...]) -> bool:
    """Returns whether an operator of programs takes so many arguments."""
    return bind(name, count, keywords) is not None


__all__ += [
    "ANY",
    "COMPLEX",
    "DEVICE",
    "NUMBER",
    "check_bound",
    "number_functions",
    "parse_type",
    "prim_result",
    "PRIM",
]
