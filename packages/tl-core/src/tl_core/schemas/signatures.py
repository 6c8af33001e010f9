"""From schemas to signatures of Python, and arguments in their order."""

from __future__ import annotations

import inspect
import keyword
from typing import Any

from tl_core.schemas.function_schema import FunctionSchema, base_type, is_list

__all__ = ["has_tensor_arg", "has_tensor_list", "is_functional", "signature_of"]


def signature_of(schema: FunctionSchema) -> inspect.Signature:
    """What `inspect.signature` says of an operator.

    Args:
        schema: its schema.
    """
    parameters = []
    for a in schema.arguments:
        kind = inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = a.real_default if a.has_default_value() else inspect.Parameter.empty
        valid = a.name.isidentifier() and not keyword.iskeyword(a.name)
        name = a.name if valid else f"{a.name}_"
        parameters.append(inspect.Parameter(name, kind, default=default))
    try:
        return inspect.Signature(parameters)
    except ValueError:  # a required argument after one with a default, as old schemas have
        return inspect.Signature([p.replace(default=inspect.Parameter.empty) for p in parameters])


def is_functional(schema: FunctionSchema) -> bool:
    """Whether calls write nothing and give new memory: at least one tensor.

    Args:
        schema: the operator's schema.
    """
    aliases = any(a.alias_info for a in schema.returns)
    return not aliases and bool(schema.returns) and not schema.is_mutable


def _is_tensor(t: Any) -> bool:
    return base_type(t).name == "Tensor"


def has_tensor_arg(schema: FunctionSchema) -> bool:
    """Whether an argument is a tensor, or a list of them.

    Args:
        schema: the operator's schema.
    """
    return any(_is_tensor(a.real_type) for a in schema.arguments)


def has_tensor_list(schema: FunctionSchema) -> bool:
    """Whether an argument or a result is a list of tensors.

    Args:
        schema: the operator's schema.
    """
    return any(_is_tensor(a.real_type) and is_list(a.real_type) for a in (*schema.arguments, *schema.returns))


def has_kwarg_only_tensors(schema: FunctionSchema) -> bool:
    """Whether a tensor is taken by keyword only.

    Args:
        schema: the operator's schema.
    """
    return any(a.kwarg_only and _is_tensor(a.real_type) for a in schema.arguments)


def device_argument(schema: FunctionSchema) -> int | None:
    """The place of the argument that names a device; None if there is none.

    Args:
        schema: the operator's schema.
    """
    for i, a in enumerate(schema.arguments):
        if base_type(a.real_type).name == "Device" and a.name == "device":
            return i
    return None


def filled(schema: FunctionSchema, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call with the defaults of those that were left out.

    Args:
        schema: the operator's schema.
        args: those by position.
        kwargs: those by keyword.
    """
    positional, named, rest = list(args), {}, dict(kwargs)
    for a in schema.arguments[len(args) :]:
        value = rest.pop(a.name, a.real_default)
        if a.kwarg_only:
            named[a.name] = value
        else:
            positional.append(value)
    return tuple(positional), {**named, **rest}
