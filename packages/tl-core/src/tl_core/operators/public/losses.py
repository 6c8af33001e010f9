"""Losses, and the activations beside them."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula, named, target_of, value_of


@formula("_glu_halves")
def _glu(r: Recording, x: Any, gate: Any) -> Any:
    return r(aten.mul.Tensor, x, r(aten.sigmoid.default, gate))


@formula("squared_error")
def _squared_error(r: Recording, x: Any, target: Any) -> Any:
    return r(aten.mse_loss.default, x, target, 0)


@formula("smooth_l1_error")
def _smooth_l1_error(r: Recording, x: Any, target: Any, beta: Any) -> Any:
    return r(aten.smooth_l1_loss.default, x, target, 0, beta)


@formula("huber_error")
def _huber_error(r: Recording, x: Any, target: Any, delta: Any) -> Any:
    return r(aten.huber_loss.default, x, target, 0, delta)


@formula("_leaky_relu_backward")
def _leaky_relu(r: Recording, grad: Any, x: Any, negative_slope: Any) -> Any:
    return r(aten.leaky_relu_backward.default, grad, x, negative_slope, False)


@formula("_nll_loss_backward")
def _nll_loss(
    r: Recording,
    grad: Any,
    target: Any,
    weight: Any,
    sizes: Any,
    reduction: int,
    ignore_index: int,
    total: Any,
) -> Any:
    forward = r.origin(total)
    has_scores = target_of(forward).startswith("nll_loss")
    scores = value_of(forward.args[0]) if has_scores else r.unseen(aten.new_empty.default, grad, sizes)
    op = aten.nll_loss2d_backward if len(sizes) == 4 else aten.nll_loss_backward
    return r(op.default, grad, scores, target, weight, reduction, ignore_index, total)


@formula("_cross_entropy")
def _cross_entropy(
    r: Recording, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any, Any]:
    dim = min(x.ndim - 1, 1)
    scores = r(named("_log_softmax"), x, dim, False)
    op = aten.nll_loss2d_forward if x.ndim == 4 else aten.nll_loss_forward
    loss, total = r(op.default, scores, target, weight, reduction, ignore_index)
    return loss, r.unseen(aten.logsumexp.default, x, [dim]), total


@formula("_cross_entropy_backward")
def _cross_entropy_backward(
    r: Recording,
    grad: Any,
    x: Any,
    _: Any,
    total: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
) -> Any:
    dim, forward = min(x.ndim - 1, 1), r.origin(total)
    has_scores = target_of(forward).startswith("nll_loss")
    scores = value_of(forward.args[0]) if has_scores else r.unseen(named("_log_softmax"), x, dim, False)
    op = aten.nll_loss2d_backward if x.ndim == 4 else aten.nll_loss_backward
    inner = r(op.default, grad, scores, target, weight, reduction, ignore_index, total)
    return r(named("_log_softmax_backward_data"), inner, scores, dim, x.dtype)


@formula("ctc_losses")
def _ctc_losses(r: Recording, log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int) -> Any:
    return r(aten._ctc_loss.Tensor, log_probs, targets, inputs, lengths, blank)


@formula("_ctc_backward")
def _ctc_backward(
    r: Recording,
    grad: Any,
    log_probs: Any,
    targets: Any,
    inputs: Any,
    lengths: Any,
    losses: Any,
    alphas: Any,
    blank: int,
) -> Any:
    operands = log_probs, targets, inputs, lengths
    return r(aten._ctc_loss_backward.Tensor, grad, *operands, losses, alphas, blank)
