"""The older name of calling a module with other parameters than its own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from tl_core import Tensor

from .. import func
from ..modules.module import Module

__all__ = ["functional_call"]


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """A context in which a module has other tensors, as programs with their own modules use it.

    `stack_weights` requires nested contexts to end in order, which always holds here.
    """
    return func.exchange(module, parameters_and_buffers, tie_weights, strict)


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`tl_nn.func.functional_call`, with a warning that it has moved there.

    Args:
        module: the module.
        parameters_and_buffers: the tensors to be used instead of its own, by name.
        args: the arguments, a tuple or one value.
        kwargs: the keyword arguments.
        tie_weights: whether tensors that the module holds under several names are replaced under all.
        strict: whether every tensor has to be given.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Linear(2, 1, bias=False)
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     functional_call(layer, {"weight": tl_core.tensor([[1.0, 10.0]])}, tl_core.tensor([1.0, 2.0]))
        ...
        tensor([21.])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead, which takes the same arguments.",
        FutureWarning,
        stacklevel=2,
    )
    return func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


_functional_call = func.functional_call  # the same without the warning, as libraries call it
