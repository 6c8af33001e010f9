"""`tag_activation_checkpoint`: a graph of which the backward recomputes the intermediate tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_autograd.checkpoint import checkpoint

from .base import HigherOrderOperator

__all__ = ["TagActivationCheckpoint", "tag_activation_checkpoint"]

_OPTIONS = ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


class TagActivationCheckpoint(HigherOrderOperator):
    """Calls a graph with `checkpoint`. In a trace its operators are recorded where the call stands.

    Args:
        gmod: the graph, or a function.
        args: its arguments.
        kwargs: its keyword arguments, and the options of `checkpoint`.

    Example:
        >>> import tl_core
        >>> x = tl_core.zeros(2).requires_grad_()
        >>> tag_activation_checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([0.5403, 0.5403])
    """

    def __init__(self) -> None:
        super().__init__("tag_activation_checkpoint", cacheable=True)

    @staticmethod
    def divide_kwargs(kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The keyword arguments of `checkpoint` and those of the graph.

        Args:
            kwargs: both.

        Example:
            >>> TagActivationCheckpoint.divide_kwargs({"debug": True, "scale": 2})
            ({'debug': True}, {'scale': 2})
        """
        options = {k: v for k, v in kwargs.items() if k in (*_OPTIONS, "use_reentrant")}
        return options, {k: v for k, v in kwargs.items() if k not in options}

    def __call__(self, gmod: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        options, own = self.divide_kwargs(kwargs)
        options.pop("use_reentrant", None)
        return checkpoint(gmod, *args, use_reentrant=False, **options, **own)


tag_activation_checkpoint = TagActivationCheckpoint()
