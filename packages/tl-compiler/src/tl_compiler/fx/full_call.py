"""Calls of layers' functions as graphs have them: what has a default by its name, and all of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tl_nn import functional

__all__ = ["full_call", "is_operator"]

# Functions that are one operator in the reference: their calls are recorded as they are written.
_OPERATORS = frozenset(
    (
        *(
            "adaptive_avg_pool1d",
            "avg_pool1d",
            "avg_pool2d",
            "avg_pool3d",
            "bilinear",
            "channel_shuffle",
            "conv1d",
        ),
        *("conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        *(
            "cosine_similarity",
            "gelu",
            "hardshrink",
            "linear",
            "logsigmoid",
            "native_channel_shuffle",
            "one_hot",
        ),
        *(
            "pairwise_distance",
            "pdist",
            "pixel_shuffle",
            "pixel_unshuffle",
            "prelu",
            "scaled_dot_product_attention",
        ),
        *("softplus", "softshrink"),
    )
)


def _of_layers(function: Any) -> bool:
    original = getattr(
        function, "__wrapped__", function
    )  # says where it stands also where programs import torch
    module = getattr(original, "__module__", None) or ""
    return module.startswith(("tl_nn.functional", "torch.nn.functional"))


def is_operator(function: Any) -> bool:
    """Whether a function of layers is one operator in the reference, and not made of others.

    Args:
        function: the function.
    """
    name = getattr(function, "__name__", "")
    if name in _OPERATORS:  # some of them are tl_core's own
        return getattr(functional, name, None) is function
    return _of_layers(function) and name.endswith("_")


@functools.cache
def _form(function: Callable[..., Any]) -> tuple[list[str], dict[str, Any], int] | None:
    """The names of a function's arguments, the defaults, and how many have none; None: calls stay as they are."""
    if not _of_layers(function) or is_operator(function):
        return None
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind not in plain for p in parameters.values()):
        return None
    defaults = {n: p.default for n, p in parameters.items() if p.default is not inspect.Parameter.empty}
    return list(parameters), defaults, len(parameters) - len(defaults)


def full_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with defaults, for functions of layers that are written in Python.

    Args:
        function: the function.
        args, kwargs: the arguments as they are written.

    Returns:
        The arguments that have no default, and all others by name.

    Example:
        >>> from tl_nn import functional
        >>> full_call(functional.dropout, ("x", 0.1), {})
        (('x',), {'p': 0.1, 'training': True, 'inplace': False})
    """
    form = _form(function)
    if form is None or len(args) > len(form[0]):
        return args, kwargs
    names, defaults, required = form
    values = dict(zip(names, args, strict=False)) | kwargs
    if not all(name in values for name in names[:required]):
        return args, kwargs
    return (
        tuple(values[name] for name in names[:required]),
        {name: values.get(name, default) for name, default in defaults.items()},
    )
