"""L-BFGS: Newton's method with the inverse Hessian estimated from the last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor, enable_grad, no_grad

from .checks import check_lr
from .line_search import strong_wolfe
from .optimizer import Optimizer

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    r"""L-BFGS: steps of Newton's method, with the inverse Hessian estimated from the last changes of the gradient.

    Formula:
        .. math::

            \theta_{k+1} = \theta_k - \gamma_k \, H_k \, g_k, \qquad
            H_{k+1} = (I - \rho_k s_k y_k^{\mathsf{T}}) \, H_k \, (I - \rho_k y_k s_k^{\mathsf{T}}) +
            \rho_k s_k s_k^{\mathsf{T}}
            \\ s_k = \theta_{k+1} - \theta_k, \qquad y_k = g_{k+1} - g_k, \qquad \rho_k = 1 / (y_k^{\mathsf{T}} s_k)

        `θ` are all parameters as one vector, `g` is the gradient, and `k` counts directions, several in one step.
        `H` is applied by two loops over the last `history_size` pairs, from a multiple of the identity. `γ_k` is
        `lr`, of the first direction at most `lr / |g|_1`, or the result of the line search.

    Args:
        params (iterable of Tensor): The parameters.
        lr (float or Tensor): The length of a step relative to Newton's method.
        max_iter (int): The largest number of directions followed in one step.
        max_eval (int, optional): The largest number of times the closure is called in one step; by default
            `max_iter * 5 / 4`.
        tolerance_grad (float): The largest element of the gradient at which a step ends.
        tolerance_change (float): The change of parameters, or of the loss, at which a step ends.
        history_size (int): How many of the last changes the inverse Hessian is estimated from.
        line_search_fn (str, optional): "strong_wolfe" for a search along each direction.

    Notes:
        - `step` needs a closure that clears the gradients, computes the loss, calls `backward` and returns the
          loss. A line search may call it once more than `max_eval` times in a step. `step` returns the first
          loss.
        - The memory is `2 * history_size` times the size of the parameters, and only one group is accepted.
        - Pairs with a curvature `y s` of at most 1e-10 are left out. Noise of small batches spoils the estimate:
          pass full batches.
        - Without a line search the loss may grow. "strong_wolfe" searches with the constants 1e-4 and 0.9.
        - Source: Liu and Nocedal, On the Limited Memory BFGS Method for Large Scale Optimization, 1989.

    Raises:
        ValueError: If `lr` is negative, or there are several groups.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([3.0, -4.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.LBFGS([weight], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((weight - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(29., grad_fn=<SumBackward0>)
        >>> [round(value, 3) for value in weight.tolist()]
        [1.0, 1.0]
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        options = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Follow up to `max_iter` directions.

        Args:
            closure (callable): Clears the gradients, computes the loss and its gradients, and returns it.

        Returns:
            The loss before the step.

        Raises:
            AssertionError: If a second group has been added.
            RuntimeError: If the group names a line search that doesn't exist.
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        params = group["params"]
        state = self.state[params[0]]
        evaluate = enable_grad()(closure)
        first = evaluate()
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        grad = _flat_gradient(params)
        if grad.abs().max() > group["tolerance_grad"]:
            _Descent(params, group, state, evaluate, float(first), grad).run()
        return first


class _Descent:
    """The search of one step. `state` contains the history for the next step."""

    def __init__(
        self,
        params: list[Tensor],
        group: dict[str, Any],
        state: dict[str, Any],
        evaluate: Callable[[], Any],
        loss: float,
        grad: Tensor,
    ) -> None:
        self.params, self.group, self.state, self.evaluate = params, group, state, evaluate
        self.loss, self.grad = loss, grad
        self.direction: Tensor = state.get("d", grad)
        self.size: Any = state.get("t")
        self.evaluations = 1

    def run(self) -> None:
        """Follow directions until one of the limits or tolerances is reached."""
        group, state = self.group, self.state
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            self._choose_direction()
            before, state["prev_flat_grad"] = self.loss, self.grad.clone()
            state["prev_loss"] = before
            derivative = self.grad.dot(self.direction)
            if state["n_iter"] == 1:
                self.size = min(1.0, float(1.0 / self.grad.abs().sum())) * group["lr"]
            else:
                self.size = group["lr"]
            if derivative > -group["tolerance_change"]:
                break
            self._advance(derivative, last=iteration == group["max_iter"])
            if self._has_ended(before):
                break
        state["d"], state["t"] = self.direction, self.size

    def _choose_direction(self) -> None:
        state = self.state
        if state["n_iter"] == 1:
            self.direction = -self.grad
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        self._remember(self.grad - state["prev_flat_grad"], self.direction * self.size)
        self.direction = self._newton_direction()

    def _remember(self, change: Tensor, step: Tensor) -> None:
        """Add the last step and its change of the gradient to the estimate of the inverse Hessian."""
        state = self.state
        curvature = change.dot(step)
        if curvature <= 1e-10:
            return
        if len(state["old_dirs"]) == self.group["history_size"]:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / change.dot(change)

    def _newton_direction(self) -> Tensor:
        """The inverse Hessian times the negative gradient: the two loops over the history."""
        history = list(zip(*(self.state[name] for name in ("old_dirs", "old_stps", "ro")), strict=True))
        direction, weights = -self.grad, []
        for change, step, inverse in reversed(history):
            weights.append(step.dot(direction) * inverse)
            direction.add_(change * -weights[-1])
        self.state["al"] = weights[::-1]
        direction.mul_(self.state["H_diag"])
        for change, step, inverse in history:
            direction.add_(step * (weights.pop() - change.dot(direction) * inverse))
        return direction

    def _advance(self, derivative: Tensor, last: bool) -> None:
        """Go along the direction, and evaluate loss and gradient there."""
        if self.group["line_search_fn"] is not None:
            self._search(derivative)
            return
        _add(self.params, self.size, self.direction)
        if not last:  # the loss would be thrown away
            self.loss = float(enable_grad()(self.evaluate)())
            self.grad = _flat_gradient(self.params)
            self._count(1)

    def _search(self, derivative: Tensor) -> None:
        start = [param.clone(memory_format=tl_core.contiguous_format) for param in self.params]

        def at(size: Any, direction: Tensor) -> tuple[float, Tensor]:
            _add(self.params, size, direction)
            loss = float(self.evaluate())
            grad = _flat_gradient(self.params)
            for param, value in zip(self.params, start, strict=True):
                param.copy_(value)
            return loss, grad

        limit = self.group["max_eval"] - self.evaluations
        self.loss, self.grad, self.size, evaluations = strong_wolfe(
            at, self.size, self.direction, self.loss, self.grad, derivative, limit
        )
        _add(self.params, self.size, self.direction)
        self._count(evaluations)

    def _count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        self.state["func_evals"] += evaluations

    def _has_ended(self, before: float) -> bool:
        group = self.group
        return bool(
            self.evaluations >= group["max_eval"]
            or self.grad.abs().max() <= group["tolerance_grad"]
            or (self.direction * self.size).abs().max() <= group["tolerance_change"]
            or abs(self.loss - before) < group["tolerance_change"]
        )


def _flat_gradient(params: list[Tensor]) -> Tensor:
    """All gradients as one vector of real numbers, zeros where there is none."""
    parts = [
        param.new_zeros(param.shape) if param.grad is None else param.grad.to_dense() for param in params
    ]
    return tl_core.cat(
        [(tl_core.view_as_real(p.resolve_conj()) if p.is_complex() else p).reshape(-1) for p in parts]
    )


def _add(params: list[Tensor], size: Any, direction: Tensor) -> None:
    """Move the parameters along parts of a vector."""
    start = 0
    for param in params:
        real = tl_core.view_as_real(param) if param.is_complex() else param
        end = start + real.numel()
        real.add_(direction[start:end].view(real.shape) * size)
        start = end
