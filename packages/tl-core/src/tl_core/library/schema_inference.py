"""From the annotations of a function to the schema of an operator."""

from __future__ import annotations

import collections.abc
import inspect
import itertools
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Union

import tl_core
from tl_core import Tensor, device, dtype
from tl_core import types as types_of_arguments
from tl_core.types import Number

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema", "tuple_to_list"]

# ---- what may be annotated ------------------------------------------------------------------------------------------
_BASES = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    Number: "Scalar",
    dtype: "ScalarType",
    device: "Device",
}
SUPPORTED_RETURN_TYPES = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006
    int: "SymInt",
    float: "float",
    bool: "bool",
    Number: "Scalar",
}


def _or_none(t: Any) -> Any:
    return Union[t, None]  # noqa: UP007 - of types that only runs know


def _spellings(base: Any) -> list[tuple[Any, str]]:
    """A type, what may be None, and lists of it, with what schemas call them."""
    name = _BASES[base]
    pairs: list[tuple[Any, str]] = [(base, name), (_or_none(base), f"{name}?")]
    for sequence in (collections.abc.Sequence, list):
        pairs.append((sequence[base], f"{name}[]"))
        pairs.append((_or_none(sequence[base]), f"{name}[]?"))
        if base is Tensor:
            pairs.append((sequence[_or_none(base)], f"{name}?[]"))
            pairs.append((_or_none(sequence[_or_none(base)]), f"{name}?[]?"))
    return pairs


def _normalize(annotation: Any) -> Any:
    """An annotation without the ways in which the same may be written."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return Union[tuple(_normalize(a) for a in args)]  # noqa: UP007
    if origin is list:
        return list[tuple(_normalize(a) for a in args)]  # type: ignore[misc]
    if origin is collections.abc.Sequence:
        return collections.abc.Sequence[tuple(_normalize(a) for a in args)]  # type: ignore[misc]
    return annotation


SUPPORTED_PARAM_TYPES = {spelling: name for base in _BASES for spelling, name in _spellings(base)}
_STRINGS = {
    **{name: getattr(typing, name) for name in ("Optional", "List", "Sequence", "Union", "Tuple")},
    "Tensor": Tensor,
    "device": device,
    "dtype": dtype,
    "types": types_of_arguments,
}


# ---- the schema -----------------------------------------------------------------------------------------------------
def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema that a function's annotations describe.

    Results are taken to share no memory with arguments, and only what `mutates_args` names to be written.

    Args:
        prototype_function: the function; every parameter and the result are annotated.
        mutates_args: the names of the arguments that it writes, or "unknown": then all tensors are taken to be.
        op_name: the operator's name, for the front of the schema.
        tags: those of the operator, of which none is written into a schema.

    Returns:
        The schema as text.

    Raises:
        ValueError: an annotation is missing or is none that schemas know.

    Example:
        >>> import tl_core as tl
        >>> def scaled(x: tl.Tensor, by: float = 2.0) -> tl.Tensor:
        ...     return x * by
        >>> infer_schema(scaled, op_name="scaled", mutates_args=())
        'scaled(Tensor x, float by=2.0) -> Tensor'
    """
    inferred = _Inferred(prototype_function, mutates_args)
    return f"{op_name or ''}{inferred.text()}"


