"""Activation checkpointing of a module that stays itself, by hooks."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from tl_autograd.checkpoint import noop_context_fn, recomputation
from tl_nn import Module

__all__ = ["checkpoint"]


@dataclass
class _CheckpointState:
    """The checkpointing of a module.

    Attributes:
        enable_hook: whether a forward pass saves no tensors; False while the backward pass computes it again.
        region: the forward pass that runs.
    """

    enable_hook: bool = True
    region: contextlib.AbstractContextManager[None] | None = None


class _SecondRun:
    """A context in which the backward pass computes a module again, as often as it needs.

    Args:
        state: of the module.
        context: the context that the program has for it.
    """

    def __init__(self, state: _CheckpointState, context: contextlib.AbstractContextManager[Any]):
        self._state, self._context = state, context

    def __enter__(self) -> None:
        self._state.enable_hook = False
        self._context.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._state.enable_hook = True
        self._context.__exit__(*error)


def checkpoint(module: Module, **kwargs: Any) -> Module:
    """Sets that the graph of a module saves no intermediate tensors: the backward pass recomputes them.

    Args:
        module: the module, whose class and names stay as they are.
        kwargs: `preserve_rng_state`, `context_fn`, `determinism_check`, `debug` and `early_stop` of
            `tl.utils.checkpoint.checkpoint`.

    Returns:
        The module.

    Raises:
        NotImplementedError: `use_reentrant` is true.
        ValueError: there is another argument.
        AssertionError: the module has been checkpointed before.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = checkpoint(tl_nn.Linear(4, 2))
        >>> layer(tl_core.ones(3, 4)).sum().backward()
        >>> type(layer).__name__, layer.bias.grad
        ('Linear', tensor([3., 3.]))
    """
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError(
            "use_reentrant=True is not supported in composable checkpoint. "
            "Please use torch.utils.checkpoint.checkpoint instead."
        )
    names = {"preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"}
    if unknown := [name for name in kwargs if name not in names]:
        raise ValueError(f"Unexpected keyword arguments: {','.join(unknown)}")
    if "_checkpoint_state" in module.__dict__:
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. checkpoint has already "
            f"been applied to the following module:\n{module}"
        )
    contexts = kwargs.pop("context_fn", None) or noop_context_fn
    state = module.__dict__["_checkpoint_state"] = _CheckpointState()

    def both_contexts() -> tuple[Any, Any]:
        first, second = contexts()
        return first, _SecondRun(state, second)

    def before(module: Module, args: tuple[Any, ...], kwargs_of_call: dict[str, Any]) -> None:
        if state.enable_hook:
            state.region = recomputation(module, args, kwargs_of_call, context_fn=both_contexts, **kwargs)
            state.region.__enter__()

    def after(module: Module, args: Any, output: Any) -> None:
        region, state.region = state.region, None
        if region is not None:
            region.__exit__(None, None, None)

    module.register_forward_pre_hook(before, with_kwargs=True)
    module.register_forward_hook(after, prepend=True, always_call=True)
    return module


checkpoint.state = lambda module: module.__dict__["_checkpoint_state"]  # type: ignore[attr-defined]  # as PyTorch has it
