"""Adjoints of `as_strided`, by the elements of memory that a geometry visits."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula

Geometry = tuple[list[Any], list[Any], Any]  # sizes, strides and the first element


def _end(geometry: Geometry) -> Any:
    sizes, strides, offset = geometry
    return (
        offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) if all(sizes) else offset
    )


def _visits_once(geometry: Geometry) -> bool:
    """Whether no element is visited twice, as far as nested strides show."""
    reach = 0
    for stride, n in sorted((s, n) for n, s in zip(*geometry[:2], strict=True) if n > 1):
        if stride <= reach:
            return False
        reach += (n - 1) * stride
    return True


def _sums(r: Recording, grad: Any, length: Any, geometry: Geometry) -> Any:
    """A vector of the gradients that a geometry's visits leave at each element."""
    zeros = r(aten.new_zeros.default, grad, [length])
    if _visits_once(geometry):
        return r(aten.as_strided_scatter.default, zeros, grad, *geometry)
    positions = r(aten.arange.default, length, device=grad.device)
    visited = r(aten.as_strided.default, positions, *geometry)
    flat = [r(aten.reshape.default, t, [-1]) for t in (visited, grad)]
    return r(aten.index_add.default, zeros, 0, *flat)


def _rebase(first: Geometry, second: Geometry) -> tuple[Geometry, Geometry, Any]:
    """Two geometries in a memory that begins where they do, and its length."""
    low = min(first[2], second[2])
    a, b = ((sizes, strides, offset - low) for sizes, strides, offset in (first, second))
    return a, b, max(_end(a), _end(b))


@formula("as_strided_backward")
def _as_strided_backward(
    r: Recording, grad: Any, sizes: Any, strides: Any, offset: Any, size: Any, stride: Any, start: Any = None
) -> Any:
    view = size, stride, offset if start is None else start
    input, view, length = _rebase((sizes, strides, offset), view)
    out = r(aten.as_strided.default, _sums(r, grad, length, view), *input)
    if _visits_once(input):
        return r(aten.clone.default, out)
    ones = r(aten.new_ones.default, grad, list(sizes))  # visits share the gradient of their element
    return r(aten.div.Tensor, out, r(aten.as_strided.default, _sums(r, ones, length, input), *input))


@formula("_as_strided_gather")
def _as_strided_gather(
    r: Recording, grad: Any, sizes: Any, strides: Any, offset: Any, size: Any, stride: Any, start: Any = None
) -> Any:
    view = size, stride, offset if start is None else start
    input, view, length = _rebase((sizes, strides, offset), view)
    flat = _sums(r, grad, length, input)
    if not _visits_once(input):
        visits = _sums(r, r(aten.new_ones.default, grad, list(sizes)), length, input)
        flat = r(aten.div.Tensor, flat, r(aten.clamp_min.default, visits, 1))
    return r(aten.clone.default, r(aten.as_strided.default, flat, *view))
