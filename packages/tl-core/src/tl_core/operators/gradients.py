"""Gradients by the names that others know, where a row of our own computes several of them.

A graph that other tools read, or that comes from there, has these. They take what the operator itself took, and give
the gradients that a mask asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tl_core.operators.packets import aten

__all__ = [
    "attention_backward",
    "attention_forward",
    "border_backward",
    "grid_sampler_backward",
    "native_batch_norm_backward",
    "native_group_norm_backward",
    "native_layer_norm_backward",
    "nll_loss_backward",
    "rows_lie_outside",
]


def rows_lie_outside(query: Any) -> bool:
    """Whether attention gives the rows of all heads together, as a query has them that was split into heads.

    Args:
        query: the query.

    Returns:
        The answer.

    Example:
        >>> rows_lie_outside(tl.zeros(1, 3, 2, 4)), rows_lie_outside(tl.zeros(1, 3, 2, 4).transpose(1, 2))
        (False, True)
    """
    strides = query.stride()
    return bool(strides[3] == 1 and query.shape[2] > 0 and strides[1] < strides[2])


def attention_forward(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    """Attention in tiles, and the logarithms of the sums of its softmax.

    Args:
        query, key, value: of batch, heads, rows, columns.
        dropout_p: 0: others draw random numbers of their own.
        is_causal: whether rows see only those before them.
        attn_mask: what is added to the scores.
        scale: the factor of the scores; None: one over the root of the number of columns.

    Returns:
        The result, and the logarithms.

    Raises:
        NotImplementedError: there is dropout.

    Example:
        >>> x = tl.ones(1, 1, 2, 1)
        >>> [t.flatten().tolist() for t in attention_forward(x, x, x, scale=0.0)]
        [[1.0, 1.0], [0.6931..., 0.6931...]]
    """
    _refuse_dropout(dropout_p)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    outside = rows_lie_outside(query)
    return aten._attention.default(query, key, value, attn_mask, is_causal, scale, outside)


def attention_backward(
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any, Any]:
    """The gradients of `attention_forward`.

    Args:
        grad_out: the gradient of the result.
        query, key, value, dropout_p, is_causal, attn_mask, scale: as the operator takes them.
        out, logsumexp: what it returned.

    Returns:
        Those by query, key and value.

    Raises:
        NotImplementedError: there is dropout.

    Example:
        >>> x = tl.ones(1, 1, 2, 1)
        >>> out, sums = attention_forward(x, x, x)
        >>> [t.flatten().tolist() for t in attention_backward(x, x, x, x, out, sums, 0.0, False)]
        [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    _refuse_dropout(dropout_p)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    settings = (attn_mask, out, logsumexp, is_causal, scale, None, 0.0, True, True, True, False)
    return aten._attention_backward.default(grad_out, query, key, value, *settings)[:3]


def _refuse_dropout(p: float) -> None:
    if p:
        raise NotImplementedError("attention with dropout: use nn.functional.scaled_dot_product_attention")


def nll_loss_backward(
    grad_output: Any,
    self: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    """The gradient of `nll_loss_forward` by the scores.

    Args:
        grad_output: the gradient of the loss.
        self: the scores.
        target: the classes.
        weight: a weight for each class, or None.
        reduction: 0 for the losses, 1 for their mean, 2 for their sum.
        ignore_index: the class that counts nothing.
        total_weight: the sum of the weights, as `nll_loss_forward` returned it.

    Returns:
        The gradient.

    Example:
        >>> g = nll_loss_backward(tl.ones(()), tl.zeros(1, 2), tl.tensor([1]), None, 2, -100, tl.ones(()))
        >>> g.tolist()
        [[0.0, -1.0]]
    """
    sizes = list(self.shape)
    return aten._nll_loss_backward.default(
        grad_output, target, weight, sizes, reduction, ignore_index, total_weight
    )


def border_backward(kind: str) -> Any:
    """The function that gives the gradient of a padding from the tensor itself.

    Args:
        kind: `reflect` or `replicate`.

    Returns:
        A function of the gradient of the result, the input, and the padding.

    Example:
        >>> border_backward("replicate")(tl.ones(1, 5), tl.zeros(1, 3), [1, 1]).tolist()
        [[2.0, 1.0, 2.0]]
    """
    return lambda grad_output, self, padding: aten._border_adjoint.default(
        grad_output, list(self.shape), padding, kind
    )


def grid_sampler_backward(
    grad_output: Any,
    input: Any,
    grid: Any,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Any, Any]:
    """The gradients of `grid_sampler_2d` and `grid_sampler_3d`.

    Args:
        grad_output: the gradient of the result.
        input, grid, interpolation_mode, padding_mode, align_corners: as the operator takes them.
        output_mask: whether the gradients by the input and by the grid are asked for.

    Returns:
        Both, None for one that isn't.

    Example:
        >>> x, points = tl.ones(1, 1, 1, 1), tl.zeros(1, 1, 1, 2)
        >>> [g if g is None else g.tolist() for g in grid_sampler_backward(x, x, points, 0, 0, False, [True, False])]
        [[[[[1.0]]]], None]
    """
    settings = (interpolation_mode, padding_mode, align_corners, [0] * (input.ndim - 2))
    of_input = of_grid = None
    if output_mask[0]:
        of_input = aten._grid_sample_adjoint.default(grad_output, grid, list(input.shape), *settings)
    if output_mask[1]:
        of_grid = aten._grid_sample_derivative.default(grad_output, input, grid, *settings)
    return of_input, of_grid


def native_layer_norm_backward(
    grad_out: Any,
    input: Any,
    normalized_shape: Sequence[int],
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of `native_layer_norm`.

    Args:
        grad_out: the gradient of the result.
        input, normalized_shape, weight, bias: as the operator takes them.
        mean, rstd: the statistics that it returned.
        output_mask: whether the gradients by input, weight and bias are asked for.

    Returns:
        The three, None for those that aren't.

    Example:
        >>> x, g = tl.tensor([[1.0, 3.0]]), tl.tensor([[1.0, 1.0]])
        >>> native_layer_norm_backward(g, x, [2], tl.full((1, 1), 2.0), tl.ones(1, 1), None, None, [True, False, False])
        (tensor([[0., 0.]]), None, None)
    """
    count = math.prod(normalized_shape)
    rows = input.numel() // count if count else 0
    mean, rstd = (t.reshape(rows, 1) for t in (mean, rstd))
    flat = [p if p is None else p.reshape(-1) for p in (weight, bias)]
    gradients = aten._sample_norm_backward.default(
        grad_out, input, mean, rstd, *flat, rows, count, 1, 1, 0.0, True, *output_mask
    )
    return _select(gradients, output_mask, (None, weight, bias))


def native_group_norm_backward(
    grad_out: Any,
    input: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of `native_group_norm`.

    Args:
        grad_out: the gradient of the result.
        input, weight, N, C, HxW, group: as the operator takes them.
        mean, rstd: the statistics that it returned.
        output_mask: whether the gradients by input, weight and bias are asked for.

    Returns:
        The three, None for those that aren't.

    Example:
        >>> x, ones = tl.tensor([[[1.0, 3.0]]]), tl.ones(1, 1)
        >>> native_group_norm_backward(x, x, 2 * ones, ones, tl.ones(1), 1, 1, 2, 1, [False, True, True])
        (None, tensor([2.]), tensor([4.]))
    """
    mean, rstd = (t.reshape(N, group) for t in (mean, rstd))
    gradients = aten._sample_norm_backward.default(
        grad_out, input, mean, rstd, weight, weight, N, C, HxW, group, 0.0, True, *output_mask
    )
    return _select(gradients, output_mask, (None, weight, weight))


def native_batch_norm_backward(
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of `native_batch_norm`.

    Args:
        grad_out: the gradient of the result.
        input, weight, running_mean, running_var, train, eps: as the operator takes them.
        save_mean, save_invstd: the statistics that it returned; not read unless `train`.
        output_mask: whether the gradients by input, weight and bias are asked for.

    Returns:
        The three, None for those that aren't.

    Example:
        >>> x, zeros, ones = tl.tensor([[1.0], [3.0]]), tl.zeros(1), tl.ones(1)
        >>> grads = native_batch_norm_backward(x, x, ones, zeros, ones, zeros, ones, False, 0.0, [True, True, True])
        >>> [g.flatten().tolist() for g in grads]
        [[1.0, 3.0], [10.0], [4.0]]
    """
    mean, rstd = save_mean, save_invstd
    if not train:
        mean, rstd = (t.to(save_mean.dtype) for t in (running_mean, (running_var + eps).rsqrt()))
    mask = [output_mask[0], *(bool(needed) and weight is not None for needed in output_mask[1:])]
    gradients = aten._batch_norm_backward.default(grad_out, input, mean, rstd, weight, train, eps, *mask)
    return _select(gradients, output_mask, (None, weight, weight))


def _select(gradients: Any, mask: Sequence[bool], parameters: Any) -> Any:
    """The gradients that were asked for, in the shapes of the parameters."""
    first, *of_parameters = gradients
    result = [first if mask[0] else None]
    for gradient, needed, parameter in zip(of_parameters, mask[1:], parameters[1:], strict=True):
        absent = not needed or parameter is None
        result.append(None if absent else gradient.reshape(parameter.shape))
    return tuple(result)
