"""SparseAdam: Adam for gradients of which only some rows exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor

from .checks import check_options
from .lists import with_values
from .optimizer import Optimizer, _use_grad_for_differentiable, evaluate
from .rule import zeros

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    r"""Adam for sparse gradients, which changes the rows in the gradient alone.

    Formula:
        .. math::

            m_t = \beta_1 m_{t-1} + (1 - \beta_1) \, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2) \, g_t^{2}

        .. math::

            \theta_t = \theta_{t-1} - \gamma \, \frac{\sqrt{1 - \beta_2^{t}}}{1 - \beta_1^{t}} \cdot
            \frac{m_t}{\sqrt{v_t} + \mathrm{eps}}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` are the rows of the gradient,
        with the opposite sign if `maximize`, `β` are the `betas`, and `m_0 = v_0 = 0`. Rows without a gradient
        remain, and so do their `m` and `v`.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        betas ((float, float)): How slowly the running means of the gradient and of its square change.
        eps (float): Added to the root of the mean square, against division by zero.
        maximize (bool): Whether to go up instead of down.

    Notes:
        - `t` counts all steps, not those of a row, so a row that is rare has a smaller correction than its own
          steps imply.
        - `eps` is added before the correction of `v`, unlike in `Adam`.
        - A dense gradient raises RuntimeError: pass embeddings with `sparse=True`, and other parameters to another
          optimizer.

    Raises:
        ValueError: If a number is out of range, or a parameter is sparse.

    Example:
        >>> import tl_core, tl_nn
        >>> table = tl_nn.Embedding.from_pretrained(tl_core.ones(3, 2), freeze=False, sparse=True)
        >>> table(tl_core.tensor([1])).sum().backward()
        >>> tl_nn.optim.SparseAdam(table.parameters(), lr=0.5).step()
        >>> table.weight.data
        tensor([[1.0000, 1.0000],
                [0.5000, 0.5000],
                [1.0000, 1.0000]])
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
        groups = enumerate(self.param_groups)
        sparse = [[g, p] for g, group in groups for p, param in enumerate(group["params"]) if param.is_sparse]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the rows of the parameters that have gradients once. See `Optimizer.step`.

        Raises:
            RuntimeError: If a gradient is dense.
        """
        loss = evaluate(closure)
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            if not all(param.grad.is_sparse for param in params):
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
            for param in params:
                state = self.state[param]
                if not state:
                    state |= {"step": 0, "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}
                state["step"] += 1
                _change_rows(param, -param.grad if group["maximize"] else param.grad, state, group)
        return loss


def _change_rows(param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    grad = grad.coalesce()
    values, (beta1, beta2) = grad._values(), group["betas"]
    mean = _move(state["exp_avg"], grad, values, 1 - beta1)
    square = _move(state["exp_avg_sq"], grad, values * values, 1 - beta2)
    rate = group["lr"] * (1 - beta2 ** state["step"]) ** 0.5 / (1 - beta1 ** state["step"])
    param.sub_(with_values(grad, mean / (square.sqrt() + group["eps"]) * rate))


def _move(average: Tensor, indices: Tensor, to: Tensor, share: float) -> Tensor:
    """Move an average at some indices by a share of the way to new values. Returns the new values there."""
    before = average.sparse_mask(indices)._values()
    way = (to - before) * share
    average.add_(with_values(indices, way))
    return before + way
