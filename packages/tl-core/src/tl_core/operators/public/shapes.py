"""Adjoints of views and sums, and gradients of indices."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula


@formula("unsum")
def _unsum(r: Recording, grad: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    for d in sorted(d % len(sizes) for d in dim or ()) if sizes and not keepdim else ():
        grad = r(aten.unsqueeze.default, grad, d)
    return r(aten.expand.default, grad, sizes)


@formula("permute_backward")
def _permute(r: Recording, grad: Any, dims: Any) -> Any:
    order = [d % len(dims) for d in dims]
    return r(aten.permute.default, grad, [order.index(d) for d in range(len(order))])


@formula("cumsum_backward")
def _cumsum(r: Recording, grad: Any, dim: int) -> Any:
    if grad.numel() <= 1 or grad.shape[dim] == 1:
        return grad
    return r(aten.flip.default, r(aten.cumsum.default, r(aten.flip.default, grad, [dim]), dim), [dim])


@formula("split_with_sizes_backward")
def _pieces(r: Recording, grads: Any, sizes: Any, split_sizes: Any, dim: int) -> Any:
    def shape(n: int) -> list[Any]:
        return [n if d == dim % len(sizes) else size for d, size in enumerate(sizes)]

    present = next(g for g in grads if g is not None)
    pieces = [
        r(aten.new_zeros.default, present, shape(n)) if g is None else g
        for g, n in zip(grads, split_sizes, strict=True)
    ]
    return r(aten.cat.default, pieces, dim)


@formula("split_backward")
def _split(r: Recording, grads: Any, sizes: Any, split_size: int, dim: int) -> Any:
    length = sizes[dim]
    ends = [min(split_size * (i + 1), length) for i in range(len(grads))]
    return _pieces(r, grads, sizes, [end - start for start, end in zip([0, *ends], ends, strict=False)], dim)


@formula("unbind_backward")
def _unbind(r: Recording, grads: Any, sizes: Any, dim: int) -> Any:
    shape = [n for d, n in enumerate(sizes) if d != dim % len(sizes)]
    present = next(g for g in grads if g is not None)
    slices = [r(aten.new_zeros.default, present, shape) if g is None else g for g in grads]
    return r(aten.stack.default, slices, dim)


@formula("index_backward")
def _index(r: Recording, grad: Any, sizes: Any, indices: Any) -> Any:
    return r(aten.index_put.default, r(aten.new_zeros.default, grad, sizes), list(indices), grad, True)


@formula("index_select_backward")
def _index_select(r: Recording, grad: Any, sizes: Any, dim: int, index: Any) -> Any:
    return r(aten.index_add.default, r(aten.new_zeros.default, grad, sizes), dim, index, grad)
