"""Pools, borders, and what they read by index."""

from __future__ import annotations

import math
from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula, named, target_of, value_of, viewed


@formula("_put_by_index")
def _put_by_index(r: Recording, source: Any, indices: Any, sizes: Any, spatial: int) -> Any:
    pool = r.origin(indices)
    name = target_of(pool)
    x = None if pool is None else value_of(pool.args[0])
    if x is None or list(x.shape) != list(sizes) or spatial not in (2, 3):
        return _scatter(r, source, indices, sizes, spatial)
    if name == f"max_pool{spatial}d_with_indices":
        arguments = list(pool.args[1:])
        defaults = (arguments[0], [0] * spatial, [1] * spatial, False)  # stride, padding, dilation, ceil_mode
        arguments += defaults[len(arguments) - 1 :]
        return r(named(f"{name}_backward"), source, x, *arguments, indices)
    if name == f"adaptive_max_pool{spatial}d":
        return r(named(f"{name}_backward"), source, x, indices)
    return _scatter(r, source, indices, sizes, spatial)


def _scatter(r: Recording, source: Any, indices: Any, sizes: Any, spatial: int) -> Any:
    lead, count = list(sizes[:-spatial]), math.prod(sizes[-spatial:])
    zeros = r(aten.new_zeros.default, source, [*lead, count])
    rows = [viewed(r, t, [*lead, math.prod(t.shape[-spatial:])]) for t in (indices, source)]
    return r(aten.view.default, r(aten.scatter_add.default, zeros, len(lead), *rows), sizes)


@formula("_unpool")
def _unpool(r: Recording, source: Any, indices: Any, output_size: Any) -> Any:
    if len(output_size) == 3:  # steps and borders only say which sizes are possible
        return r(aten.max_unpool3d.default, source, indices, list(output_size), [1] * 3, [0] * 3)
    if source.ndim - len(output_size) not in (0, 1, 2) or indices.ndim not in (3, 4):
        return NotImplemented
    return r(aten.max_unpool2d.default, source, indices, list(output_size[-2:]))


@formula("_avg_pool_adjoint")
def _avg_pool(r: Recording, grad: Any, sizes: Any, kernel: Any, stride: Any, padding: Any, *rest: Any) -> Any:
    if len(kernel) > 1:
        op = named(f"avg_pool{len(kernel)}d_backward")
        return r(op, grad, r.unseen(aten.new_empty.default, grad, sizes), kernel, stride, padding, *rest)
    flat = r(aten.unsqueeze.default, grad, -2)
    like = r.unseen(aten.new_empty.default, grad, [*sizes[:-1], 1, sizes[-1]])
    window = [[1, *kernel], [1, *stride], [0, *padding]]
    return r(aten.squeeze.dim, r(aten.avg_pool2d_backward.default, flat, like, *window, *rest), -2)


@formula("_adaptive_avg_pool_adjoint")
def _adaptive_avg_pool(r: Recording, grad: Any, sizes: Any, spatial: int) -> Any:
    if spatial > 1:
        op = named(f"_adaptive_avg_pool{spatial}d_backward")
        return r(op, grad, r.unseen(aten.new_empty.default, grad, sizes))
    flat = r(aten.unsqueeze.default, grad, -2)
    like = r.unseen(aten.new_empty.default, grad, [*sizes[:-1], 1, sizes[-1]])
    return r(aten.squeeze.dim, r(named("_adaptive_avg_pool2d_backward"), flat, like), -2)


@formula("_border_adjoint")
def _border(r: Recording, grad: Any, sizes: Any, padding: Any, mode: str) -> Any:
    if mode == "circular":
        return _unwrap(r, grad, sizes, padding)
    kind = {"reflect": "reflection", "replicate": "replication"}[mode]
    op = named(f"{kind}_pad{len(padding) // 2}d_backward")
    return r(op, grad, r.unseen(aten.new_empty.default, grad, sizes), padding)


@formula("_pad_circular")
def _wrapped(r: Recording, x: Any, padding: Any) -> Any:
    for i in range(len(padding) // 2):
        dim, before, after = x.ndim - 1 - i, padding[2 * i], padding[2 * i + 1]
        if min(before, after) < 0:  # cut, and what is left goes round
            x = r(aten.slice.Tensor, x, dim, max(-before, 0), x.shape[dim] + min(after, 0))
        n, before, after = x.shape[dim], max(before, 0), max(after, 0)
        sides = [(n - before, n)] * (before > 0), [(0, after)] * (after > 0)
        left, right = ([r(aten.slice.Tensor, x, dim, *side) for side in group] for group in sides)
        x = r(aten.cat.default, [*left, x, *right], dim) if left or right else x
    return x


def _unwrap(r: Recording, grad: Any, sizes: Any, padding: Any) -> Any:
    """The gradient of `_pad_circular`: both borders are added to the other sides."""
    for i in reversed(range(len(padding) // 2)):
        dim, before, after = grad.ndim - 1 - i, padding[2 * i], padding[2 * i + 1]
        cut = [max(-before, 0), max(-after, 0)]
        n, before, after = sizes[dim] - sum(cut), max(before, 0), max(after, 0)
        inner = r(aten.slice.Tensor, grad, dim, before, before + n)
        for start, size, ahead in ((0, before, n - before), (before + n, after, 0)):
            if size:
                border = r(aten.slice.Tensor, grad, dim, start, start + size)
                around = [0] * (2 * i) + [ahead, n - size - ahead]
                inner = r(aten.add.Tensor, inner, r(aten.constant_pad_nd.default, border, around))
        grad = r(aten.constant_pad_nd.default, inner, [0] * (2 * i) + cut) if any(cut) else inner
    return grad
