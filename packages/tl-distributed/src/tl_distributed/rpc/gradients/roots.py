"""Backward passes that begin with the value of a reference."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from . import engine


def backward(reference: Any, context_id: int, retain_graph: bool) -> None:
    """Runs the backward pass of a reference: in a context, or in the owner alone.

    Args:
        reference: to a scalar.
        context_id: the context, -1 for none.
        retain_graph: whether the graph may be used again.
    """
    if reference.is_owner():
        _backward_here(reference.local_value(), context_id, retain_graph)
        return
    if context_id == -1:
        raise RuntimeError(
            "User RRefs require 'dist_autograd_ctx_id' to be specified: the graph of the value is in its owner, "
            f"{reference.owner_name()}"
        )
    agent = reference._references.agent
    agent.call(
        reference.owner(), _backward_there, (reference, context_id, retain_graph), internal=True
    ).wait()


def _backward_here(value: Any, context_id: int, retain_graph: bool) -> None:
    if not isinstance(value, Tensor):
        raise RuntimeError(f"RRef should contain a tensor for .backward(), got a {type(value).__name__}")
    if context_id == -1:
        if not value.requires_grad:
            raise RuntimeError(
                "RRef.backward(): element 0 of tensors does not require grad and does not have a grad_fn"
            )
        value.backward(retain_graph=retain_graph)
        return
    engine.backward(context_id, [value], retain_graph)


def _backward_there(reference: Any, context_id: int, retain_graph: bool) -> None:
    _backward_here(reference.local_value(), context_id, retain_graph)
