"""SparseAdam: Adam for gradients of which only some rows exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor

from .checks import check_options
from .optimizer import Optimizer, _use_grad_for_differentiable, evaluated

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates only the rows that a sparse gradient has.

    Sparse tensors don't exist yet, so that every gradient is refused as a dense one: use `Adam`.

    Parameters:
        params : iterable of Tensor, of (str, Tensor), or of dict
            What to optimize, see `Optimizer`.
        lr : float or Tensor
            The learning rate.
        betas : (float, float)
            How slowly the running means of the gradient and of its square change.
        eps : float
            Added to the root of the mean square, against division by zero.
        maximize : bool
            Whether to go up instead of down.

    Raises:
        ValueError
            If a number is out of range.

    Examples:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> (weight * weight).sum().backward()
        >>> tl_nn.optim.SparseAdam([weight]).step()
        Traceback (most recent call last):
        RuntimeError: SparseAdam does not support dense gradients, please consider Adam instead
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_options(options)
        super().__init__(params, options)

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Evaluate the closure, and refuse its gradients.

        Raises:
            RuntimeError
                If there is a gradient.
        """
        loss = evaluated(closure)
        if any(param.grad is not None for group in self.param_groups for param in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
