"""`freeze`: a function or module for inference, whose constants and packed weights are computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tl_nn
from tl_nn.optimized_module import OptimizedModule

from .backends import lookup_backend

__all__ = ["freeze"]

_OPTIONS = {"backend": "eager", "fold_batch_norm": False}


def freeze(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """A function or module for inference: values that depend only on its parameters and buffers are computed once.

    Among these values are the packed copies of weights that convolutions and skinny products read. They take as many
    bytes as the weights. A program without other such values is replayed as in the mode "reduce-overhead" of
    `compile` where that is possible.

    The values have the versions of the tensors that they were computed from. After an in-place write to such a tensor,
    or with another tensor in its place, they are computed again. Writes that no version counts, such as those through
    `Tensor.data` or an array of NumPy, have no effect on them. Results are bit-equal to those of the model, and have no
    derivatives.

    Args:
        model: the function, or the module in evaluation mode.
        args, kwargs: an example of its arguments. Calls with other sizes make graphs of their own.
        options: `backend`: the backend of `compile` for all else, "eager" by default. `fold_batch_norm`: whether batch
            norms become part of the convolutions before them, which changes the last bits of results.

    Returns:
        The function, or the module within an `OptimizedModule`.

    Raises:
        RuntimeError: the module is in training mode, or there is an unknown option.
        Unsupported: the call can't become one graph, with the line.

    Example:
        >>> import tl_nn
        >>> net = tl_nn.Sequential(tl_nn.Linear(3, 2), tl_nn.ReLU()).eval()
        >>> x = tl_core.ones(1, 3)
        >>> frozen = freeze(net, (x,))
        >>> tl_core.equal(frozen(x), net(x)), frozen(x).requires_grad
        (True, False)
    """
    from .errors import Unsupported
    from .frozen_function import FrozenFunction

    if not callable(model):
        raise AssertionError(f"freeze: a function or module is expected as model, got {type(model)}")
    settings = {**_OPTIONS, **(options or {})}
    if unknown := settings.keys() - _OPTIONS.keys():
        raise RuntimeError(f"freeze: unknown options {sorted(unknown)}, there are {sorted(_OPTIONS)}")
    lookup_backend(settings["backend"])
    module = getattr(model, "_orig_mod", model)
    if isinstance(module, tl_nn.Module) and module.training:
        raise RuntimeError("freeze: the module is in training mode; call eval() first")
    function = module.__call__ if isinstance(module, tl_nn.Module) else module
    frozen = FrozenFunction(function, settings["backend"], settings["fold_batch_norm"])
    reason = frozen.prepare(tuple(args), dict(kwargs or {}))
    if reason is not None:
        raise Unsupported(f"freeze: {reason}")
    return OptimizedModule(module, frozen) if isinstance(module, tl_nn.Module) else frozen
