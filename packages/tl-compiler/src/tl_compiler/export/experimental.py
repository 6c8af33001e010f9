"""What may still change: programs of joint graphs."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def _export_forward_backward(ep: Any, joint_loss_index: int = 0) -> Any:
    """A program with the gradients of its parameters among its outputs.

    Args:
        ep: the program.
        joint_loss_index: which output is the loss.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "_export_forward_backward(): joint graphs aren't there; make_fx of a function that calls autograd.grad "
        "records both"
    )
