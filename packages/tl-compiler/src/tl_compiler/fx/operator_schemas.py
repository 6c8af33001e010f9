"""The arguments of a call by the signature of what is called."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from types import UnionType
from typing import Any, List, NamedTuple, Tuple, Union, get_args, get_origin  # noqa: UP035

import tl_core

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments.

    Example:
        >>> ArgsKwargsPair((1,), {"dim": 0}).kwargs
        {'dim': 0}
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _schemas(op: Any) -> list[Any]:
    """The schemas of an operator by its full name, or of all its overloads."""
    if hasattr(op, "_schema"):
        return [op._schema]
    if callable(getattr(op, "overloads", None)):
        return [getattr(op, name)._schema for name in op.overloads()]
    return []


def _signature_of_schema(schema: Any) -> inspect.Signature:
    """A schema's arguments; `self`, which no keyword can be, is called `input`."""
    kinds = inspect.Parameter
    parameters = []
    for argument in schema.arguments:
        name = "input" if argument.name == "self" else argument.name
        kind = kinds.KEYWORD_ONLY if argument.kwarg_only else kinds.POSITIONAL_OR_KEYWORD
        default = argument.default_value if argument.has_default_value() else kinds.empty
        parameters.append(kinds(name, kind, default=default))
    return inspect.Signature(parameters)


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator.

    Args:
        op: a function of the library, or an operator by its full name.
        return_schemas: whether schemas are returned as well.

    Returns:
        A list of signatures, or None where it has none; with schemas, a pair of lists or of None.

    Example:
        >>> from tl_core import ops
        >>> get_signature_for_torch_op(ops.aten.relu.default)
        [<Signature (input)>]
    """
    schemas = _schemas(op)
    if schemas:
        signatures: list[inspect.Signature] | None = [_signature_of_schema(schema) for schema in schemas]
    else:
        try:
            signatures = [inspect.signature(op)]
        except (TypeError, ValueError):
            signatures = None
    return (signatures, schemas or None) if return_schemas else signatures


def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raises if an operator writes to an argument.

    Args:
        target: the operator.
        args, kwargs: its arguments.

    Raises:
        RuntimeError: the overload that fits them writes.

    Example:
        >>> import tl_core
        >>> check_for_mutable_operation(tl_core.add, (tl_core.ones(2), 1), {})
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures or not schemas:
        return
    fitting = [
        schema
        for signature, schema in zip(signatures, schemas, strict=True)
        if _bound(signature, args, kwargs, False)
    ]
    if fitting and all(schema.is_mutable for schema in fitting):
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so operations that "
            "mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    is_written = "out" in bound.arguments
    bound.apply_defaults()
    if not is_written and bound.arguments.get("out", bound) is None:
        del bound.arguments["out"]  # a call that writes to a tensor is another overload
    if not only_kwargs:
        return ArgsKwargsPair(bound.args, bound.kwargs)
    kinds = {p.kind for p in signature.parameters.values()}
    if kinds & {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
        inspect.Parameter.POSITIONAL_ONLY,
    }:
        return None
    return ArgsKwargsPair((), dict(bound.arguments))


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a function, with the defaults that were left out.

    Args:
        target: the function.
        args, kwargs: the arguments.
        arg_types, kwarg_types: their types, to tell overloads apart; where one fits, they aren't looked at.
        normalize_to_only_use_kwargs: whether all of them become keyword arguments.

    Returns:
        The arguments, or None where the function has no signature that they fit.

    Example:
        >>> normalize_function(lambda a, b=2: a, (1,), normalize_to_only_use_kwargs=True)
        ArgsKwargsPair(args=(), kwargs={'a': 1, 'b': 2})
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    fitting = []
    for i, signature in enumerate(signatures or ()):
        arguments = _bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
        if arguments is not None:
            fitting.append((arguments, schemas and schemas[i]))
    if len(fitting) > 1 and arg_types is not None:
        typed = [pair for pair in fitting if _types_fit(pair[1], arg_types, kwarg_types or {})]
        fitting = typed or fitting
    return fitting[0][0] if fitting else None


_SCHEMA_TYPES = {
    "Tensor": tl_core.Tensor,
    "int": int,
    "SymInt": int,
    "float": float,
    "bool": bool,
    "str": str,
}


def _types_fit(schema: Any, arg_types: tuple[Any, ...], kwarg_types: dict[str, Any]) -> bool:
    """Whether types of arguments can be those of a schema, as far as its types are simple ones."""
    names = [a.name for a in schema.arguments]
    types = dict(zip(names, arg_types, strict=False)) | kwarg_types
    for argument in schema.arguments:
        expected = _SCHEMA_TYPES.get(str(argument.type))
        kind = types.get(argument.name)
        if expected is None or kind is None:
            continue
        if not type_matches(expected, kind) and not (expected is float and kind is int):
            return False
    return True


def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a submodule, with the defaults that were left out.

    Args:
        root: the module that holds it.
        target: its dotted path.
        args, kwargs: the arguments.
        normalize_to_only_use_kwargs: whether all of them become keyword arguments.

    Returns:
        The arguments, or None where they don't fit its forward.

    Raises:
        RuntimeError: there is no such submodule.

    Example:
        >>> import tl_core, tl_nn
        >>> normalize_module(tl_nn.Sequential(tl_nn.ReLU()), "0", (tl_core.ones(2),)).args
        (tensor([1., 1.]),)
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    return _bound(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def create_type_hint(x: Any) -> Any:
    """A type for a list or tuple of types.

    Args:
        x: the list or tuple, or anything else.

    Returns:
        The list or tuple type of the class that all of them are; anything else as it is.

    Example:
        >>> create_type_hint([int, int])
        typing.List[int]
    """
    if not isinstance(x, (list, tuple)):
        return x

    def container_of(kind: Any) -> Any:
        return List[kind] if isinstance(x, list) else Tuple[kind, ...]  # noqa: UP006

    if not x:
        return container_of(Any)
    base = x[0]
    for kind in x:
        if kind is base:
            continue
        if isinstance(kind, type) and isinstance(base, type) and issubclass(base, kind):
            base = kind
        elif not (isinstance(kind, type) and isinstance(base, type) and issubclass(kind, base)):
            return container_of(Any)
    return container_of(base)


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of a type can be given where a signature says another one.

    Args:
        signature_type: what the signature says.
        argument_type: the argument's type.

    Returns:
        True if it can.

    Example:
        >>> type_matches(float, int), type_matches(int, float)
        (False, False)
    """
    if signature_type is argument_type or signature_type in (Any, inspect.Parameter.empty):
        return True
    origin, parts = get_origin(signature_type), get_args(signature_type)
    if origin in (Union, UnionType):
        return any(type_matches(part, argument_type) for part in parts)
    if origin is list:
        item = parts[0] if parts else Any
        inner = get_origin(argument_type)
        if inner in (list, tuple):
            items = [a for a in get_args(argument_type) if a is not Ellipsis]
            return all(
                a is item or (isinstance(a, type) and isinstance(item, type) and issubclass(a, item))
                for a in items
            )
        return argument_type is item or (item is int and argument_type is int)
    if signature_type is int and argument_type is tl_core.dtype:
        return True  # dtypes are numbers in schemas
    if signature_type is numbers.Number:
        return argument_type in (int, float)
    if isinstance(signature_type, type) and isinstance(argument_type, type):
        return issubclass(argument_type, signature_type)
    return False
