"""The arguments of a call by the signature of what is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator.

    Args:
        op: a function of the library.
        return_schemas: whether schemas are returned as well; there are none yet.

    Returns:
        A list of one signature, or None where it has none.
    """
    if return_schemas:
        raise NotImplementedError(
            "get_signature_for_torch_op(return_schemas=True): schemas as objects are not there yet"
        )
    try:
        return [inspect.signature(op)]
    except (TypeError, ValueError):
        return None


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
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
        arg_types, kwarg_types: accepted; one signature serves all overloads.
        normalize_to_only_use_kwargs: whether all of them become keyword arguments.

    Returns:
        The arguments, or None where the function has no signature that they fit.

    Example:
        >>> normalize_function(lambda a, b=2: a, (1,), normalize_to_only_use_kwargs=True)
        ArgsKwargsPair(args=(), kwargs={'a': 1, 'b': 2})
    """
    signatures = get_signature_for_torch_op(target)
    return signatures and _bound(signatures[0], args, kwargs or {}, normalize_to_only_use_kwargs)


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
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    return _bound(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)
