"""Adam: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import tl_core
from tl_core import Tensor

from .checks import check_at_least_zero, check_lr, check_ways
from .optimizer import Optimizer, _use_grad_for_differentiable, evaluated, fusable

__all__ = ["Adam", "adam"]


class Adam(Optimizer):
    """Adam, of Kingma and Ba, 2014.

    Parameters:
        params : iterable of Tensor, of (str, Tensor), or of dict
            What to optimize, see `Optimizer`.
        lr : float or Tensor
            The learning rate.
        betas : (float, float)
            How slowly the running means of the gradient and of its square change.
        eps : float
            Added to the root of the mean square, against division by zero.
        weight_decay : float
            The factor of the penalty on large parameters.
        amsgrad : bool
            Whether the largest mean square so far is taken instead of the present one.
        foreach : bool, optional
            Accepted for compatibility.
        maximize : bool
            Whether to go up instead of down.
        capturable : bool
            For recording in a device's graph; not for parameters on the CPU.
        differentiable : bool
            Whether gradients are recorded through the step.
        fused : bool, optional
            Whether one operator updates all parameters; by default wherever it can.
        decoupled_weight_decay : bool
            Whether weight decay acts on the parameters themselves, as in `AdamW`.

    Raises:
        ValueError
            If a number is out of range.
        RuntimeError
            If `fused` is asked for together with `foreach` or `differentiable`.

    Examples:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.Adam([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        _check_betas(betas)
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_at_least_zero("weight_decay", weight_decay)
        check_ways(fused, foreach, differentiable)
        options = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option, value in _LATER_OPTIONS.items():
                group.setdefault(option, value)
            for param in group["params"]:
                kept = self.state.get(param, {})
                if "step" in kept and not isinstance(kept["step"], Tensor):
                    kept["step"] = _count(kept["step"])

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; see `Optimizer.step`."""
        loss = evaluated(closure)
        for group in self.param_groups:
            _update(self.state, group)
        return loss


_LATER_OPTIONS = {
    "amsgrad": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "fused": None,
    "decoupled_weight_decay": False,
}


def _count(steps: float) -> Tensor:
    """A number of steps as it is kept in the state."""
    return tl_core.tensor(float(steps), dtype=tl_core.float32)


def _check_betas(betas: tuple[Any, Any]) -> None:
    if isinstance(betas[0], Tensor) is not isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element, got {beta.numel()} elements")
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def _update(kept: Any, group: dict[str, Any]) -> None:
    params = [param for param in group["params"] if param.grad is not None]
    if not params:
        return
    amsgrad = group["amsgrad"]
    states = [_state_of(kept, param, amsgrad) for param in params]
    beta1, beta2 = group["betas"]
    adam(
        params,
        [param.grad for param in params],
        [state["exp_avg"] for state in states],
        [state["exp_avg_sq"] for state in states],
        [state["max_exp_avg_sq"] for state in states] if amsgrad else [],
        [state["step"] for state in states],
        foreach=group["foreach"],
        capturable=group["capturable"],
        differentiable=group["differentiable"],
        fused=group["fused"],
        decoupled_weight_decay=group["decoupled_weight_decay"],
        amsgrad=amsgrad,
        beta1=beta1,
        beta2=beta2,
        lr=group["lr"],
        weight_decay=group["weight_decay"],
        eps=group["eps"],
        maximize=group["maximize"],
    )


def _state_of(kept: Any, param: Tensor, amsgrad: bool) -> dict[str, Any]:
    state = kept[param]
    if not state:
        state["step"] = _count(0.0)
        state["exp_avg"] = tl_core.zeros_like(param)
        state["exp_avg_sq"] = tl_core.zeros_like(param)
    if amsgrad and "max_exp_avg_sq" not in state:
        state["max_exp_avg_sq"] = tl_core.zeros_like(param)
    return state


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Change `params` by `grads` with the rule of `Adam`, and the lists of its state too.

    Raises:
        AssertionError
            If `capturable` is asked for with parameters on the CPU.
        NotImplementedError
            If gradients are to be unscaled, which is the work of GradScaler here.
    """
    if grad_scale is not None or found_inf is not None:
        raise NotImplementedError(
            "adam: grad_scale and found_inf aren't supported, unscale the gradients first"
        )
    if capturable and any(param.is_cpu for param in params):
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: not the CPU"
        )
    numbers: dict[str, Any] = {
        "lr": lr,
        "beta1": beta1,
        "beta2": beta2,
        "weight_decay": weight_decay,
        "eps": eps,
        "amsgrad": amsgrad,
        "maximize": maximize,
    }
    if not differentiable and fused is not False and fusable(params):
        state = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
        _fused(params, grads, *state, state_steps, decoupled_weight_decay, numbers)
        return
    update = _Update(decoupled_weight_decay, differentiable, **numbers)
    largest: list[Any] = max_exp_avg_sqs or [None] * len(params)
    for parts in zip(params, grads, exp_avgs, exp_avg_sqs, largest, state_steps, strict=True):
        update.run(*parts)


def _fused(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
    decoupled_weight_decay: bool,
    numbers: dict[str, Any],
) -> None:
    rule = tl_core._fused_adamw_ if decoupled_weight_decay else tl_core._fused_adam_
    plain: dict[str, Any] = {
        name: value if isinstance(value, bool) else float(value) for name, value in numbers.items()
    }
    tl_core._foreach_add_(steps, 1)
    rule(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, **plain)


class _Update:
    """The rule for one parameter, spelt out in operators."""

    def __init__(
        self,
        decoupled_weight_decay: bool,
        differentiable: bool,
        *,
        lr: float | Tensor,
        beta1: float | Tensor,
        beta2: float | Tensor,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
    ) -> None:
        self.decoupled_weight_decay = decoupled_weight_decay
        self.lr: Any = lr if differentiable else float(lr)
        self.beta1: Any = beta1 if differentiable else float(beta1)
        self.beta2: Any = beta2 if differentiable else float(beta2)
        self.weight_decay = weight_decay
        self.eps = eps
        self.amsgrad = amsgrad
        self.maximize = maximize

    def run(self, param: Any, grad: Any, mean: Any, square: Any, largest: Any, steps: Any) -> None:
        """Change `param`, its running `mean` and mean `square`, and the number of `steps`."""
        steps += 1
        if param.is_complex():
            param, grad, mean, square = (tl_core.view_as_real(part) for part in (param, grad, mean, square))
            largest = None if largest is None else tl_core.view_as_real(largest)
        grad = self._direction(param, grad)
        mean.copy_(mean * self.beta1 + grad * (1 - self.beta1))
        square.copy_(square * self.beta2 + grad * grad * (1 - self.beta2))
        if self.amsgrad:
            largest.copy_(tl_core.maximum(largest, square))
        count = steps.item()
        correction = sqrt(1 - self.beta2**count)
        scale = (largest if self.amsgrad else square).clone().sqrt() / correction + self.eps
        param.sub_(mean.clone() / scale * (self.lr / (1 - self.beta1**count)))

    def _direction(self, param: Any, grad: Any) -> Any:
        """The gradient with its sign and the weight decay."""
        if self.maximize:
            grad = -grad
        if not self.weight_decay:
            return grad
        if self.decoupled_weight_decay:
            param.mul_(1 - self.lr * self.weight_decay)
            return grad
        return grad + param * self.weight_decay