class _Inferred:
    def __init__(self, function: Callable[..., Any], mutates_args: str | Iterable[str]) -> None:
        self.signature = inspect.signature(function)
        self.scope = {**_STRINGS, **getattr(function, "__globals__", {}), "torch": _torch()}
        if isinstance(mutates_args, str) and mutates_args != "unknown":
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are mutated or the "
                "string 'unknown'. "
            )
        self.unknown = mutates_args == "unknown"
        self.mutated = frozenset() if self.unknown else frozenset(mutates_args)

    def fail(self, what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def text(self) -> str:
        parts: list[str] = []
        for i, (name, parameter) in enumerate(self.signature.parameters.items()):
            if parameter.kind == inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
                parts.append("*")
            parts.append(self.argument(i, name, parameter))
        unknown = self.mutated - set(self.signature.parameters)
        if unknown:
            self.fail(
                f"{set(unknown)} in mutates_args were not found in the custom op's signature. mutates_args should "
                "contain the names of all args that the custom op mutates, or just the string 'unknown' if you don't "
                "know."
            )
        return f"({', '.join(parts)}) -> {self.returns()}"

    def argument(self, i: int, name: str, parameter: inspect.Parameter) -> str:
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            self.fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is inspect.Parameter.empty:
            self.fail(f"Parameter {name} must have a type annotation.")
        schema_type = self.type_of(name, parameter.annotation)
        if self.unknown or name in self.mutated:
            schema_type = self.written_type(i, name, schema_type)
        text = f"{schema_type} {name}"
        if parameter.default is inspect.Parameter.empty:
            return text
        return f"{text}={self.default(name, parameter.default)}"

    def written_type(self, i: int, name: str, schema_type: str) -> str:
        if schema_type.startswith("Tensor"):
            return f"Tensor(a{i}!){schema_type.removeprefix('Tensor')}"
        if self.unknown:
            return schema_type
        self.fail(
            f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated."
        )

    def type_of(self, name: str, annotation: Any) -> str:
        kind = _normalize(self.resolve(name, annotation))
        try:
            if kind in SUPPORTED_PARAM_TYPES:
                return SUPPORTED_PARAM_TYPES[kind]
        except TypeError:  # not hashable: no type at all
            pass
        if typing.get_origin(kind) is tuple:
            as_list = tuple_to_list(kind)
            hint = "\\n" if as_list is None else f" Try {as_list} instead."
            self.fail(f"Parameter {name} has unsupported type {kind}. Tuple is not supported.{hint}")
        self.fail(
            f"Parameter {name} has unsupported type {kind}. The valid types are: {list(SUPPORTED_PARAM_TYPES)}."
        )

    def resolve(self, name: str, annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, self.scope)
        except Exception as error:
            raise ValueError(
                f"infer_schema(func): Unsupported type annotation {annotation!r} of {name}. It is not a type: {error}"
            ) from error

    def default(self, name: str, value: Any) -> str:
        if value is None or isinstance(value, (bool, int, float)):
            return str(value)
        if isinstance(value, (str, device)):
            return f'"{value}"'
        if isinstance(value, dtype):
            return str(value).removeprefix("torch.")
        self.fail(f"Parameter {name} has an unsupported default value type {type(value)}.")

    # ---- results ----------------------------------------------------------------------------------------------------
    def returns(self) -> str:
        annotation = self.signature.return_annotation
        if annotation is inspect.Signature.empty:
            self.fail("No return type annotation was provided. Please add one.")
        annotation = self.resolve("return", annotation)
        if annotation is None or annotation is type(None):
            return "()"
        if typing.get_origin(annotation) is not tuple:
            return self.one_return(annotation)
        elements = typing.get_args(annotation)
        if len(elements) == 1:
            return f"({self.one_return(elements[0])})"
        return f"({', '.join(self.one_return(e) for e in elements)})"

    def one_return(self, annotation: Any) -> str:
        spelled = typing.List[Tensor] if annotation == list[Tensor] else annotation  # noqa: UP006
        try:
            if spelled in SUPPORTED_RETURN_TYPES:
                return SUPPORTED_RETURN_TYPES[spelled]
        except TypeError:  # not hashable
            pass
        self.fail(
            f"Return has unsupported type {annotation}. The valid types are: {list(SUPPORTED_RETURN_TYPES)}."
        )


def _torch() -> Any:
    """What programs may write `torch` for in annotations that are strings."""
    import sys

    return sys.modules.get("torch", tl_core)


def tuple_to_list(tuple_type: type[tuple]) -> Any:
    """The list that a schema has in the place of a tuple; None where the elements have no common type.

    Args:
        tuple_type: the annotation of a tuple.

    Example:
        >>> import typing
        >>> tuple_to_list(typing.Tuple[int, ...])
        typing.List[int]
    """
    elements = typing.get_args(tuple_type)
    if not elements:
        return typing.List  # noqa: UP006
    kinds = set(elements) - {Ellipsis}
    if len(kinds) == 1:
        return typing.List[next(iter(kinds))]  # type: ignore[misc]  # noqa: UP006
    if len(elements) == 2 and elements[1] is Ellipsis:
        return typing.List[elements[0]]  # type: ignore[valid-type]  # noqa: UP006
    return typing.List[tuple(dict.fromkeys(itertools.chain(elements)))]  # type: ignore[misc]  # noqa: UP006
